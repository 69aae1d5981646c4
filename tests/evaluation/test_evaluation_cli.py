"""The command line, mostly in this process."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.__main__ import COMPARE_EPILOG, EPILOG, RUN_EPILOG, SCORE_EPILOG, main, parser

ROOT = Path(__file__).resolve().parents[2]
FAKE = Path(__file__).parent / "fake_service.py"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection of two-instance groups (formulas 2i and 2i + 1 of group i), two judged topics and two runs."""
    rows = [f"{formula}\t{formula // 2}" for formula in range(20)]
    (tmp_path / "formulas.tsv").write_text("\n".join(["id\tvisual_id", *rows]) + "\n")
    (tmp_path / "qrels").write_text("A 0 1 3\nA 0 2 0\nB 0 3 2\n")
    (tmp_path / "queries").write_text('{"query_id":"A","latex":"x"}\n{"query_id":"Z","latex":"y"}\n')
    (tmp_path / "good").write_text("A Q0 2 1 9 g\nA Q0 3 2 8 g\nB Q0 7 1 1 g\n")
    (tmp_path / "weak").write_text("A Q0 4 1 9 w\nA Q0 2 2 8 w\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


JUDGE = ["--qrels", "qrels", "--formulas", "formulas.tsv"]


def test_score(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "--run", "weak", *JUDGE, "--per-topic", "--format", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["per_topic"]["A"]["ap"] == 0.5
    assert result["per_topic"]["B"]["ndcg"] == 0.0
    assert result["topics"] == 2
    assert main(["score", "--run", "weak", *JUDGE, "--queries", "queries"]) == 0
    assert "mean of 1" in capsys.readouterr().out


def test_compare(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--run", "good", "--baseline", "weak", *JUDGE, "--per-topic", "ap"]) == 0
    out = capsys.readouterr().out
    assert "MAP'             1.0000    0.2500     +0.7500     2     0       0  0.5000" in out
    assert "B     1.0000    0.0000     +1.0000" in out


def test_skipped_rows_are_said(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open("formulas.tsv", "a", encoding="utf-8") as file:
        file.write("junk\n")
    assert main(["score", "--run", "good", *JUDGE]) == 0
    assert capsys.readouterr().err == "evaluation: formulas.tsv: skipped 1 unreadable rows\n"


def test_run_then_score(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("ix").mkdir()
    Path("ix/mode").write_text("good")
    Path("serve.sh").write_text(f'exec "$PYTHON" "{FAKE}" "$@"\n')
    arguments = ["run", "--queries", "queries", "--index-dir", "ix", "--serve", "serve.sh", "--out", "new"]
    assert main([*arguments, "--latencies", "times"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["answered"], summary["failures"], len(summary["load_s"])) == (2, 0, 1)
    assert set(json.loads(Path("times").read_text())["latencies_ms"]) == {"A", "Z"}
    assert Path("new").read_text().startswith("A Q0 1 1 1 formdex\nA Q0 2 2 0.999")
    assert main(["score", "--run", "new", *JUDGE]) == 0

    Path("queries").write_text('{"query_id":"A","latex":"die"}\n{"query_id":"B","latex":"x"}\n')
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.err == "evaluation: A: the service ended: killed by a formula\n"
    assert Path("new").read_text().startswith("B Q0 1 1 1 formdex")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "--run", "none", *JUDGE], "evaluation: none: No such file or directory"),
        (["score", "--run", ".", *JUDGE], "evaluation: .: Is a directory"),
        (["score", "--run", "qrels", *JUDGE], "evaluation: qrels line 1: expected 6 fields"),
        (["score", "--run", "good", "--qrels", "good", "--formulas", "formulas.tsv"], "good line 1: expected 4 fields"),
        (["score", "--run", "good", "--qrels", "qrels", "--formulas", "qrels"], "qrels line 1: expected a header"),
        (["score", "--run", "foreign", *JUDGE], "foreign: topic A: formula_id '99' is not in the collection"),
        (["score", "--run", "other", *JUDGE], "other: expected at least one topic that the qrels judge, such as A"),
        (["score", "--run", "good", *JUDGE, "--queries", "unjudged"], "unjudged: expected at least one query that"),
        (["run", "--queries", "queries", "--index-dir", "no", "--out", "x"], "expected"),
        (["run", "--queries", "queries", "--index-dir", ".", "--out", "no/x"], "no/x.part: No such file or directory"),
    ],
)
def test_unusable_input_is_one_line_and_status_2(
    data: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    Path("foreign").write_text("A Q0 2 1 9 g\nA Q0 99 2 8 g\n")
    Path("other").write_text("C Q0 2 1 9 g\n")
    Path("unjudged").write_text('{"query_id":"Z","latex":"y"}\n')
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.startswith("evaluation: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: run|score|compare"),
        (["fly"], "invalid choice: 'fly'"),
        (["score", "--run", "x"], "required: --qrels, --formulas"),
        (["score", "--run", "x", *JUDGE, "--format", "html"], "invalid choice: 'html'"),
        (["compare", "--run", "x", "--baseline", "y", *JUDGE, "--permutations", "10"], "a whole number from 10000"),
        (["compare", "--run", "x", "--baseline", "y", *JUDGE, "--per-topic", "bleu"], "invalid choice: 'bleu'"),
        (["run", "--queries", "q", "--index-dir", "i", "--out", "o", "--warmup", "-1"], "from 0, got '-1'"),
        (["run", "--queries", "q", "--index-dir", "i", "--out", "o", "--timeout-s", "nan"], "from 0.001, got 'nan'"),
    ],
)
def test_wrong_arguments_are_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_every_command_of_the_help_texts_parses() -> None:
    texts = "\n".join([EPILOG, RUN_EPILOG, SCORE_EPILOG, COMPARE_EPILOG]).replace("\\\n", " ")
    commands = re.findall(r"^ *python -m evaluation (.+)$", texts, flags=re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        assert callable(parser().parse_args(shlex.split(command)).command)


@pytest.mark.parametrize("verb", [[], ["run"], ["score"], ["compare"]])
def test_help_shows_an_example(capsys: pytest.CaptureFixture[str], verb: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*verb, "--help"])
    assert caught.value.code == 0
    assert "python -m evaluation" in capsys.readouterr().out.split("example", 1)[1]


def test_core_needs_numpy_and_the_standard_library_alone_and_head_may_leave(data: Path) -> None:
    code = (
        "import sys; before = set(sys.modules); import evaluation.__main__ as m; "
        "new = {name.split('.')[0] for name in set(sys.modules) - before}; "
        "odd = sorted(new - set(sys.stdlib_module_names) - {'numpy', 'evaluation'}); "
        "print(odd, file=sys.stderr); sys.exit(m.main(sys.argv[1:]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", code, "score", "--run", "good", *JUDGE]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    os.close(writer)
    assert (done.stderr, done.returncode) == ("[]\n", 0)
