"""k-means over vectors, spherical or Euclidean. Arrays in, arrays out; seeded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Owners = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (vectors, centres) -> the centre of each vector

_ROWS = 4096  # vectors compared with all centres at once


def assign(vectors: np.ndarray, centres: np.ndarray, spherical: bool) -> np.ndarray:
    """The nearest centre of each vector, int64 (n,): by inner product if ``spherical``, else by distance."""
    shift = 0 if spherical else -0.5 * np.einsum("ij,ij->i", centres, centres)
    parts = [
        (vectors[start : start + _ROWS] @ centres.T + shift).argmax(axis=1) for start in range(0, len(vectors), _ROWS)
    ]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def nearest(vectors: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The nearest centre of each vector by distance, int64 (n,); the same for a vector in any company.

    A product of matrices rounds a row differently from batch to batch. So where two centres are about equally near, the
    vector is compared with them again, by itself; the first of equal ones is taken.
    """
    result = np.empty(len(vectors), np.int64)
    square = np.einsum("ij,ij->i", centres, centres)
    # Twice what d + 2 roundings of float32 can change in a sum of products (Higham 2002, section 3.1), rounded up.
    doubt = (centres.shape[1] + 4) * 2.0**-22 * np.sqrt(square.max())
    for start in range(0, len(vectors), _ROWS):
        part = vectors[start : start + _ROWS]
        near = part @ centres.T - 0.5 * square
        best = near.argmax(axis=1)
        least = near[np.arange(len(part)), best] - doubt * (np.linalg.norm(part, axis=1) + np.sqrt(square.max()))
        close = near >= least[:, None]
        unsure = np.flatnonzero(np.count_nonzero(close, axis=1) > 1)
        row, rival = np.nonzero(close[unsure])
        gaps = centres[rival].astype(np.float64) - part[unsure[row]]
        order = np.lexsort((rival, np.einsum("ij,ij->i", gaps, gaps), row))
        best[unsure] = rival[order[np.flatnonzero(np.diff(row, prepend=-1))]]
        result[start : start + len(part)] = best
    return result


def sums(vectors: np.ndarray, owner: np.ndarray, count: int) -> np.ndarray:
    """Sum of the vectors of each owner, (count, d) of the vectors' type; zero where there are none.

    Args:
        vectors: (n, d).
        owner: int (n,), in [0, count).
        count: owners.
    """
    result = np.zeros((count, vectors.shape[1]), vectors.dtype)
    add(result, vectors, owner)
    return result


def add(totals: np.ndarray, vectors: np.ndarray, owner: np.ndarray) -> None:
    """Add vectors to the total of their owners, in place; touches no other.

    Args:
        totals: (owners, d).
        vectors: (n, d) of the same type.
        owner: int (n,), in [0, owners).
    """
    order = np.argsort(owner, kind="stable")
    some, first = np.unique(owner[order], return_index=True)
    if len(some):
        totals[some] += np.add.reduceat(vectors[order], first, axis=0)


def means(vectors: np.ndarray, owner: np.ndarray, count: int, prior: float = 0.0) -> np.ndarray:
    """Mean of the vectors of each owner, float32 (count, d); zero where there are none.

    Args:
        vectors: float32 (n, d).
        owner: int (n,), in [0, count).
        count: owners.
        prior: vectors of zero that each owner has besides: shrinks the mean of few.
    """
    have = np.bincount(owner, minlength=count)[:, None]
    return (sums(vectors.astype(np.float32, copy=False), owner, count) / np.maximum(have + prior, 1e-9)).astype(
        np.float32
    )


def kmeans(
    vectors: np.ndarray, count: int, rounds: int, seed: int, spherical: bool = False, owners: Owners | None = None
) -> np.ndarray:
    """Lloyd's k-means; a centre that lost all its vectors is drawn again.

    Args:
        vectors: float32 (n, d), n >= 1.
        count: centres wanted; no more are made than there are vectors.
        rounds: of assignment.
        seed: of the first centres.
        spherical: centres of unit length, nearest by inner product (Dhillon and Modha 2001).
        owners: what finds the nearest centre of each vector; compares with all of them by default.

    Returns:
        float32 (min(count, n), d).
    """
    rng = np.random.default_rng(seed)
    count = min(count, len(vectors))
    centres = vectors[np.sort(rng.choice(len(vectors), count, replace=False))].astype(np.float32)
    for _ in range(rounds):
        owner = assign(vectors, centres, spherical) if owners is None else owners(vectors, centres)
        centres = means(vectors, owner, count)
        empty = np.flatnonzero(np.bincount(owner, minlength=count) == 0)
        centres[empty] = vectors[rng.choice(len(vectors), len(empty), replace=False)]
        if spherical:
            centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-9)
    return centres
