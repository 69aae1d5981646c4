"""Where a query itself would be, were it a group: the cells, each a node and a name, that its own codes may be.

A formula that is typed as it stands in the collection has its group's codes, and one that differs by little often has
the same. Its place cannot be computed as in the build, since nodes have moved to the mean of their members after the
groups were coded, but it is nearly always among the nodes nearest by angle and the names that gain most there: of 400
groups among 7.4 million, .66 had the nearest node and .95 one of five; .73 had the best name of theirs and .94 one of
three. A cell holds few groups, so a bonus can put them before nearly all others. Arrays in, arrays out.
"""

from __future__ import annotations

import numpy as np

from index import codes, grams

NODES = 16  # nearest by angle that are looked at
# Of a cell, what its node's cosine falls short of the nearest one's and its name's gain of the best one's: together at
# most ``WITHIN``. Its groups get ``STEEP`` for each unit less. Among 7.4 million groups WITHIN .025 to .1 and STEEP 1
# to 4 are within .004 of nDCG', but with less steepness a formula is seldomer first of its own answers (docs/index.md).
WITHIN, STEEP = 0.05, 4.0


def own(
    coder: codes.Coder, query: np.ndarray, cosines: np.ndarray, features: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The cells that a query's own codes may be.

    None if codes have parts: the residual then tells what is like the query inside a node, and better (mean nDCG' of 12
    + 4 x 7 bits among 724,593 groups .862, with cells .855).

    Args:
        coder: of the index.
        query: float32 (d,), of unit length.
        cosines: float32 (K,), of the query and each node.
        features: uint32 (f,), the query's n-grams.

    Returns:
        (int64 (n,) nodes, float32 (n, 2**bits)): what each name of theirs is worth, 0 where it is too far.
    """
    bits = coder.layout.names[0] if coder.layout.names else 0
    if coder.layout.parts or not bits:
        return np.empty(0, np.int64), np.empty((0, 1 << bits), np.float32)
    short = cosines.max() - cosines
    near = np.flatnonzero(short < WITHIN)
    near = near[np.argsort(short[near], kind="stable")[:NODES]]
    names, gains = np.full(1, grams.NONE, np.int64), np.zeros((len(near), 1), np.float32)
    named = codes.Named(coder.dictionary, features, np.array([len(features)]))
    if len(named.place):
        found = coder.dictionary.names(named.place, named.length, bits).astype(np.int64)
        order = np.argsort(found, kind="stable")
        names, starts = np.unique(found[order], return_index=True)
        book = coder.books[0][found[order]].astype(np.float32)
        rest = query - coder.nodes[near].astype(np.float32)
        each = named.rarity[order] - np.einsum("ij,ij->i", book, book) + 2 * rest @ book.T
        gains = np.maximum.reduceat(each, starts, axis=1)
    loss = short[near][:, None] + gains.max(axis=1, keepdims=True) - gains
    worth = np.zeros((len(near), 1 << bits), np.float32)
    worth[:, names] = np.float32(STEEP) * np.maximum(0, np.float32(WITHIN) - loss)
    return near, worth


def members(
    nodes: np.ndarray, worth: np.ndarray, first: np.ndarray, names: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The groups in some cells.

    Args:
        nodes: int64 (n,), distinct.
        worth: float32 (n, 2**bits), of ``own``.
        first: int (K + 1,), place of the first group of each node; groups stand in order of their nodes.
        names: uint16 (groups,), the name of each.

    Returns:
        (int64 (m,), ascending: places of the groups; float32 (m,): what they are worth, above 0).
    """
    places, values = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
    for row in np.argsort(nodes).tolist():
        start, end = int(first[nodes[row]]), int(first[nodes[row] + 1])
        value = worth[row][names[start:end]]
        inside = np.flatnonzero(value)
        places.append(start + inside)
        values.append(value[inside])
    return np.concatenate(places), np.concatenate(values)
