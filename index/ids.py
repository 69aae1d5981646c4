"""Formula ids of the groups: Elias-Fano coded, in order or within the nodes that hold them. Arrays in, arrays out.

At full size the representatives' ids fill about a third of their range, so they cost 3 to 4 bits each; which of K nodes
holds a group costs log2(K) more. Within nodes, stretches of the range that hold no id at all are squeezed out first.
"""

from __future__ import annotations

import numpy as np

from index import bits


def encode(ids: np.ndarray) -> np.ndarray:
    """Code the ids.

    Args:
        ids: int64 (groups,), strictly ascending, in [0, 2**63).

    Returns:
        uint8.

    Raises:
        ValueError: they do not strictly ascend.
    """
    if bool((ids[1:] <= ids[:-1]).any()):
        raise ValueError("ids do not strictly ascend")
    return bits.ascending(ids)


def size(ids: np.ndarray) -> int:
    """Bytes that ``encode`` takes."""
    return bits.ascending_size(len(ids), int(ids[-1]) if len(ids) else 0)


def decode(code: np.ndarray) -> np.ndarray:
    """The ids.

    Returns:
        int64 (groups,), strictly ascending.

    Raises:
        ValueError: the code contradicts itself.
    """
    ids = bits.read_ascending(code)
    if bool((ids[1:] <= ids[:-1]).any()):
        raise ValueError("ids do not strictly ascend")
    return ids


_SHIFTS = (4, 8, 12, 16, 24, 40)  # sizes of a stretch, in bits, that are tried


def encode_members(ids: np.ndarray, owner: np.ndarray, nodes: int) -> dict[str, np.ndarray]:
    """Code ids together with the node of each: ``node * span + squeezed id``, ascending.

    Args:
        ids: int64 (groups,), distinct, in [0, 2**63).
        owner: int (groups,), in [0, nodes).
        nodes: how many nodes there are.

    Returns:
        Sections ``blocks`` (uint8: the stretches in use), ``shift`` (uint8 (1,)) and ``members`` (uint8). Groups are in
        the order of ``order``.

    Raises:
        ValueError: so many nodes and ids exceed 2**62.
    """
    best: dict[str, np.ndarray] = {}
    for shift in _SHIFTS:
        used = np.unique(ids >> shift)
        span = len(used) << shift
        if nodes * span >= 1 << 62:
            continue
        cost = bits.ascending_size(len(ids), nodes * span) + bits.ascending_size(len(used), int(used.max(initial=0)))
        if not best or cost < int(best["cost"]):
            best = {"cost": np.array(cost), "shift": np.array([shift], np.uint8), "used": used}
    if not best:
        raise ValueError(f"{len(ids)} ids over {nodes} nodes: more than 62 bits each")
    shift, used = int(best["shift"][0]), best["used"]
    squeezed = (np.searchsorted(used, ids >> shift) << shift) | (ids & ((1 << shift) - 1))
    keys = owner.astype(np.int64) * (len(used) << shift) + squeezed
    return {"blocks": bits.ascending(used), "shift": best["shift"], "members": bits.ascending(np.sort(keys))}


def order(ids: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """int64 (groups,): the order in which ``encode_members`` keeps the groups, by node, then by id."""
    return np.lexsort((ids, owner))


def stretches(ids: np.ndarray) -> int:
    """Numbers in the stretches of 4,096 that hold an id; about what ``encode_members`` codes over."""
    return len(np.unique(ids >> 12)) << 12


def members_size(groups: int, nodes: int, span: int, last: int) -> int:
    """Bytes that ``encode_members`` takes at most, but for a few.

    Args:
        groups: how many ids.
        nodes: how many nodes.
        span: numbers in the stretches that hold the ids (``stretches``).
        last: the largest id; ids far apart cost more, since the stretches themselves are coded.
    """
    return bits.ascending_size(groups, nodes * span) + bits.ascending_size(span >> 12, last >> 12)


def decode_members(sections: dict[str, np.ndarray], nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """What ``encode_members`` was given, by node, then by id.

    Returns:
        (int64 (groups,) ids, int64 (groups,) nodes).

    Raises:
        ValueError: the code contradicts itself.
    """
    shifts, used = sections["shift"].tolist(), bits.read_ascending(sections["blocks"])
    if len(shifts) != 1 or shifts[0] not in _SHIFTS:
        raise ValueError(f"stretches of {shifts} bits, expected one of {_SHIFTS}")
    shift, keys = shifts[0], bits.read_ascending(sections["members"])
    if len(keys) and not len(used):
        raise ValueError(f"{len(keys)} ids in no stretch")
    if bool((keys[1:] <= keys[:-1]).any()):
        raise ValueError("a node holds an id twice")
    owner, squeezed = np.divmod(keys, max(1, len(used)) << shift)
    if len(owner) and int(owner[-1]) >= nodes:
        raise ValueError(f"a group belongs to node {int(owner[-1])} of {nodes}")
    return (used[squeezed >> shift] << shift) | (squeezed & ((1 << shift) - 1)), owner
