"""Lines of bytes from a descriptor, none of them held in memory beyond a limit."""

import os
from collections.abc import Iterator

LIMIT = 8 << 20
"""Longest line that is read, in bytes without its newline."""

CHUNK = 1 << 16
"""Bytes asked of the descriptor at a time: what a Linux pipe holds."""


def read_lines(descriptor: int, limit: int = LIMIT) -> Iterator[bytes | None]:
    r"""Each line without its `\n` as soon as it has ended; None for one longer than `limit`, whose bytes are dropped.

    What follows the last newline is a line too, unless it is empty. Of an unfinished line at most `limit` bytes are
    held, besides the chunk just read, and the time is linear in the input.

    Raises:
        OSError: The descriptor cannot be read.
    """
    pending, too_long = bytearray(), False
    while chunk := os.read(descriptor, CHUNK):
        for number, piece in enumerate(chunk.split(b"\n")):
            if number > 0:  # a newline stands before every piece but the first
                yield None if too_long else bytes(pending)
                pending, too_long = bytearray(), False
            too_long = too_long or len(pending) + len(piece) > limit
            if too_long:
                pending = bytearray()
            else:
                pending += piece
    if too_long or pending:
        yield None if too_long else bytes(pending)
