"""Files of cases: writing our own, reading them and the layouts of other producers.

The accepted schema (also in docs/memory.md). A file `{domain}_{task}_[k{K}_][editk{editK}_]M{M}_que_ans.json` holds a
list of cases, or an object with such a list under `cases`, `data`, `questions`, `items` or `samples`. A case needs

* a query: text under `query`, `question` or `input`;
* a context: text under `context`, `prompt`, `memory` or `passage`; or a list under `examples`, `memory` or
  `demonstrations` of texts or of objects with `input` and `output`, which become lines `input -> output`;
* options: under `options`, `choices` or `candidates`, a list of objects with a text (`text`, `content`, `value`,
  `answer`) and a type (`type`, `kind`), with or without a `label` (A, B, ... by place if none has one); or a list of
  texts, or an object from labels to texts, beside a list or object of types under `option_types` or `types`; or an
  object from labels to objects;
* an answer: under `answer`, `label`, `correct` or `gold`, the label of the correct option, or its place from 0.

`id` (or `case_id`, `qid`) is optional. The types must be those of the task, each once.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memory.cases import CORRECT, LABELS, TYPES, Case, Option, Setting, parse_name
from memory.errors import MemoryBenchmarkError

LISTS = ("cases", "data", "questions", "items", "samples")
QUERY = ("query", "question", "input")
CONTEXT = ("context", "prompt", "memory", "passage", "examples", "demonstrations")
OPTIONS = ("options", "choices", "candidates")
TEXT = ("text", "content", "value", "answer")
TYPE = ("type", "kind")
OPTION_TYPES = ("option_types", "types")
ANSWER = ("answer", "label", "correct", "gold")
ID = ("id", "case_id", "qid")
FORMAT = "formdex-memory-1"


def _find(record: dict[str, Any], names: Sequence[str]) -> Any:
    """The value of the first of these fields, ValueError where there is none."""
    for name in names:
        if name in record:
            return record[name]
    raise ValueError(f"field {names[0]}: missing; expected {' or '.join(names)}")


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"field {field}: expected a text that is not blank, not {value!r:.60}")
    return value


def _context(record: dict[str, Any]) -> str:
    value = _find(record, CONTEXT)
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise ValueError(f"field context: expected a text or a list of examples, not {type(value).__name__}")
    lines = []
    for i, example in enumerate(value):
        if isinstance(example, dict):
            for name in ("input", "output"):
                if name not in example:
                    raise ValueError(f"field examples[{i}].{name}: missing; expected input and output")
            lines.append(f"{example['input']} -> {example['output']}")
        else:
            lines.append(_text(example, f"examples[{i}]"))
    return "\n".join(lines)


def _labelled(record: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Labels (None where there is none) and contents (texts or objects) of the options, in order."""
    value = _find(record, OPTIONS)
    if isinstance(value, dict):
        return list(value), list(value.values())
    if not isinstance(value, list):
        raise ValueError(f"field options: expected a list or an object, not {type(value).__name__}")
    return [item.get("label") if isinstance(item, dict) else None for item in value], value


def _type(record: dict[str, Any], label: str, i: int) -> Any:
    """The type of an option that does not state it itself."""
    try:
        types = _find(record, OPTION_TYPES)
    except ValueError:
        raise ValueError(f"field options[{i}].type: missing; expected {' or '.join(TYPE)}, or option_types") from None
    try:
        return types[label] if isinstance(types, dict) else types[i]
    except (KeyError, IndexError, TypeError):
        raise ValueError(f"field option_types: nothing for option {label}") from None


