"""The output: ``formulas.tsv`` as the contract names its columns, and ``posts.sqlite`` with where each formula stands.

``posts.sqlite`` holds

- ``documents``: one row a file, or a post of a dump: ``post_id``, ``thread_id``, ``type``, ``root`` and ``path`` (join
  them for the file), ``line`` where it starts, ``format``, ``encoding``, ``external_id`` (the dump's own id) and
  ``title``;
- ``contexts``: one row a formula: ``formula_id``, ``post_id``, ``line`` and ``column`` (1-based), ``display`` (0 or 1),
  ``before`` and ``after`` (the text around it).

Both are written under other names and renamed when complete. The same rows make the same bytes.
"""

from __future__ import annotations

import csv
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from collect.cache import Row

HEADER = ("id", "post_id", "thread_id", "type", "comment_id", "old_visual_id", "visual_id", "issue", "formula")
TSV, SQLITE = "formulas.tsv", "posts.sqlite"
_SCHEMA = """
CREATE TABLE documents (post_id INTEGER PRIMARY KEY, thread_id INTEGER NOT NULL, type TEXT NOT NULL,
    root TEXT NOT NULL, path TEXT NOT NULL, line INTEGER NOT NULL, format TEXT NOT NULL, encoding TEXT NOT NULL,
    external_id INTEGER, title TEXT NOT NULL);
CREATE TABLE contexts (formula_id INTEGER PRIMARY KEY, post_id INTEGER NOT NULL, line INTEGER NOT NULL,
    "column" INTEGER NOT NULL, display INTEGER NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL);
"""
_BATCH = 2000


class Document(NamedTuple):
    """A file of the output: where it is, how it was read, the largest local id in it, and its formulas."""

    root: str
    path: str
    format: str
    encoding: str
    span: int
    rows: Iterable[Row]


class _Writer:
    """Numbers the rows and writes them to both files."""

    def __init__(self, tsv: csv.writer, db: sqlite3.Connection) -> None:  # type: ignore[valid-type]
        self.tsv, self.db = tsv, db
        self.base = 0  # added to a file's local post ids
        self.formulas = 0
        self.documents: list[tuple[object, ...]] = []
        self.contexts: list[tuple[object, ...]] = []

    def add(self, document: Document) -> None:
        """Write one file's rows; its posts get the ids behind those of the files before."""
        last = 0
        dump = document.format == "posts"
        for row in document.rows:
            self.formulas += 1
            post, thread = self.base + row.post, self.base + row.thread
            if row.post != last:
                last = row.post
                kind = "question" if row.kind == "title" else row.kind
                self.documents.append(
                    (post, thread, kind, document.root, document.path, row.post_line, document.format,
                     document.encoding, row.post if dump else None, row.title)
                )  # fmt: skip
            self.contexts.append((self.formulas, post, row.line, row.column, row.display, row.before, row.after))
            self.tsv.writerow(  # type: ignore[attr-defined]
                (self.formulas, post, thread, row.kind, "", row.visual_id, row.visual_id, "", row.formula)
            )
            if len(self.contexts) >= _BATCH:
                self.flush()
        self.base += document.span

    def flush(self) -> None:
        """Write the rows that wait."""
        self.db.executemany(f"INSERT OR IGNORE INTO documents VALUES ({','.join('?' * 10)})", self.documents)
        self.db.executemany(f"INSERT INTO contexts VALUES ({','.join('?' * 7)})", self.contexts)
        self.documents.clear()
        self.contexts.clear()


def write(out: Path, documents: Iterable[Document]) -> int:
    """Write both files into a folder.

    Args:
        out: the folder; it exists.
        documents: the files in their final order.

    Returns:
        The number of formulas written.
    """
    tsv_new, db_new = out / f".{TSV}.new", out / f".{SQLITE}.new"
    db_new.unlink(missing_ok=True)
    db = sqlite3.connect(db_new)
    try:
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _SCHEMA)
        with tsv_new.open("w", encoding="utf-8", newline="") as stream:
            tsv = csv.writer(stream, delimiter="\t", lineterminator="\n")
            tsv.writerow(HEADER)
            writer = _Writer(tsv, db)
            for document in documents:
                writer.add(document)
            writer.flush()
        db.commit()
    finally:
        db.close()
    os.replace(tsv_new, out / TSV)
    os.replace(db_new, out / SQLITE)
    return writer.formulas
