"""Rows of ``formulas.tsv``, in chunks of arrays. Reads every version of the file by its header; keeps no row.

The file is tab-separated with csv quoting: a formula may hold quotes, tabs and newlines. Columns may stand in any order
and there may be others; ``visual_id`` and ``issue`` may be missing, as in the collection's first versions. A row that
cannot be used is counted and skipped, never fatal. What this module does not do: decide which rows matter.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import numpy as np

from encoder.latex import canonical
from encoder.model import LONGEST_TEXT
from index import fields
from index.errors import CorpusError

FILE = "formulas.tsv"
ROWS = 1024  # rows a chunk: enough for numpy, few enough to stay in the cache; 8192 read a fifth slower
LONGEST_FIELD = 1 << 24  # characters; a longer one means that a quote was left open, and would fill the memory
EXAMPLES = 5  # bad rows that are kept for the message
KINDS = ("question", "answer", "title", "comment", "other")  # codes of the column ``type``, by their place
COMMENT = KINDS.index("comment")
WITHHELD = frozenset(("d", "dv"))  # issues of instances that are not in their post and must not be returned

_OTHER = KINDS.index("other")
_CODES = {kind: code for code, kind in enumerate(KINDS) if code != _OTHER}
_NEWLINES = re.compile(r"\r\n|\r|\n")


@dataclass
class Chunk:
    """Consecutive usable rows.

    Attributes:
        ids: int64 (rows,), formula ids, not negative.
        visual: int64 (rows,), the visual group: its id, or a negative hash of the canonical form where there is none.
        kinds: uint8 (rows,), places in ``KINDS``.
        withheld: bool (rows,), the instance must not be returned.
        formulas: the LaTeX of each row.
    """

    ids: np.ndarray
    visual: np.ndarray
    kinds: np.ndarray
    withheld: np.ndarray
    formulas: list[str]

    def __len__(self) -> int:
        return len(self.formulas)


@dataclass
class Notes:
    """What was odd in the file: counts by kind, and where the first bad rows are."""

    rows: int = 0
    bad: int = 0
    odd: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def reject(self, line: int, why: str) -> None:
        """Count a row that cannot be used."""
        self.bad += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(f"line {line}: {why}")

    def summary(self) -> str:
        """One line for people."""
        text = f"{self.rows:,} rows"
        if self.bad:
            more = ["..."] if self.bad > EXAMPLES else []
            text += f", {self.bad:,} bad rows skipped ({'; '.join(self.examples + more)})"
        return "; ".join([text, *(f"{count:,} {what}" for what, count in sorted(self.odd.items()))])


def group_hash(formula: str) -> int:
    """The group of a formula that has no visual id: a negative number from its canonical form, so never an id.

    Args:
        formula: LaTeX as it stands in the collection.

    Returns:
        A number in [-2**63, 0): blake2b of the canonical form, 63 bits of it.
    """
    form = canonical(formula[:LONGEST_TEXT]).encode("utf-8", "replace")
    return -1 - (int.from_bytes(hashlib.blake2b(form, digest_size=8).digest(), "little") >> 1)


class Corpus:
    """The file ``formulas.tsv`` of a data folder, opened for streaming any number of times.

    Args:
        folder: the data folder.

    Attributes:
        path: the file.
        notes: what was odd during the last complete or running pass.
        position: bytes read so far in the running pass.

    Raises:
        CorpusError: there is no such file, it is empty, or a column is missing; the message names it.
    """

    def __init__(self, folder: Path) -> None:
        csv.field_size_limit(LONGEST_FIELD)  # the csv module knows no other place for it
        self.path = folder / FILE
        self.notes = Notes()
        self.position = 0
        try:
            self.size = self.path.stat().st_size
            with self._open() as handle:
                header = next(csv.reader(handle, delimiter="\t"), None)
        except (OSError, csv.Error) as error:
            raise CorpusError(f"{self.path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
        if header is None:
            raise CorpusError(f"{self.path}: the file is empty; expected a header line naming the columns")
        self._width = len(header)
        places = {name.strip().strip("\x00").lower(): at for at, name in reversed(list(enumerate(header)))}
        for name in ("id", "type", "formula"):
            if name not in places:
                found = ascii(", ".join(header)[:120])[1:-1]
                raise CorpusError(f"{self.path}: column '{name}' is missing; the header holds: {found}")
        self._id, self._type, self._formula = places["id"], places["type"], places["formula"]
        self._visual, self._issue = places.get("visual_id"), places.get("issue")

    def _open(self) -> TextIO:
        # Invalid bytes become lone surrogates here, so that the row that holds them can be counted.
        return self.path.open(newline="", encoding="utf-8-sig", errors="surrogateescape")

    def chunks(self) -> Iterator[Chunk]:
        """Stream the usable rows in the order of the file; two passes over one file yield the same.

        Raises:
            CorpusError: the file stopped being readable.
        """
        self.notes, self.position = Notes(), 0
        try:
            with self._open() as handle:
                for line, rows in self._raw(handle):
                    chunk = self._fast(rows)
                    if chunk is None:
                        chunk = self._slow(line, rows)
                    self.notes.rows += len(chunk)
                    self.position = handle.buffer.tell()
                    if len(chunk):
                        yield chunk
        except OSError as error:
            raise CorpusError(f"{self.path}: reading failed: {error.strerror or error}") from None

    def _raw(self, handle: TextIO) -> Iterator[tuple[int, list[list[str]]]]:
        """Lists of rows as csv sees them, each with the number of the line before its first row."""
        reader = csv.reader(handle, delimiter="\t")
        next(reader)
        ended = False
        while not ended:
            line, rows = reader.line_num, []
            ended = True
            try:
                for row in reader:
                    rows.append(row)
                    if len(rows) == ROWS:
                        ended = False
                        break
            except csv.Error:  # the reader goes on with the next line
                ended = False
                self.notes.reject(reader.line_num, f"a field of over {LONGEST_FIELD:,} characters, an open quote?")
            yield line, rows

    def _fast(self, rows: list[list[str]]) -> Chunk | None:
        """A chunk of rows that are all in order, or None."""
        if not rows or set(map(len, rows)) != {self._width}:
            return None
        columns = list(zip(*rows, strict=True))
        ids = fields.numbers(columns[self._id])
        if ids is None or self._visual is None:
            return None
        visual = fields.numbers(columns[self._visual])
        if visual is None or not fields.is_text("".join(columns[self._formula])):
            return None
        kinds = np.array([_CODES.get(kind, -1) for kind in columns[self._type]], np.int8)
        if (kinds < 0).any():
            return None
        withheld = np.zeros(len(rows), bool)
        if self._issue is not None:
            withheld[:] = [issue != "" and issue.strip() in WITHHELD for issue in columns[self._issue]]
        return Chunk(ids, visual, kinds.view(np.uint8), withheld, list(columns[self._formula]))

    def _slow(self, line: int, rows: list[list[str]]) -> Chunk:
        """A chunk row by row, saying what is wrong with which."""
        kept: list[tuple[int, int, int, bool, str]] = []
        for row in rows:
            line += 1
            used = self._row(line, row)
            if used is not None:
                kept.append(used)
            line += sum(len(_NEWLINES.findall(cell)) for cell in row if "\n" in cell or "\r" in cell)
        ids, visual, kinds, withheld, formulas = zip(*kept, strict=True) if kept else ((), (), (), (), ())
        return Chunk(
            np.array(ids, np.int64),
            np.array(visual, np.int64),
            np.array(kinds, np.uint8),
            np.array(withheld, bool),
            list(formulas),
        )

    def _row(self, line: int, row: list[str]) -> tuple[int, int, int, bool, str] | None:
        """One row's values, or None after noting why it cannot be used."""
        if not row:
            self.notes.odd["blank lines"] += 1
            return None
        if len(row) != self._width:
            self.notes.reject(line, f"{len(row)} fields, expected {self._width}")
            return None
        number = fields.number(row[self._id])
        if number is None:
            self.notes.reject(line, f"id {row[self._id][:24]!a}, expected a decimal up to 2^63-1")
            return None
        formula = row[self._formula]
        if not fields.is_text(formula):
            self.notes.odd["formulas with invalid UTF-8, replaced"] += 1
            formula = formula.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        kind = _CODES.get(row[self._type].strip().lower(), _OTHER)
        if kind == _OTHER:
            self.notes.odd["rows of an unknown type"] += 1
        visual = None if self._visual is None else fields.number(row[self._visual])
        if visual is None:
            self.notes.odd["rows without visual id, grouped by canonical form"] += 1
            visual = group_hash(formula)
        withheld = self._issue is not None and row[self._issue].strip() in WITHHELD
        return number, visual, kind, withheld, formula
