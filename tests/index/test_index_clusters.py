from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index import clusters


def points(count: int, dim: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)


def distances(vectors: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """float64 (n, k)."""
    return ((vectors[:, None].astype(np.float64) - centres[None]) ** 2).sum(axis=2)


@given(st.integers(0, 40), st.integers(1, 9), st.integers(1, 5), st.integers(0, 99))
def test_assignment_is_the_obvious_one(rows: int, count: int, dim: int, seed: int) -> None:
    vectors, centres = points(rows, dim, seed), points(count, dim, seed + 100)
    gaps = distances(vectors, centres)
    for found in (clusters.assign(vectors, centres, spherical=False), clusters.nearest(vectors, centres)):
        assert np.allclose(gaps[np.arange(rows), found], gaps.min(axis=1, initial=np.inf), atol=1e-5)
    inner = vectors @ centres.T
    best = clusters.assign(vectors, centres, spherical=True)
    assert np.allclose(inner[np.arange(rows), best], inner.max(axis=1, initial=-np.inf), atol=1e-5)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, centres = points(100, 4), points(7, 4, 1)
    whole = clusters.nearest(vectors, centres), clusters.assign(vectors, centres, spherical=True)
    monkeypatch.setattr(clusters, "_ROWS", 13)
    assert np.array_equal(clusters.nearest(vectors, centres), whole[0])
    assert np.array_equal(clusters.assign(vectors, centres, spherical=True), whole[1])


@pytest.mark.parametrize("dim", [1, 7, 16, 64])
def test_near_ties_are_decided_alike_in_any_batch(dim: int) -> None:
    """Pairs of centres in mirror image: halfway between them only rounding decides."""
    rng = np.random.default_rng(dim)
    middle, step = points(300, dim, 3) * 0.1, points(300, dim, 4) * 0.01
    middle -= step * (np.einsum("ij,ij->i", middle, step) / np.einsum("ij,ij->i", step, step))[:, None]
    centres = np.concatenate((middle + step, middle - step, middle + step))
    found = clusters.nearest(middle, centres)
    order = rng.permutation(300)
    assert np.array_equal(clusters.nearest(middle[order], centres), found[order])
    alone = [int(clusters.nearest(middle[i : i + 1], centres)[0]) for i in range(300)]
    assert alone == found.tolist()
    assert found.max() < 600  # of equal centres the first


def test_means_of_owners_with_and_without_a_prior() -> None:
    vectors = np.array([[1, 0], [3, 0], [0, 5]], np.float32)
    owner = np.array([2, 2, 0])
    assert clusters.means(vectors, owner, 4).tolist() == [[0, 5], [0, 0], [2, 0], [0, 0]]
    shrunk = clusters.means(vectors, owner, 3, prior=1.0)
    assert np.allclose(shrunk, np.array([[0, 2.5], [0, 0], [4 / 3, 0]]))
    assert clusters.means(vectors[:0], owner[:0], 3).tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("spherical", [False, True])
def test_kmeans_finds_what_is_there_and_is_seeded(spherical: bool) -> None:
    true = points(6, 8, 5)
    true /= np.linalg.norm(true, axis=1, keepdims=True)
    vectors = (np.repeat(true, 50, axis=0) + 0.02 * points(300, 8, 6)).astype(np.float32)
    centres = clusters.kmeans(vectors, 12, 10, seed=1, spherical=spherical)
    assert centres.shape == (12, 8)
    assert distances(true, centres).min(axis=1).max() < 0.01
    assert np.array_equal(centres, clusters.kmeans(vectors, 12, 10, seed=1, spherical=spherical))
    if spherical:
        assert np.allclose(np.linalg.norm(centres, axis=1), 1, atol=1e-5)


def test_more_rounds_lower_the_error() -> None:
    vectors = points(400, 6, 7)
    errors = [distances(vectors, clusters.kmeans(vectors, 16, rounds, 0)).min(axis=1).sum() for rounds in (0, 1, 5)]
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize(("rows", "count"), [(1, 1), (1, 9), (3, 9), (50, 9)])
def test_no_more_centres_than_vectors_and_equal_vectors_do_no_harm(rows: int, count: int) -> None:
    centres = clusters.kmeans(np.ones((rows, 4), np.float32), count, 3, 0)
    assert centres.shape == (min(rows, count), 4)
    assert np.array_equal(np.unique(centres, axis=0), np.ones((1, 4)))
