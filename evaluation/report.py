"""Tables of scores and comparisons as plain text, markdown or JSON. Pure: values in, one string out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from evaluation.compare import Comparison
from evaluation.metrics import METRICS, TopicScores, means

FORMATS = ("text", "markdown", "json")
"""Formats that the functions of this module accept."""

SIGNIFICANCE = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
"""Marks of p-values, the smallest bound first."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under a head; the first column is a name, the others are figures."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        """Columns padded to their widest cell, figures aligned to the right, a rule under the head."""
        widths = [max(map(len, cells)) for cells in zip(self.head, *self.rows, strict=True)]

        def line(cells: Sequence[str]) -> str:
            rest = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
            return "  ".join((cells[0].ljust(widths[0]), *rest)).rstrip()

        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        return "\n".join([line(self.head), rule, *map(line, self.rows)])

    def markdown(self) -> str:
        """A table of GitHub's markdown."""
        rows = [self.head, ["---", *["---:"] * (len(self.head) - 1)], *self.rows]
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)

    def render(self, style: str) -> str:
        """The table as `text` or `markdown`."""
        return self.markdown() if style == "markdown" else self.text()


def figure(value: float | None, sign: str = "") -> str:
    """Four decimals, or `-` where there is no value; `sign` is a format flag such as `+`."""
    return "-" if value is None else f"{value:{sign}.4f}"


def mark(p: float) -> str:
    """`***`, `**` or `*` for p below .001, .01 and .05, else nothing."""
    return next((stars for bound, stars in SIGNIFICANCE if p < bound), "")


def check_format(style: str) -> None:
    """Refuse an unknown format with a `ValueError`."""
    if style not in FORMATS:
        raise ValueError(f"format {style!r}: expected one of {', '.join(FORMATS)}")


def as_json(value: Any) -> str:
    """Indented JSON; refuses NaN, which is no JSON."""
    return json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False)


def score_report(scores: Mapping[str, TopicScores], style: str = "text", per_topic: bool = False) -> str:
    """Mean scores, after the scores of each topic if `per_topic`.

    JSON has `topics` (their number), `mean` (by metric) and, if asked for, `per_topic` (by topic and metric).

    Raises:
        ValueError: Unknown format.
    """
    check_format(style)
    mean = means(scores)
    if style == "json":
        result: dict[str, Any] = {"topics": len(scores), "mean": mean}
        if per_topic:
            result["per_topic"] = {topic: asdict(row) for topic, row in scores.items()}
        return as_json(result)
    rows = [[topic, *(figure(getattr(row, name)) for name in METRICS)] for topic, row in scores.items()]
    last = [f"mean of {len(scores)}", *(figure(mean[name]) for name in METRICS)]
    return Table(["topic", *METRICS.values()], [*(rows if per_topic else []), last]).render(style)


def comparison_report(
    comparisons: Mapping[str, Comparison],
    style: str = "text",
    topics: Mapping[str, tuple[float, float]] | None = None,
    topics_metric: str = "ndcg",
) -> str:
    """One row for each metric of `comparisons`; then, if given, the two systems topic by topic.

    Args:
        comparisons: By metric (fields of `TopicScores`).
        style: One of `FORMATS`.
        topics: (system, baseline) by topic, shown in the order of their difference, largest first.
        topics_metric: The metric that `topics` holds.

    Raises:
        ValueError: Unknown format.
    """
    check_format(style)
    ordered = sorted((topics or {}).items(), key=lambda item: item[1][1] - item[1][0])
    if style == "json":
        result: dict[str, Any] = {"metrics": {name: asdict(row) for name, row in comparisons.items()}}
        if topics is not None:
            pairs = {topic: {"system": ours, "baseline": theirs} for topic, (ours, theirs) in ordered}
            result["per_topic"] = {"metric": topics_metric, "topics": pairs}
        return as_json(result)
    head = ["metric", "system", "baseline", "difference", "wins", "ties", "losses", "p", ""]
    rows = [
        [
            *(METRICS[name], figure(row.mean), figure(row.baseline), figure(row.difference, "+")),
            *(str(row.wins), str(row.ties), str(row.losses), figure(row.p), mark(row.p)),
        ]
        for name, row in comparisons.items()
    ]
    parts = [Table(head, rows).render(style)]
    if topics is not None:
        lines = [[topic, figure(ours), figure(theirs), figure(ours - theirs, "+")] for topic, (ours, theirs) in ordered]
        parts.append(Table([METRICS[topics_metric], "system", "baseline", "difference"], lines).render(style))
    return "\n\n".join(parts)
