import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory import files
from memory.cases import COM, RET, REV, Setting
from memory.domain import Domain
from memory.errors import MemoryBenchmarkError
from memory.generate import Generator
from memory.options import CommandProposer
from tests.memory.memory_checker import Checker

SETTINGS = [(RET, None, None), (COM, 2, None), (COM, 3, None), (REV, 1, 1), (REV, 2, 1), (REV, 2, 3)]
NAMES = ["latex", "strings", "integers"]


def write(folder: Path, domain: Domain, setting: Setting, count: int, shown: bool = False) -> dict[str, Any]:
    generator = Generator(domain, setting, 11, shown=shown)
    path = files.write(folder, setting, generator.cases(count), 11)
    return json.loads(path.read_text(encoding="utf-8"))


def check(data: dict[str, Any], domain: Domain, shown: bool = False) -> None:
    similarity = None
    if domain.name == "latex":

        def similarity(text: str, texts: list[str]) -> np.ndarray:
            vectors = domain.encoder.encode([text, *texts]).astype(float)  # type: ignore[attr-defined]
            return vectors[1:] @ vectors[0]

    checker = Checker(data, similarity, domain.canonical)
    for case in data["cases"]:
        checker.check(case, shown)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("task", "k", "edit_k"), SETTINGS)
def test_cases_pass_the_independent_checker(
    tmp_path: Path, domains: dict[str, Domain], name: str, task: str, k: int | None, edit_k: int | None
) -> None:
    for m in (1, 6):
        data = write(tmp_path, domains[name], Setting(name, task, m, k, edit_k), 4)
        assert len(data["cases"]) == 4
        check(data, domains[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("task", "k", "edit_k"), SETTINGS)
def test_a_thousand_cases_pass_the_independent_checker(
    tmp_path: Path, domains: dict[str, Domain], name: str, task: str, k: int | None, edit_k: int | None
) -> None:
    data = write(tmp_path, domains[name], Setting(name, task, 20, k, edit_k), 1000)
    check(data, domains[name])
    labels = [case["answer"] for case in data["cases"]]
    assert all(abs(labels.count(label) / 1000 - 1 / len(set(labels))) < 0.06 for label in set(labels))


@pytest.mark.parametrize("name", NAMES)
def test_seventy_examples_and_the_shown_query(tmp_path: Path, domains: dict[str, Domain], name: str) -> None:
    check(write(tmp_path, domains[name], Setting(name, RET, 70), 1, shown=True), domains[name], shown=True)


def test_a_retrieved_formula_is_made_of_the_query_s_own(domains: dict[str, Domain]) -> None:
    latex = domains["latex"]
    for case in Generator(latex, Setting("latex", RET, 5), 2).cases(20):
        value = latex.parse(str(case.trace["input"]))
        similar = next(option.text for option in case.options if option.type == "retrieval_similar")
        assert similar in {latex.show(operator.apply(value)) for operator in latex.operators}


def test_the_checker_notices_what_is_wrong(tmp_path: Path, domains: dict[str, Domain]) -> None:
    data = write(tmp_path, domains["strings"], Setting("strings", COM, 6, 2), 3)
    for case in data["cases"]:
        texts = {option["type"]: option for option in case["options"]}
        for one, other in (
            ("correct", "wrong_rule"),
            ("surface_similar", "random_wrong"),
            ("wrong_rule", "random_wrong"),
        ):
            texts[one]["text"], texts[other]["text"] = texts[other]["text"], texts[one]["text"]
            with pytest.raises(AssertionError):
                check({**data, "cases": [case]}, domains["strings"])
            texts[one]["text"], texts[other]["text"] = texts[other]["text"], texts[one]["text"]


def test_one_seed_gives_the_same_bytes_and_a_longer_file_starts_alike(
    tmp_path: Path, domains: dict[str, Domain]
) -> None:
    for name in NAMES:
        setting = Setting(name, REV, 5, 2, 1)
        first, again = (
            files.write(tmp_path / part, setting, Generator(domains[name], setting, 3).cases(3), 3) for part in "ab"
        )
        assert first.read_bytes() == again.read_bytes()
        other = Generator(domains[name], setting, 4).case(0)
        assert Generator(domains[name], setting, 3).cases(2) == files.read(first)[1][:2]
        assert other != files.read(first)[1][0]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (Setting("strings", "MemoryX", 5), "task 'MemoryX'"),
        (Setting("strings", RET, 0), "M 0"),
        (Setting("strings", RET, 5, 2), "neither K nor editK"),
        (Setting("strings", COM, 5, 1), "K of at least 2"),
        (Setting("strings", COM, 5), "K of at least 2"),
        (Setting("strings", REV, 5, 1), "editK of at least 1"),
    ],
)
def test_settings_without_cases_are_refused(domains: dict[str, Domain], setting: Setting, message: str) -> None:
    with pytest.raises(MemoryBenchmarkError, match=message):
        Generator(domains["strings"], setting, 0)


def test_more_revisions_than_operators_are_refused(domains: dict[str, Domain]) -> None:
    with pytest.raises(MemoryBenchmarkError, match="at most 6"):
        Generator(domains["strings"], Setting("strings", REV, 5, 1, 7), 0).case(0)


def test_many_rules_in_a_row_work(tmp_path: Path, domains: dict[str, Domain]) -> None:
    data = write(tmp_path, domains["strings"], Setting("strings", COM, 3, 8), 1)
    assert len(data["cases"][0]["query"].split(":")[0].split()) == 8


PROPOSER = """import json, sys
facts = json.load(sys.stdin)
word = facts["correct"]
print(json.dumps([word, facts["input"], "not a word!", word[1:] + word[:1], word[::-1]]))"""


def test_a_proposer_is_asked_and_its_answers_are_validated(tmp_path: Path, domains: dict[str, Domain]) -> None:
    script = tmp_path / "proposer.py"
    script.write_text(PROPOSER, encoding="utf-8")
    proposer = CommandProposer(f"{sys.executable} {script}")
    cases = Generator(domains["strings"], Setting("strings", RET, 3), 2, proposer).cases(4)
    used = [case for case in cases if case.trace["random_wrong"] == "proposed"]
    assert used  # the others end in "sort", whose answers are sorted, which no proposal is
    for case in used:
        texts = {option.type: option.text for option in case.options}
        right = texts["correct"]
        assert texts["random_wrong"] in (right[1:] + right[:1], right[::-1])


def test_useless_proposals_fall_back_to_the_program(domains: dict[str, Domain]) -> None:
    for proposals in ([], ["?!"], ["a" * 60]):
        generator = Generator(domains["strings"], Setting("strings", RET, 3), 2, lambda facts, p=proposals: p)  # type: ignore[misc]
        assert generator.case(0).trace["random_wrong"] == "program"


@pytest.mark.parametrize("script", ["print('no json')", "print('{}')", "import sys; sys.exit(3)", "print('[1]')"])
def test_a_broken_proposer_is_named(tmp_path: Path, script: str) -> None:
    path = tmp_path / "broken.py"
    path.write_text(script, encoding="utf-8")
    with pytest.raises(MemoryBenchmarkError, match="proposer"):
        CommandProposer(f"{sys.executable} {path}")({})
    with pytest.raises(MemoryBenchmarkError, match="proposer"):
        CommandProposer(str(tmp_path / "absent"))({})
