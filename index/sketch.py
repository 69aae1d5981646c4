"""Lexical evidence: BM25 over hashed n-grams. Arrays in, arrays out; knows hashes, not what they are hashes of.

Exact form, for collections with room: an inverted index. Features are numbered by ascending hash, the postings
``feature * groups + group`` are one ascending sequence, and so both are Elias-Fano coded; how often a group has a
feature is kept in 2 bits. About 17 bits a posting in all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from index import bits

# BM25's saturation and length normalisation (Robertson and Zaragoza 2009, section 3.2), and a power of its idf. A
# formula is short and its rare n-grams say most of it: measured on arqmath-mini, nDCG' of the n-grams alone is
# .934 / .896 (2020 / 2021) with the textbook's 1.2, .75 and 1, and .948 / .902 with these.
K1, B, RARITY = 0.6, 0.5, 2.0
COUNT_BITS = 2  # a count of 2**COUNT_BITS and more is kept as that
# Features of more than one group in 16 are added as whole rows, which is faster than posting by posting; they are 77 %
# of the postings that a query touches. At most so many, most frequent first, to bound the memory.
DENSE_SHARE, DENSE_ROWS = 16, 128


@dataclass
class Postings:
    """Which groups have which features.

    Attributes:
        hashes: uint32 (features,), ascending.
        keys: int64 (postings,), ``feature * groups + group``, ascending.
        counts: int64 (postings,), 1 to 2**COUNT_BITS.
        groups: how many groups there are.
    """

    hashes: np.ndarray
    keys: np.ndarray
    counts: np.ndarray
    groups: int


def invert(features: np.ndarray, owners: np.ndarray, groups: int) -> Postings:
    """Turn features of groups into groups of features.

    Args:
        features: uint32 (f,), hashes; a repeated pair is a feature that a group has several times.
        owners: int64 (f,), the group of each.
        groups: how many groups there are.

    Returns:
        All postings.
    """
    hashes, number = np.unique(features, return_inverse=True)
    keys, counts = np.unique(number * groups + owners, return_counts=True)
    return Postings(hashes, keys, np.minimum(counts, 1 << COUNT_BITS), groups)


def spread(postings: Postings) -> np.ndarray:
    """int64 (features,): in how many groups each feature occurs."""
    return np.bincount(postings.keys // max(1, postings.groups), minlength=len(postings.hashes))


def thin(postings: Postings, least: int) -> Postings:
    """Leave out features that fewer than ``least`` groups have: the many that help the fewest queries."""
    keep = spread(postings) >= least
    number, group = np.divmod(postings.keys, max(1, postings.groups))
    kept = keep[number]
    rank = np.cumsum(keep) - 1
    keys = rank[number[kept]] * postings.groups + group[kept]
    return Postings(postings.hashes[keep], keys, postings.counts[kept], postings.groups)


def size(postings: Postings, least: int = 1) -> int:
    """Bytes of the three sections of ``encode(thin(postings, least))``."""
    occurs = spread(postings)
    occurs = occurs[occurs >= least]
    features, count = len(occurs), int(occurs.sum())
    last = int(postings.hashes[-1]) if features else 0
    return (
        bits.ascending_size(features, last)
        + bits.ascending_size(count, features * postings.groups)
        + (count * COUNT_BITS + 7) // 8
    )


def encode(postings: Postings) -> dict[str, np.ndarray]:
    """Code postings as sections ``hashes``, ``keys`` and ``counts``, uint8 each."""
    return {
        "hashes": bits.ascending(postings.hashes.astype(np.int64)),
        "keys": bits.ascending(postings.keys),
        "counts": bits.pack(postings.counts - 1, COUNT_BITS),
    }


def decode(sections: dict[str, np.ndarray], groups: int) -> Postings:
    """The postings of ``encode``.

    Raises:
        ValueError: the sections contradict each other.
    """
    hashes = bits.read_ascending(sections["hashes"]).astype(np.uint32)
    keys = bits.read_ascending(sections["keys"])
    if len(keys) and int(keys[-1]) >= len(hashes) * groups:
        raise ValueError(f"a posting beyond {len(hashes)} features and {groups} groups")
    return Postings(hashes, keys, bits.unpack(sections["counts"], len(keys), COUNT_BITS) + 1, groups)


class Scorer:
    """BM25 of all groups at once.

    A group's length is the sum of its kept counts. A posting's weight does not depend on the query, so it is computed
    once: ``idf**RARITY * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / mean length))``, where ``idf`` is
    ``ln(1 + (N - n + .5) / (n + .5))``, N the number of groups and n of those that have the feature.

    Args:
        postings: what to score by.
    """

    def __init__(self, postings: Postings) -> None:
        groups = max(1, postings.groups)
        number, self._group = np.divmod(postings.keys, groups)
        occurs = np.bincount(number, minlength=len(postings.hashes))
        self._starts = np.concatenate(([0], np.cumsum(occurs)))
        self._hashes, self.groups = postings.hashes, postings.groups
        counts = postings.counts.astype(np.float64)
        length = np.bincount(self._group, counts, minlength=groups)
        norm = K1 * (1 - B + B * length / max(float(length.mean()), 1.0))
        idf = np.log1p((groups - occurs + 0.5) / (occurs + 0.5))
        self._weight = idf[number] ** RARITY * counts * (K1 + 1) / (counts + norm[self._group])
        frequent = np.argsort(-occurs, kind="stable")[:DENSE_ROWS]
        self._rows = {
            int(i): self._row(int(i)) for i in frequent[occurs[frequent] * DENSE_SHARE > groups]
        }  # by feature; float32 (groups,)

    def _row(self, feature: int) -> np.ndarray:
        """One feature's weight for every group, float32 (groups,)."""
        row = np.zeros(self.groups, np.float32)
        postings = slice(self._starts[feature], self._starts[feature + 1])
        row[self._group[postings]] = self._weight[postings]
        return row

    def score(self, features: np.ndarray) -> np.ndarray:
        """Score all groups.

        Args:
            features: uint32 (f,), the query's hashes; a feature that it has n times counts n times.

        Returns:
            float64 (groups,), 0 or more.
        """
        wanted, times = np.unique(features, return_counts=True)
        place = np.searchsorted(self._hashes, wanted)
        known = place < len(self._hashes)
        known[known] = self._hashes[place[known]] == wanted[known]
        groups, weights = [np.empty(0, np.int64)], [np.empty(0)]
        rows = []
        for feature, count in zip(place[known].tolist(), times[known].tolist(), strict=True):
            if feature in self._rows:
                rows.append((feature, count))
                continue
            postings = slice(self._starts[feature], self._starts[feature + 1])
            groups.append(self._group[postings])
            weights.append(self._weight[postings] * count if count > 1 else self._weight[postings])
        score = np.bincount(np.concatenate(groups), np.concatenate(weights), minlength=self.groups)
        frequent = np.zeros(self.groups, np.float32)  # float32 throughout: mixed sums take twice as long
        for feature, count in rows:
            frequent += self._rows[feature] * np.float32(count) if count > 1 else self._rows[feature]
        return score + frequent
