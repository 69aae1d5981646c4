from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import corpus
from index.corpus import Corpus, CorpusError, group_hash

QUICK = settings(deadline=None, max_examples=50)
Write = Callable[..., Path]
Row = tuple[int, int, str, bool, str]


def rows(source: Corpus) -> list[Row]:
    """Everything a corpus yields: id, visual group, type, withheld, formula."""
    return [
        (int(i), int(v), corpus.KINDS[k], bool(w), f)
        for c in source.chunks()
        for i, v, k, w, f in zip(c.ids, c.visual, c.kinds, c.withheld, c.formulas, strict=True)
    ]


HEAD = b"id\tpost_id\tthread_id\ttype\tcomment_id\told_visual_id\tvisual_id\tissue\tformula\n"
GOOD = b"5\t1\t1\tanswer\t\t9\t9\t\tx^2\n"
KEPT = (5, 9, "answer", False, "x^2")

# raw bytes after the header -> bad rows, counts of oddities, rows kept, first example
MALFORMED: dict[str, tuple[bytes, int, list[Row], str]] = {
    "too few fields": (b"6\t1\tanswer\n" + GOOD, 1, [KEPT], "line 2: 3 fields, expected 9"),
    "too many fields": (b"6\t1\t1\tanswer\t\t9\t9\t\tx\ty\n" + GOOD, 1, [KEPT], "line 2: 10 fields, expected 9"),
    "id not a number": (GOOD + b"six\t1\t1\tanswer\t\t9\t9\t\tx\n", 1, [KEPT], "line 3: id 'six', expected a decimal"),
    "id empty": (GOOD + b"\t1\t1\tanswer\t\t9\t9\t\tx\n", 1, [KEPT], "line 3: id '', expected a decimal"),
    "id negative": (GOOD + b"-6\t1\t1\tanswer\t\t9\t9\t\tx\n", 1, [KEPT], "line 3: id '-6', expected a decimal"),
    "id with a sign": (GOOD + b"+6\t1\t1\tanswer\t\t9\t9\t\tx\n", 1, [KEPT], "line 3: id '+6', expected a decimal"),
    "id with underscore": (b"1_0\t1\t1\tanswer\t\t9\t9\t\tx\n" + GOOD, 1, [KEPT], "line 2: id '1_0', expected"),
    "id with leading zero": (b"06\t1\t1\tanswer\t\t9\t9\t\tx\n" + GOOD, 1, [KEPT], "line 2: id '06', expected"),
    "id of other digits": ("٣\t1\t1\tanswer\t\t9\t9\t\tx\n".encode() + GOOD, 1, [KEPT], r"line 2: id '\u0663', exp"),
    "id too large": (b"9223372036854775808\t1\t1\tanswer\t\t9\t9\t\tx\n" + GOOD, 1, [KEPT], "line 2: id '92233720"),
    "NUL in the id": (b"6\x00\t1\t1\tanswer\t\t9\t9\t\tx\n" + GOOD, 1, [KEPT], r"line 2: id '6\x00', expected"),
    "bad UTF-8 in the id": (b"6\xff\t1\t1\tanswer\t\t9\t9\t\tx\n" + GOOD, 1, [KEPT], r"line 2: id '6\udcff', exp"),
    "blank lines": (b"\n" + GOOD + b"\n\n", 0, [KEPT], ""),
    "NUL in the formula": (b"5\t1\t1\tanswer\t\t9\t9\t\tx\x00\n", 0, [(5, 9, "answer", False, "x\x00")], ""),
    "bad UTF-8": (b"5\t1\t1\tanswer\t\t9\t9\t\tx\xff\xc3\n", 0, [(5, 9, "answer", False, "x\ufffd\ufffd")], ""),
    "visual id not a number": (
        b"5\t1\t1\tanswer\t\t9\tnone\t\tx^2\n", 0, [(5, group_hash("x^2"), "answer", False, "x^2")], ""
    ),
    "visual id too large": (
        b"5\t1\t1\tanswer\t\t9\t9223372036854775808\t\tx\n", 0, [(5, group_hash("x"), "answer", False, "x")], ""
    ),
    "unknown type": (b"5\t1\t1\tpoem\t\t9\t9\t\tx\n", 0, [(5, 9, "other", False, "x")], ""),
    "quote left open": (
        GOOD + b'6\t1\t1\tanswer\t\t9\t9\t\t"x\n7\t1', 0, [KEPT, (6, 9, "answer", False, "x\n7\t1")], ""
    ),
    "cut in the middle of a row": (GOOD + b"6\t1\t1\tans", 1, [KEPT], "line 3: 4 fields, expected 9"),
    "header alone": (b"", 0, [], ""),
    "header repeated": (HEAD + GOOD, 1, [KEPT], "line 2: id 'id', expected a decimal"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_gives_what_can_be_read(name: str, write_tsv: Write) -> None:
    raw, bad, kept, example = MALFORMED[name]
    source = Corpus(write_tsv(HEAD + raw))
    assert rows(source) == kept
    assert source.notes.bad == bad
    assert source.notes.rows == len(kept)
    assert (source.notes.examples or [""])[0].startswith(example)
    assert len(source.notes.examples) == bad


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (None, "cannot be read: No such file"),
        (b"", "the file is empty"),
        (b"id\ttype\tlatex\n1\ta\tx\n", "column 'formula' is missing; the header holds: id, type, latex"),
        (b"type\tformula\n", "column 'id' is missing"),
        (b"id\tformula\n", "column 'type' is missing"),
        (b"id,type,formula\n1,answer,x\n", "column 'id' is missing; the header holds: id,type,formula"),
        (b"1\t1\t1\tanswer\t\t9\t9\t\tx\n", "column 'id' is missing"),
        ("id\ttype\tformula\n".encode("utf-16"), "column 'id' is missing"),
        (b"\x1f\x8b\x08\x00\xff\xfe" * 40, "column 'id' is missing"),
    ],
)
def test_a_file_that_is_no_collection_is_refused_in_one_line(raw: bytes | None, message: str, write_tsv: Write) -> None:
    folder = write_tsv(raw or b"")
    if raw is None:
        (folder / "formulas.tsv").unlink()
    with pytest.raises(CorpusError) as caught:
        Corpus(folder)
    text = str(caught.value)
    assert text.startswith(str(folder / "formulas.tsv"))
    assert message in text
    assert "\n" not in text


