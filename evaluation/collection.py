"""Reads what a run is judged against: queries, qrels and the visual group of every formula of the collection.

Does not look at formulas: which of them may be returned is the index's business, not the judge's.
"""

import csv
import io
import json
import os
import sys
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evaluation.errors import EvaluationError
from evaluation.progress import Progress

NO_GROUP = -1
"""Visual id of a formula whose cell is empty or no decimal number. No judgement can name it."""

LARGEST_ID = 2**63 - 1
"""Ids are kept as int64; collected documents use all of its 63 bits."""


class Query(NamedTuple):
    """One topic of a query file."""

    query_id: str
    latex: str


def parse_id(text: str) -> int | None:
    """The id that `text` writes as an unsigned decimal below 2**63 without leading zeros: '12' -> 12, '012' -> None."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_ID))):
        return None
    plain = text == "0" or text[0] != "0"
    return int(text) if plain and int(text) <= LARGEST_ID else None


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Non-blank lines of a UTF-8 text file with their numbers, from 1; a byte order mark is dropped.

    Raises:
        EvaluationError: The file is not UTF-8.
    """
    number = 0
    with open(path, encoding="utf-8-sig", newline="\n") as file:
        try:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line
        except UnicodeDecodeError as error:
            raise EvaluationError(f"{path} after line {number}: expected UTF-8 text ({error.reason})") from None


def read_queries(path: Path) -> list[Query]:
    """Read JSON lines with the string fields `query_id` and `latex`; other fields are ignored.

    Raises:
        EvaluationError: A line is no such object, an id is unfit for a TREC run or occurs twice, or no line is left.
    """
    queries: dict[str, Query] = {}
    for number, line in numbered_lines(path):
        where = f"{path} line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise EvaluationError(f"{where}: expected one JSON object, got {line.strip()[:60]!r}") from None
        if not isinstance(record, dict):
            raise EvaluationError(f"{where}: expected one JSON object, got {line.strip()[:60]!r}")
        query_id, latex = record.get("query_id"), record.get("latex")
        if not isinstance(query_id, str) or len(query_id.split()) != 1 or query_id != query_id.strip():
            raise EvaluationError(f"{where}: expected a string query_id without blanks, got {query_id!r}")
        if not isinstance(latex, str):
            raise EvaluationError(f"{where}: expected a string latex, got {str(latex)[:60]!r}")
        if query_id in queries:
            raise EvaluationError(f"{where}: query_id {query_id} occurs a second time")
        queries[query_id] = Query(query_id, latex)
    if not queries:
        raise EvaluationError(f"{path}: expected at least one query")
    return list(queries.values())


def read_qrels(path: Path) -> dict[str, dict[int, int]]:
    """Read TREC qrels `qid 0 visual_id grade` (any blanks between fields) into grades by topic and visual id.

    Topics keep the order of the file. A judgement given twice with one grade is accepted.

    Raises:
        EvaluationError: A line has other fields, a grade is not 0, 1, 2 or 3, two grades conflict, or no line is left.
    """
    qrels: dict[str, dict[int, int]] = {}
    grades = {text: int(text[0]) for grade in "0123" for text in (grade, f"{grade}.0")}
    for number, line in numbered_lines(path):
        where, parts = f"{path} line {number}", line.split()
        if len(parts) != 4:
            raise EvaluationError(f"{where}: expected 4 fields 'qid 0 visual_id grade', got {len(parts)}")
        topic, _, visual, grade = parts
        visual_id = parse_id(visual)
        if visual_id is None:
            raise EvaluationError(f"{where}: expected an unsigned decimal visual_id, got {visual[:60]!r}")
        if grade not in grades:
            raise EvaluationError(f"{where}: expected a grade 0, 1, 2 or 3, got {grade[:60]!r}")
        if qrels.setdefault(topic, {}).setdefault(visual_id, grades[grade]) != grades[grade]:
            raise EvaluationError(f"{where}: topic {topic} grades visual_id {visual} a second time, differently")
    if not qrels:
        raise EvaluationError(f"{path}: expected at least one judgement")
    return qrels


@dataclass(frozen=True)
class VisualMap:
    """Visual group of every formula, 16 bytes a formula.

    Attributes:
        formula_ids: int64 (n,), ascending.
        visual_ids: int64 (n,), `NO_GROUP` where the collection names none.
        skipped: Rows that could not be read (too short, or no unsigned decimal id).
    """

    formula_ids: npt.NDArray[np.int64]
    visual_ids: npt.NDArray[np.int64]
    skipped: int = 0

    @classmethod
    def from_rows(
        cls, formula_ids: npt.NDArray[np.int64], visual_ids: npt.NDArray[np.int64], skipped: int = 0
    ) -> "VisualMap":
        """Build the map from rows in any order, int64 (n,) each; of rows with one id the last one counts."""
        if np.any(formula_ids[1:] < formula_ids[:-1]):
            order = np.argsort(formula_ids, kind="stable")
            formula_ids, visual_ids = formula_ids[order], visual_ids[order]
        return cls(formula_ids, visual_ids, skipped)

    def groups(self, formula_ids: Iterable[str]) -> list[int]:
        """Visual ids of formula ids as a run spells them, in the same order.

        Raises:
            EvaluationError: An id is not in the collection.
        """
        texts = list(formula_ids)
        parsed = [parse_id(text) for text in texts]
        wanted = np.array([NO_GROUP if number is None else number for number in parsed], dtype=np.int64)
        # From the right, so that of equal ids the last row is found.
        at = np.searchsorted(self.formula_ids, wanted, side="right") - 1
        known = at >= 0
        known[known] = self.formula_ids[at[known]] == wanted[known]
        if not known.all():
            unknown = texts[int(np.argmin(known))]
            raise EvaluationError(f"formula_id {unknown[:60]!r} is not in the collection")
        return [int(visual) for visual in self.visual_ids[at]]


def read_visual_map(path: Path) -> VisualMap:
    """Read the columns `id` and `visual_id` of a formulas.tsv by its header (tab-separated, csv quoting).

    Rows that cannot be read are counted, not fatal: an index skips them too, so no answer can name them.

    Raises:
        EvaluationError: The header lacks a column, or no row is usable.
    """
    ids, visuals, skipped = array("q"), array("q"), 0
    progress = Progress(f"reading {path.name}", os.path.getsize(path), "MiB", scale=2**20)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        with open(path, "rb") as raw:
            file = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="")
            rows = csv.reader(file, delimiter="\t")
            header = [name.strip() for name in next(rows, [])]
            if not {"id", "visual_id"} <= set(header):
                raise EvaluationError(f"{path} line 1: expected a header with id and visual_id, got {header[:12]}")
            id_at, visual_at = header.index("id"), header.index("visual_id")
            for number, row in enumerate(rows):
                formula_id = parse_id(row[id_at]) if len(row) > max(id_at, visual_at) else None
                if formula_id is None:
                    skipped += bool(row)
                    continue
                visual_id = parse_id(row[visual_at])
                ids.append(formula_id)
                visuals.append(NO_GROUP if visual_id is None else visual_id)
                if number % 65536 == 0:
                    progress.update(raw.tell())
    finally:
        csv.field_size_limit(limit)
        progress.close()
    if not ids:
        raise EvaluationError(f"{path}: expected at least one row with an unsigned decimal id, skipped {skipped}")
    return VisualMap.from_rows(np.frombuffer(ids, dtype=np.int64), np.frombuffer(visuals, dtype=np.int64), skipped)
