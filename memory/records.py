"""Per-case records as JSON lines: what was scored, appended one by one, so that a cut run goes on where it stopped."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memory.errors import MemoryBenchmarkError
from memory.scorers.base import NORMS

Record = dict[str, Any]
FIELDS: dict[str, type | tuple[type, ...]] = {
    "file": str, "case": str, "digest": str, "model": str, "control": bool, "domain": str, "task": str, "M": int,
    "K": (int, type(None)), "editK": (int, type(None)), "answer": str, "labels": list, "types": list, "sum": list,
    "tokens": list, "chars": list, "bytes": list, "choice": str, "correct": bool, "context_tokens": int, "cut": int,
    "cached": bool, "seconds": (int, float),
}  # fmt: skip
"""Fields of a record. `sum`, `tokens`, `chars`, `bytes` go with `labels`; `choice` is the option of the highest sum (of
equal ones the first); `cut` counts the context's tokens that did not fit the window; `control` marks a score without
the context; `cached` tells whether the context was run once; `seconds` is wall time."""
PER_OPTION = ("types", "sum", "tokens", "chars", "bytes")


def key(record: Record) -> tuple[Any, ...]:
    """What makes two records one and the same measurement."""
    return tuple(record[name] for name in ("file", "case", "digest", "model", "control"))


def choice(record: Record, norm: str) -> int:
    """The place of the option with the highest score under a norm (`sum`, `token`, `char`, `byte`); ties: the first."""
    if norm not in NORMS:
        raise MemoryBenchmarkError(f"norm {norm!r}: expected one of {', '.join(NORMS)}")
    sizes = [1] * len(record["sum"]) if norm == "sum" else record[norm + "s"]
    scores = [total / max(size, 1) for total, size in zip(record["sum"], sizes, strict=True)]
    return scores.index(max(scores))


def is_correct(record: Record, norm: str = "sum") -> bool:
    """Whether the option chosen under the norm is the answer."""
    return record["labels"][choice(record, norm)] == record["answer"]


def _parse(line: str, where: str) -> Record:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise MemoryBenchmarkError(f"{where}: expected a JSON object: {error}") from None
    if not isinstance(record, dict):
        raise MemoryBenchmarkError(f"{where}: expected a JSON object")
    for name, kind in FIELDS.items():
        if not isinstance(record.get(name, FIELDS), kind):
            raise MemoryBenchmarkError(f"{where}: field {name}: missing or of another type")
    if any(len(record[name]) != len(record["labels"]) for name in PER_OPTION):
        raise MemoryBenchmarkError(f"{where}: expected {', '.join(PER_OPTION)} as long as labels")
    return record


def read(path: Path) -> list[Record]:
    """The records of a file; a last line without its newline, as a cut run leaves it, is ignored.

    Raises:
        MemoryBenchmarkError: naming the file, line and field.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise MemoryBenchmarkError(f"{path}: {error}") from None
    lines = text.split("\n")[:-1]
    return [_parse(line, f"{path}: line {n}") for n, line in enumerate(lines, 1)]


def read_all(paths: Iterable[Path]) -> list[Record]:
    """The records of several files; of the same measurement the last counts."""
    found: dict[tuple[Any, ...], Record] = {}
    for path in paths:
        for record in read(path):
            found[key(record)] = record
    return list(found.values())


class Appender:
    """Appends records to a file, one whole line at a time.

    Args:
        path: made where it does not exist; an unfinished last line is taken off.

    Raises:
        MemoryBenchmarkError: the file holds something else, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.done: set[tuple[Any, ...]] = set()
        try:
            if path.exists():
                self.done = {key(record) for record in read(path)}
                data = path.read_bytes()
                os.truncate(path, data.rfind(b"\n") + 1)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise MemoryBenchmarkError(f"{path}: {error.strerror}") from None

    def add(self, record: Record) -> None:
        """Write a record so that it survives the end of this process."""
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        self._file.flush()
        self.done.add(key(record))

    def __enter__(self) -> "Appender":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
