"""Intervals and tests for accuracies. Pure: numbers in, numbers out, every random choice seeded."""

from collections.abc import Sequence
from math import comb

import numpy as np

RESAMPLES = 10_000
SEED = 20
LEVEL = 0.95


def bootstrap(right: int, n: int) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of an accuracy.

    Resampling n answers of which `right` are right, with replacement, leaves a binomial number of right ones, so the
    10,000 resamples are drawn from that directly (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, ch.
    13).
    """
    draws = np.random.default_rng(SEED).binomial(n, right / n, RESAMPLES) / n
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def mcnemar(first_only: int, second_only: int) -> float:
    """The exact two-sided p of McNemar's paired test: how likely so uneven a split is if both models are equally good.

    Args:
        first_only: cases that only the first model answers rightly.
        second_only: cases that only the second does.

    >>> round(mcnemar(1, 9), 4)
    0.0215
    """
    n, least = first_only + second_only, min(first_only, second_only)
    tail = sum(comb(n, i) for i in range(least + 1)) / 2**n
    return min(1.0, 2 * tail)


def uniformity(counts: Sequence[int]) -> float:
    """P of Pearson's chi-square against equal shares, by 10,000 multinomial draws; 1 without any count."""
    n, k = sum(counts), len(counts)
    if not n:
        return 1.0
    expected = n / k
    seen = sum((count - expected) ** 2 for count in counts) / expected
    draws = np.random.default_rng(SEED).multinomial(n, [1 / k] * k, RESAMPLES)
    simulated = ((draws - expected) ** 2).sum(axis=1) / expected
    return float((1 + (simulated >= seen - 1e-9).sum()) / (1 + RESAMPLES))
