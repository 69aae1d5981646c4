"""TREC run files: `qid Q0 docid rank score tag`, one result a line.

Trap: trec_eval and pytrec_eval ignore the rank, compare scores as float32 and break ties by *descending* document id.
So a run is written with scores that strictly decrease in float32, and every tool sees the order that was meant.
"""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from evaluation.collection import numbered_lines
from evaluation.errors import EvaluationError

Ranking = Sequence[tuple[str, float]]
"""Formula ids with their scores, best first, scores not ascending."""

Run = Mapping[str, Ranking]
"""A ranking for each topic."""


def decreasing_float32(scores: Sequence[float]) -> list[float]:
    """Scores that strictly decrease as float32 and lie as near to the given ones as that allows.

    Each score becomes the nearest float32, or the float32 just below its predecessor where it would not be smaller:
    `[1.0, 1.0]` becomes `[1.0, 0.99999994]`. Beyond the range of float32 they are clamped.

    Raises:
        ValueError: A score is not finite or ascends, or too many lie at the lower end of float32.
    """
    top = np.finfo(np.float32).max
    last, last_out, out = math.inf, np.float32(np.inf), []
    for score in scores:
        if not math.isfinite(score) or score > last:
            raise ValueError(f"expected finite scores in descending order, got {score!r} after {last!r}")
        value = np.float32(min(max(float(score), -float(top)), float(top)))
        if not value < last_out:
            if last_out == -top:
                raise ValueError(f"score {score!r} cannot be told apart from its predecessor in float32")
            value = np.nextafter(last_out, np.float32(-np.inf))
        last, last_out = score, value
        out.append(float(value))
    return out


def write_run(path: Path, run: Run, tag: str) -> None:
    """Write a run, replacing the file in one step; ranks count from 1.

    Args:
        path: The file; `PATH.part` beside it is used on the way.
        run: Rankings by topic. Topics with an empty ranking leave no line, and read back as absent.
        tag: Name of the system, without blanks.

    Raises:
        EvaluationError: A topic, document id or tag is empty or holds blanks, a document occurs twice in a topic, or
            scores are not finite and descending.
    """
    lines = []
    if len(tag.split()) != 1 or tag != tag.strip():
        raise EvaluationError(f"{path}: expected a tag without blanks, got {tag[:60]!r}")
    for topic, ranking in run.items():
        where = f"{path}: topic {topic}"
        for field in (topic, *(doc for doc, _ in ranking)):
            if len(field.split()) != 1 or field != field.strip():
                raise EvaluationError(f"{where}: expected fields without blanks, got {field[:60]!r}")
        if len({doc for doc, _ in ranking}) != len(ranking):
            raise EvaluationError(f"{where}: expected distinct documents")
        try:
            scores = decreasing_float32([score for _, score in ranking])
        except ValueError as error:
            raise EvaluationError(f"{where}: {error}") from None
        # Nine significant digits are what brings every float32 back exactly.
        for rank, ((doc, _), score) in enumerate(zip(ranking, scores, strict=True), start=1):
            lines.append(f"{topic} Q0 {doc} {rank} {score:.9g} {tag}\n")
    part = path.with_name(path.name + ".part")
    try:
        part.write_text("".join(lines), encoding="utf-8")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def parse_line(line: str, where: str) -> tuple[str, str, int, float]:
    """Topic, document, rank and score of one line of a run; `where` heads the message of an `EvaluationError`."""
    parts = line.split()
    if len(parts) != 6:
        raise EvaluationError(f"{where}: expected 6 fields 'qid Q0 docid rank score tag', got {len(parts)}")
    topic, constant, doc, rank, score, _ = parts
    if constant != "Q0":
        raise EvaluationError(f"{where}: expected Q0 as the second field, got {constant[:60]!r}")
    if not (rank.isascii() and rank.isdigit()) or len(rank) > 9:
        raise EvaluationError(f"{where}: expected a whole number as rank, got {rank[:60]!r}")
    try:
        value = float(score)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise EvaluationError(f"{where}: expected a finite number as score, got {score[:60]!r}")
    return topic, doc, int(rank), value


def read_run(path: Path) -> dict[str, list[tuple[str, float]]]:
    """Read a run with its lines in any order; each ranking comes back in the order of the ranks.

    Rank and score must tell the same order, for tools differ in which of them they obey.

    Raises:
        EvaluationError: A line is malformed, a document or rank occurs twice in a topic, a score ascends with the rank,
            or no line is left. The message names the file and line.
    """
    topics: dict[str, dict[int, tuple[str, float, int]]] = {}
    seen: set[tuple[str, str]] = set()
    for number, line in numbered_lines(path):
        where = f"{path} line {number}"
        topic, doc, rank, score = parse_line(line, where)
        ranks = topics.setdefault(topic, {})
        if rank in ranks:
            raise EvaluationError(
                f"{where}: topic {topic} has rank {rank} a second time, first on line {ranks[rank][2]}"
            )
        if (topic, doc) in seen:
            raise EvaluationError(f"{where}: topic {topic} has document {doc} a second time")
        seen.add((topic, doc))
        ranks[rank] = (doc, score, number)
    if not topics:
        raise EvaluationError(f"{path}: expected at least one result")
    run: dict[str, list[tuple[str, float]]] = {}
    for topic, ranks in topics.items():
        last = math.inf
        for rank, (_, score, number) in sorted(ranks.items()):
            if score > last:
                raise EvaluationError(f"{path} line {number}: expected scores to fall with rank, rank {rank} rises")
            last = score
        run[topic] = [(doc, score) for _, (doc, score, _) in sorted(ranks.items())]
    return run
