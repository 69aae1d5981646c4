from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import sketch

QUICK = settings(deadline=None, max_examples=50)
GROUPS = st.lists(st.lists(st.integers(0, 30) | st.integers(0, 2**32 - 1), max_size=12), min_size=1, max_size=40)


def inverted(groups: list[list[int]]) -> sketch.Postings:
    features = np.array([f for g in groups for f in g], np.uint32)
    return sketch.invert(features, np.repeat(np.arange(len(groups)), [len(g) for g in groups]), len(groups))


def bm25(groups: list[list[int]], query: list[int]) -> list[float]:
    """BM25 by the book, with counts cut off as the sketch does."""
    counts = [Counter(g) for g in groups]
    counts = [Counter({f: min(n, 1 << sketch.COUNT_BITS) for f, n in c.items()}) for c in counts]
    lengths = [sum(c.values()) for c in counts]
    mean = max(sum(lengths) / len(lengths), 1.0)
    spread = Counter(f for c in counts for f in c)
    scores = []
    for c, length in zip(counts, lengths, strict=True):
        score = 0.0
        for f in query:
            if c[f]:
                idf = math.log(1 + (len(groups) - spread[f] + 0.5) / (spread[f] + 0.5))
                norm = sketch.K1 * (1 - sketch.B + sketch.B * length / mean)
                score += idf**sketch.RARITY * c[f] * (sketch.K1 + 1) / (c[f] + norm)
        scores.append(score)
    return scores


@QUICK
@given(GROUPS, st.lists(st.integers(0, 40), max_size=15))
def test_scores_are_bm25(groups: list[list[int]], query: list[int]) -> None:
    scorer = sketch.Scorer(inverted(groups))
    assert scorer.score(np.array(query, np.uint32)) == pytest.approx(bm25(groups, query), rel=1e-5, abs=1e-6)


def test_frequent_features_score_as_rare_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    groups = [rng.zipf(1.3, 20).clip(0, 500).tolist() for _ in range(300)]
    query = np.arange(1, 60, dtype=np.uint32)
    with_rows = sketch.Scorer(inverted(groups)).score(query)
    monkeypatch.setattr(sketch, "DENSE_ROWS", 0)
    assert sketch.Scorer(inverted(groups)).score(query) == pytest.approx(with_rows, rel=1e-5)


@QUICK
@given(GROUPS, st.sampled_from([1, 2, 3, 8]))
def test_sections_come_back_in_the_size_foretold(groups: list[list[int]], least: int) -> None:
    postings = sketch.thin(inverted(groups), least)
    sections = sketch.encode(postings)
    again = sketch.decode(sections, len(groups))
    assert np.array_equal(again.hashes, postings.hashes)
    assert np.array_equal(again.keys, postings.keys)
    assert np.array_equal(again.counts, postings.counts)
    size = sum(map(len, sections.values()))
    assert 0 <= sketch.size(inverted(groups), least) - size <= 64 + len(postings.keys) // 4


def test_thinning_drops_rare_features() -> None:
    postings = sketch.thin(inverted([[1, 2, 3], [2, 3, 3], [3, 9]]), 2)
    assert postings.hashes.tolist() == [2, 3]
    assert sketch.spread(postings).tolist() == [2, 3]
    assert postings.keys.tolist() == [0, 1, 3, 4, 5]
    assert postings.counts.tolist() == [1, 1, 1, 2, 1]


def test_size_is_close_on_a_collection_of_some_size() -> None:
    rng = np.random.default_rng(0)
    postings = inverted([rng.zipf(1.2, 40).clip(0, 2**31).tolist() for _ in range(2000)])
    for least in (1, 2, 8):
        size = sum(map(len, sketch.encode(sketch.thin(postings, least)).values()))
        assert sketch.size(postings, least) == pytest.approx(size, rel=0.02)


def test_sections_of_other_groups_are_refused() -> None:
    sections = sketch.encode(inverted([[1], [2], [1, 2]]))
    with pytest.raises(ValueError, match="a posting beyond 2 features and 2 groups"):
        sketch.decode(sections, 2)
