import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from memory import plots, records, render, report
from memory.cases import COM, RET, TYPES
from memory.errors import MemoryBenchmarkError
from memory.records import Record
from memory.statistics import bootstrap, mcnemar, uniformity


def record(number: int, right: bool, model: str = "m1", control: bool = False, **fields: Any) -> Record:
    task = fields.get("task", RET)
    labels = list("ABCD"[: len(TYPES[task])])
    sums = [-9.0] * len(labels)
    sums[0 if right else 1] = -1.0
    base: Record = {
        "file": f"d/x_{task}_M10_que_ans.json", "case": f"c{number}", "digest": "0", "model": model, "control": control,
        "domain": "x", "task": task, "M": 10, "K": None, "editK": None, "answer": "A", "labels": labels,
        "types": list(TYPES[task]), "sum": sums, "tokens": [1] * len(labels), "chars": [2] * len(labels),
        "bytes": [3] * len(labels), "choice": "A" if right else "B", "correct": right, "context_tokens": 5, "cut": 0,
        "cached": True, "seconds": 0.1,
    }  # fmt: skip
    return base | fields


def some(n: int, right: int, **fields: Any) -> list[Record]:
    return [record(i, i < right, **fields) for i in range(n)]


def test_norms_may_choose_differently_and_ties_go_to_the_first() -> None:
    one = record(0, True, sum=[-4.0, -3.0, -9.0], tokens=[4, 2, 9], chars=[2, 3, 9], bytes=[4, 3, 3])
    assert [records.choice(one, norm) for norm in ("sum", "token", "char", "byte")] == [1, 0, 1, 0]
    assert records.choice(record(0, True, sum=[-2.0, -2.0, -2.0]), "sum") == 0
    with pytest.raises(MemoryBenchmarkError, match="norm"):
        records.choice(one, "word")


def test_accuracy_interval_control_and_distractors_stand_in_one_row() -> None:
    found = some(40, 30) + some(40, 20, control=True)
    table, by_file = report.accuracy_tables(found, "sum")
    low, high = bootstrap(30, 40)
    expected = f"75.0 [{100 * low:.1f}, {100 * high:.1f}]"
    (row,) = table.rows
    assert row[:5] == ["m1", f"{RET} (d), M = 10", "40", expected, "33.3"]
    assert row[5].startswith("50.0 [")
    assert row[7] == "+16.7 (!)"
    assert row[8] == "retrieval_similar 25.0, random_wrong 0.0"
    assert by_file.rows[0][1] == f"d/x_{RET}_M10"


def test_the_bootstrap_interval_covers_as_a_resampling_of_answers_does() -> None:
    rng = np.random.default_rng(0)
    answers = np.array([1] * 30 + [0] * 10)
    means = rng.choice(answers, (4000, 40)).mean(1)
    assert bootstrap(30, 40) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=0.026)
    assert bootstrap(0, 5) == (0.0, 0.0)
    assert bootstrap(5, 5) == (1.0, 1.0)


def test_mcnemar_is_the_two_sided_binomial_test() -> None:
    stats = pytest.importorskip("scipy.stats")
    for a, b in ((0, 0), (1, 9), (5, 5), (12, 3), (0, 7)):
        expected = stats.binomtest(a, a + b, 0.5).pvalue if a + b else 1.0
        assert mcnemar(a, b) == pytest.approx(expected)


def test_uniformity_agrees_with_the_chi_square_distribution() -> None:
    stats = pytest.importorskip("scipy.stats")
    assert uniformity([100, 100, 130]) == pytest.approx(stats.chisquare([100, 100, 130]).pvalue, abs=0.02)
    assert uniformity([0, 0]) == 1.0
    assert uniformity([90, 5, 5]) < 0.001


