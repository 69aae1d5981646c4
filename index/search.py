"""Searching an index: the graph and the n-grams find candidates, cosine and BM25 together rank them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from encoder.model import WEIGHTS
from index import bits, ids, nodes, sketch, store
from index.coded import CodedIndex
from index.embed import Embedder, model_hash
from index.errors import FormdexError, StoreError

WEIGHT = 0.65  # share of the lexical evidence in a score; chosen on 2020 and on 2021 alike (docs/encoder.md)
NEAR = 2000  # nodes that the graph is asked for; recall of the exact top 1,000 is .9996 (see ``nodes``)
LEXICAL = 2000  # groups that the n-grams add
DIGITS = 6  # decimals of a score: what differs less than the arithmetic of two machines is a tie


class Index:
    """A loaded index. Use ``Index.open``.

    Attributes:
        header: the index's meta data: groups, nodes, dim, model, plan, corpus.
    """

    def __init__(self, header: dict[str, Any], sections: dict[str, np.ndarray], embedder: Embedder) -> None:
        self.header = header
        self._embedder = embedder
        groups, count = header["groups"], header["nodes"]
        self._ids = ids.decode(sections["ids"])
        self._vectors = sections["vectors"].astype(np.float32)
        self._node_of = bits.unpack(sections["members"], groups, (count - 1).bit_length())
        if len(self._ids) != groups or self._vectors.shape != (count, header["dim"]):
            raise ValueError(f"{len(self._ids)} ids, vectors {self._vectors.shape}; {groups} groups, {count} nodes")
        if groups and int(self._node_of.max()) >= count:
            raise ValueError(f"a group belongs to node {int(self._node_of.max())} of {count}")
        self._members = np.argsort(self._node_of, kind="stable")
        self._first = np.concatenate(([0], np.cumsum(np.bincount(self._node_of, minlength=count))))
        self._graph = None
        if "graph.links" in sections and count > NEAR:  # with fewer, every node is looked at anyway
            kept = nodes.Links(sections["graph.levels"], sections["graph.links"], header["entry"])
            self._graph = nodes.restore(self._vectors, kept)
        self._lexical = None
        if "lexical.keys" in sections:
            parts = {name: sections[f"lexical.{name}"] for name in ("hashes", "keys", "counts")}
            self._lexical = sketch.Scorer(sketch.decode(parts, groups))

    @classmethod
    def open(cls, folder: Path, model: Path | None = None, threads: int = 2) -> Index | CodedIndex:
        """Load an index of either form.

        Args:
            folder: where ``formdex.index`` is.
            model: the model's folder; the shipped weights by default.
            threads: CPU threads of the encoder.

        Raises:
            StoreError: the file is missing, damaged, or was built by another model.
            BuildError: the model's files are missing.
        """
        header, sections = store.read(folder)
        path = folder / store.FILE
        model = WEIGHTS if model is None else model
        found = model_hash(model)
        if header.get("model") != found:
            built = str(header.get("model"))[:12]
            raise StoreError(f"{path}: built by model {built}, but {model} holds {found[:12]}; build the index again")
        try:
            form = CodedIndex if header["plan"]["form"] == "coded" else cls
            return form(header, sections, Embedder(model, threads))
        except (KeyError, ValueError) as error:
            if isinstance(error, FormdexError):
                raise
            raise StoreError(f"{path}: sections contradict each other: {error}") from None

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self._ids)

    @property
    def plan(self) -> dict[str, Any]:
        """The plan that the build obeyed (``plan.Plan.as_json``)."""
        return self.header["plan"]

    def search(self, latex: str, k: int = 1000, weight: float = WEIGHT) -> list[tuple[str, float]]:
        """Rank groups for a formula.

        Args:
            latex: the query as typed; anything, also nothing.
            k: how many groups are wanted.
            weight: share of the lexical evidence: 0 for the vectors alone, 1 for the n-grams alone. The score is
                ``(1 - weight) * cosine + weight * bm25 / largest bm25``.

        Returns:
            Exactly ``min(k, size)`` pairs of formula id and score, by descending score, then ascending id.
        """
        k = max(0, min(k, self.size))
        query = self._embedder.embed([latex])
        vector = query.vectors[0].astype(np.float32)
        lexical = None if self._lexical is None else self._lexical.score(query.features)
        chosen = self._candidates(vector, lexical, k, weight)
        score = self._vectors[self._node_of[chosen]] @ vector
        top = 0.0 if lexical is None else float(lexical.max(initial=0.0))
        score = (1 - weight) * score.astype(np.float64)
        if lexical is not None and top > 0:
            score += weight * lexical[chosen] / top
        score = np.round(score, DIGITS) + 0.0
        order = np.lexsort((chosen, -score))[:k]
        best = self._ids[chosen[order]]
        return list(zip(map(str, best.tolist()), score[order].tolist(), strict=True))

    def _candidates(self, vector: np.ndarray, lexical: np.ndarray | None, k: int, weight: float) -> np.ndarray:
        """int64, ascending: places of at least ``k`` groups, the nearest nodes' members and the lexically best."""
        count = max(NEAR, k)
        if count >= len(self._vectors):
            return np.arange(self.size)
        found = None if self._graph is None else nodes.nearest(self._graph, vector, count)
        if found is None:  # no room for links, or parts of the graph out of reach
            found = np.argpartition(-(self._vectors @ vector), count)[:count]
        marked = np.zeros(self.size, bool)
        starts, counts = self._first[found], self._first[found + 1] - self._first[found]
        offsets = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        marked[self._members[np.repeat(starts, counts) + offsets]] = True
        if lexical is not None and weight > 0:
            count = min(LEXICAL, self.size)
            marked[np.argpartition(lexical, -count)[-count:]] = True
        return np.flatnonzero(marked)
