import os
import threading
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.lines import CHUNK, read_lines


def feed(write: Callable[[int], object]) -> tuple[int, threading.Thread]:
    """A descriptor to read what `write` writes."""
    source, sink = os.pipe()

    def run() -> None:
        write(sink)
        os.close(sink)

    thread = threading.Thread(target=run)
    thread.start()
    return source, thread


def lines_of(data: bytes, limit: int) -> list[bytes | None]:
    source, thread = feed(lambda sink: [os.write(sink, data[at : at + 7]) for at in range(0, len(data), 7)])
    lines = list(read_lines(source, limit))
    thread.join()
    os.close(source)
    return lines


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"a\r\nb\n", [b"a\r", b"b"]),
        (b"123456\n1234567\n12345678\nx\n", [b"123456", b"1234567", None, b"x"]),
        (b"123456789", [None]),
        (b"123456789" * 5 + b"\nx", [None, b"x"]),
    ],
)
def test_lines(data: bytes, lines: list[bytes | None]) -> None:
    assert lines_of(data, 7) == lines


@given(st.lists(st.binary(max_size=12).filter(lambda piece: b"\n" not in piece), min_size=1))
def test_lines_are_the_pieces_between_newlines(pieces: list[bytes]) -> None:
    expected = [None if len(piece) > 9 else piece for piece in pieces]
    if not pieces[-1]:
        expected.pop()
    assert lines_of(b"\n".join(pieces), 9) == expected


def test_line_ends_where_its_newline_is_not_at_the_next_one() -> None:
    source, sink = os.pipe()
    lines: Iterator[bytes | None] = read_lines(source)
    for word in (b"one", b"two"):
        os.write(sink, word + b"\n")
        assert next(lines) == word
    os.close(sink)
    assert list(lines) == []
    os.close(source)


def test_long_line_is_not_held_in_memory() -> None:
    block = b"x" * CHUNK
    source, thread = feed(lambda sink: [os.write(sink, block) for _ in range(256)])
    tracemalloc.start()
    assert list(read_lines(source, limit=2 * CHUNK)) == [None]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    thread.join()
    os.close(source)
    assert peak < 8 * CHUNK  # 16 MiB came in
