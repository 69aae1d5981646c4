"""Searching an index of a large collection: a query is compared with all nodes, their members are scored from codes.

Candidates are the members of the best nodes, the groups that name one of the query's rarest n-grams wherever they are,
and those with about the codes that the query itself would have (``cells``). Every candidate's score is a sum of table
look-ups (``codes``). The nodes' graph finds the node of a formula when the index is built; a query needs the score of
every node anyway, for the groups that names add.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from index import bits as bit_codes
from index import cells, codes, grams, ids, rounded
from index.embed import Embedder

# Of a named n-gram beside the inner product. Among 724,593 groups, names of 8 and 10 bits: .03 has .003 more than .04,
# .02 is in between; names of 12 bits do not care. Among 7.4 million, names of 8: .02 .674, .03 .672, .04 .648.
NAME_WEIGHT = 0.03
MEMBERS = 20_000  # groups of the best nodes. Of 7.4 million as many answer as all do, to four places of nDCG'
REFINED = 8_000  # groups, the best by node and names, whose residual codes count: a look-up for each of many columns
NAMED = 4_000  # groups; a name that more of them share adds none
RAREST = 8  # of a query's names, that add groups
LEAST_NODES = 64


class CodedIndex:
    """The coded form of an index; ``search.Index.open`` makes it.

    Args:
        header: the index's meta data.
        sections: its arrays.
        embedder: the encoder.

    Raises:
        KeyError, ValueError: the sections contradict each other.
    """

    def __init__(self, header: dict[str, Any], sections: dict[str, np.ndarray], embedder: Embedder) -> None:
        self.header, self._embedder = header, embedder
        plan = header["plan"]
        layout = codes.Layout(tuple(plan["names"]), *plan["parts"])
        kept = {name: sections[name] for name in ("blocks", "shift", "members")}
        self._vectors = rounded.read("vectors", sections)
        self._ids, node = ids.decode_members(kept, len(self._vectors))
        if len(self._ids) != header["groups"] or self._vectors.shape != (header["nodes"], header["dim"]):
            raise ValueError(f"{len(self._ids)} ids, vectors {self._vectors.shape}; {header['groups']} groups")
        self._node_of = node.astype(np.uint16 if len(self._vectors) <= 1 << 16 else np.uint32)
        self._first = np.concatenate(([0], np.cumsum(np.bincount(node, minlength=len(self._vectors)))))
        self._codes = [
            bit_codes.unpack(sections[f"codes.{column}"], len(node), width).astype(np.uint16)
            for column, width in enumerate(layout.widths)
        ]
        dictionary = grams.Dictionary(
            bit_codes.read_ascending(sections["dictionary.hashes"]).astype(np.uint32), sections["dictionary.steps"]
        )
        books = [sections[f"books.{column}"].astype(np.float32) for column in range(len(layout.widths))]
        self._coder = codes.Coder(layout, self._vectors, dictionary, books, sections["lengths"])
        _check(self._coder)
        self._by_name = [np.argsort(self._codes[c], kind="stable").astype(np.int32) for c in range(len(layout.names))]
        self._name_starts = [
            np.concatenate(([0], np.cumsum(np.bincount(self._codes[c], minlength=1 << bits))))
            for c, bits in enumerate(layout.names)
        ]
        mean = np.bincount(node, minlength=len(self._vectors)) @ self._vectors
        self._mean = (mean / max(1e-9, float(np.linalg.norm(mean)))).astype(np.float32)
        self._along = self._vectors @ self._mean

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self._ids)

    @property
    def plan(self) -> dict[str, Any]:
        """The plan that the build obeyed (``plan.Plan.as_json``)."""
        return self.header["plan"]

    def search(self, latex: str, k: int = 1000, weight: float = NAME_WEIGHT) -> list[tuple[str, float]]:
        """Rank groups for a formula.

        Args:
            latex: the query as typed; anything, also nothing.
            k: how many groups are wanted.
            weight: of a named n-gram beside the inner product.

        Returns:
            Exactly ``min(k, size)`` pairs of formula id and score, by descending score, then node and id.
        """
        k = max(0, min(k, self.size))
        query = self._embedder.embed([latex])
        whole = query.vectors[0].astype(np.float32)
        vector = whole - codes.usual(whole, self._mean)
        products = self._vectors @ vector
        lexical = self._coder.lexical(query.features)
        at = self._coder.at_nodes(products, len(query.features))
        own, worth = self._own(whole, products, query.features)
        chosen = _joined(own, self._candidates(at, lexical, k))
        score = at[self._node_of[chosen]]
        score[: len(own)] += worth
        tables = self._coder.tables(vector, lexical, weight)
        for column, (codes_of, table) in enumerate(zip(self._codes, tables, strict=True)):
            if column == len(lexical) and len(chosen) > max(REFINED, k):  # node and names say which are worth the rest
                near = np.argpartition(-score, max(REFINED, k))[: max(REFINED, k)]
                chosen, score = chosen[near], score[near]
            score += table[codes_of[chosen]]
        if k < len(chosen):  # sort only what can be among the best, ties included
            near = np.flatnonzero(score >= np.partition(score, -k)[-k] - 1e-6) if k else np.empty(0, np.int64)
            chosen, score = chosen[near], score[near]
        rounded = np.round(score.astype(np.float64), 6) + 0.0
        best = np.lexsort((chosen, -rounded))[:k]
        return list(zip(map(str, self._ids[chosen[best]].tolist()), rounded[best].tolist(), strict=True))

    def _own(self, query: np.ndarray, products: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(int64, ascending; float32): places of the groups with about the query's own codes, what they are worth.

        Args:
            query: float32 (d,), whole.
            products: float32 (K,), of the nodes and the query less what is usual (``codes.usual``).
            features: uint32 (f,), its n-grams.
        """
        usual = codes.usual(query, self._mean) @ self._mean
        cosines = (products + usual * self._along) / self._coder.norms
        nodes, worth = cells.own(self._coder, query, cosines, features)
        return cells.members(nodes, worth, self._first, self._codes[0])

    def _candidates(self, at: np.ndarray, lexical: list[np.ndarray], k: int) -> np.ndarray:
        """int64, distinct, in any order: places of at least ``k`` groups."""
        wanted = max(MEMBERS, k)
        if wanted >= self.size:
            return np.arange(self.size)
        near = self._near(at, wanted, k)
        sizes = self._first[near + 1] - self._first[near]
        members = np.arange(int(sizes.sum())) + np.repeat(self._first[near] - (np.cumsum(sizes) - sizes), sizes)
        named = self._named(lexical)
        if not len(named):
            return members
        taken = np.zeros(len(self._vectors), bool)
        taken[near] = True
        return np.concatenate((members, named[~taken[self._node_of[named]]]))

    def _near(self, at: np.ndarray, wanted: int, k: int) -> np.ndarray:
        """int64, in any order: the best nodes, about as many as hold ``wanted`` groups, and no fewer than ``k``."""
        count = max(LEAST_NODES, -(-wanted * len(at) // self.size))
        while count < len(at):
            near = np.argpartition(-at, count)[:count]
            if int((self._first[near + 1] - self._first[near]).sum()) >= k:
                return near
            count *= 2
        return np.arange(len(at))

    def _named(self, lexical: list[np.ndarray]) -> np.ndarray:
        """int64, distinct: groups that name one of the query's rarest n-grams, if not too many do."""
        found = [np.empty(0, np.int32)]
        for column, worth in enumerate(lexical):
            rarest = np.argsort(-worth, kind="stable")[:RAREST]
            starts = self._name_starts[column]
            for name in rarest[worth[rarest] > 0].tolist():
                if starts[name + 1] - starts[name] <= NAMED:
                    found.append(self._by_name[column][starts[name] : starts[name + 1]])
        joined = np.concatenate(found).astype(np.int64)
        return joined if len(self._by_name) < 2 else np.unique(joined)


def _joined(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """int64, distinct: places in ``some``, ascending, then those of ``others``, distinct, that are not in ``some``."""
    if not len(some):
        return others
    at = np.minimum(np.searchsorted(some, others), len(some) - 1)
    return np.concatenate((some, others[some[at] != others]))


def _check(coder: codes.Coder) -> None:
    """What would otherwise show at a search: ValueError if the coder's parts do not belong together."""
    layout, dictionary, (count, dim) = coder.layout, coder.dictionary, coder.nodes.shape
    if not layout.names:
        raise ValueError("codes have no name")
    if coder.lengths.shape != (count,):
        raise ValueError(f"{count} nodes, lengths {coder.lengths.shape}")
    widest = [dim] * len(layout.names) + [dim // max(1, layout.parts)] * layout.parts
    for column, (book, bits, width) in enumerate(zip(coder.books, layout.widths, widest, strict=True)):
        if book.shape != (1 << bits, width):
            raise ValueError(f"codebook {column} is {book.shape}, expected {(1 << bits, width)}")
    if dictionary.steps.shape != dictionary.hashes.shape:
        raise ValueError(f"{len(dictionary.hashes)} n-grams, rarities {dictionary.steps.shape}")
    if not (dictionary.hashes[1:] > dictionary.hashes[:-1]).all() or not dictionary.steps.all():
        raise ValueError("the dictionary's n-grams do not ascend, or one has no rarity")
