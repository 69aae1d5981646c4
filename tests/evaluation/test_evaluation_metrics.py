"""The prime metrics: worked examples, a public implementation and the consumer's own code as oracles."""

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluation.metrics import (
    DEPTH,
    METRICS,
    TopicScores,
    average_precision,
    column,
    dcg,
    distinct,
    means,
    ndcg,
    score_run,
    score_topic,
)
from evaluation.runs import write_run

VERIFY = Path(__file__).resolve().parents[3] / "shared" / "verify" / "verify.py"

JUDGEMENTS = st.dictionaries(st.integers(0, 40), st.integers(0, 3), min_size=1, max_size=25)
GROUPS = st.lists(st.integers(0, 60), max_size=80)


@pytest.fixture(scope="module")
def verify() -> ModuleType:
    if not VERIFY.exists():
        pytest.skip("../shared/verify/verify.py is not here")
    spec = importlib.util.spec_from_file_location("consumer_verify", VERIFY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes
    return module


def test_worked_example_of_the_module() -> None:
    scores = score_topic([9, 2, 1, 9], {1: 3, 2: 0, 3: 2})
    assert scores.ndcg == pytest.approx((3 / math.log2(3)) / (3 + 2 / math.log2(3)))
    assert scores.ndcg == pytest.approx(0.444, abs=5e-4)
    assert scores == TopicScores(scores.ndcg, 0.25, 0.1, 0.2, 2 / 3, 0.5)


def test_perfect_ranking_scores_one() -> None:
    scores = score_topic([1, 2, 3], {1: 3, 2: 2, 3: 1})
    assert (scores.ndcg, scores.ap, scores.judged_recall, scores.relevant_recall) == (1.0, 1.0, 1.0, 1.0)
    assert (scores.p10, scores.judged10) == (0.2, 0.3)


def test_dcg_has_linear_gains_and_log2_discount() -> None:
    assert dcg([3, 0, 2, 1]) == pytest.approx(3 / 1 + 0 + 2 / 2 + 1 / math.log2(5))


def test_ideal_counts_judgements_that_were_not_found() -> None:
    assert ndcg([3], {1: 3, 2: 3}) == pytest.approx(3 / (3 + 3 / math.log2(3)))


def test_average_precision_by_hand() -> None:
    # Relevant at judged ranks 1, 3 and 4 of four relevant ones: (1/1 + 2/3 + 3/4) / 4.
    assert average_precision([2, 1, 3, 2], {1: 2, 2: 1, 3: 3, 4: 2, 5: 2}) == pytest.approx((1 + 2 / 3 + 3 / 4) / 4)


def test_grade_one_gains_but_is_not_relevant() -> None:
    scores = score_topic([1], {1: 1, 2: 3})
    assert (scores.ap, scores.p10, scores.relevant_recall) == (0.0, 0.0, 0.0)
    assert scores.ndcg > 0


def test_judged_zero_pushes_down_and_unjudged_does_not() -> None:
    assert score_topic([7, 8, 9, 1], {1: 3, 2: 0}).ndcg == 1.0
    assert score_topic([2, 1], {1: 3, 2: 0}).ndcg == pytest.approx(1 / math.log2(3))


def test_repeated_group_keeps_its_first_rank_only() -> None:
    assert distinct([5, 3, 5, 1, 3]) == [5, 3, 1]
    assert score_topic([2, 2, 2, 1], {1: 3, 2: 0}) == score_topic([2, 1], {1: 3, 2: 0})


def test_p10_looks_at_judged_groups_and_judged10_at_all() -> None:
    scores = score_topic([*range(100, 110), 1, 2], {1: 3, 2: 2})
    assert (scores.p10, scores.judged10) == (0.2, 0.0)


def test_results_beyond_the_depth_do_not_count() -> None:
    unjudged = list(range(1000, 1000 + DEPTH - 1))
    assert score_topic([*unjudged, 1], {1: 3}).relevant_recall == 1.0
    assert score_topic([*unjudged, 5, 1], {1: 3}).relevant_recall == 0.0


def test_topic_without_answer_scores_zero_and_order_is_that_of_the_qrels() -> None:
    scores = score_run({"b": [1], "unjudged": [1]}, {"b": {1: 3}, "a": {1: 3}})
    assert list(scores) == ["b", "a"]
    assert scores["a"] == TopicScores(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def test_topic_without_relevant_groups_has_no_average_precision_answered_or_not() -> None:
    scores = score_run({"t": [1], "r": [2]}, {"t": {1: 1}, "none": {1: 0}, "r": {2: 2}})
    assert (scores["t"].ap, scores["none"].ap, scores["none"].ndcg) == (None, None, 0.0)
    mean = means(scores)
    assert (mean["ap"], mean["relevant_recall"]) == (1.0, 1.0)
    assert mean["ndcg"] == pytest.approx(2 / 3)
    assert list(column(scores, "ap")) == ["r"]
    assert list(column(scores, "ndcg")) == ["t", "none", "r"]


def test_means_without_values_are_zero() -> None:
    assert means({}) == dict.fromkeys(METRICS, 0.0)
    assert means(score_run({}, {"t": {1: 0}}))["ap"] == 0.0


def test_metrics_name_the_fields_in_order() -> None:
    assert list(METRICS) == list(TopicScores.__dataclass_fields__)


def test_unusable_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="without judgements"):
        score_topic([1], {})
    with pytest.raises(ValueError, match="'bleu': expected one of ndcg"):
        column({}, "bleu")


@given(groups=GROUPS, judgements=JUDGEMENTS)
def test_bounds_and_irrelevance_of_unjudged_groups(groups: list[int], judgements: dict[int, int]) -> None:
    scores = score_topic(groups, judgements)
    for name in METRICS:
        value = getattr(scores, name)
        assert value is None or 0.0 <= value <= 1.0 + 1e-12
    without = score_topic([group for group in groups if group in judgements], judgements)
    assert (without.ndcg, without.ap, without.p10) == (scores.ndcg, scores.ap, scores.p10)
    ideal = sorted(judgements, key=lambda group: -judgements[group])
    assert scores.ndcg <= score_topic(ideal, judgements).ndcg + 1e-12


@given(groups=GROUPS, judgements=JUDGEMENTS)
def test_agrees_with_the_consumer(verify: ModuleType, groups: list[int], judgements: dict[int, int]) -> None:
    # Formula i belongs to group i // 2, so that two instances of one group occur.
    results = [{"formula_id": str(formula), "score": 0.0} for formula in groups]
    visual = {str(formula): str(formula // 2) for formula in range(61)}
    theirs = verify.prime_metrics(results, {str(v): grade for v, grade in judgements.items()}, visual)
    ours = score_topic([formula // 2 for formula in groups], judgements)
    assert ours.ndcg == pytest.approx(theirs["ndcg"], abs=1e-12)
    assert ours.ap == (None if theirs["map"] is None else pytest.approx(theirs["map"], abs=1e-12))
    assert (ours.p10, ours.judged10, ours.judged_recall) == (theirs["p10"], theirs["judged10"], theirs["judged_recall"])


def public_scores(run: Any, judgements: dict[int, int]) -> dict[str, float]:
    """What ir-measures (over pytrec_eval) says of one topic `t`, by field of `TopicScores`."""
    ir_measures = pytest.importorskip("ir_measures", reason="the package ir-measures is not installed")
    pytest.importorskip("pytrec_eval", reason="the package pytrec-eval-terrier is not installed")
    measures = {
        "ndcg": ir_measures.nDCG(judged_only=True),
        "ap": ir_measures.AP(rel=2, judged_only=True),
        "p10": ir_measures.P(rel=2, judged_only=True) @ 10,
        "judged10": ir_measures.Judged @ 10,
    }
    qrels = [ir_measures.Qrel("t", str(group), grade) for group, grade in judgements.items()]
    found = {str(row.measure): row.value for row in ir_measures.iter_calc(measures.values(), qrels, run)}
    return {name: found[str(measure)] for name, measure in measures.items()}


def assert_same(ours: TopicScores, theirs: dict[str, float], returned: int) -> None:
    assert ours.ndcg == pytest.approx(theirs["ndcg"], abs=1e-9)
    # trec_eval gives 0 to a topic without relevant documents, where this package gives no value.
    assert (ours.ap or 0.0) == pytest.approx(theirs["ap"], abs=1e-9)
    assert ours.p10 == pytest.approx(theirs["p10"], abs=1e-9)
    # ir-measures divides by the number returned where that is below 10, the consumer always by 10.
    assert ours.judged10 * 10 == pytest.approx(theirs["judged10"] * min(10, returned), abs=1e-9)


@settings(deadline=None)
@given(groups=GROUPS.filter(bool), judgements=JUDGEMENTS)
def test_agrees_with_ir_measures(groups: list[int], judgements: dict[int, int]) -> None:
    order = distinct(groups)
    run = {"t": {str(group): float(len(order) - rank) for rank, group in enumerate(order)}}
    assert_same(score_topic(groups, judgements), public_scores(run, judgements), len(order))


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(groups=GROUPS.filter(bool), judgements=JUDGEMENTS, data=st.data())
def test_agrees_with_ir_measures_on_written_runs_full_of_ties(
    tmp_path: Path, groups: list[int], judgements: dict[int, int], data: st.DataObject
) -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="the package ir-measures is not installed")
    order = distinct(groups)
    near = st.sampled_from([0.0, 1e-9, 0.5, 0.5 + 1e-12, 0.9, 0.9 + 1e-9, 1e30])
    scores = sorted((data.draw(near) for _ in order), reverse=True)
    path = tmp_path / "ties.run"
    write_run(path, {"t": [(str(group), score) for group, score in zip(order, scores, strict=True)]}, "tag")
    run = list(ir_measures.read_trec_run(str(path)))
    assert_same(score_topic(groups, judgements), public_scores(run, judgements), len(order))
