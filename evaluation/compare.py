"""Paired comparison of two systems on one metric. Pure: scores by topic in, numbers out.

The test is Fisher's paired randomisation test (Smucker, Allan, Carterette, CIKM 2007): were the two systems alike,
every topic's difference might as well have had the other sign. p is the share of sign assignments whose mean
difference is at least as far from 0 as the observed one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

EXACT_TOPICS = 14
"""Up to this many differing topics all 2**n (at most 16,384) sign assignments are enumerated."""

LEAST_PERMUTATIONS = 10_000
"""Fewer random sign assignments would leave p too coarse near .05 (its standard error there is .002)."""

TIE = 1e-12
"""Differences up to this size are rounding, not a win."""

CHUNK = 8192
"""Sign assignments drawn at a time; bounds memory to CHUNK * topics * 8 bytes."""


@dataclass(frozen=True)
class Comparison:
    """One system against a baseline on one metric.

    Attributes:
        topics: Number of paired topics.
        mean: Mean of the system.
        baseline: Mean of the baseline.
        difference: mean - baseline.
        wins: Topics where the system is better.
        ties: Topics where both are equal.
        losses: Topics where the baseline is better.
        p: Two-sided p-value.
        assignments: Sign assignments behind `p`.
        exact: Whether these are all there are.
    """

    topics: int
    mean: float
    baseline: float
    difference: float
    wins: int
    ties: int
    losses: int
    p: float
    assignments: int
    exact: bool


def all_signs(topics: int) -> npt.NDArray[np.float64]:
    """Every assignment of +1 and -1, float64 (2**topics, topics)."""
    codes = np.arange(2**topics)[:, None] >> np.arange(topics)[None, :]
    return np.where(codes & 1, np.float64(-1.0), np.float64(1.0))


def sign_flip_test(
    differences: npt.NDArray[np.float64], permutations: int = 100_000, seed: int = 0
) -> tuple[float, int, bool]:
    """Two-sided randomisation test of a zero mean.

    Args:
        differences: float64 (topics,), finite. Zeros change no assignment's mean and are left out.
        permutations: Random assignments, where there are too many to enumerate.
        seed: Of those.

    Returns:
        p, the number of assignments, and whether they are all. Of random ones p is (hits + 1) / (permutations + 1),
        which counts the observed assignment and so never is 0.

    Raises:
        ValueError: Too few permutations, or a difference is not finite.
    """
    if permutations < LEAST_PERMUTATIONS:
        raise ValueError(f"permutations: expected at least {LEAST_PERMUTATIONS}, got {permutations}")
    if not np.isfinite(differences).all():
        raise ValueError("differences: expected finite numbers")
    moved = differences[np.abs(differences) > TIE]
    # Sums equal to the observed one up to rounding must count as hits whatever order they were added in.
    bound = abs(math.fsum(moved)) - 1e-9 * float(np.abs(moved).sum())
    if len(moved) <= EXACT_TOPICS:
        sums = all_signs(len(moved)) @ moved
        return float(np.mean(np.abs(sums) >= bound)), len(sums), True
    rng = np.random.default_rng(seed)
    hits = 0
    for start in range(0, permutations, CHUNK):
        size = (min(CHUNK, permutations - start), len(moved))
        signs = 1.0 - 2.0 * rng.integers(0, 2, size=size, dtype=np.int8)
        hits += int(np.count_nonzero(np.abs(signs @ moved) >= bound))
    return (hits + 1) / (permutations + 1), permutations, False


def compare(
    system: Mapping[str, float], baseline: Mapping[str, float], permutations: int = 100_000, seed: int = 0
) -> Comparison:
    """Compare a system with a baseline, topic by topic.

    Raises:
        ValueError: The topics differ, there is none, or `sign_flip_test` refuses.
    """
    if set(system) != set(baseline):
        odd = sorted(set(system) ^ set(baseline))[0]
        raise ValueError(f"topic {odd}: expected in both systems, found in one")
    if not system:
        raise ValueError("expected at least one topic to compare")
    topics = list(system)
    ours = np.array([system[topic] for topic in topics], dtype=np.float64)
    theirs = np.array([baseline[topic] for topic in topics], dtype=np.float64)
    differences = ours - theirs
    p, assignments, exact = sign_flip_test(differences, permutations, seed)
    wins, losses = int(np.sum(differences > TIE)), int(np.sum(differences < -TIE))
    return Comparison(
        topics=len(topics),
        mean=float(ours.mean()),
        baseline=float(theirs.mean()),
        difference=float(differences.mean()),
        wins=wins,
        ties=len(topics) - wins - losses,
        losses=losses,
        p=p,
        assignments=assignments,
        exact=exact,
    )
