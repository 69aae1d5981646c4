"""Formula ids of the groups: strictly ascending numbers, Elias-Fano coded. Arrays in, arrays out.

At full size the representatives' ids fill about a third of their range, so they cost 3 to 4 bits each.
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
