"""The report's tables and curves from records. Rendering is elsewhere: `memory.render` and `memory.plots`."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory.cases import CORRECT, TYPES
from memory.errors import MemoryBenchmarkError
from memory.records import Record, choice, is_correct
from memory.scorers.base import NORMS
from memory.statistics import bootstrap, mcnemar, uniformity

CONTROL_MARGIN = 0.08  # the options give something away where a control's accuracy is further above chance


@dataclass(frozen=True)
class Table:
    """A titled table of text cells."""

    title: str
    note: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Curve:
    """Accuracy against a number, a line a model; points are (x, accuracy, low, high)."""

    title: str
    axis: str
    chance: float
    lines: dict[str, list[tuple[int, float, float, float]]]


@dataclass(frozen=True)
class Report:
    """All of a report."""

    tables: list[Table]
    curves: list[Curve] = field(default_factory=list)


def percent(value: float) -> str:
    """A share as the tables print it: 0.333 as 33.3."""
    return f"{100 * value:.1f}"


def accuracy(records: Sequence[Record], norm: str) -> tuple[float, float, float]:
    """The accuracy of at least one record and its 95 % bootstrap interval."""
    right = sum(is_correct(record, norm) for record in records)
    return right / len(records), *bootstrap(right, len(records))


def interval(records: Sequence[Record], norm: str) -> str:
    """Accuracy and interval as the tables print them, or a dash without records."""
    if not records:
        return "-"
    value, low, high = accuracy(records, norm)
    return f"{percent(value)} [{percent(low)}, {percent(high)}]"


def short(file: str) -> str:
    """A file's name as the tables print it."""
    return file.removesuffix("_que_ans.json")


def grouped(records: Iterable[Record], by: Callable[[Record], Any]) -> dict[Any, list[Record]]:
    """Records by what the function gives, in the order of first appearance."""
    groups: dict[Any, list[Record]] = defaultdict(list)
    for record in records:
        groups[by(record)].append(record)
    return dict(groups)


def _chosen(records: Sequence[Record], norm: str) -> Counter[str]:
    return Counter(record["types"][choice(record, norm)] for record in records)


def _accuracy_rows(records: Sequence[Record], name: Callable[[Record], str], norm: str) -> list[list[str]]:
    rows = []
    for (model, task, label), group in grouped(records, lambda r: (r["model"], r["task"], name(r))).items():
        full = [r for r in group if not r["control"]]
        control = [r for r in group if r["control"]]
        chance = 1 / len(TYPES[task])
        leak = "-"
        if control:
            over = accuracy(control, norm)[0] - chance
            leak = f"{100 * over:+.1f}" + (" (!)" if over > CONTROL_MARGIN else "")
        counts = _chosen(full, norm)
        shares = ", ".join(
            f"{kind} {percent(counts[kind] / len(full))}" for kind in TYPES[task] if kind != CORRECT and full
        )
        cut = sum(r["cut"] > 0 for r in full)
        rows.append(
            [model, label, str(len(full)), interval(full, norm), percent(chance), interval(control, norm),
             str(len(control)), leak, shares or "-", str(cut)]
        )  # fmt: skip
    return rows


HEAD = ("model", "", "cases", "accuracy % [95 %]", "chance", "without context % [95 %]", "cases", "over chance",
        "distractors chosen %", "cut")  # fmt: skip


def accuracy_tables(records: Sequence[Record], norm: str) -> list[Table]:
    """Accuracy per task and per file, beside chance and the control without the context."""
    note = (
        "Answers by the highest log-probability"
        + ("" if norm == "sum" else f" per {norm}")
        + ". Without context: only the query precedes the options; (!) marks more than 8 points above chance. "
        "cut: cases whose context did not fit the model's window."
    )
    ordered = sorted(records, key=lambda r: (r["model"], r["task"], r["file"]))
    by_task = _accuracy_rows(ordered, lambda r: f"{r['task']} ({r['file'].partition('/')[0]}), M = {r['M']}", norm)
    by_file = _accuracy_rows(ordered, lambda r: short(r["file"]), norm)
    return [
        Table("Accuracy by task", note, [*HEAD[:1], "task", *HEAD[2:]], by_task),
        Table("Accuracy by file", "", [*HEAD[:1], "file", *HEAD[2:]], by_file),
    ]


def norm_table(records: Sequence[Record]) -> Table:
    """Accuracy under each way to sum log-probabilities."""
    rows = []
    full = sorted((r for r in records if not r["control"]), key=lambda r: (r["model"], r["task"]))
    for (model, task), group in grouped(full, lambda r: (r["model"], r["task"])).items():
        rows.append([model, task, str(len(group)), *(percent(accuracy(group, norm)[0]) for norm in NORMS)])
    head = ["model", "task", "cases", *("sum" if norm == "sum" else f"per {norm}" for norm in NORMS)]
    return Table("Accuracy by normalisation", "The same log-probabilities, divided by the option's length.", head, rows)


