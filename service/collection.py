"""The collection behind an index: the LaTeX of each formula id, its visual group, and where it stands.

`formulas.tsv` is held in a few arrays (about 50 bytes a formula and its text). Places come from the `posts.sqlite` that
`collect` writes; a collection with another one, or none, is served without places. One thread at a time.
"""

import contextlib
import os
import sqlite3
import stat
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from index.corpus import Corpus

LARGEST = 64 << 20
"""Bytes of a file an excerpt may be read from."""

AROUND = 40
"""Lines before and after the formula's in an excerpt."""

LINE_CHARS = 2000
"""An excerpt's lines are cut to this length."""

_PLACE = """SELECT d.root, d.path, c.line, c."column", c.display, c.before, c.after, d.title, d.format, d.type,
    d.encoding, d.external_id FROM contexts c JOIN documents d USING (post_id) WHERE c.formula_id = ?"""


class ExcerptError(Exception):
    """A source that cannot be shown; the message is one line."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a formula stands: the file below its root, 1-based line and column, the text around it."""

    root: str
    path: str
    line: int
    column: int
    display: bool
    before: str
    after: str
    title: str
    format: str
    kind: str
    encoding: str
    external_id: int | None

    def public(self) -> dict[str, Any]:
        """The place as JSON values, without what is of no use to a reader."""
        return {name: getattr(self, name) for name in _PUBLIC} | {"path": self.name}

    @property
    def name(self) -> str:
        """The file below the name of its root: what tells two collected folders apart without their whole paths."""
        return os.path.join(os.path.basename(os.path.normpath(self.root)), self.path)


_PUBLIC = tuple(field.name for field in fields(Place) if field.name not in ("root", "encoding"))


class Collection:
    """A collection in memory.

    Args:
        folder: holds `formulas.tsv` and, if places are wanted, `posts.sqlite`.

    Raises:
        CorpusError: `formulas.tsv` cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        ids, visual, lengths, texts = [], [], [], bytearray()
        for chunk in Corpus(folder).chunks():
            kept = ~chunk.withheld
            encoded = [
                formula.encode("utf-8", "replace") for formula, keep in zip(chunk.formulas, kept, strict=True) if keep
            ]
            ids.append(chunk.ids[kept])
            visual.append(chunk.visual[kept])
            lengths.append(np.fromiter(map(len, encoded), np.int64, len(encoded)))
            texts += b"".join(encoded)
        none = [np.empty(0, np.int64)]
        self._ids, self._visual = np.concatenate(ids or none), np.concatenate(visual or none)
        self._ends = np.cumsum(np.concatenate(lengths or none))
        self._texts = bytes(texts)
        self._by_id = np.argsort(self._ids, kind="stable")
        self._by_group = np.lexsort((self._ids, self._visual))
        self._sorted_ids, self._sorted_groups = self._ids[self._by_id], self._visual[self._by_group]
        self._db = _open_places(folder / "posts.sqlite")

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def has_places(self) -> bool:
        """Does `posts.sqlite` say where formulas stand?"""
        return self._db is not None

    def latex(self, formula_id: int) -> str | None:
        """The formula as it stands in its document, None for an id that is not in the collection."""
        row = self._row(formula_id)
        if row is None:
            return None
        start = int(self._ends[row - 1]) if row else 0
        return self._texts[start : int(self._ends[row])].decode()

    def group(self, formula_id: int) -> list[int]:
        """Ids of all formulas that look the same, this one first, then ascending; empty for an unknown id."""
        row = self._row(formula_id)
        if row is None:
            return []
        first, last = (int(np.searchsorted(self._sorted_groups, self._visual[row], s)) for s in ("left", "right"))
        members = self._ids[self._by_group[first:last]].tolist()
        return [formula_id, *(member for member in members if member != formula_id)]

    def group_size(self, formula_id: int) -> int:
        """How many formulas look the same, this one included; 0 for an unknown id."""
        row = self._row(formula_id)
        if row is None:
            return 0
        first, last = (np.searchsorted(self._sorted_groups, self._visual[row], side) for side in ("left", "right"))
        return int(last - first)

    def place(self, formula_id: int) -> Place | None:
        """Where a formula stands, None where that is not known."""
        found = None
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):  # a damaged file: the formulas can still be searched
                found = self._db.execute(_PLACE, (formula_id,)).fetchone()
        if found is None:
            return None
        root, path, line, column, display, before, after, title, format_, kind, encoding, external = found
        return Place(
            root, path, line, column, bool(display), before, after, title, format_, kind, encoding, external
        )  # fmt: skip

    def _row(self, formula_id: int) -> int | None:
        at = int(np.searchsorted(self._sorted_ids, formula_id))
        if at == len(self._sorted_ids) or self._sorted_ids[at] != formula_id:
            return None
        return int(self._by_id[at])


def _open_places(path: Path) -> sqlite3.Connection | None:
    """The database of `collect`, read-only; None where there is none or one of another schema."""
    db = None
    try:
        # Used from the one worker thread, opened in another.
        db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        db.execute(_PLACE, (0,))
    except sqlite3.Error:
        if db is not None:
            db.close()
        return None
    return db


def excerpt(place: Place) -> tuple[int, list[str]]:
    """The lines around a formula in its file.

    The path comes from the database alone. It must lead to a regular file inside the folder that was collected, links
    resolved, so that neither a crafted database nor a link made since opens anything else.

    Returns:
        The number of the first line (1-based), and at most 2 * AROUND + 1 lines without their ends.

    Raises:
        ExcerptError: the file is gone, is outside its folder, is no regular file or is too large.
    """
    try:
        root = os.path.realpath(place.root)
        path = os.path.realpath(os.path.join(root, place.path))
        if os.path.commonpath([root, path]) != root:
            raise ExcerptError(f"{place.name}: expected a file inside the folder that was collected")
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not make the service wait
    except (OSError, ValueError) as error:
        raise ExcerptError(f"{place.name}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
        os.close(descriptor)
        raise ExcerptError(f"{place.name}: expected a regular file of at most {LARGEST >> 20} MiB")
    first = max(1, place.line - AROUND)
    with open(descriptor, encoding=_codec(place.encoding), errors="replace") as stream:
        lines = [line.rstrip("\n")[:LINE_CHARS] for line in islice(stream, first - 1, place.line + AROUND)]
    return first, lines


def _codec(name: str) -> str:
    try:
        "".encode(name)
    except LookupError:
        return "utf-8"
    return name
