"""The paired comparison."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.compare import EXACT_TOPICS, LEAST_PERMUTATIONS, all_signs, compare, sign_flip_test

GRID = st.integers(-8, 8).map(lambda eighths: eighths / 8)


def by_topic(values: list[float]) -> dict[str, float]:
    return {str(topic): value for topic, value in enumerate(values)}


def test_all_signs_are_all_and_distinct() -> None:
    signs = all_signs(3)
    assert {tuple(row) for row in signs.tolist()} == set(itertools.product((-1.0, 1.0), repeat=3))
    assert all_signs(0).shape == (1, 0)


def test_exact_p_by_hand() -> None:
    # Of the 8 signings of (.1, .2, .3) only +++ and --- reach a sum of .6.
    assert sign_flip_test(np.array([0.1, 0.2, 0.3])) == (0.25, 8, True)
    # .1 + .2 - .3 = 0 is reached by every signing.
    assert sign_flip_test(np.array([0.1, 0.2, -0.3])) == (1.0, 8, True)
    # (.1, .3, -.1): sums of at least .3: 3 with +.3 but --, and the mirror images: 6 of 8.
    assert sign_flip_test(np.array([0.1, 0.3, -0.1]))[0] == 0.75


def test_equal_systems_have_p_one() -> None:
    scores = by_topic([0.5] * 30)
    result = compare(scores, scores)
    assert (result.p, result.wins, result.ties, result.losses, result.difference) == (1.0, 0, 30, 0, 0.0)


def test_comparison_by_hand() -> None:
    result = compare(by_topic([0.5, 0.75, 0.25, 1.0]), by_topic([0.25, 0.75, 0.5, 0.5]))
    assert (result.topics, result.mean, result.baseline, result.difference) == (4, 0.625, 0.5, 0.125)
    assert (result.wins, result.ties, result.losses) == (2, 1, 1)
    # Differences (.25, -.25, .5): |sum| >= .5 for 6 of 8 signings.
    assert (result.p, result.assignments, result.exact) == (0.75, 8, True)


def test_pairs_by_topic_not_by_position() -> None:
    result = compare({"a": 1.0, "b": 0.0}, {"b": 0.0, "a": 1.0})
    assert (result.ties, result.difference) == (2, 0.0)


def test_rounding_is_a_tie() -> None:
    assert compare({"a": 0.1 + 0.2}, {"a": 0.3}).ties == 1


def test_sampled_p_is_near_the_exact_one_and_repeats_with_its_seed() -> None:
    differences = np.random.default_rng(3).normal(0.02, 0.1, EXACT_TOPICS + 4)
    sums = all_signs(len(differences)) @ differences
    exact = float(np.mean(np.abs(sums) >= abs(differences.sum()) - 1e-12))
    p, assignments, is_exact = sign_flip_test(differences, 40_000, seed=1)
    assert (assignments, is_exact) == (40_000, False)
    # Five standard errors of a share among 40,000.
    assert abs(p - exact) < 5 * math.sqrt(exact * (1 - exact) / 40_000)
    assert sign_flip_test(differences, 40_000, seed=1)[0] == p
    assert sign_flip_test(differences, 40_000, seed=2)[0] != p


def test_sampled_p_is_never_zero() -> None:
    p, assignments, exact = sign_flip_test(np.full(60, 0.25), 10_000)
    assert (p, assignments, exact) == (1 / 10_001, 10_000, False)


def test_topics_that_tie_do_not_force_sampling() -> None:
    differences = np.array([0.0] * 50 + [0.5] * EXACT_TOPICS)
    assert sign_flip_test(differences) == (2 / 2**EXACT_TOPICS, 2**EXACT_TOPICS, True)


def test_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="the package scipy is not installed")
    differences = np.random.default_rng(5).normal(0.05, 0.1, 10)
    theirs = stats.permutation_test(
        (differences, np.zeros(10)), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip_test(differences)[0] == pytest.approx(theirs.pvalue)


@settings(deadline=None)
@given(st.lists(st.tuples(GRID, GRID), min_size=1, max_size=7))
def test_swapping_the_systems_mirrors_the_result(pairs: list[tuple[float, float]]) -> None:
    ours, theirs = (by_topic(list(values)) for values in zip(*pairs, strict=True))
    there, back = compare(ours, theirs), compare(theirs, ours)
    assert there.p == back.p
    assert (there.wins, there.ties, there.losses) == (back.losses, back.ties, back.wins)
    assert there.difference == -back.difference
    brute = [ours[topic] - theirs[topic] for topic in ours]
    bound = abs(sum(brute))
    hits = [abs(sum(d * s for d, s in zip(brute, signs, strict=True))) >= bound for signs in all_signs(len(brute))]
    assert there.p == sum(hits) / len(hits)


def test_unusable_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="topic c: expected in both systems"):
        compare({"a": 1.0, "c": 1.0}, {"a": 1.0})
    with pytest.raises(ValueError, match="at least one topic"):
        compare({}, {})
    with pytest.raises(ValueError, match="expected at least 10000, got 9999"):
        sign_flip_test(np.array([1.0]), LEAST_PERMUTATIONS - 1)
    with pytest.raises(ValueError, match="expected finite"):
        sign_flip_test(np.array([np.nan]))
