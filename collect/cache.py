"""What was found in each file, kept between runs under a key made of everything that it depends on.

The key holds the file's content, its format, the macros that reach it and the code that read it. So an entry never
goes stale: what changed has another key, and a run drops the keys that it did not use.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

ROWS = 256  # rows a chunk
_CODE = ("collect", "encoder")
_PARSERS = ("markdown-it-py", "mdit-py-plugins", "charset-normalizer")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (key TEXT PRIMARY KEY, encoding TEXT, rows INTEGER, span INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS chunks (key TEXT, number INTEGER, data BLOB, PRIMARY KEY (key, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""


class Row(NamedTuple):
    """One formula, as it is kept. Ids are local to the file; ``post`` is 1 where the file is no dump."""

    post: int
    thread: int
    kind: str
    post_line: int
    title: str
    visual_id: int
    formula: str
    line: int
    column: int
    display: int
    before: str
    after: str


class Summary(NamedTuple):
    """A file's entry: its encoding, its number of rows, and the largest local post or thread id."""

    encoding: str
    rows: int
    span: int


def code_version() -> str:
    """A digest of the code that extracts: this package, the canonical form, and the versions of the parsers."""
    digest = hashlib.sha256()
    top = Path(__file__).resolve().parent.parent
    for package in _CODE:
        for file in sorted((top / package).rglob("*.py")):
            digest.update(file.relative_to(top).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    for parser in _PARSERS:
        try:
            digest.update(f"{parser}=={metadata.version(parser)}\n".encode())
        except metadata.PackageNotFoundError:
            digest.update(f"{parser} missing\n".encode())
    return digest.hexdigest()


class Cache:
    """An SQLite file of entries. Every file's rows are written in one transaction."""

    def __init__(self, place: Path) -> None:
        """Open or create it; a file that is no cache of ours is replaced."""
        self._db = _open(place)
        self.used: set[str] = set()

    def get(self, key: str) -> Summary | None:
        """The entry of a key, None if there is none."""
        row = self._db.execute("SELECT encoding, rows, span FROM files WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        self.used.add(key)
        return Summary(*row)

    def put(self, key: str, encoding: str, rows: Iterable[Row]) -> Summary:
        """Keep the rows of a file; nothing is kept if ``rows`` raises."""
        count, span, number = 0, 1, 0
        chunk: list[Row] = []
        with self._db:
            self._db.execute("DELETE FROM chunks WHERE key = ?", (key,))
            for row in rows:
                chunk.append(row)
                count, span = count + 1, max(span, row.post, row.thread)
                if len(chunk) == ROWS:
                    self._chunk(key, number, chunk)
                    number, chunk = number + 1, []
            if chunk:
                self._chunk(key, number, chunk)
            self._db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", (key, encoding, count, span))
        self.used.add(key)
        return Summary(encoding, count, span)

    def _chunk(self, key: str, number: int, rows: Sequence[Row]) -> None:
        data = zlib.compress(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode(), 1)
        self._db.execute("INSERT INTO chunks VALUES (?, ?, ?)", (key, number, data))

    def rows(self, key: str) -> Iterator[Row]:
        """The rows of a key, in order."""
        cursor = self._db.execute("SELECT data FROM chunks WHERE key = ? ORDER BY number", (key,))
        for (data,) in cursor:
            yield from (Row(*row) for row in json.loads(zlib.decompress(data)))

    def state(self, name: str) -> Any:
        """What was remembered under a name, None if nothing was."""
        row = self._db.execute("SELECT value FROM state WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def remember(self, name: str, value: Any) -> None:
        """Remember a JSON value under a name."""
        with self._db:
            self._db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (name, json.dumps(value)))

    def drop_unused(self) -> None:
        """Forget the entries that this run did not use."""
        keys = [key for (key,) in self._db.execute("SELECT key FROM files") if key not in self.used]
        with self._db:
            for key in keys:
                self._db.execute("DELETE FROM chunks WHERE key = ?", (key,))
                self._db.execute("DELETE FROM files WHERE key = ?", (key,))

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _open(place: Path) -> sqlite3.Connection:
    for attempt in (1, 2):
        db = sqlite3.connect(place)
        try:
            db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;" + _SCHEMA)
            db.execute("SELECT key, encoding, rows, span FROM files LIMIT 1").fetchone()
            return db
        except sqlite3.DatabaseError:
            db.close()
            if attempt == 2:
                raise
            place.unlink()
    raise AssertionError("unreachable")
