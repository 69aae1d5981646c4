"""HNSW over float16 node vectors: the graph that finds what lies near a query. Arrays in, arrays out.

The nodes are the distinct vectors; any number of groups may belong to one. The graph is built by hnswlib (Malkov and
Yashunin 2018) on one thread with a fixed seed, hence reproducible. It can be kept as its links alone, about 13 bits
each: hnswlib's own saved form repeats the vectors in float32 and takes ten times as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import hnswlib
import numpy as np

from index import bits

# Measured on 39,664 vectors of 64 dimensions: recall of the exact top 1,000 is .9996 at EF = 2,000; M = 12 gives .9995,
# M = 8 .998; EF_CONSTRUCTION = 200 doubles the time to build for another .0003.
M = 16
EF_CONSTRUCTION = 100
SEED = 20_200_101
MEAN_LINKS = 24  # links a node has at M = 16, all levels together; for estimates before there is a graph

# Queue when a vector's own node is sought: of 65,536 nodes it finds the nearest for .997 of the vectors, and the
# cosine loses .0002 in the mean. 64 finds all and takes 1.8 times as long, a tenth of the time to code a formula.
EF_OWNER = 32

_LEVEL_BITS = 4  # the level of a node is below 16 up to 16**16 nodes


@dataclass
class Links:
    """A graph without its vectors.

    Attributes:
        levels: uint8, the top level of each node, packed.
        links: uint8, Elias-Fano of ``(level * n + node) * n + neighbour`` over all links; their order says nothing.
        entry: the node where every search begins.
    """

    levels: np.ndarray
    links: np.ndarray
    entry: int


def distinct(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nodes of a collection whose vectors are kept exactly.

    Equal vectors must be one node: a graph in which a vector occurs more often than a node has links falls apart.

    Args:
        vectors: float16 (n, d).

    Returns:
        (float16 (nodes, d), int64 (n,)): the distinct vectors by their first occurrence, and the node of each row.
    """
    rows = np.ascontiguousarray(vectors).view(np.dtype((np.void, vectors.shape[1] * vectors.itemsize))).ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return vectors[first[order]], rank[inverse]


def build(vectors: np.ndarray) -> hnswlib.Index:
    """Build the graph.

    Args:
        vectors: float16 or float32 (n, d), n >= 1.

    Returns:
        The hnswlib index; labels are the rows' places.
    """
    index = hnswlib.Index("ip", vectors.shape[1])
    index.init_index(len(vectors), M=M, ef_construction=EF_CONSTRUCTION, random_seed=SEED)
    index.set_num_threads(1)
    index.add_items(vectors.astype(np.float32), np.arange(len(vectors)), num_threads=1)
    return index


def _state(index: hnswlib.Index) -> dict[str, Any]:
    """What hnswlib pickles of an index."""
    return index.__getstate__()[0]


def links(index: hnswlib.Index) -> Links:
    """Take the links out of a graph."""
    state = _state(index)
    count, top = state["cur_element_count"], state["element_levels"]
    size = state["size_data_per_element"]
    rows = state["data_level0"].view(np.uint8)[: count * size].reshape(count, size)
    keys = [_keys(rows[:, : 4 + 4 * state["max_M0"]].copy().view(np.uint32), np.arange(count), 0, count)]
    upper = state["link_lists"].view(np.uint32).reshape(-1, 1 + state["max_M"])
    owner = np.repeat(np.arange(count), top)
    level = 1 + np.arange(len(owner)) - np.repeat(np.cumsum(top) - top, top)
    keys.append(_keys(upper, owner, level, count))
    return Links(
        bits.pack(top, _LEVEL_BITS), bits.ascending(np.sort(np.concatenate(keys))), int(state["enterpoint_node"])
    )


def _keys(rows: np.ndarray, owner: np.ndarray, level: np.ndarray | int, count: int) -> np.ndarray:
    """One number a link; a row holds the count (in its low 16 bits), then that many neighbours, then rubbish."""
    used = np.arange(rows.shape[1] - 1) < (rows[:, :1] & 0xFFFF)
    base = (np.asarray(level, np.int64) * count + owner) * count
    return (base[:, None] + rows[:, 1:].astype(np.int64))[used]


