"""Vectors with n-grams, and coders of several layouts learnt from them, for tests of codes and cells."""

from __future__ import annotations

import numpy as np

from index import clusters, codes, grams
from index.codes import Layout

DIM, GROUPS, NODES = 16, 600, 8
LAYOUTS = [
    Layout((6,)),
    Layout((5, 7)),
    Layout((6,), 1, 5),
    Layout((4, 4, 4), 4, 4),
    Layout((), 4, 4),
    Layout((8,), 16, 3),
]


class Made:
    """Vectors with n-grams: those of one n-gram lie together."""

    def __init__(self, seed: int = 0, groups: int = GROUPS) -> None:
        rng = np.random.default_rng(seed)
        self.counts = rng.integers(0, 7, groups)
        self.features = rng.integers(0, 90, int(self.counts.sum())).astype(np.uint32) * 1_000_003
        self.starts = np.concatenate(([0], np.cumsum(self.counts)))
        pull = np.random.default_rng(99).standard_normal((90, DIM))
        vectors = rng.standard_normal((groups, DIM))
        owner = np.repeat(np.arange(groups), self.counts)
        np.add.at(vectors, owner, pull[self.features // 1_000_003])
        self.vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
        self.nodes = clusters.kmeans(self.vectors.astype(np.float32), NODES, 3, 0, spherical=True).astype(np.float16)
        self.node = clusters.assign(self.vectors.astype(np.float32), self.nodes.astype(np.float32), spherical=True)
        self.dictionary = grams.learn(self.features, self.counts)

    def train(self, layout: Layout) -> codes.Coder:
        return codes.train(layout, self.nodes, self.dictionary, self.vectors, self.node, self.features, self.counts)

    def encode(self, coder: codes.Coder, rows: np.ndarray) -> np.ndarray:
        features = [self.features[self.starts[i] : self.starts[i + 1]] for i in rows]
        joined = np.concatenate(features) if features else self.features[:0]
        return coder.encode(self.vectors[rows], self.node[rows], joined, self.counts[rows])

    def names(self, row: int, bits: int, column: int) -> np.ndarray:
        """What a group could be called in a column."""
        return self.dictionary.names(self.own(row), grams.length_class(self.counts[row]), bits, column)

    def own(self, row: int) -> np.ndarray:
        """Places in the dictionary of a group's n-grams."""
        place = self.dictionary.find(self.features[self.starts[row] : self.starts[row + 1]])
        return np.unique(place[place >= 0])


MADE = Made()
CODERS = {layout: MADE.train(layout) for layout in LAYOUTS}
ALL = np.arange(GROUPS)
