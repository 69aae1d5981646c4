from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index import store
from index.errors import StoreError

META = {"groups": 3, "plan": {"form": "exact"}}
SECTIONS: dict[str, np.ndarray] = {
    "ids": np.array([1, 5, 9], np.int64),
    "vectors": np.arange(12, dtype=np.float16).reshape(3, 4),
    "empty": np.empty((0, 7), np.uint8),
}
HEAD = store._HEAD.size


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return store.write(tmp_path, META, SECTIONS)


def test_what_is_written_is_read(file: Path) -> None:
    meta, sections = store.read(file.parent)
    assert meta == META
    assert list(sections) == list(SECTIONS)
    for name, array in SECTIONS.items():
        assert sections[name].dtype == array.dtype
        assert np.array_equal(sections[name], array)
        assert not sections[name].flags.writeable
    assert file.stat().st_size == store.size(META, SECTIONS)


def test_equal_contents_are_equal_bytes(file: Path) -> None:
    before = file.read_bytes()
    store.write(file.parent, dict(reversed(META.items())), SECTIONS)
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == [store.FILE]


def body(data: bytes) -> int:
    """Where the sections begin."""
    return HEAD + int.from_bytes(data[12:16], "little")


def flip(at: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "not a Formdex index"),
    "foreign": (lambda data: b"PK\x03\x04" + data, "not a Formdex index"),
    "flipped magic": (flip(2), "not a Formdex index"),
    "cut in the head": (lambda data: data[:20], "head: truncated at 20 bytes, expected 32"),
    "other version": (
        lambda data: data[:8] + b"\7" + data[9:],
        f"format version 7, this program reads {store.VERSION}; build",
    ),
    "flipped version": (flip(9), f"format version {1024 + store.VERSION}, this program reads"),
    "flipped table length": (flip(13), "section table: "),
    "flipped table checksum": (flip(17), "section table: checksum differs"),
    "flipped table": (flip(HEAD + 5), "section table: checksum differs"),
    "cut in the table": (lambda data: data[: HEAD + 100], "section table: truncated at 100 of"),
    "cut before the sections": (lambda data: data[: body(data)], "section 'ids': truncated at 0 of 64 bytes"),
    "flipped section": (lambda data: flip(body(data) + 3)(data), "section 'ids': checksum differs"),
    "flipped filling": (lambda data: flip(body(data) + 30)(data), "section 'ids': checksum differs"),
    "cut in a section": (lambda data: data[: body(data) + 70], "section 'vectors': truncated at 6 of 64 bytes"),
    "last byte lost": (lambda data: data[:-1], "section 'vectors': truncated at 63 of 64 bytes"),
    "sections swapped": (lambda data: data[: body(data)] + data[-64:] + data[-128:-64], "section 'ids': checksum"),
    "something appended": (lambda data: data + b"\0", "something was appended"),
    "zeros throughout": (lambda data: bytes(len(data)), "not a Formdex index"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_refused_in_one_line(name: str, file: Path) -> None:
    damage, message = DAMAGE[name]
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(StoreError) as caught:
        store.read(file.parent)
    text = str(caught.value)
    assert text.startswith(f"{file}: ")
    assert message in text
    assert "\n" not in text


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.integers(1, 255))
def test_any_changed_byte_is_noticed(tmp_path: Path, at: int, mask: int) -> None:
    data = bytearray(store.write(tmp_path, META, SECTIONS).read_bytes())
    data[at % len(data)] ^= mask
    (tmp_path / store.FILE).write_bytes(data)
    with pytest.raises(StoreError):
        store.read(tmp_path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"formdex.index: cannot be read: No such file"):
        store.read(tmp_path)
    (tmp_path / store.FILE).mkdir()
    with pytest.raises(StoreError, match=r"formdex.index: cannot be read: Is a directory"):
        store.read(tmp_path)


def test_a_table_that_lies_is_refused(tmp_path: Path) -> None:
    path = tmp_path / store.FILE
    for text in (b"{}", b"[]", b"null", b"{", b'{"meta":{},"sections":[{"name":"x"}]}', b'{"meta":1,"sections":[]}'):
        path.write_bytes(store._HEAD.pack(store.MAGIC, store.VERSION, len(text), store._digest(text)) + text)
        with pytest.raises(StoreError, match="section table: not one"):
            store.read(tmp_path)


def test_a_failed_write_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.write(file.parent, META, {"ids": np.arange(1000)})
    assert file.read_bytes() == before
    assert [p.name for p in file.parent.iterdir()] == [store.FILE]


def test_unknown_dtypes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="section 'x': dtype complex128"):
        store.write(tmp_path, {}, {"x": np.zeros(2, complex)})
    assert list(tmp_path.iterdir()) == []