def position_table(records: Sequence[Record], norm: str) -> Table:
    """How often each label was right and was chosen."""
    rows = []
    full = sorted((r for r in records if not r["control"]), key=lambda r: (r["model"], len(r["labels"])))
    for (model, size), group in grouped(full, lambda r: (r["model"], len(r["labels"]))).items():
        labels = group[0]["labels"]
        picked = [choice(record, norm) for record in group]
        counts = [picked.count(place) for place in range(size)]
        right = [sum(record["labels"].index(record["answer"]) == place for record in group) for place in range(size)]
        cells = [f"{label} {percent(r / len(group))}/{percent(c / len(group))}"
                 for label, r, c in zip(labels, right, counts, strict=True)]  # fmt: skip
        rows.append([model, str(size), str(len(group)), ", ".join(cells), f"{uniformity(counts):.3f}"])
    note = "Shares in which a label was the answer / was chosen; p: chosen labels against equal shares."
    return Table("Label position", note, ["model", "options", "cases", "right/chosen %", "p"], rows)


def compare(records: Sequence[Record], first: str, second: str, norm: str) -> Table:
    """Two models on the cases that both answered, with McNemar's exact test.

    Raises:
        MemoryBenchmarkError: they share no case.
    """

    def answers(model: str) -> dict[Any, Record]:
        return {(r["file"], r["case"], r["digest"]): r for r in records if r["model"] == model and not r["control"]}

    a, b = answers(first), answers(second)
    shared = [(a[case], b[case]) for case in a if case in b]
    if not shared:
        raise MemoryBenchmarkError(f"compare: {first} and {second} have no case in common")
    rows = []
    tasks = sorted({x["task"] for x, _ in shared})
    for task in [*tasks, "all"]:
        pairs = [(is_correct(x, norm), is_correct(y, norm)) for x, y in shared if task in (x["task"], "all")]
        n, one, two = len(pairs), sum(x for x, _ in pairs), sum(y for _, y in pairs)
        only = sum(x and not y for x, y in pairs), sum(y and not x for x, y in pairs)
        rows.append([task, str(n), percent(one / n), percent(two / n), f"{100 * (one - two) / n:+.1f}",
                     f"{only[0]} : {only[1]}", f"{mcnemar(*only):.4f}"])  # fmt: skip
    note = "The same cases answered by both; p of McNemar's exact paired test on those that only one answers rightly."
    head = ["task", "cases", first, second, "difference", "only first : only second", "p"]
    return Table(f"{first} against {second}", note, head, rows)


def curves(records: Sequence[Record], norm: str) -> list[Curve]:
    """Accuracy against M, K and editK for each task that has at least two values of it."""
    out = []
    full = [r for r in records if not r["control"]]
    for task, of_task in sorted(grouped(full, lambda r: r["task"]).items()):
        for name in ("M", "K", "editK"):
            others = [other for other in ("M", "K", "editK") if other != name]
            # Only settings that differ in this number alone are drawn together.
            families = grouped(of_task, lambda r: tuple((other, r[other]) for other in others))  # noqa: B023
            for family, group in sorted(families.items(), key=str):
                values = sorted({r[name] for r in group if r[name] is not None})
                if len(values) < 2:
                    continue
                fixed = ", ".join(f"{other} = {value}" for other, value in family if value is not None)
                lines = {
                    model: [(x, *accuracy(some, norm)) for x in values if (some := [r for r in mine if r[name] == x])]
                    for model, mine in sorted(grouped(group, lambda r: r["model"]).items())
                }
                title = f"{task}" + (f", {fixed}" if fixed else "")
                out.append(Curve(title, name, 1 / len(TYPES[task]), lines))
    return out


def build(records: Sequence[Record], norm: str = "sum", pair: tuple[str, str] | None = None) -> Report:
    """Tables and curves of all records.

    Args:
        records: as `memory.records.read_all` gives them, at least one.
        norm: what decides: `sum`, `token`, `char` or `byte`.
        pair: two models to compare; by default the first two where there are exactly two.

    Raises:
        MemoryBenchmarkError: there are no records, or a task or model is unknown.
    """
    if not records:
        raise MemoryBenchmarkError("report: no records")
    strange = {r["task"] for r in records} - TYPES.keys()
    if strange:
        raise MemoryBenchmarkError(f"report: task {min(strange)!r}: expected one of {', '.join(TYPES)}")
    models = sorted({r["model"] for r in records})
    if pair is None and len(models) == 2:
        pair = models[0], models[1]
    tables = accuracy_tables(records, norm)
    if pair:
        tables.append(compare(records, *pair, norm))
    tables += [norm_table(records), position_table(records, norm)]
    return Report(tables, curves(records, norm))
