"""Help, errors, completion and the reference: what is true of every verb."""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command import completion, reference
from command.grammar import STATUSES, Verb, parser, subparsers
from command.verbs import VERBS
from command.verbs.pin import _SOURCES
from tests.command.conftest import Run, start
from weights.pin import SOURCES

EACH_VERB = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)


@EACH_VERB
def test_help_holds_worked_examples_that_parse(verb: Verb, run: Run) -> None:
    shown = run(verb.name, "--help")
    assert shown.status == 0
    assert STATUSES in shown.out
    assert verb.examples
    for line, what in verb.examples:
        assert f"./formdex {line}\n      {what}" in shown.out
        words = shlex.split(line.split(" > ")[0].split(" >> ")[0].split(" < ")[0])
        assert parser(VERBS).parse_args(words).verb == verb.name
    assert all(len(row) <= 120 for row in shown.out.splitlines())


@EACH_VERB
def test_every_argument_is_explained(verb: Verb) -> None:
    for action in subparsers(parser(VERBS))[verb.name]._actions:
        assert action.help, f"{verb.name}: {action.dest}"


def test_reference_is_up_to_date(run: Run) -> None:
    assert reference.PAGE.read_text(encoding="utf-8") == reference.markdown(), (
        "run: ./formdex reference > docs/command.md"
    )
    assert run("reference", "--check").status == 0


def test_stale_reference_is_noticed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = tmp_path / "command.md"
    stale.write_text(reference.markdown() + "\n")
    monkeypatch.setattr(reference, "PAGE", stale)
    assert run("reference", "--check").status == 1


@EACH_VERB
def test_reference_names_every_argument(verb: Verb) -> None:
    section = reference.markdown().split(f"\n## {verb.name}\n")[1].split("\n## ")[0]
    for action in subparsers(parser(VERBS))[verb.name]._actions:
        if action.dest != "help":
            assert f"`{reference.spelled(action)}`" in section


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "required: VERB"),
        (["find"], "invalid choice: 'find'"),
        (["search", ".", "x", "-n", "0"], "expected a whole number from 1, got '0'"),
        (["search", ".", "x", "--least", "nan"], "expected a finite number, got 'nan'"),
        (["search", "nowhere", "x"], "nowhere: no such folder; make it: ./formdex collect PATH --out nowhere"),
        (["search", ".", "x"], "holds neither formdex.index nor formulas.tsv"),
        (["search", ".", "x", "--collection", "nowhere"], "nowhere: holds no formulas.tsv"),
        (["build", "nowhere"], "nowhere: holds no formulas.tsv"),
        (["collect", "nowhere"], "nowhere"),
        (["serve", "nowhere", "--http"], "nowhere: no such folder"),
        (["inspect"], ".formdex: no such folder"),
        (["inspect", "--latex", "x" * 7000], "7,000 characters, expected at most 3,000"),
        (["evaluate", "nowhere", "--queries", "q", "--qrels", "r"], "nowhere: no such folder"),
        (["pin", "--out", "pins", "--from", "nowhere", "--only", "local"], "no source has"),
        (["completion", "fish"], "invalid choice: 'fish'"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_errors_are_one_line_and_status_2(
    words: list[str], said: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*words)
    assert done.status == 2
    assert done.out == ""
    assert said in done.error
    assert done.error.startswith("./formdex")
    if words[:1] != ["pin"]:  # which notes the sources it passes over
        assert done.err.count("\n") == 1


def test_errors_about_a_built_folder(built: Path, run: Run, tmp_path: Path) -> None:
    assert "expected only with --http" in run("serve", built, "--port", "0").error
    assert "--allow-host: expected only with --http" in run("serve", built, "--allow-host", "a.example").error
    other = tmp_path / "model"
    other.mkdir()
    assert str(other) in run("search", built, "x", "--model", other).error
    shutil.copy(Path(__file__).parents[2] / "weights" / "tokenizer.json", other)
    (other / "model.onnx").write_bytes(b"another")
    done = run("search", built, "x", "--model", other)
    assert (done.status, "built by model" in done.error) == (2, True)
    index = built / "index" / "formdex.index"
    index.write_bytes(index.read_bytes()[:-10])
    done = run("search", built, "x")
    assert (done.status, "truncated" in done.error) == (2, True)
    shutil.rmtree(built / "index")
    assert run("search", built, "x").error.endswith(f"has no index yet; make it: ./formdex build {built}")


def test_pin_knows_the_sources() -> None:
    assert _SOURCES == SOURCES


def test_reader_that_leaves_is_no_error() -> None:
    with start(["inspect", "--latex", "-"]) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("x^2\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        process.stdin.write("y^2\n" * 3)
        process.stdin.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


def test_a_terminal_gets_a_table() -> None:
    ours, theirs = pty.openpty()
    with start(["inspect", "--latex", "x^2"]) as piped:
        assert piped.communicate(timeout=60)[0].startswith('{"latex": "x^2"')
    process = subprocess.Popen(
        [Path(__file__).parents[2] / "formdex", "inspect", "--latex", "x^2"],
        stdout=theirs, env={**os.environ, "PYTHON": sys.executable},
    )  # fmt: skip
    assert process.wait(60) == 0
    os.close(theirs)
    assert os.read(ours, 4096).decode().splitlines()[:3] == ["x^2", "  latex      x^2", "  canonical  x ^ 2"]
    os.close(ours)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("formdex se", {"search", "serve"}),
        ("formdex search --p", {"--places"}),
        ("formdex pin --only ", {"local", "hub", "wheel"}),
        ("formdex completion ", {"bash", "zsh"}),
        ("formdex evaluate --qrels ", {"a.txt", "notes"}),
        ("formdex build --model ", {"notes"}),
        ("formdex search ", {"notes"}),
        ("formdex search -n ", set()),
    ],
)
def test_bash_completes(words: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "a.txt").touch()
    parts = words.split(" ")
    script = (
        f"{completion.bash(parser(VERBS))}\n"
        f"COMP_WORDS=({shlex.join(parts)}); COMP_CWORD={len(parts) - 1}; _formdex; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert set(done.stdout.split()) == expected
    assert done.stderr == ""


def test_zsh_script_names_everything_and_is_sound(tmp_path: Path) -> None:
    script = completion.zsh(parser(VERBS))
    assert script.startswith("#compdef formdex")
    for name, known in subparsers(parser(VERBS)).items():
        assert f"'{name}:" in script
        for action in known._actions:
            assert all(f"'{option}[" in script for option in action.option_strings)
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed: its syntax is not checked")
    (tmp_path / "_formdex").write_text(script)
    subprocess.run(["zsh", "-n", tmp_path / "_formdex"], check=True)
