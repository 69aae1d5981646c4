"""The README's table of quality: dense alone, lexical alone and both, on the judged years of a collection.

Every ranking comes from one index; only the weight of the lexical evidence differs. Beside the means stands the paired
randomisation test of both against each alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.formulas import collection
from encoder.model import WEIGHTS
from evaluation.collection import Query, VisualMap, read_qrels, read_queries, read_visual_map
from evaluation.compare import compare
from evaluation.errors import EvaluationError
from evaluation.metrics import TopicScores, column, means, score_run
from evaluation.produce import InProcess, produce
from evaluation.report import Table, figure, mark
from index.build import Options, build
from index.errors import FormdexError
from index.search import WEIGHT, Index

YEARS = ("2020", "2021")
COLUMNS = {"ndcg": "nDCG'", "ap": "MAP'", "p10": "P'@10", "judged_recall": "judged recall"}


class Weighted:
    """An index searched with a fixed weight of the lexical evidence (``evaluation.produce.Searcher``)."""

    def __init__(self, index: Index, weight: float) -> None:
        self.index, self.weight = index, weight

    def search(self, latex: str, k: int) -> list[tuple[str, float]]:
        """At most ``k`` formula ids with their scores, best first."""
        return self.index.search(latex, k, self.weight)


def judge(
    index: Index, weight: float, queries: Sequence[Query], qrels: Mapping[str, Mapping[int, int]], visuals: VisualMap
) -> dict[str, TopicScores]:
    """Scores by topic of an index with one weight; a judged topic without a query scores 0."""
    run = produce(InProcess(Weighted(index, weight)), queries, warmup=0).run
    rankings = {topic: visuals.groups(one for one, _ in ranking) for topic, ranking in run.items()}
    return score_run(rankings, qrels)


def table(index: Index, data: Path, weight: float, style: str) -> str:
    """The table of all years.

    Args:
        index: built from ``data``.
        data: folder with formulas.tsv, queries-YEAR.jsonl and qrels-YEAR.tsv.
        weight: share of the lexical evidence where both count.
        style: ``text`` or ``markdown``.

    Raises:
        EvaluationError: a file cannot be used.
    """
    visuals = read_visual_map(data / "formulas.tsv")
    rankings = {"dense alone": 0.0, "lexical alone": 1.0, f"both, weight {weight:g}": weight}
    rows, notes = [], []
    for year in YEARS:
        queries, qrels = read_queries(data / f"queries-{year}.jsonl"), read_qrels(data / f"qrels-{year}.tsv")
        scores = {name: judge(index, share, queries, qrels, visuals) for name, share in rankings.items()}
        for name, topics in scores.items():
            mean = means(topics)
            rows.append([f"{year}, {name}", *(figure(mean.get(metric)) for metric in COLUMNS)])
        *alone, both = scores
        for name in alone:
            test = compare(column(scores[both], "ndcg"), column(scores[name], "ndcg"))
            notes.append(f"{year}: both against {name}: nDCG' {test.difference:+.4f}, p = {test.p:.4f} {mark(test.p)}")
    body = Table(["ranking", *COLUMNS.values()], rows).render(style)
    return "\n".join([body, "", *(note.rstrip() for note in notes)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0, or 2 with one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("--data", type=Path, help="judged collection (default: arqmath-mini beside the checkout)")
    parser.add_argument("--index-dir", type=Path, help="index built from it (default: built for the occasion)")
    parser.add_argument("--model", type=Path, default=WEIGHTS, help="folder of the model (default: the shipped one)")
    parser.add_argument("--weight", type=float, default=WEIGHT, help=f"of the lexical evidence (default: {WEIGHT})")
    parser.add_argument("--format", choices=("text", "markdown"), default="markdown", help="(default: markdown)")
    given = parser.parse_args(arguments)
    try:
        data = collection(given.data)
        with tempfile.TemporaryDirectory(prefix="quality-") as scratch:
            folder = given.index_dir or Path(scratch) / "index"
            if given.index_dir is None:
                build(Options(data, folder, model=given.model))
            index = Index.open(folder, given.model)
            if not isinstance(index, Index):
                raise EvaluationError(f"{folder}: a coded index has no weight to vary; expected one with exact vectors")
            print(table(index, data, given.weight, given.format))
    except (EvaluationError, FormdexError, FileNotFoundError) as error:
        print(f"quality: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