def test_all_versions_of_the_format_are_read(write_tsv: Write) -> None:
    v1 = Corpus(write_tsv([(3, 1, 1, "title", "x^2")], ["id", "post_id", "thread_id", "type", "formula"], "v1"))
    v2 = Corpus(
        write_tsv([(3, 1, 1, "title", 8, "x^2")], ["id", "post_id", "thread_id", "type", "visual_id", "formula"], "v2")
    )
    assert rows(v1) == [(3, group_hash("x^{2}"), "title", False, "x^2")]
    assert rows(v2) == [(3, 8, "title", False, "x^2")]


def test_a_hashed_group_is_never_a_real_one() -> None:
    hashes = {group_hash(f) for f in ("", "x", "y", "x^2", "\ud800", "{" * 9000)}
    assert all(-(2**63) <= h < 0 for h in hashes)
    assert len(hashes) >= 4


def test_byte_order_mark_and_crlf(write_tsv: Write) -> None:
    raw = b"\xef\xbb\xbf" + (HEAD + GOOD + b'6\t1\t1\tcomment\t\t9\t9\tdv\t"a\r\nb\t""c"""\n').replace(b"\n", b"\r\n")
    assert rows(Corpus(write_tsv(raw))) == [KEPT, (6, 9, "comment", True, 'a\r\r\nb\t"c"')]


