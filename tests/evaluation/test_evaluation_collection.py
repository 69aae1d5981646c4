"""Reading queries, qrels and the visual map, well-formed and not."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluation.collection import NO_GROUP, Query, VisualMap, parse_id, read_qrels, read_queries, read_visual_map
from evaluation.errors import EvaluationError

MINI = Path(__file__).resolve().parents[3] / "shared" / "arqmath-mini"


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("12", 12),
        ("9" * 18, 10**18 - 1),
        ("012", None),
        ("00", None),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1.0", None),
        (" 1", None),
        ("1_0", None),
        ("²", None),
        ("١", None),
        ("9" * 19, None),
        (str(2**63 - 1), 2**63 - 1),
        (str(2**63), None),
    ],
)
def test_parse_id(text: str, number: int | None) -> None:
    assert parse_id(text) == number


def test_queries_with_bom_crlf_blank_lines_and_other_fields(tmp_path: Path) -> None:
    path = put(
        tmp_path / "q.jsonl",
        '\ufeff{"query_id": "B.1", "latex": "x^2", "year": 2020}\r\n\r\n{"query_id":"B.2","latex":""}',
    )
    assert read_queries(path) == [Query("B.1", "x^2"), Query("B.2", "")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x^2", "expected one JSON object, got 'x^2'"),
        ("[1]", "expected one JSON object"),
        ("[" * 100_000, "expected one JSON object"),
        ('{"latex": "x"}', "expected a string query_id without blanks, got None"),
        ('{"query_id": 7, "latex": "x"}', "expected a string query_id without blanks, got 7"),
        ('{"query_id": "", "latex": "x"}', "without blanks, got ''"),
        ('{"query_id": "B 1", "latex": "x"}', "without blanks, got 'B 1'"),
        ('{"query_id": "B.1"}', "expected a string latex, got 'None'"),
        ('{"query_id": "B.1", "latex": ["x"]}', "expected a string latex"),
        ('{"query_id": "B.0", "latex": "y"}', "query_id B.0 occurs a second time"),
    ],
)
def test_malformed_query_names_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = put(tmp_path / "q.jsonl", '{"query_id": "B.0", "latex": "x"}\n' + line + "\n")
    with pytest.raises(EvaluationError) as caught:
        read_queries(path)
    assert str(caught.value).startswith(f"{path} line 2: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_qrels_with_tabs_blanks_crlf_and_harmless_repeats(tmp_path: Path) -> None:
    path = put(tmp_path / "q.tsv", "B.2\t0\t17\t3\r\nB.1 0 5 0.0\nB.2 0 17 3\nB.2 0 18 1\n")
    assert read_qrels(path) == {"B.2": {17: 3, 18: 1}, "B.1": {5: 0}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("B.1 0 5", "expected 4 fields 'qid 0 visual_id grade', got 3"),
        ("B.1 0 5 1 x", "got 5"),
        ("B.1 0 five 1", "expected an unsigned decimal visual_id, got 'five'"),
        ("B.1 0 -5 1", "expected an unsigned decimal visual_id, got '-5'"),
        ("B.1 0 5 4", "expected a grade 0, 1, 2 or 3, got '4'"),
        ("B.1 0 5 -1", "got '-1'"),
        ("B.1 0 5 2.5", "got '2.5'"),
        ("B.1 0 5 nan", "got 'nan'"),
        ("B.0 0 7 1", "topic B.0 grades visual_id 7 a second time, differently"),
    ],
)
def test_malformed_qrels_name_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = put(tmp_path / "q.tsv", "B.0 0 7 2\n\n" + line + "\n")
    with pytest.raises(EvaluationError) as caught:
        read_qrels(path)
    assert str(caught.value).startswith(f"{path} line 3: ")
    assert message in str(caught.value)


def test_empty_and_foreign_files(tmp_path: Path) -> None:
    empty = put(tmp_path / "empty", "\n \n")
    with pytest.raises(EvaluationError, match="expected at least one query"):
        read_queries(empty)
    with pytest.raises(EvaluationError, match="expected at least one judgement"):
        read_qrels(empty)
    with pytest.raises(EvaluationError, match="expected UTF-8 text"):
        read_qrels(put(tmp_path / "binary", b"B.1 0 5 1\n\xff\xfe\n"))


def test_visual_map_by_header_with_quoting(tmp_path: Path) -> None:
    path = put(
        tmp_path / "formulas.tsv",
        '\ufeffformula\tvisual_id\textra\tid\r\n"a ""q""\tb\nc"\t70\t\t12\r\nx\t71\t\t3\r\ny\t70\t\t40\r\n',
    )
    visuals = read_visual_map(path)
    assert visuals.formula_ids.tolist() == [3, 12, 40]
    assert visuals.visual_ids.tolist() == [71, 70, 70]
    assert (visuals.formula_ids.dtype, visuals.visual_ids.dtype, visuals.skipped) == (np.int64, np.int64, 0)
    assert visuals.groups(["40", "12", "3", "40"]) == [70, 70, 71, 70]
    assert visuals.groups([]) == []


def test_unreadable_rows_are_counted_and_missing_groups_marked(tmp_path: Path) -> None:
    path = put(tmp_path / "f.tsv", "id\tvisual_id\n1\t10\nx\t11\n2\n\n-3\t12\n4\t\n5\tnone\n")
    visuals = read_visual_map(path)
    assert visuals.formula_ids.tolist() == [1, 4, 5]
    assert visuals.groups(["4", "5", "1"]) == [NO_GROUP, NO_GROUP, 10]
    assert visuals.skipped == 3


def test_last_row_of_a_repeated_id_counts(tmp_path: Path) -> None:
    path = put(tmp_path / "f.tsv", "id\tvisual_id\n7\t1\n5\t2\n7\t3\n")
    assert read_visual_map(path).groups(["7", "5"]) == [3, 2]


@pytest.mark.parametrize("unknown", ["0", "4", "99", "05", "x", "", "-1", "9" * 30])
def test_formula_outside_the_collection_is_refused(unknown: str) -> None:
    visuals = VisualMap.from_rows(np.array([3, 5], dtype=np.int64), np.array([1, 2], dtype=np.int64))
    with pytest.raises(EvaluationError, match="is not in the collection") as caught:
        visuals.groups(["3", unknown, "5"])
    assert repr(unknown)[:20] in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1: expected a header with id and visual_id, got []"),
        ("id\told_visual_id\n1\t2\n", "line 1: expected a header with id and visual_id"),
        ("1\t2\n", "line 1: expected a header"),
        ("id\tvisual_id\n", "expected at least one row"),
        ("id\tvisual_id\nx\t2\n", "expected at least one row with an unsigned decimal id, skipped 1"),
    ],
)
def test_unusable_collection(tmp_path: Path, content: str, message: str) -> None:
    path = put(tmp_path / "f.tsv", content)
    with pytest.raises(EvaluationError) as caught:
        read_visual_map(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_field_limit_of_csv_is_lifted_and_restored(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    path = put(tmp_path / "f.tsv", f"id\tvisual_id\tformula\n1\t2\t{'x' * (limit + 1)}\n")
    assert read_visual_map(path).groups(["1"]) == [2]
    assert csv.field_size_limit() == limit


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 10**15),
            st.integers(0, 10**15),
            st.text(st.characters(codec="utf-8", exclude_characters="\x00")),
        ),
        min_size=1,
        unique_by=lambda row: row[0],
    )
)
def test_any_collection_the_csv_module_writes_is_read_back(tmp_path: Path, rows: list[tuple[int, int, str]]) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter="\t")
    writer.writerows([("id", "visual_id", "formula"), *rows])
    visuals = read_visual_map(put(tmp_path / "f.tsv", buffer.getvalue()))
    assert visuals.groups(str(row[0]) for row in rows) == [row[1] for row in rows]


def test_real_collection() -> None:
    if not MINI.is_dir():
        pytest.skip("../shared/arqmath-mini is not here")
    visuals = read_visual_map(MINI / "formulas.tsv")
    assert (len(visuals.formula_ids), len(np.unique(visuals.visual_ids)), visuals.skipped) == (81_105, 40_593, 0)
    for year, topics in (("2020", 32), ("2021", 56)):
        qrels, queries = read_qrels(MINI / f"qrels-{year}.tsv"), read_queries(MINI / f"queries-{year}.jsonl")
        assert {query.query_id for query in queries} == set(qrels)
        assert len(qrels) == topics
        assert np.isin([group for row in qrels.values() for group in row], visuals.visual_ids).all()
