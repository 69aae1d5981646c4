"""TREC run files."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluation.errors import EvaluationError
from evaluation.runs import decreasing_float32, read_run, write_run

FINITE = st.floats(-1e37, 1e37)


def test_format_of_a_written_run(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    write_run(path, {"B.9": [("12", 0.5), ("7", 0.5), ("3", -2)], "B.1": [("4", 1.0)], "B.2": []}, "dense")
    assert path.read_text() == (
        "B.9 Q0 12 1 0.5 dense\nB.9 Q0 7 2 0.49999997 dense\nB.9 Q0 3 3 -2 dense\nB.1 Q0 4 1 1 dense\n"
    )
    assert list(tmp_path.iterdir()) == [path]


def test_ties_are_separated_by_the_least_float32() -> None:
    below = float(np.nextafter(np.float32(1), np.float32(0)))
    assert decreasing_float32([1.0, 1.0, 0.5]) == [1.0, below, 0.5]
    # Different as float64, equal as float32: the trap.
    assert decreasing_float32([1.0, 1.0 - 1e-12]) == [1.0, below]


def test_a_pushed_down_score_pushes_the_next_one() -> None:
    out = decreasing_float32([1.0, 1.0, 1.0, float(np.nextafter(np.float32(1), np.float32(0)))])
    assert all(later < earlier for earlier, later in itertools.pairwise(out))


def test_scores_beyond_float32_are_clamped_and_a_bottomless_tie_refused() -> None:
    out = decreasing_float32([1e300, 1e200, 0.0])
    assert np.isfinite(out).all()
    assert out[0] > out[1] > out[2]
    with pytest.raises(ValueError, match="cannot be told apart"):
        decreasing_float32([-1e300, -1e301])


@pytest.mark.parametrize("scores", [[1.0, 2.0], [float("nan")], [float("inf")], [1.0, float("nan")], [-float("inf")]])
def test_unusable_scores(scores: list[float]) -> None:
    with pytest.raises(ValueError, match="expected finite scores in descending order"):
        decreasing_float32(scores)


@given(st.lists(FINITE | st.sampled_from([0.0, -0.0, 1e-45, 0.5]), max_size=50))
def test_always_strictly_decreasing_and_near(scores: list[float]) -> None:
    scores = sorted(scores, reverse=True)
    out = np.array(decreasing_float32(scores), dtype=np.float32)
    assert (out[1:] < out[:-1]).all()
    steps = np.spacing(np.abs(np.array(scores, dtype=np.float32))).astype(np.float64)
    # Each value may be pushed one step for each predecessor, and rounds by half a step.
    assert (np.abs(out.astype(np.float64) - np.array(scores)) <= (len(scores) + 1) * steps.max(initial=0)).all()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.from_regex(r"\A[A-Z]\.[0-9]{1,3}\Z"),
        st.dictionaries(st.integers(0, 10**12).map(str), FINITE, min_size=1, max_size=20),
        min_size=1,
        max_size=4,
    )
)
def test_reading_back_gives_the_order_and_the_float32_scores(
    tmp_path: Path, topics: dict[str, dict[str, float]]
) -> None:
    run = {topic: sorted(docs.items(), key=lambda item: -item[1]) for topic, docs in topics.items()}
    write_run(tmp_path / "r", run, "t")
    back = read_run(tmp_path / "r")
    assert list(back) == list(run)
    for topic, ranking in run.items():
        assert [doc for doc, _ in back[topic]] == [doc for doc, _ in ranking]
        wanted = np.array(decreasing_float32([score for _, score in ranking]), dtype=np.float32)
        assert np.array_equal(np.array([score for _, score in back[topic]], dtype=np.float32), wanted)


def test_lines_in_any_order_ranks_from_zero_and_ties(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(b"t Q0 b 2 0.5 x\r\n\r\nt\tQ0\ta\t0\t1e0\tx\r\nt Q0 c 7 0.5 x\r\n")
    assert read_run(tmp_path / "r") == {"t": [("a", 1.0), ("b", 0.5), ("c", 0.5)]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("t Q0 b 2 0.5", "line 2: expected 6 fields 'qid Q0 docid rank score tag', got 5"),
        ("t Q0 b 2 0.5 my tag", "line 2: expected 6 fields"),
        ("t 123 b 2 0.5 x", "line 2: expected Q0 as the second field, got '123'"),
        ("t Q0 b two 0.5 x", "line 2: expected a whole number as rank, got 'two'"),
        ("t Q0 b -1 0.5 x", "got '-1'"),
        ("t Q0 b 1.5 0.5 x", "got '1.5'"),
        ("t Q0 b 2 high x", "line 2: expected a finite number as score, got 'high'"),
        ("t Q0 b 2 nan x", "got 'nan'"),
        ("t Q0 b 2 -inf x", "got '-inf'"),
        ("t Q0 b 1 0.5 x", "line 2: topic t has rank 1 a second time, first on line 1"),
        ("t Q0 a 2 0.5 x", "line 2: topic t has document a a second time"),
        ("t Q0 b 2 1.5 x", "line 2: expected scores to fall with rank, rank 2 rises"),
    ],
)
def test_malformed_run_names_file_and_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "bad.run"
    path.write_text(f"t Q0 a 1 1.0 x\n{line}\n")
    with pytest.raises(EvaluationError) as caught:
        read_run(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_run_without_results(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("\n")
    with pytest.raises(EvaluationError, match="expected at least one result"):
        read_run(tmp_path / "r")


@pytest.mark.parametrize(
    ("run", "tag", "message"),
    [
        ({"a b": [("1", 1.0)]}, "x", "expected fields without blanks, got 'a b'"),
        ({"t": [("", 1.0)]}, "x", "got ''"),
        ({"t": [("1", 1.0)]}, "x\n", "expected a tag without blanks"),
        ({}, "", "expected a tag without blanks, got ''"),
        ({"t": [("1", 1.0), ("1", 0.5)]}, "x", "topic t: expected distinct documents"),
        ({"t": [("1", 1.0), ("2", 2.0)]}, "x", "topic t: expected finite scores in descending order"),
    ],
)
def test_unwritable_run_leaves_the_old_file_alone(
    tmp_path: Path, run: dict[str, list[tuple[str, float]]], tag: str, message: str
) -> None:
    path = tmp_path / "r"
    path.write_text("old")
    with pytest.raises(EvaluationError, match=message):
        write_run(path, run, tag)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
