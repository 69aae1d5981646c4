"""Numbers in as many bits as they need: fixed width, and Elias-Fano for ascending ones. Pure numpy.

Elias-Fano (Elias 1974, Fano 1971) stores n ascending numbers up to u in about 2 + log2(u / n) bits each, within half a
bit of what their entropy asks: the low bits of each number stand in fixed width, the high bits as a unary bit vector.
Ids, postings and graph links are all ascending numbers, so the whole index needs no other code for them.
"""

from __future__ import annotations

import numpy as np

WIDEST = 56  # bits; with the 7 that a number may start inside a byte they still fit one 64-bit word
_HEAD = np.dtype([("count", "<u8"), ("width", "<u8"), ("high", "<u8")])
_PIECE = 1 << 18  # numbers packed at once; a multiple of 8, so that every piece starts on a byte


def pack(values: np.ndarray, width: int) -> np.ndarray:
    """Pack numbers into ``width`` bits each, the lowest bit first.

    Args:
        values: integers (n,), each in [0, 2**width).
        width: bits a number, 0 to ``WIDEST``.

    Returns:
        uint8 (ceil(n * width / 8),).

    Raises:
        ValueError: a number does not fit.
    """
    if not 0 <= width <= WIDEST:
        raise ValueError(f"width {width}, expected 0 to {WIDEST}")
    if len(values) and (int(values.min()) < 0 or int(values.max()) >> width):
        raise ValueError(f"numbers {int(values.min())} to {int(values.max())} do not fit {width} bits")
    if not width or not len(values):
        return np.empty(0, np.uint8)
    shifts = np.arange(width, dtype=np.uint64)
    pieces = []
    for start in range(0, len(values), _PIECE):
        part = values[start : start + _PIECE].astype(np.uint64)
        matrix = ((part[:, None] >> shifts) & np.uint64(1)).astype(np.uint8)
        pieces.append(np.packbits(matrix.ravel(), bitorder="little"))
    return np.concatenate(pieces)


def unpack(packed: np.ndarray, count: int, width: int) -> np.ndarray:
    """The numbers of ``pack``.

    Args:
        packed: uint8, as ``pack`` made it.
        count: how many numbers.
        width: bits a number.

    Returns:
        int64 (count,).

    Raises:
        ValueError: ``packed`` is of another length than so many numbers take.
    """
    if len(packed) != (count * width + 7) // 8:
        raise ValueError(f"{len(packed)} bytes, expected {(count * width + 7) // 8}")
    if not width or not count:
        return np.zeros(count, np.int64)
    padded = np.concatenate((packed, np.zeros(8, np.uint8)))
    # Every byte offset read as the 64-bit word that starts there.
    words = np.ndarray((len(packed),), "<u8", padded, 0, (1,))
    at = np.arange(count, dtype=np.int64) * width
    values = words[at >> 3] >> (at & 7).astype(np.uint64)
    return (values & np.uint64((1 << width) - 1)).astype(np.int64)


def _low_width(count: int, last: int) -> int:
    """Low bits of Elias-Fano: log2 of the mean gap, rounded down."""
    return min(WIDEST, max(0, (last // count).bit_length() - 1)) if count else 0


def ascending_size(count: int, last: int) -> int:
    """Bytes that ``ascending`` takes for ``count`` numbers of which the largest is ``last``."""
    width = _low_width(count, last)
    high = (count + (last >> width) + 8) // 8 if count else 0
    return _HEAD.itemsize + high + (count * width + 7) // 8


def ascending(values: np.ndarray) -> np.ndarray:
    """Code ascending numbers by Elias-Fano.

    Args:
        values: int64 (n,), not negative, each at least the one before.

    Returns:
        uint8: a head (count, low bits, bytes of the high part), the high part, the low part.

    Raises:
        ValueError: the numbers do not ascend, or the first is negative.
    """
    if len(values) and (int(values[0]) < 0 or bool((values[1:] < values[:-1]).any())):
        raise ValueError("numbers do not ascend from 0 or more")
    count = len(values)
    last = int(values[-1]) if count else 0
    width = _low_width(count, last)
    high = np.empty(0, np.uint8)
    if count:
        marks = np.zeros((count + (last >> width) + 8) // 8 * 8, np.uint8)
        marks[(values >> width) + np.arange(count)] = 1
        high = np.packbits(marks, bitorder="little")
    low = pack(values & ((1 << width) - 1), width)
    head = np.array([(count, width, len(high))], _HEAD)
    return np.concatenate((head.view(np.uint8), high, low))


def read_ascending(code: np.ndarray) -> np.ndarray:
    """The numbers of ``ascending``.

    Args:
        code: uint8, as ``ascending`` made it.

    Returns:
        int64 (n,).

    Raises:
        ValueError: the code contradicts itself.
    """
    if len(code) < _HEAD.itemsize:
        raise ValueError(f"{len(code)} bytes, expected at least {_HEAD.itemsize}")
    count, width, size = (int(x) for x in np.ascontiguousarray(code[: _HEAD.itemsize]).view(_HEAD)[0])
    if width > WIDEST or size > len(code) - _HEAD.itemsize:
        raise ValueError(f"a head of {count} numbers, {width} low bits, {size} bytes, which cannot be")
    body = code[_HEAD.itemsize :]
    high = np.flatnonzero(np.unpackbits(body[:size], bitorder="little"))
    if len(high) != count:
        raise ValueError(f"{len(high)} numbers, expected {count}")
    return ((high - np.arange(count)) << width) | unpack(body[size:], count, width)
