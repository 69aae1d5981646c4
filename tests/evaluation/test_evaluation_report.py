"""Tables and progress lines."""

import io
import json

import pytest

from evaluation.compare import Comparison
from evaluation.metrics import METRICS, TopicScores
from evaluation.progress import Progress
from evaluation.report import Table, comparison_report, mark, score_report

SCORES = {
    "B.1": TopicScores(0.5, 0.25, 0.1, 1.0, 0.75, 0.5),
    "B.20": TopicScores(1.0, None, 0.0, 0.5, 0.25, None),
}
COMPARISON = Comparison(4, 0.625, 0.5, 0.125, 2, 1, 1, 0.0123, 8, True)


def test_text_of_scores() -> None:
    assert score_report(SCORES, per_topic=True).splitlines() == [
        "topic       nDCG'    MAP'   P'@10  judged@10  judged recall  relevant recall",
        "-" * 76,
        "B.1        0.5000  0.2500  0.1000     1.0000         0.7500           0.5000",
        "B.20       1.0000       -  0.0000     0.5000         0.2500                -",
        "mean of 2  0.7500  0.2500  0.0500     0.7500         0.5000           0.5000",
    ]
    assert len(score_report(SCORES).splitlines()) == 3


def test_markdown_of_scores() -> None:
    assert score_report(SCORES, "markdown").splitlines() == [
        "| topic | nDCG' | MAP' | P'@10 | judged@10 | judged recall | relevant recall |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| mean of 2 | 0.7500 | 0.2500 | 0.0500 | 0.7500 | 0.5000 | 0.5000 |",
    ]
    assert Table(["a|b"], [["c"]]).markdown().startswith("| a\\|b |")


def test_json_of_scores() -> None:
    result = json.loads(score_report(SCORES, "json", per_topic=True))
    assert result["topics"] == 2
    assert result["mean"]["ndcg"] == 0.75
    assert list(result["mean"]) == list(METRICS)
    assert result["per_topic"]["B.20"]["ap"] is None
    assert "per_topic" not in json.loads(score_report(SCORES, "json"))


def test_comparison_in_each_format() -> None:
    topics = {"a": (0.25, 0.5), "b": (0.75, 0.5)}
    assert comparison_report({"ndcg": COMPARISON}, "text", topics).splitlines() == [
        "metric  system  baseline  difference  wins  ties  losses       p",
        "-" * 67,
        "nDCG'   0.6250    0.5000     +0.1250     2     1       1  0.0123  *",
        "",
        "nDCG'  system  baseline  difference",
        "-----------------------------------",
        "b      0.7500    0.5000     +0.2500",
        "a      0.2500    0.5000     -0.2500",
    ]
    markdown = comparison_report({"ndcg": COMPARISON}, "markdown").splitlines()
    assert markdown[2] == "| nDCG' | 0.6250 | 0.5000 | +0.1250 | 2 | 1 | 1 | 0.0123 | * |"
    result = json.loads(comparison_report({"ndcg": COMPARISON}, "json", topics))
    assert result["metrics"]["ndcg"]["p"] == 0.0123
    assert result["per_topic"] == {
        "metric": "ndcg",
        "topics": {"b": {"system": 0.75, "baseline": 0.5}, "a": {"system": 0.25, "baseline": 0.5}},
    }


@pytest.mark.parametrize(("p", "stars"), [(0.0005, "***"), (0.001, "**"), (0.049, "*"), (0.05, ""), (1.0, "")])
def test_marks(p: float, stars: str) -> None:
    assert mark(p) == stars


def test_unknown_format() -> None:
    with pytest.raises(ValueError, match="'html': expected one of text, markdown, json"):
        score_report(SCORES, "html")
    with pytest.raises(ValueError, match="'html'"):
        comparison_report({}, "html")


def test_progress_is_a_plain_line_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 101.0, 104.0, 105.0])
    monkeypatch.setattr("evaluation.progress.time.monotonic", lambda: next(clock))
    stream = io.StringIO()
    progress = Progress("reading", 4096, "KiB", scale=1024, stream=stream)
    for done in (1, 2048, 3000):
        progress.update(done)
    progress.close()
    assert stream.getvalue() == "reading: 2 KiB, 0.5 KiB/s, 50% done, 4 s left\n"


def test_progress_rewrites_its_line_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    progress = Progress("asking", 0, "queries", every_s=0.0, stream=stream)
    progress.update(1)
    progress.close()
    assert stream.getvalue().startswith("\rasking: 1 queries, ")
    assert stream.getvalue().endswith("queries/s\x1b[K\n")