def test_lines_are_counted_through_quoted_newlines(write_tsv: Write) -> None:
    raw = HEAD + b'5\t1\t1\tanswer\t\t9\t9\t\t"a\nb\n\nc"\n' + b"bad\n" + GOOD + b"worse\n"
    source = Corpus(write_tsv(raw))
    assert len(rows(source)) == 2
    assert [e.split(":")[0] for e in source.notes.examples] == ["line 6", "line 8"]


def test_an_endless_quote_costs_what_it_swallowed_and_no_more(
    write_tsv: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "LONGEST_FIELD", 1000)
    swallowed = b'6\t1\t1\tanswer\t\t9\t9\t\t"x\n' + GOOD * 60
    source = Corpus(write_tsv(HEAD + GOOD + swallowed + GOOD * 40))
    kept = rows(source)
    assert kept[0] == KEPT
    assert 40 < len(kept) < 100
    assert source.notes.bad == 1
    assert "an open quote?" in source.notes.examples[0]
    monkeypatch.undo()
    Corpus(write_tsv(HEAD))  # the csv module's limit is its own again


def test_only_the_first_bad_rows_are_quoted(write_tsv: Write) -> None:
    source = Corpus(write_tsv(HEAD + b"bad\n" * 20 + GOOD))
    assert rows(source) == [KEPT]
    assert source.notes.bad == 20
    assert source.notes.summary().startswith("1 rows, 20 bad rows skipped (line 2: 1 fields, expected 9; ")
    assert source.notes.summary().endswith("; ...)")


def test_one_bad_row_in_a_chunk_changes_nothing_for_the_others(
    write_tsv: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "ROWS", 4)
    lines = [b"%d\t1\t1\t%s\t\t9\t%d\t%s\tx_%d\n" % (i, b"comment", i % 5, b"d" * (i % 2), i) for i in range(1, 40)]
    whole = rows(Corpus(write_tsv(HEAD + b"".join(lines))))
    broken = Corpus(write_tsv(HEAD + b"".join([*lines[:17], b"bad\n", *lines[17:]])))
    assert rows(broken) == whole
    assert len(whole) == 39
    assert broken.notes.examples == ["line 19: 1 fields, expected 9"]


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
ID = st.integers(0, 2**63 - 1)
KIND, ISSUE = st.sampled_from(["question", "answer", "title", "comment"]), st.sampled_from(["", "d", "dv", "v"])
ROW = st.tuples(ID, ID, KIND, ISSUE, CELL)


@QUICK
@given(
    st.permutations(["id", "visual_id", "type", "issue", "formula", "extra"]),
    st.lists(ROW, min_size=1, max_size=8),
    # csv's writer leaves a lone "\r" bare where lines end in "\n", and no csv reader can tell it from an end of
    # line, so there everything is quoted.
    st.sampled_from(["\r\n", "\n"]),
)
def test_what_csv_writes_is_read_in_any_column_order(
    tmp_path_factory: pytest.TempPathFactory,
    order: list[str],
    data: list[tuple[int, int, str, str, str]],
    end: str,
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator=end, quoting=csv.QUOTE_ALL)
    if end == "\r\n":
        writer = csv.writer(text, delimiter="\t", lineterminator=end, quoting=csv.QUOTE_MINIMAL)
    writer.writerow(order)
    for number, visual, kind, issue, formula in data:
        cells = {"id": number, "visual_id": visual, "type": kind, "issue": issue, "formula": formula, "extra": "\t"}
        writer.writerow([cells[name] for name in order])
    folder = tmp_path_factory.mktemp("any")
    (folder / "formulas.tsv").write_bytes(text.getvalue().encode())
    expected = [(i, v, k, issue in ("d", "dv"), f) for i, v, k, issue, f in data]
    source = Corpus(folder)
    assert rows(source) == expected
    assert rows(source) == expected  # a second pass
    assert source.notes.bad == 0


def test_mini_is_read_whole(mini: Path) -> None:
    source = Corpus(mini)
    total = sum(len(c) for c in source.chunks())
    assert (total, source.notes.bad, dict(source.notes.odd)) == (81_105, 0, {})
    assert source.position == source.size
