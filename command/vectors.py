"""What formulas were encoded to, kept between builds: a repeated build encodes only those it has not seen.

An entry depends on nothing but the formula's text, the model, and the code that encodes, and the last two stamp the
file: it is emptied when they change. So an entry never goes stale, and an index built with it has the bytes of one
built without. Each entry carries a checksum; a damaged one counts as missing. Finished chunks stay when a build is
stopped. Used in place of ``index.embed.stream``; the contract's ``build.sh`` knows nothing of it.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

import numpy as np

from encoder.model import LONGEST_TEXT
from index import embed

_TOP = Path(__file__).resolve().parent.parent
_CODE = ("encoder/*.py", "index/embed.py")
_LIBRARIES = ("numpy", "onnxruntime", "tokenizers")
_SCHEMA = """
PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, data BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stamp (value TEXT NOT NULL);
"""
_OTHERS = frozenset((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY))
Chunk = tuple[np.ndarray, list[str]]


def code_version(patterns: Iterable[str] = _CODE) -> str:
    """A digest of files of this checkout and of the libraries that encoding rests on."""
    digest = hashlib.sha256()
    for pattern in patterns:
        for file in sorted(_TOP.glob(pattern)):
            digest.update(file.relative_to(_TOP).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    for library in _LIBRARIES:
        digest.update(f"{library}=={metadata.version(library)}\n".encode())
    return digest.hexdigest()


class Vectors:
    """The kept vectors and features of one model.

    Args:
        path: the file; a file that is none of ours is replaced.
        model: the model's folder.
        dim: numbers a vector.

    Attributes:
        encoded: formulas that were encoded through ``stream``.
        reused: formulas that were found here.
    """

    def __init__(self, path: Path, model: Path, dim: int) -> None:
        self._bytes = 2 * dim
        self._db = _open(path)
        self.encoded = self.reused = 0
        stamp = f"{embed.model_hash(model)} {code_version()}"
        if self._db.execute("SELECT value FROM stamp").fetchall() != [(stamp,)]:
            with self._db:
                self._db.execute("DELETE FROM entries")
                self._db.execute("DELETE FROM stamp")
                self._db.execute("INSERT INTO stamp VALUES (?)", (stamp,))
        self._db.execute("CREATE TEMP TABLE used (key BLOB PRIMARY KEY) WITHOUT ROWID")

    def stream(
        self, chunks: Iterable[Chunk], folder: Path, processes: int
    ) -> Iterator[tuple[np.ndarray, embed.Embedded]]:
        """Embed chunks as ``embed.stream`` does, though not in their order: what is known comes first.

        The text of what is not known is held in memory until all chunks are read.

        Args:
            chunks: places and formulas.
            folder: the model's folder; the one given at the start.
            processes: workers, if there is enough for them to do.

        Yields:
            Places, and what their formulas gave.
        """
        unknown: list[tuple[int, str]] = []
        for places, formulas in chunks:
            known, data = [], []
            with self._db:
                for place, formula in zip(places.tolist(), formulas, strict=True):
                    entry = self._get(formula)
                    if entry is None:
                        unknown.append((place, formula))
                    else:
                        known.append(place)
                        data.append(entry)
            self.reused += len(known)
            if known:
                yield np.array(known, np.int64), self._joined(data)
        if len(unknown) < 2 * embed.CHUNK:
            processes = 1  # starting workers takes longer
        sent: list[list[str]] = []
        for places, result in embed.stream(_chunked(unknown, sent), folder, processes):
            self._put(sent.pop(0), result)
            self.encoded += len(places)
            yield places, result

    def _get(self, formula: str) -> bytes | None:
        key = _key(formula)
        self._db.execute("INSERT OR IGNORE INTO used VALUES (?)", (key,))
        row = self._db.execute("SELECT data, checksum FROM entries WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        data, checksum = row
        whole = isinstance(data, bytes) and len(data) >= self._bytes and not (len(data) - self._bytes) % 4
        return data if whole and zlib.crc32(data) == checksum else None

    def _joined(self, entries: list[bytes]) -> embed.Embedded:
        vectors = b"".join(entry[: self._bytes] for entry in entries)
        features = b"".join(entry[self._bytes :] for entry in entries)
        return embed.Embedded(
            np.frombuffer(vectors, np.float16).reshape(len(entries), -1),
            np.frombuffer(features, np.uint32),
            np.array([(len(entry) - self._bytes) // 4 for entry in entries], np.int64),
        )

    def _put(self, formulas: list[str], result: embed.Embedded) -> None:
        ends = np.cumsum(result.counts)
        rows = []
        for formula, vector, start, end in zip(formulas, result.vectors, ends - result.counts, ends, strict=True):
            data = vector.tobytes() + result.features[start:end].tobytes()
            rows.append((_key(formula), data, zlib.crc32(data)))
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)

    def drop_unused(self) -> None:
        """Forget what was not asked for since the start."""
        with self._db:
            self._db.execute("DELETE FROM entries WHERE key NOT IN (SELECT key FROM used)")

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _key(formula: str) -> bytes:
    """The text, not its canonical form: a formula that is known then need not be read again."""
    return hashlib.blake2b(formula[:LONGEST_TEXT].encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _chunked(formulas: list[tuple[int, str]], sent: list[list[str]]) -> Iterator[Chunk]:
    """Full chunks; the text of each is also appended to ``sent``, for whoever gets the results in order."""
    for start in range(0, len(formulas), embed.CHUNK):
        part = formulas[start : start + embed.CHUNK]
        sent.append([formula for _, formula in part])
        yield np.array([place for place, _ in part], np.int64), sent[-1]


def _open(path: Path) -> sqlite3.Connection:
    try:
        return _ready(path)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF in _OTHERS:  # the place is at fault, not the file
            raise
    path.unlink()
    return _ready(path)


def _ready(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path)
    try:
        db.executescript(_SCHEMA)
        db.execute("SELECT key, data, checksum FROM entries LIMIT 1").fetchone()
    except BaseException:
        db.close()
        raise
    return db
