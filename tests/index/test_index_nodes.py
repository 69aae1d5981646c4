from __future__ import annotations

import numpy as np
import pytest

from index import bits, nodes


def unit(count: int, dim: int = 32, seed: int = 0) -> np.ndarray:
    """float16 unit vectors in loose clusters, as formulas lie."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(1, count // 50), dim))
    rows = centres[rng.integers(0, len(centres), count)] + 0.6 * rng.standard_normal((count, dim))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


def recall(vectors: np.ndarray, near: int, depth: int, queries: int = 200) -> float:
    """Share of the exact top ``depth`` among the ``near`` nodes that a restored graph finds."""
    exact = vectors.astype(np.float32)
    graph = nodes.restore(vectors, nodes.links(nodes.build(vectors)))
    shares = []
    for place in np.random.default_rng(1).choice(len(vectors), queries, replace=False):
        similarity = exact @ exact[place]
        best = np.argpartition(-similarity, depth)[:depth]
        found = nodes.nearest(graph, exact[place], near)
        assert found is not None
        shares.append(len(np.intersect1d(best, found)) / depth)
    return float(np.mean(shares))


def test_the_graph_finds_the_exact_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    share = recall(unit(5000), 2000, 1000)
    with capsys.disabled():
        print(f"\nrecall of the exact top 1,000 of 200 queries, 5,000 synthetic vectors: {share:.4f}")
    assert share >= 0.98


def test_a_restored_graph_answers_as_the_first_one() -> None:
    vectors = unit(3000)
    graph = nodes.build(vectors)
    kept = nodes.links(graph)
    again = nodes.restore(vectors, kept)
    for query in vectors[:50].astype(np.float32):
        one, other = nodes.nearest(graph, query, 100), nodes.nearest(again, query, 100)
        assert one is not None
        assert other is not None
        assert np.array_equal(np.sort(one), np.sort(other))
    twice = nodes.links(again)
    assert twice.entry == kept.entry
    assert np.array_equal(twice.links, kept.links)
    assert np.array_equal(twice.levels, kept.levels)


def test_two_graphs_of_the_same_vectors_are_equal() -> None:
    one, other = (nodes.links(nodes.build(unit(2000))) for _ in range(2))
    assert one.entry == other.entry
    assert np.array_equal(one.links, other.links)
    assert np.array_equal(one.levels, other.levels)


def test_links_take_less_than_two_bytes_each() -> None:
    kept = nodes.links(nodes.build(unit(5000)))
    assert len(kept.links) < 2 * len(bits.read_ascending(kept.links))
    assert len(bits.read_ascending(kept.links)) / 5000 == pytest.approx(nodes.MEAN_LINKS, rel=0.3)


@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_small_graphs(count: int) -> None:
    vectors = unit(count)
    graph = nodes.restore(vectors, nodes.links(nodes.build(vectors)))
    for place in range(count):
        found = nodes.nearest(graph, vectors[place].astype(np.float32), count)
        assert found is not None
        assert sorted(found.tolist()) == list(range(count))
        assert found[0] == place


def test_too_few_within_reach_is_said() -> None:
    assert nodes.nearest(nodes.build(unit(10)), unit(1)[0].astype(np.float32), 11) is None


def test_equal_vectors_are_one_node() -> None:
    vectors = unit(50)[np.random.default_rng(3).integers(0, 50, 400)]
    kept, node = nodes.distinct(vectors)
    assert len(np.unique(kept, axis=0)) == len(kept) == len(np.unique(vectors, axis=0))
    assert np.array_equal(kept[node], vectors)
    assert np.array_equal(np.unique(node, return_index=True)[1], np.sort(np.unique(node, return_index=True)[1]))


def test_links_of_other_vectors_are_refused() -> None:
    kept = nodes.links(nodes.build(unit(300)))
    with pytest.raises(ValueError, match=r"bytes|belong|links"):
        nodes.restore(unit(200), kept)
    with pytest.raises(ValueError, match="belong"):
        nodes.restore(unit(300), nodes.Links(kept.levels, kept.links, 300))