def restore(vectors: np.ndarray, kept: Links) -> hnswlib.Index:
    """Join vectors and links to a graph again.

    Args:
        vectors: the vectors that it was built from.
        kept: what ``links`` took out.

    Returns:
        A graph that answers as the first one did, but for the order of equal distances.

    Raises:
        ValueError: the links cannot be of so many vectors.
    """
    count = len(vectors)
    top = bits.unpack(kept.levels, count, _LEVEL_BITS).astype(np.int32)
    keys = bits.read_ascending(kept.links)
    empty = hnswlib.Index("ip", vectors.shape[1])
    empty.init_index(count, M=M, ef_construction=EF_CONSTRUCTION, random_seed=SEED)
    state = _state(empty)
    widths = (state["max_M0"], state["max_M"])
    owner, neighbour = np.divmod(keys, count)
    split = int(np.searchsorted(owner, count))
    level, node = np.divmod(owner[split:], count)
    if not 0 <= kept.entry < count or (len(level) and bool((level > top[node]).any())):
        raise ValueError(f"the graph's links do not belong to its {count} nodes")
    base = np.cumsum(top) - top
    size = state["size_data_per_element"]
    rows = np.zeros((count, size), np.uint8)
    rows[:, : 4 + 4 * widths[0]] = _rows(owner[:split], neighbour[:split], count, widths[0]).view(np.uint8)
    rows[:, state["offset_data"] : state["label_offset"]] = np.ascontiguousarray(vectors, np.float32).view(np.uint8)
    rows[:, state["label_offset"] :] = np.arange(count, dtype=np.uint64)[:, None].view(np.uint8)
    upper = _rows(base[node] + level - 1, neighbour[split:], int(top.sum()), widths[1])
    state.update(
        ep_added=True,
        cur_element_count=count,
        max_level=int(top.max()),
        enterpoint_node=kept.entry,
        num_threads=1,
        label_lookup_external=np.arange(count, dtype=np.uint64),
        label_lookup_internal=np.arange(count, dtype=np.uint32),
        element_levels=top,
        data_level0=rows.ravel().view(np.int8),
        link_lists=upper.ravel().view(np.int8),
    )
    return hnswlib.Index(state)


def _rows(owner: np.ndarray, neighbour: np.ndarray, count: int, width: int) -> np.ndarray:
    """Link lists as hnswlib keeps them, from (owner, neighbour) pairs, of which the owners may come in any order."""
    order = np.argsort(owner, kind="stable")
    owner, neighbour = owner[order], neighbour[order]
    have = np.bincount(owner, minlength=count)
    if len(have) > count or (len(have) and int(have.max()) > width):
        raise ValueError(f"a node has more than {width} links")
    rows = np.zeros((count, 1 + width), np.uint32)
    rows[:, 0] = have
    rows[owner, 1 + np.arange(len(owner)) - np.repeat(np.cumsum(have) - have, have)] = neighbour
    return rows


def nearest(index: hnswlib.Index, query: np.ndarray, count: int) -> np.ndarray | None:
    """The nodes that the graph finds nearest to a query.

    Args:
        index: the graph.
        query: float32 (d,).
        count: how many, at most as many as there are nodes; also the length of the search's queue.

    Returns:
        int64 (count,) places of nodes, nearest first; None if the graph reaches fewer.
    """
    index.set_ef(count)
    try:
        found, _ = index.knn_query(query, k=count, num_threads=1)
    except RuntimeError:  # hnswlib's word for too few
        return None
    return found[0].astype(np.int64)


def owners(index: hnswlib.Index, vectors: np.ndarray, threads: int = 1) -> np.ndarray:
    """The node that the graph finds nearest to each vector; the same for a vector in any company.

    Args:
        index: the graph.
        vectors: float (n, d).
        threads: that search; the answer is the same with any number.

    Returns:
        int64 (n,) places of nodes.
    """
    index.set_ef(EF_OWNER)
    found, _ = index.knn_query(vectors.astype(np.float32), k=1, num_threads=threads)
    return found[:, 0].astype(np.int64)
