from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command.errors import CommandError
from command.output import fit, plain
from command.queries import Query, parse
from tests.command.conftest import ENTRY, Run, start


def test_newcomers_path_leads_to_file_and_line(papers: Path, tmp_path: Path) -> None:
    link = tmp_path / "bin"
    link.symlink_to(ENTRY)  # as somebody has it in ~/bin
    for words in (["collect", str(papers)], ["build"], ["search", ".formdex", "x^2+y^2", "-n", "1"]):
        process = start(words, cwd=tmp_path, executable=link)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    (hit,) = map(json.loads, out.splitlines())
    assert hit["formula"] == "x^2 + y^2 = r^2"
    assert hit["group_size"] == 2
    assert [(place["file"], place["line"]) for place in hit["places"]] == [
        (str(papers / "circle.tex"), 2), (str(papers / "waves.tex"), 3),
    ]  # fmt: skip


def test_results_are_ranked_numbered_and_limited(shared: Path, run: Run) -> None:
    done = run("search", shared / ".formdex", r"\sum 1/n^2", "-n", "3")
    assert done.status == 0
    assert [hit["rank"] for hit in done.records] == [1, 2, 3]
    scores = [hit["score"] for hit in done.records]
    assert scores == sorted(scores, reverse=True)
    assert done.records[0]["formula"].startswith(r"\sum")
    assert {hit["query"] for hit in done.records} == {r"\sum 1/n^2"}


def test_least_score_leaves_out_the_rest(shared: Path, run: Run) -> None:
    every = run("search", shared / ".formdex", "y=mx+b").records
    least = every[1]["score"]
    kept = run("search", shared / ".formdex", "y=mx+b", "--least", str(least)).records
    assert kept == [hit for hit in every if hit["score"] >= least]
    none = run("search", shared / ".formdex", "y=mx+b", "--least", "2")
    assert (none.status, none.out) == (1, "")
    assert "nothing found" in none.error


@pytest.mark.parametrize("empty", ["", "   ", r"\,\quad"])
def test_query_without_content_finds_nothing(shared: Path, run: Run, empty: str) -> None:
    done = run("search", shared / ".formdex", empty)
    assert (done.status, done.out) == (1, "")


def test_stdin_holds_latex_and_json_and_a_bad_line_stops_nothing(shared: Path, run: Run) -> None:
    text = '\ufeffx^2\n\n{"query_id": 7, "latex": "y=mx+b"}\n{"latex": 3}\n{a \\over b}\n'
    done = run("search", shared / ".formdex", "-", "-n", "1", stdin=text)
    assert [(hit["query"], hit.get("query_id")) for hit in done.records] == [
        ("x^2", None), ("y=mx+b", 7), (r"{a \over b}", None),
    ]  # fmt: skip
    assert done.status == 1
    assert done.err.count("\n") == 1
    assert "stdin:4: field latex: expected a string" in done.err


def test_a_warm_process_answers_each_line_as_it_comes(shared: Path) -> None:
    with start(["search", shared / ".formdex", "-", "-n", "1"]) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for query in ("x^2+y^2=r^2", "y=mx+b"):
            process.stdin.write(query + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["query"] == query  # stdin is still open
        process.stdin.close()
        assert process.wait(60) == 0


def test_table_shows_places_and_no_control_characters(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.tex").write_text("Text $x^2 \x1b[31m + \x07 y$ and $x^2+z$.\n")
    assert run("collect", "bad.tex").status == 0
    assert run("build", "--threads", "1").status == 0
    done = run("search", ".formdex", "x^2\x1b]0;gone\x07", "--table")
    assert done.status == 0
    assert all(char.isprintable() or char == "\n" for char in done.out)
    assert "  bad.tex:1\n" in done.out


def test_a_collection_that_changed_since_the_build_is_not_searched(papers: Path, built: Path, run: Run) -> None:
    assert run("collect", papers, "--out", built).status == 0
    done = run("search", built, "x")
    assert done.status == 2
    assert done.error.endswith(f"run: ./formdex build {built}")


def test_an_index_elsewhere_finds_its_collection(shared: Path, tmp_path: Path, run: Run) -> None:
    away = tmp_path / "away" / "index"
    before = sorted((shared / ".formdex").iterdir())
    assert run("build", shared / ".formdex", "--index-dir", away, "--threads", "1").status == 0
    assert sorted((shared / ".formdex").iterdir()) == before
    assert run("search", away, "y=mx+b", "-n", "1").records[0]["formula"] == "y = m x + b."
    alone = shutil.copytree(away, tmp_path / "alone")  # nothing is known of a bare index
    (hit,) = run("search", alone, "y=mx+b", "-n", "1").records
    assert "formula" not in hit
    (hit,) = run("search", alone, "y=mx+b", "-n", "1", "--collection", shared / ".formdex").records
    assert hit["formula"] == "y = m x + b."


@given(st.text())
def test_any_line_is_a_query_or_an_error_of_ours(line: str) -> None:
    try:
        assert isinstance(parse(line, "stdin:1").latex, str)
    except CommandError:
        assert line.strip().startswith('{"')


@given(st.text(), st.none() | st.text() | st.integers())
def test_json_line_is_read_back(latex: str, query_id: str | int | None) -> None:
    assert parse(json.dumps({"latex": latex, "query_id": query_id}), "stdin:1") == Query(latex, query_id)


@pytest.mark.parametrize("line", ['{"latex": "x"', '{"query_id": 1}', '{"latex": "x", "query_id": [1]}', '{"":' * 9000])
def test_broken_json_is_named(line: str) -> None:
    with pytest.raises(CommandError, match=r"^stdin:1: "):
        parse(line, "stdin:1")


@given(st.text(), st.integers(3, 50))
def test_shown_text_is_one_printable_line_that_fits(text: str, width: int) -> None:
    shown = fit(plain(text), width)
    assert len(shown) <= width
    assert shown.isprintable()
