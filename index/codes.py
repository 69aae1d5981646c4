"""Codes of groups in a large collection: which node, which n-grams, what is left of the vector. Arrays in, arrays out.

A group's vector is approximated in steps. Its node comes first. Then each *name* stage picks one of the group's own
n-grams (``grams``) and adds the mean residual of the groups that picked the same name: the name serves the vector and
the lexical evidence at once, so it is chosen for both. Then *product* stages quantise what is left (Jegou et al. 2011):
the dimensions are cut into equal parts, each with a codebook of its own; one part is a plain residual quantiser.
A query is never coded (asymmetric scoring): its score is a sum of table look-ups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from index import clusters, grams

# How much rarity (idf) counts against the reduction of the squared residual when an n-gram is picked. Among 724,593
# groups, names of 12 bits: mean nDCG' .818 with .004, .813 with .02, .799 by rarity alone.
RARITY = 0.004
ROUNDS = 3  # of picking n-grams and averaging their residuals
PRODUCT_ROUNDS = 6
TRAINED = 65_536  # residuals that a product stage learns from
FINE = 2.0**20  # steps a unit in which remainders are summed
LENGTH_STEPS = 32  # steps a unit of the logarithm in which the length of a node's formulas is kept
# What a node loses for each unit of the logarithm that its formulas are shorter than the query, and the share of it
# where they are longer. Among 724,593 groups .015 to .035 and shares of .25 to .6 are within .003; without, names of
# 12 bits have .012 less, names of 10 with 4 x 8 of residual .009 less (docs/index.md).
LENGTH_WEIGHT, LONGER = 0.025, 0.4
# How much of its part along the mean of all vectors a query loses, and the power of a node's length (long where its
# members are alike) that its inner product is divided by. Among 724,593 groups .5 and .5 have .829 with a name of 10
# and .865 with 12 + 4 x 7, 1 and 0 have .823 and .862; .3 to .7 and .35 to .75 are within .003 (docs/index.md).
USUAL, TIGHT = 0.5, 0.5
_GATHERED = 1 << 18  # rows of a codebook gathered at once


@dataclass(frozen=True)
class Layout:
    """How the bits of a group are spent.

    Attributes:
        names: bits of each name stage.
        parts: parts of the product stage; 0 for none.
        part_bits: bits of each part.
    """

    names: tuple[int, ...] = ()
    parts: int = 0
    part_bits: int = 0

    @property
    def bits(self) -> int:
        """Bits a group."""
        return sum(self.names) + self.parts * self.part_bits

    @property
    def widths(self) -> tuple[int, ...]:
        """Bits of each column of the codes."""
        return self.names + (self.part_bits,) * self.parts


@dataclass
class Coder:
    """What turns vectors and n-grams into codes, and queries into tables.

    Attributes:
        layout: how bits are spent.
        nodes: (K, d).
        dictionary: the n-grams that may be named.
        books: a codebook for each column of the codes, (2**b, d) of a name, (2**b, d / parts) of a part.
        lengths: uint8 (K,), mean logarithm of the lengths of each node's formulas, in ``LENGTH_STEPS`` a unit; zero
            until ``settled``.

    Nodes and books are float16, or float32 where many queries come.
    """

    layout: Layout
    nodes: np.ndarray
    dictionary: grams.Dictionary
    books: list[np.ndarray]
    lengths: np.ndarray

    def encode(self, vectors: np.ndarray, node: np.ndarray, features: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Codes of groups.

        Args:
            vectors: float (n, d).
            node: int (n,), the node of each.
            features: uint32 (f,), their n-grams one after another.
            counts: int (n,), how many each has.

        Returns:
            uint16 (n, columns of the layout).
        """
        residual = vectors.astype(np.float32) - self.nodes[node].astype(np.float32)
        codes = np.zeros((len(vectors), len(self.books)), np.uint16)
        named = Named(self.dictionary, features, counts)
        for column, bits in enumerate(self.layout.names):
            codes[:, column] = named.pick(residual, self.books[column].astype(np.float32), bits, column)
            residual -= self.books[column][codes[:, column]]
        for part, book in zip(_parts(residual, self.layout.parts), self.books[len(self.layout.names) :], strict=True):
            column = len(self.books) - self.layout.parts + part[0]
            codes[:, column] = clusters.nearest(part[1], book.astype(np.float32))
        return codes

    def remainder(self, vectors: np.ndarray, counts: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """What is still to be said of groups when their codes are known, for their node to say of all its members.

        In whole numbers, so that sums do not depend on their order.

        Args:
            vectors: float (n, d).
            counts: int (n,), how many n-grams each has.
            codes: uint16 (n, columns of the layout).

        Returns:
            int32 (n, d + 1), in units of ``1 / FINE``: what the codes leave of the vector, and its length's logarithm.
        """
        rest = vectors.astype(np.float32)
        for column in range(len(self.layout.names)):
            rest -= self.books[column][codes[:, column]]
        for number, part in _parts(rest, self.layout.parts):
            column = len(self.layout.names) + number
            part -= self.books[column][codes[:, column]]
        return np.rint(np.column_stack((rest, grams.log_length(counts))) * FINE).astype(np.int32)

    def settled(self, sums: np.ndarray, counts: np.ndarray) -> Coder:
        """The same coder with each node where its members are, and as long as they are.

        Nodes are learnt from a dozen vectors each. The mean of what the codes leave of all members is the best
        estimate of an inner product with any of them (nDCG' .743 to .759, docs/index.md); the codes stay as they are.

        Args:
            sums: int64 (K, d + 1), ``remainder`` summed over the members of each node.
            counts: int (K,), members of each node.
        """
        means = sums / (np.maximum(counts, 1) * FINE)[:, None]
        nodes = np.where(counts[:, None] > 0, means[:, :-1], self.nodes)
        lengths = np.minimum(np.rint(means[:, -1] * LENGTH_STEPS), 255)
        return replace(self, nodes=nodes.astype(np.float16), lengths=lengths.astype(np.uint8))

    @cached_property
    def norms(self) -> np.ndarray:
        """float32 (K,): lengths of the nodes' vectors, above zero."""
        return np.maximum(np.linalg.norm(self.nodes.astype(np.float32), axis=1), np.float32(1e-3))

    @cached_property
    def _scale(self) -> np.ndarray:
        """float32 (K,): what a node's inner product is multiplied by, 1 in the mean."""
        scale = self.norms ** np.float32(-TIGHT)
        return scale / scale.mean()

    def at_nodes(self, products: np.ndarray, count: int) -> np.ndarray:
        """What each node is worth to a query: the inner product, less what formulas of another length lose.

        Half-way to a cosine: a node whose members are much alike has a long vector, and would come before nearer ones.
        A cosine does not see lengths of formulas, and relevant ones are seldom shorter than the query: nine in ten of
        those of arqmath-mini have .6 to 3.2 times its n-grams.

        Args:
            products: float32 (K,), inner products of the query and the nodes.
            count: how many n-grams the query has.

        Returns:
            float32 (K,).
        """
        longer = self.lengths.astype(np.float32) / LENGTH_STEPS - grams.log_length(np.array([count]))
        apart = np.where(longer > 0, np.float32(LONGER) * longer, -longer)
        return products * self._scale - np.float32(LENGTH_WEIGHT) * apart

    def lexical(self, features: np.ndarray) -> list[np.ndarray]:
        """What each name is worth to a query for its n-grams, uint32 (f,): float32 (2**b,) for each column of names."""
        return [grams.query_table(self.dictionary, features, b, column) for column, b in enumerate(self.layout.names)]

    def tables(self, query: np.ndarray, lexical: list[np.ndarray], weight: float) -> list[np.ndarray]:
        """What each code is worth to a query.

        Args:
            query: float32 (d,).
            lexical: what names are worth for its n-grams.
            weight: of the n-grams beside the inner product.

        Returns:
            float32 (2**b,) for each column of the codes.
        """
        result = []
        pieces = [query] * len(self.layout.names) + [piece for _, piece in _parts(query[None], self.layout.parts)]
        for book, piece in zip(self.books, pieces, strict=True):
            result.append(np.asarray(book, np.float32) @ piece.ravel())
        for column, worth in enumerate(lexical):
            result[column] += weight * worth
        return result


def usual(query: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """What a query loses: half of its part along the mean of all vectors, which only says how usual a formula is.

    Args:
        query: float32 (d,).
        mean: float32 (d,), of unit length or zero.

    Returns:
        float32 (d,), to be taken away from the query.
    """
    return np.float32(USUAL) * (query @ mean) * mean


def _parts(vectors: np.ndarray, parts: int) -> Iterator[tuple[int, np.ndarray]]:
    """(number, float (n, d / parts)) of each part of the dimensions."""
    for number in range(parts):
        width = vectors.shape[1] // parts
        yield number, vectors[:, number * width : (number + 1) * width]


class Named:
    """The n-grams of some groups that the dictionary knows; each is picked once.

    Args:
        dictionary: the n-grams that may be named.
        features: uint32 (f,), n-grams of all groups one after another.
        counts: int (n,), how many each has.
    """

    def __init__(self, dictionary: grams.Dictionary, features: np.ndarray, counts: np.ndarray) -> None:
        place = dictionary.find(features)
        known = np.flatnonzero(place >= 0)
        self.dictionary, self.count = dictionary, len(counts)
        self.place = place[known]
        self.owner = np.repeat(np.arange(len(counts)), counts)[known]
        self.length = grams.length_class(counts)[self.owner]
        self.rarity = RARITY * dictionary.idf[self.place]
        self.free = np.ones(len(known), bool)

    def pick(
        self, residual: np.ndarray, book: np.ndarray | None, bits: int, column: int, final: bool = True
    ) -> np.ndarray:
        """The name of each group: of the n-gram that is rarest and explains most of the residual.

        Args:
            residual: float32 (n, d).
            book: float32 (2**bits, d), or None to go by rarity alone.
            bits: of a name.
            column: of the code.
            final: the picked n-grams cannot be picked again.

        Returns:
            uint16 (n,); ``grams.NONE`` where the dictionary knows no free n-gram of the group.
        """
        names = self.dictionary.names(self.place, self.length, bits, column)
        gain = self.rarity.copy()
        if book is not None:
            square = np.einsum("ij,ij->i", book, book)
            for start in range(0, len(names), _GATHERED):
                part = slice(start, start + _GATHERED)
                rows = residual[self.owner[part]]
                gain[part] += 2 * np.einsum("ij,ij->i", rows, book[names[part]]) - square[names[part]]
        gain[~self.free] = -np.inf
        result = np.full(self.count, grams.NONE, np.uint16)
        if not len(gain):
            return result
        starts = np.flatnonzero(np.diff(self.owner, prepend=-1))
        best = np.repeat(np.maximum.reduceat(gain, starts), np.diff(np.append(starts, len(gain))))
        chosen = np.flatnonzero((gain == best) & self.free)
        owner, first = np.unique(self.owner[chosen], return_index=True)
        result[owner] = names[chosen[first]]
        if final:
            taken = np.full(self.count, -1, np.int64)
            taken[owner] = self.place[chosen[first]]
            self.free &= self.place != taken[self.owner]
        return result


def train(
    layout: Layout, nodes: np.ndarray, dictionary: grams.Dictionary, vectors: np.ndarray, node: np.ndarray,
    features: np.ndarray, counts: np.ndarray, seed: int = 0,
) -> Coder:  # fmt: skip
    """Learn the codebooks from a sample.

    Args:
        layout: how bits are spent.
        nodes: float16 (K, d).
        dictionary: of the same sample.
        vectors: float (n, d).
        node: int (n,), the node of each.
        features: uint32 (f,), the sample's n-grams one after another.
        counts: int (n,), how many each has.
        seed: of the product stage's first centres.

    Raises:
        ValueError: the dimensions cannot be cut into so many parts.
    """
    if layout.parts and vectors.shape[1] % layout.parts:
        raise ValueError(f"{vectors.shape[1]} dimensions cannot be cut into {layout.parts} parts")
    residual = vectors.astype(np.float32) - nodes[node].astype(np.float32)
    named = Named(dictionary, features, counts)
    books: list[np.ndarray] = []
    for column, bits in enumerate(layout.names):
        book = None
        for _ in range(ROUNDS):
            codes = named.pick(residual, book, bits, column, final=False)
            book = clusters.means(residual, codes.astype(np.int64), 1 << bits, prior=1.0)
            book[grams.NONE] = 0
            book = book.astype(np.float16).astype(np.float32)
        assert book is not None
        residual -= book[named.pick(residual, book, bits, column)]
        books.append(book.astype(np.float16))
    chosen = np.sort(np.random.default_rng(seed).choice(len(residual), min(TRAINED, len(residual)), replace=False))
    for number, part in _parts(residual[chosen], layout.parts):
        centres = clusters.kmeans(np.ascontiguousarray(part), 1 << layout.part_bits, PRODUCT_ROUNDS, seed + number)
        book = np.zeros((1 << layout.part_bits, part.shape[1]), np.float16)
        book[: len(centres)] = centres
        books.append(book)
    return Coder(layout, nodes, dictionary, books, np.zeros(len(nodes), np.uint8))
