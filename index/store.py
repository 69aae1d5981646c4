r"""The index file: a head, a table of sections in JSON, and the sections. The one module that touches index files.

    8 bytes   magic "FORMDEX\n"
    4 bytes   format version, little-endian
    4 bytes   length of the JSON text
    16 bytes  blake2b of the JSON text
    JSON      {"meta": {...}, "sections": [{"name", "dtype", "shape", "offset", "length", "checksum"}, ...]}
    sections  each at a multiple of 64 bytes from the start of the file, filled up with zeros that the checksum covers

Equal contents give equal bytes. Whatever is damaged is found before anything is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from index.errors import StoreError

FILE = "formdex.index"
MAGIC = b"FORMDEX\n"
VERSION = 3  # 2: lengths of nodes, names hashed anew; 3: nodes in bytes
_HEAD = struct.Struct("<8sII16s")
_ALIGN = 64
_DTYPES = frozenset(("uint8", "uint16", "uint32", "int64", "float16", "float32"))


def _digest(data: bytes | memoryview, filling: int = 0) -> bytes:
    digest = hashlib.blake2b(data, digest_size=16)
    digest.update(bytes(filling))
    return digest.digest()


def _filling(length: int) -> int:
    """Zeros after so many bytes up to the next multiple."""
    return -length % _ALIGN


def _layout(meta: Mapping[str, Any], sections: Mapping[str, np.ndarray]) -> tuple[bytes, list[memoryview]]:
    """The JSON text, with offsets counted from its end, and the bytes of each section."""
    table, placed, offset = [], [], 0
    for name, array in sections.items():
        data = np.ascontiguousarray(array).data.cast("B") if array.size else memoryview(b"")
        table.append(
            {
                "name": name,
                "dtype": array.dtype.name,
                "shape": list(array.shape),
                "offset": offset,
                "length": data.nbytes,
                "checksum": _digest(data, _filling(data.nbytes)).hex(),
            }
        )
        placed.append(data)
        offset += data.nbytes + _filling(data.nbytes)
    text = json.dumps({"meta": meta, "sections": table}, sort_keys=True, separators=(",", ":")).encode()
    return text + b" " * _filling(len(text) + _HEAD.size), placed


def size(meta: Mapping[str, Any], sections: Mapping[str, np.ndarray]) -> int:
    """Bytes of the file that ``write`` would make."""
    text, placed = _layout(meta, sections)
    return _HEAD.size + len(text) + sum(data.nbytes + _filling(data.nbytes) for data in placed)


def write(folder: Path, meta: Mapping[str, Any], sections: Mapping[str, np.ndarray]) -> Path:
    """Write the index file of a folder: all of it or nothing.

    Args:
        folder: an existing folder.
        meta: what JSON can hold.
        sections: arrays by name, of the dtypes that the format knows.

    Returns:
        The file's path.

    Raises:
        StoreError: an array's dtype is not one of the format's.
        OSError: the file system refused; nothing is left behind.
    """
    for name, array in sections.items():
        if array.dtype.name not in _DTYPES:
            raise StoreError(f"section '{name}': dtype {array.dtype.name}, expected {', '.join(sorted(_DTYPES))}")
    text, placed = _layout(meta, sections)
    target, temporary = folder / FILE, folder / f".{FILE}.part"
    try:
        with temporary.open("wb") as handle:
            handle.write(_HEAD.pack(MAGIC, VERSION, len(text), _digest(text)) + text)
            for data in placed:
                handle.write(data)
                handle.write(bytes(_filling(data.nbytes)))
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(folder)
    return target


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read(folder: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read and check the index file of a folder.

    Returns:
        (meta, sections): what ``write`` was given; the arrays cannot be written to.

    Raises:
        StoreError: the file is missing, foreign, of another version, truncated or altered; the message names it and
            the part.
    """
    path = folder / FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror or error}") from None
    if data[: len(MAGIC)] != MAGIC:
        raise StoreError(f"{path}: not a Formdex index: it does not begin with {MAGIC!r}")
    if len(data) < _HEAD.size:
        raise StoreError(f"{path}: head: truncated at {len(data)} bytes, expected {_HEAD.size}")
    _, version, length, checksum = _HEAD.unpack_from(data)
    if version != VERSION:
        raise StoreError(f"{path}: head: format version {version}, this program reads {VERSION}; build the index again")
    start = _HEAD.size + length
    text = data[_HEAD.size : start]
    if len(text) != length:
        raise StoreError(f"{path}: section table: truncated at {len(text)} of {length} bytes")
    if _digest(text) != checksum:
        raise StoreError(f"{path}: section table: checksum differs, the file is damaged")
    try:
        table = json.loads(text)
        sections = {entry["name"]: _section(path, data, start, entry) for entry in table["sections"]}
        meta = dict(table["meta"])
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise StoreError(f"{path}: section table: not one ({type(error).__name__}: {error})") from None
    end = start + sum(entry["length"] + _filling(entry["length"]) for entry in table["sections"])
    if len(data) != end:
        raise StoreError(f"{path}: {len(data)} bytes, expected {end}: something was appended")
    return meta, sections


def _section(path: Path, data: bytes, start: int, entry: dict[str, Any]) -> np.ndarray:
    """One section, checked."""
    name, length, offset = entry["name"], entry["length"], start + entry["offset"]
    filled = memoryview(data)[offset : offset + length + _filling(length)]
    if filled.nbytes != length + _filling(length):
        raise StoreError(f"{path}: section '{name}': truncated at {filled.nbytes} of {length + _filling(length)} bytes")
    if _digest(filled).hex() != entry["checksum"]:
        raise StoreError(f"{path}: section '{name}': checksum differs, the file is damaged")
    dtype = np.dtype(entry["dtype"]) if entry["dtype"] in _DTYPES else None
    if dtype is None or int(np.prod(entry["shape"], dtype=np.int64)) * dtype.itemsize != length:
        raise StoreError(f"{path}: section '{name}': {entry['dtype']} {entry['shape']} is not {length} bytes")
    return np.frombuffer(filled[:length], dtype).reshape(entry["shape"])
