"""The n-grams that a group's code may name: a dictionary of frequent ones with their rarity. Arrays in, arrays out.

Where a collection is too large for an inverted index, each group names one or a few of its n-grams instead, a static
pruning of the index to the postings that say most. A name is a bucket of ``bits`` bits for an n-gram in a
formula of about some length; a query that has the n-gram finds the group again, and knows whether the formula is as
long as itself. The length costs no bit: it only makes the names' buckets fuller. docs/index.md has what each is worth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SIZE = 65_536  # n-grams; each costs about 3 bytes of the index
COMMON_SHARE = 20  # an n-gram of more than one group in 20 says nothing
LEAST = 2  # groups of the sample that must have it
STEPS = 16  # steps a unit in which the rarity (idf, natural logarithm) is kept
NONE = 0  # the name of a group without any n-gram of the dictionary
# Classes of formulas by their number of n-grams, each 2.8 times as long as the one before: 3, 8, 24, 68, 190 tokens.
LENGTHS = np.array((19, 54, 152, 430, 1217))
OFF_LENGTH = 0.6  # what a match is worth for each class between the lengths of query and formula; .4 does as well
SHORTEST = 5  # n-grams; formulas with fewer count as equally long
# Golden ratio of 2**32, then the finaliser of MurmurHash3 (Appleby, public domain): n-grams that share a name in one
# class or column must not share one in the next, as they would if only a constant were added to their hashes.
_SALT = np.uint32(0x9E3779B1)
_MIX = (np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35))
_SHIFTS = (np.uint32(16), np.uint32(13))


@dataclass
class Dictionary:
    """N-grams that may be named.

    Attributes:
        hashes: uint32 (V,), ascending.
        steps: uint8 (V,), idf in ``STEPS`` a unit.
        draw: another number gives other names; an index has those of 0.
    """

    hashes: np.ndarray
    steps: np.ndarray
    draw: int = 0

    @property
    def idf(self) -> np.ndarray:
        """float32 (V,): log(1 + n / df)."""
        return self.steps.astype(np.float32) / STEPS

    def find(self, features: np.ndarray) -> np.ndarray:
        """int64 (f,): the place of each feature in the dictionary, or -1."""
        if not len(self.hashes):
            return np.full(len(features), -1, np.int64)
        place = np.minimum(np.searchsorted(self.hashes, features), len(self.hashes) - 1)
        return np.where(self.hashes[place] == features, place, -1)

    def names(self, place: np.ndarray, length: np.ndarray | int, bits: int, column: int = 0) -> np.ndarray:
        """The names of some n-grams, 1 to ``2**bits - 1``; several may share one.

        Args:
            place: int (f,), of n-grams in the dictionary.
            length: int (f,) or one number, classes of the formulas that have them (``length_class``).
            bits: of a name.
            column: of the code; each has its own names.

        Returns:
            uint16 (f,).
        """
        kinds = len(LENGTHS) + 1
        salt = np.atleast_1d(length).astype(np.uint32) + np.uint32(1 + kinds * (column + 1000 * self.draw))
        mixed = self.hashes[place] ^ (salt * _SALT)
        for shift, factor in zip(_SHIFTS, _MIX, strict=True):
            mixed = (mixed ^ (mixed >> shift)) * factor
        mixed ^= mixed >> _SHIFTS[0]
        return (1 + mixed % np.uint32((1 << bits) - 1)).astype(np.uint16)


def length_class(counts: np.ndarray) -> np.ndarray:
    """int64 (n,), 0 to 5: classes of formulas with so many n-grams each."""
    return np.searchsorted(LENGTHS, counts, side="right")


def log_length(counts: np.ndarray) -> np.ndarray:
    """float32 (n,): natural logarithm of the length of formulas with so many n-grams each."""
    return np.log(np.maximum(counts, SHORTEST)).astype(np.float32)


def learn(features: np.ndarray, counts: np.ndarray, size: int = SIZE) -> Dictionary:
    """The dictionary of a sample.

    Args:
        features: uint32 (f,), hashed n-grams of all formulas one after another.
        counts: int64 (n,), how many each formula has.
        size: n-grams at most: the most frequent ones that are not common.
    """
    owners = np.repeat(np.arange(len(counts), dtype=np.uint64), counts)
    once = np.unique((features.astype(np.uint64) << np.uint64(32)) | owners)
    hashes, spread = np.unique((once >> np.uint64(32)).astype(np.uint32), return_counts=True)
    usable = np.flatnonzero((spread >= LEAST) & (spread * COMMON_SHARE <= max(len(counts), LEAST * COMMON_SHARE)))
    kept = np.sort(usable[np.argsort(-spread[usable], kind="stable")[:size]])
    idf = np.log1p(len(counts) / spread[kept])
    return Dictionary(hashes[kept], np.minimum(255, np.round(idf * STEPS)).astype(np.uint8))


def query_table(dictionary: Dictionary, features: np.ndarray, bits: int, column: int = 0) -> np.ndarray:
    """What a name is worth to a query.

    Args:
        dictionary: the index's.
        features: uint32 (f,), the query's hashes, repeated ones too.
        bits: of a name.
        column: of the code.

    Returns:
        float32 (2**bits,): squared idf of the query's n-gram with that name, relative to the query's largest, and less
        the further the formula's length is from the query's; 0 for all others. Of several with one name the largest.
    """
    table = np.zeros(1 << bits, np.float32)
    place = dictionary.find(np.unique(features))
    place = place[place >= 0]
    if len(place):
        worth = dictionary.idf[place] ** 2
        worth /= worth.max()
        own = int(length_class(np.array([len(features)]))[0])
        for other in range(len(LENGTHS) + 1):
            share = np.float32(OFF_LENGTH ** abs(other - own))
            np.maximum.at(table, dictionary.names(place, other, bits, column), worth * share)
    return table
