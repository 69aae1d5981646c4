"""A seeded sample of a collection's groups, drawn while the rows stream by, and the nodes learnt from it.

Every group has a random number, a hash of its visual id; those with the smallest are the sample, whatever the order of
the rows. Only their formulas are held.
"""

from __future__ import annotations

import hnswlib
import numpy as np

from index import clusters, nodes
from index.corpus import Chunk

SIZE = 200_000  # groups: 3 for each of 65,536 nodes, which move to the mean of all their members in the end
NODE_ROUNDS = 3  # of k-means
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))  # SplitMix64 (Steele et al. 2014)


class Sample:
    """The formulas of the groups with the smallest hashes.

    Args:
        size: groups wanted.
    """

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self._formulas: dict[int, tuple[int, str]] = {}  # hash of the group -> smallest id seen and its formula
        self._limit = 1 << 64

    def add(self, chunk: Chunk) -> None:
        """Look at some rows."""
        hashes = mixed(chunk.visual)
        chosen = np.flatnonzero((hashes < np.uint64(min(self._limit, (1 << 64) - 1))) & ~chunk.withheld)
        for place in chosen.tolist():
            key, number = int(hashes[place]), int(chunk.ids[place])
            if key not in self._formulas or number < self._formulas[key][0]:
                self._formulas[key] = (number, chunk.formulas[place])
        if len(self._formulas) > 2 * self.size:
            self._shrink()

    def _shrink(self) -> None:
        kept = sorted(self._formulas)[: self.size]
        self._formulas = {key: self._formulas[key] for key in kept}
        if len(kept) == self.size:
            self._limit = kept[-1] + 1

    @property
    def formulas(self) -> list[str]:
        """The sample's formulas, at most ``size``, in the order of their groups' hashes."""
        self._shrink()
        return [formula for _, formula in self._formulas.values()]


def mixed(values: np.ndarray) -> np.ndarray:
    """Well-spread hashes of numbers, uint64 (n,)."""
    x = values.astype(np.int64).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * _MIX[0]
    x = (x ^ (x >> np.uint64(27))) * _MIX[1]
    return x ^ (x >> np.uint64(31))


def train_nodes(vectors: np.ndarray, count: int, threads: int = 1, seed: int = 0) -> np.ndarray:
    """Nodes of a collection that is too large to keep exactly.

    Args:
        vectors: float (n, d), a sample.
        count: nodes wanted.
        threads: that search; the nodes are the same with any number.
        seed: of the first centres.

    Returns:
        float16 (k, d), distinct, of unit length, k at most ``count`` and n.
    """
    found, _ = nodes.distinct(np.ascontiguousarray(vectors))  # the graph wants no centre twice
    centres = clusters.kmeans(
        found.astype(np.float32), count, NODE_ROUNDS, seed, True, lambda some, of: by_angle(of, some, threads)
    )
    return np.ascontiguousarray(np.unique(centres.astype(np.float16), axis=0))


def centred(vectors: np.ndarray, found: np.ndarray, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Nodes at the mean of their vectors, so that no code is spent on the way there from unit length.

    Args:
        vectors: float (n, d), a sample.
        found: float16 (k, d), of ``train_nodes``.
        threads: that search.

    Returns:
        (float16 (k, d), int64 (n,)): the means, unit length where a node has no vector; the node of each vector.
    """
    vectors = vectors.astype(np.float32)
    owner = by_angle(found, vectors, threads)
    have = np.bincount(owner, minlength=len(found))[:, None]
    return np.where(have > 0, clusters.means(vectors, owner, len(found)), found).astype(np.float16), owner


def by_angle(centres: np.ndarray, vectors: np.ndarray, threads: int = 1) -> np.ndarray:
    """The centre that a graph over them finds nearest by angle to each vector.

    Args:
        centres: float (k, d), of any length.
        vectors: float (n, d).
        threads: that search.

    Returns:
        int64 (n,).
    """
    return nodes.owners(angles(centres), vectors, threads)


def angles(centres: np.ndarray) -> hnswlib.Index:
    """The graph over the directions of centres, float (k, d)."""
    centres = centres.astype(np.float32)
    return nodes.build(centres / np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-9))