def _options(record: dict[str, Any], task: str) -> tuple[Option, ...]:
    labels, contents = _labelled(record)
    expected = TYPES[task]
    if len(contents) != len(expected):
        raise ValueError(f"field options: expected {len(expected)} for {task}, not {len(contents)}")
    if all(label is None for label in labels):
        labels = list(LABELS[: len(contents)])
    options = []
    for i, (label, content) in enumerate(zip(labels, contents, strict=True)):
        label = _text(label, f"options[{i}].label")
        inner = content if isinstance(content, dict) else {TEXT[0]: content}
        try:
            text = _text(_find(inner, TEXT), "text")
        except ValueError as error:
            raise ValueError(str(error).replace("field ", f"field options[{i}].", 1)) from None
        kind = next((inner[name] for name in TYPE if name in inner), None) or _type(record, label, i)
        if kind not in expected:
            raise ValueError(f"field options[{i}].type: expected one of {', '.join(expected)}, not {kind!r}")
        options.append(Option(label, kind, text))
    for name in ("label", "type", "text"):
        values = [getattr(option, name) for option in options]
        if len(set(values)) < len(values):
            raise ValueError(f"field options: expected a different {name} for each, not {', '.join(values)}")
    return tuple(options)


def _answer(record: dict[str, Any], options: tuple[Option, ...]) -> str:
    value = _find(record, ANSWER)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(options):
        value = options[value].label
    chosen = next((option for option in options if option.label == value), None)
    if chosen is None:
        raise ValueError(
            f"field answer: expected one of the labels {', '.join(o.label for o in options)}, not {value!r:.60}"
        )
    if chosen.type != CORRECT:
        raise ValueError(f"field answer: option {chosen.label} is of the type {chosen.type}, expected {CORRECT}")
    return chosen.label


def _case(record: Any, task: str, number: int) -> Case:
    if not isinstance(record, dict):
        raise ValueError(f"expected an object, not {type(record).__name__}")
    name = next((record[key] for key in ID if key in record), f"{number}")
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise ValueError(f"field id: expected a text or a number, not {name!r:.60}")
    options = _options(record, task)
    trace = record.get("trace", {})
    if not isinstance(trace, dict):
        raise ValueError(f"field trace: expected an object, not {type(trace).__name__}")
    query = _text(_find(record, QUERY), "query")
    return Case(str(name), _context(record), query, options, _answer(record, options), trace)


def read(path: Path) -> tuple[Setting, list[Case]]:
    """The setting that the name states and the cases.

    Raises:
        MemoryBenchmarkError: naming the file, the case and the field, and what was expected.
    """
    setting = parse_name(path.name)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MemoryBenchmarkError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise MemoryBenchmarkError(f"{path}: expected JSON in UTF-8: {error}") from None
    records = data
    if isinstance(data, dict):
        records = next((data[name] for name in LISTS if name in data), None)
    if not isinstance(records, list) or not records:
        raise MemoryBenchmarkError(
            f"{path}: field cases: missing; expected a list of cases, alone or under {', '.join(LISTS)}"
        )
    cases: list[Case] = []
    seen: set[str] = set()
    for number, record in enumerate(records):
        try:
            case = _case(record, setting.task, number)
            if case.id in seen:
                raise ValueError(f"field id: {case.id} occurs twice")
        except ValueError as error:
            raise MemoryBenchmarkError(f"{path}: case {number}: {error}") from None
        seen.add(case.id)
        cases.append(case)
    return setting, cases


def write(folder: Path, setting: Setting, cases: Sequence[Case], seed: int) -> Path:
    """Write a file of cases, one a line; complete or not at all, the same bytes for the same cases."""
    path = folder / setting.file_name
    head = {"format": FORMAT, "domain": setting.domain, "task": setting.task, "K": setting.k, "editK": setting.edit_k,
            "M": setting.m, "seed": seed}  # fmt: skip
    lines = []
    for case in cases:
        options = [{"label": o.label, "type": o.type, "text": o.text} for o in case.options]
        record = {"id": case.id, "context": case.context, "query": case.query, "options": options,
                  "answer": case.answer, "trace": case.trace}  # fmt: skip
        lines.append(json.dumps(record, ensure_ascii=False))
    text = json.dumps(head, ensure_ascii=False)[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        scratch = path.with_name(path.name + ".part")
        scratch.write_text(text, encoding="utf-8")
        os.replace(scratch, path)
    except OSError as error:
        raise MemoryBenchmarkError(f"{path}: {error.strerror}") from None
    return path
