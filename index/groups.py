"""Rows to visual groups: which instance stands for each group, without a Python object a row or group.

The consumer counts an answer for its whole visual group, so one formula id a group is kept. Instances withheld by their
issue are left out; among the others a question, answer or title is preferred to a comment, and then the smallest id.
Grouping costs about 50 bytes a row at its peak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from index.corpus import COMMENT, Chunk

_COMMENT_BIT = np.uint64(1 << 63)  # above every id, so a comment sorts behind whatever is not one
_ID_BITS = np.uint64((1 << 63) - 1)


@dataclass
class Groups:
    """The visual groups of a collection, by ascending id of their representative.

    Attributes:
        ids: int64 (groups,), strictly ascending formula ids of the representatives.
        rows: int64 (groups,), the representative's place in the stream of usable rows.
        instances: int32 (groups,), how many returnable instances the group has.
        kinds: uint8 (groups,), bit k set if an instance is of ``corpus.KINDS[k]``.
        dropped: rows left out: withheld instances.
        repeated: rows left out: ids that an earlier row had.
    """

    ids: np.ndarray
    rows: np.ndarray
    instances: np.ndarray
    kinds: np.ndarray
    dropped: int = 0
    repeated: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    def some(self, places: np.ndarray) -> Groups:
        """Only the groups at some ascending places; int64 (n,)."""
        ids, rows, instances, kinds = (column[places] for column in (self.ids, self.rows, self.instances, self.kinds))
        return Groups(ids, rows, instances, kinds, self.dropped, self.repeated)

    @property
    def comment_only(self) -> np.ndarray:
        """All instances stand in comments: bool (groups,)."""
        return self.kinds == 1 << COMMENT


def group(chunks: Iterable[Chunk], watch: Callable[[int], None] = lambda rows: None) -> Groups:
    """Group the rows of a collection.

    Args:
        chunks: the first pass over the collection.
        watch: called with the number of rows read so far.

    Returns:
        The groups, the same whatever the order of the rows, but for ``rows``.
    """
    keys, orders, kinds, places = [], [], [], []
    read = dropped = 0
    for chunk in chunks:
        kept = np.flatnonzero(~chunk.withheld)
        dropped += len(chunk) - len(kept)
        comment = np.where(chunk.kinds[kept] == COMMENT, _COMMENT_BIT, np.uint64(0))
        keys.append(chunk.visual[kept])
        orders.append(chunk.ids[kept].view(np.uint64) | comment)
        kinds.append(chunk.kinds[kept])
        places.append(kept + read)
        read += len(chunk)
        watch(read)
    if not sum(map(len, keys)):
        none = np.empty(0, np.int64)
        return Groups(none, none, np.empty(0, np.int32), np.empty(0, np.uint8), dropped)
    key, order, kind, place = _joined(keys), _joined(orders), _joined(kinds), _joined(places)
    first = _first_of_each_id(order)
    if first is not None:
        key, order, kind, place = key[first], order[first], kind[first], place[first]
    return _select(key, order, kind, place, dropped, read - dropped - len(key))


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Concatenate and empty the list, so that only one column exists twice at a time."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def _first_of_each_id(order: np.ndarray) -> np.ndarray | None:
    """Rows that are the first with their id, in the order of the file; None where no id occurs twice."""
    ids = order & _ID_BITS
    if bool((ids[1:] > ids[:-1]).all()):
        return None
    by_id = np.argsort(ids, kind="stable")
    ids = ids[by_id]
    repeats = by_id[1:][ids[1:] == ids[:-1]]
    if not len(repeats):
        return None
    keep = np.ones(len(order), bool)
    keep[repeats] = False
    return np.flatnonzero(keep)


def _select(
    key: np.ndarray, order: np.ndarray, kind: np.ndarray, place: np.ndarray, dropped: int, repeated: int
) -> Groups:
    """Sort by group and preference; the first of each run represents it."""
    sort = np.lexsort((order, key))
    key = key[sort]
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    del key
    instances = np.diff(np.append(starts, len(sort))).astype(np.int32)
    bits = np.bitwise_or.reduceat(np.left_shift(np.uint8(1), kind[sort]), starts)
    chosen = sort[starts]
    del sort
    ids = (order[chosen] & _ID_BITS).view(np.int64)
    by_id = np.argsort(ids)
    return Groups(ids[by_id], place[chosen[by_id]], instances[by_id], bits[by_id], dropped, repeated)


def representatives(groups: Groups, chunks: Iterable[Chunk], size: int) -> Iterator[tuple[np.ndarray, list[str]]]:
    """Stream the representatives' formulas, in the order of the file.

    The file need not be sorted by id, and holding its text to sort it would not scale; so each formula comes with the
    place of its group, and whoever uses it puts the result there.

    Args:
        groups: from the first pass.
        chunks: the second pass over the same file.
        size: formulas a chunk.

    Yields:
        (int64 (n,), n formulas): places in ``groups``, and the formulas of their representatives; n is ``size`` but
        for the last.
    """
    by_row = np.argsort(groups.rows)
    rows = groups.rows[by_row]
    places: list[np.ndarray] = []
    formulas: list[str] = []
    start = at = waiting = 0
    for chunk in chunks:
        end = int(np.searchsorted(rows, start + len(chunk)))
        formulas += [chunk.formulas[i] for i in (rows[at:end] - start).tolist()]
        places.append(by_row[at:end])
        waiting += end - at
        start, at = start + len(chunk), end
        if waiting >= size:
            joined = np.concatenate(places)
            cut = waiting - waiting % size
            for i in range(0, cut, size):
                yield joined[i : i + size], formulas[i : i + size]
            places, formulas, waiting = [joined[cut:]], formulas[cut:], waiting - cut
    if waiting:
        yield np.concatenate(places), formulas