def test_two_models_are_compared_on_the_cases_both_answered() -> None:
    found = some(10, 8) + some(9, 2, model="m2") + some(10, 5, model="m2", control=True)
    table = report.compare(found, "m1", "m2", "sum")
    assert table.rows[0] == [RET, "9", "88.9", "22.2", "+66.7", "6 : 0", f"{mcnemar(6, 0):.4f}"]
    assert table.rows[-1][0] == "all"
    with pytest.raises(MemoryBenchmarkError, match="no case in common"):
        report.compare(found, "m1", "m3", "sum")
    assert any("m1 against m2" in t.title for t in report.build(found).tables)


def test_curves_join_settings_that_differ_in_one_number_alone() -> None:
    found = []
    for m, k in ((10, 2), (70, 2), (10, 3)):
        found += [record(i, i < 5, task=COM, M=m, K=k, file=f"d/{m}{k}") for i in range(8)]
    drawn = report.curves(found, "sum")
    assert {(c.title, c.axis, tuple(p[0] for p in c.lines["m1"])) for c in drawn} == {
        (f"{COM}, K = 2", "M", (10, 70)), (f"{COM}, M = 10", "K", (2, 3))}  # fmt: skip
    assert drawn[0].chance == 0.25
    for curve in drawn:
        ElementTree.fromstring(plots.svg(curve))
        assert plots.file_name(curve).isascii()


def test_label_positions_are_counted() -> None:
    table = report.position_table(some(10, 4), "sum")
    assert table.rows[0][3] == "A 100.0/40.0, B 0.0/60.0, C 0.0/0.0"


class Balanced(HTMLParser):
    """Notes what is opened and not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_escapes_names() -> None:
    page = render.html(report.build(some(4, 2, model="<b>&") + some(4, 2, model="<b>&", M=70, file="d/y")))
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert not parser.open
    assert "<b>&" not in page
    assert "&lt;b&gt;&amp;" in page
    assert "<svg" in page


def test_a_document_is_filled_between_its_marks_and_again(tmp_path: Path) -> None:
    path = tmp_path / "doc.md"
    path.write_text(f"before\n{render.BEGIN}\nold\n{render.END}\nafter\n", encoding="utf-8")
    built = report.build(some(4, 2) + some(4, 3, M=70, file="d/y"))
    render.fill(path, built, tmp_path / "doc")
    once = path.read_text(encoding="utf-8")
    assert once.startswith("before\n") and once.endswith("\nafter\n") and "old" not in once  # noqa: PT018
    assert "| m1 | MemoryRet (d), M = 10 | 4 |" in once
    assert [p.name for p in (tmp_path / "doc").iterdir()] == ["MemoryRet-by-M.svg"]
    render.fill(path, built, tmp_path / "doc")
    assert path.read_text(encoding="utf-8") == once
    path.write_text("no marks", encoding="utf-8")
    with pytest.raises(MemoryBenchmarkError, match="expected the lines"):
        render.fill(path, built, tmp_path / "doc")


def test_reports_without_records_or_with_strange_tasks_are_refused() -> None:
    with pytest.raises(MemoryBenchmarkError, match="no records"):
        report.build([])
    with pytest.raises(MemoryBenchmarkError, match="task 'X'"):
        report.build([record(0, True) | {"task": "X"}])


def test_records_are_appended_read_and_the_last_of_one_measurement_counts(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with records.Appender(path) as appender:
        appender.add(record(0, True))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"file": "cut')
    with records.Appender(path) as again:
        assert len(again.done) == 1
        again.add(record(1, True))
        again.add(record(0, False))
    assert [r["case"] for r in records.read(path)] == ["c0", "c1", "c0"]
    assert [(r["case"], r["correct"]) for r in records.read_all([path])] == [("c0", False), ("c1", True)]


@pytest.mark.parametrize(
    ("line", "message"),
    [("{", "line 2: expected a JSON object"), ("3", "line 2: expected a JSON object"),
     (json.dumps(record(0, True) | {"M": "x"}), "line 2: field M"),
     (json.dumps(record(0, True) | {"sum": [1]}), "line 2")],
)  # fmt: skip
def test_malformed_records_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(record(0, True)) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(MemoryBenchmarkError, match=message):
        records.read(path)
