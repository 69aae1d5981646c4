"""The whole run: the output's shape, and that a run over changed files ends as a fresh one does."""

import csv
import json
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collect import CollectError, collect
from collect.__main__ import main
from collect.store import HEADER, SQLITE, TSV
from encoder.latex import canonical

DUMP = (
    '<posts>\n<row Id="70" PostTypeId="1" Title="On $p$" Body="$q$"/>\n'
    '<row Id="90" PostTypeId="2" ParentId="70" Body="$r$ and $q$"/>\n</posts>'
)


def rows(out: Path) -> list[dict[str, str]]:
    with (out / TSV).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def output(out: Path) -> tuple[bytes, bytes]:
    return (out / TSV).read_bytes(), (out / SQLITE).read_bytes()


def test_the_contracts_columns_and_where_formulas_stand(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "b.md").write_text('one $a$\ntwo $x = "q"$ and $a$')
    (docs / "Posts.xml").write_text(DUMP)
    (docs / "z.tex").write_text("no formula")
    report = collect([docs], tmp_path / "out")
    assert (report.formulas, report.documents, report.read, report.written) == (7, 3, 3, True)
    got = rows(tmp_path / "out")
    assert tuple(got[0]) == HEADER
    assert [row["id"] for row in got] == list("1234567")
    assert [(row["type"], row["post_id"], row["thread_id"], row["formula"]) for row in got] == [
        ("title", "70", "70", "p"), ("question", "70", "70", "q"), ("answer", "90", "70", "r"),
        ("answer", "90", "70", "q"), ("question", "91", "91", "a"), ("question", "91", "91", 'x = "q"'),
        ("question", "91", "91", "a"),
    ]  # fmt: skip
    groups = {canonical(row["formula"]): row["visual_id"] for row in got}
    assert len(set(groups.values())) == len(groups) == 5
    assert all(row["visual_id"] == groups[canonical(row["formula"])] for row in got)
    assert all(0 <= int(row["visual_id"]) < 2**63 for row in got)
    db = sqlite3.connect(tmp_path / "out" / SQLITE)
    hit = db.execute(
        'SELECT root, path, c.line, "column", before, after FROM contexts c JOIN documents USING (post_id) '
        "WHERE formula_id = 7"
    ).fetchone()
    assert hit == (str(docs.resolve()), "b.md", 2, 19, 'one $a$ two $x = "q"$ and', "")
    assert db.execute("SELECT external_id, title, line FROM documents ORDER BY post_id").fetchall() == [
        (70, "On $p$", 2), (90, "", 3), (None, "", 1),
    ]  # fmt: skip


def test_what_cannot_be_read_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("$a$")
    (docs / "b.md").write_bytes(b"\0\1")
    (docs / "c.ipynb").write_text("{")
    (docs / "d.xml").write_text("<posts><row Id='1' PostTypeId='1' Body='$d$'/>")
    (docs / "e.tex").write_text("$e$" * 1000)
    report = collect([docs], tmp_path / "out", largest=2000)
    assert [row["formula"] for row in rows(tmp_path / "out")] == ["a"]
    assert [Path(place).name for place, _ in report.skipped] == ["b.md", "c.ipynb", "d.xml", "e.tex"]


def test_only_what_changed_is_read_and_nothing_is_written_if_nothing_did(tmp_path: Path) -> None:
    docs, out = tmp_path / "docs", tmp_path / "out"
    docs.mkdir()
    (docs / "a.md").write_text("$a$")
    (docs / "main.tex").write_text(r"\input{defs} $\x$")
    (docs / "defs.tex").write_text(r"\def\x{1}")
    assert collect([docs], out).read == 3
    before = (out / TSV).stat().st_mtime_ns
    again = collect([docs], out)
    assert (again.read, again.reused, again.written) == (0, 3, False)
    assert (out / TSV).stat().st_mtime_ns == before
    (docs / "defs.tex").write_text(r"\def\x{2}")
    changed = collect([docs], out)
    assert (changed.read, changed.reused, changed.written) == (2, 1, True)
    assert [row["formula"] for row in rows(out)] == ["a", "2"]
    (out / TSV).unlink()
    assert collect([docs], out).written
    (out / "collect-cache.sqlite").write_bytes(b"no database")
    assert collect([docs], out).read == 3


NAMES = ("a.md", "b/c.tex", "b/d.tex", "e.rst", "f.xml", "g.html")
TEXTS = (
    "", "$a$", r"\input{d} $\x$ $a$", r"\def\x{b} $c$", ":math:`d` $e$", DUMP, DUMP.replace("90", "75"), "<p>$a_1$</p>",
)  # fmt: skip


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.sampled_from(NAMES), st.sampled_from(TEXTS) | st.none()), min_size=2, max_size=4))
def test_a_later_run_ends_like_a_fresh_one(tmp_path_factory: pytest.TempPathFactory, edits: list[dict]) -> None:
    top = tmp_path_factory.mktemp("tree")
    docs, out = top / "docs", top / "out"
    (docs / "b").mkdir(parents=True)
    for edit in edits:
        for name, text in edit.items():
            if text is None:
                (docs / name).unlink(missing_ok=True)
            else:
                (docs / name).write_text(text)
        collect([docs], out)
    fresh = top / "fresh"
    collect([docs], fresh)
    assert output(out) == output(fresh)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.md").write_text("$a$")
    (tmp_path / "b.ipynb").write_text("{")
    assert main([str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["formulas"] == 1
    assert "b.ipynb: not a notebook" in printed.err
    assert main([str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(CollectError, match="cannot be written"):
        collect([tmp_path], tmp_path / "a.md" / "out")
