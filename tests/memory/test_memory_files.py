import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory import files
from memory.cases import RET, Setting, parse_name
from memory.errors import MemoryBenchmarkError

NAME = "strings_MemoryRet_M2_que_ans.json"
Change = Callable[[dict[str, Any]], object]


def case() -> dict[str, Any]:
    return {
        "id": "one",
        "context": "zor: ab -> ba",
        "query": "zor: cd ->",
        "options": [
            {"label": "A", "type": "random_wrong", "text": "dd"},
            {"label": "B", "type": "correct", "text": "dc"},
            {"label": "C", "type": "retrieval_similar", "text": "ba"},
        ],
        "answer": "B",
    }


def put(folder: Path, data: Any, name: str = NAME) -> Path:
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def drop(*names: str) -> Change:
    return lambda record: [record.pop(name) for name in names]


def option(i: int, **fields: Any) -> Change:
    return lambda record: record["options"][i].update(fields)


MALFORMED: dict[str, tuple[Change, str]] = {
    "no query": (drop("query"), "field query: missing"),
    "blank query": (lambda r: r.update(query=" "), "field query: expected a text"),
    "no context": (drop("context"), "field context: missing"),
    "context a number": (lambda r: r.update(context=3), "field context: expected"),
    "example without output": (lambda r: r.update(context=[{"input": "ab"}]), r"field examples\[0\].output: missing"),
    "no options": (drop("options"), "field options: missing"),
    "options a text": (lambda r: r.update(options="A or B"), "field options: expected a list"),
    "too few options": (lambda r: r["options"].pop(), "field options: expected 3 for MemoryRet, not 2"),
    "option without text": (lambda r: r["options"][1].pop("text"), r"field options\[1\].text: missing"),
    "option text a list": (option(0, text=["dd"]), r"field options\[0\].text: expected a text"),
    "option without type": (lambda r: r["options"][2].pop("type"), r"field options\[2\].type: missing"),
    "type of another task": (option(0, type="old_rule"), r"field options\[0\].type: expected one of"),
    "two options of one type": (option(0, type="correct"), "field options: expected a different type"),
    "two options of one label": (option(0, label="B"), "field options: expected a different label"),
    "two equal options": (option(0, text="dc"), "field options: expected a different text"),
    "label a number": (option(0, label=1), r"field options\[0\].label: expected a text"),
    "no answer": (drop("answer"), "field answer: missing"),
    "answer no label": (lambda r: r.update(answer="Z"), "field answer: expected one of the labels A, B, C"),
    "answer of a wrong option": (lambda r: r.update(answer="A"), "field answer: option A is of the type random_wrong"),
    "id a list": (lambda r: r.update(id=[1]), "field id: expected"),
    "trace a text": (lambda r: r.update(trace="x"), "field trace: expected an object"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_case_is_named_with_file_case_and_field(tmp_path: Path, kind: str) -> None:
    change, message = MALFORMED[kind]
    bad = case()
    change(bad)
    path = put(tmp_path, [case() | {"id": "zero"}, bad])
    with pytest.raises(MemoryBenchmarkError, match=message) as error:
        files.read(path)
    assert str(error.value).startswith(f"{path}: case 1: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [("{", "expected JSON"), ("[]", "field cases: missing"), ("{}", "field cases: missing"), ("3", "field cases"),
     ('{"cases": {}}', "field cases"), ("[3]", "case 0: expected an object"),
     (json.dumps([case(), case()]), "case 1: field id: one occurs twice")],
)  # fmt: skip
def test_a_malformed_file_is_named(tmp_path: Path, data: str, message: str) -> None:
    path = put(tmp_path, data)
    with pytest.raises(MemoryBenchmarkError, match=message) as error:
        files.read(path)
    assert str(path) in str(error.value)


def test_bytes_that_are_no_text_and_absent_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with pytest.raises(MemoryBenchmarkError, match="No such file"):
        files.read(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MemoryBenchmarkError, match="UTF-8"):
        files.read(path)


def layouts() -> dict[str, Any]:
    base = case()
    texts, types = {"A": "dd", "B": "dc", "C": "ba"}, {"A": "random_wrong", "B": "correct", "C": "retrieval_similar"}
    head = {"question": base["query"], "examples": [{"input": "zor: ab", "output": "ba"}]}
    return {
        "ours": base,
        "a place for the answer": base | {"answer": 1},
        "texts and types by label": head | {"choices": texts, "option_types": types, "gold": "B"},
        "texts and types in order": head | {
            "candidates": list(texts.values()), "types": list(types.values()), "label": "B"
        },
        "objects by label": head | {
            "options": {label: {"content": texts[label], "kind": types[label]} for label in texts}, "correct": "B"
        },
        "without labels": head | {"options": [{"value": texts[x], "type": types[x]} for x in texts], "answer": 1},
        "examples as lines": {**base, "context": ["zor: ab -> ba"]},
    }  # fmt: skip


@pytest.mark.parametrize("layout", layouts())
@pytest.mark.parametrize("under", [None, "cases", "data", "questions"])
def test_layouts_of_other_producers_are_mapped(tmp_path: Path, layout: str, under: str | None) -> None:
    record = layouts()[layout]
    setting, (read,) = files.read(put(tmp_path, [record] if under is None else {under: [record], "by": "others"}))
    assert setting == Setting("strings", RET, 2)
    assert read.context == "zor: ab -> ba"
    assert read.query == "zor: cd ->"
    assert [(o.label, o.type, o.text) for o in read.options] == [
        ("A", "random_wrong", "dd"), ("B", "correct", "dc"), ("C", "retrieval_similar", "ba")]  # fmt: skip
    assert read.answer == "B"


def test_names_are_read_as_they_are_written() -> None:
    for setting in (Setting("latex", RET, 70), Setting("my_own", "MemoryCom", 10, 3),
                    Setting("x", "MemoryRev", 5, 2, 1),
                    Setting("x", "MemoryRev", 5, None, 1)):  # fmt: skip
        assert parse_name(setting.file_name) == setting
    for name in ("strings_MemoryRet_M2.json", "strings_Memory_M2_que_ans.json", "strings_MemoryRet_que_ans.json"):
        with pytest.raises(MemoryBenchmarkError, match="expected a name like"):
            parse_name(name)
