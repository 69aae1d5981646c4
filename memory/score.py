"""Score files of cases with a model, and write a record a case."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path

from memory import files
from memory.cases import Case, Setting
from memory.errors import MemoryBenchmarkError
from memory.records import Appender, Record, choice, key
from memory.scorers.base import Scorer

log = logging.getLogger("memory")


def find_files(paths: Sequence[Path]) -> list[Path]:
    """The files of cases among these files and, at any depth, folders, sorted.

    Raises:
        MemoryBenchmarkError: a path does not exist, or there is no such file.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(path.rglob("*_que_ans.json"))
        elif path.exists():
            found.append(path)
        else:
            raise MemoryBenchmarkError(f"{path}: no such file or folder")
    if not found:
        raise MemoryBenchmarkError(f"{', '.join(map(str, paths))}: no file named *_que_ans.json")
    return list(dict.fromkeys(found))


def record_name(path: Path) -> str:
    """How records name a file: with its folder, so that two folders may hold files of one name."""
    return f"{path.resolve().parent.name}/{path.name}"


def score_case(scorer: Scorer, case: Case, control: bool) -> Record:
    """The part of a record that comes from the model."""
    start = time.perf_counter()
    try:
        scored = scorer.score(case.prompt(control), [option.text for option in case.options])
    except MemoryBenchmarkError as error:
        raise MemoryBenchmarkError(f"case {case.id}: {error}") from None
    record: Record = {
        "labels": [option.label for option in case.options],
        "types": [option.type for option in case.options],
        "sum": [round(option.sum, 6) for option in scored.options],
        "tokens": [option.tokens for option in scored.options],
        "chars": [option.chars for option in scored.options],
        "bytes": [option.bytes for option in scored.options],
        "context_tokens": scored.context_tokens,
        "cut": scored.cut,
        "cached": scorer.caches,
        "seconds": round(time.perf_counter() - start, 4),
    }
    record["choice"] = record["labels"][choice(record, "sum")]
    record["correct"] = record["choice"] == case.answer
    return record


def _head(setting: Setting, case: Case, file: str, model: str, control: bool) -> Record:
    return {
        "file": file, "case": case.id, "digest": case.digest(), "model": model, "control": control,
        "domain": setting.domain, "task": setting.task, "M": setting.m, "K": setting.k, "editK": setting.edit_k,
        "answer": case.answer,
    }  # fmt: skip


def score_files(
    scorer: Scorer, paths: Sequence[Path], out: Path, controls: Sequence[bool], limit: int | None = None
) -> tuple[int, int]:
    """Score every case that the records lack.

    Args:
        scorer: the model.
        paths: files of cases; all are read before the first is scored, so that a malformed one costs no time.
        out: JSON lines to append to.
        controls: False for scores with the context, True for those without.
        limit: cases of each file, the first ones; all by default.

    Returns:
        How many cases were scored now, and how many the records had already.
    """
    loaded = [(path, *files.read(path)) for path in paths]
    new = old = 0
    with Appender(out) as appender:
        for path, setting, cases in loaded:
            scorer.prepare(cases)
            for control in controls:
                start, done = time.perf_counter(), 0
                for number, case in enumerate(cases[:limit]):
                    head = _head(setting, case, record_name(path), scorer.name, control)
                    if key(head) in appender.done:
                        old += 1
                        continue
                    scorer.select(number)
                    appender.add(head | score_case(scorer, case, control))
                    done += 1
                new += done
                kind = "without context" if control else "with context"
                log.info("%s %s: %d cases in %.1f s", setting.stem, kind, done, time.perf_counter() - start)
    return new, old
