"""``evaluate``: ask an index judged queries, and score the answers; compare with another run."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from command.errors import DONE, PARTIAL, CommandError
from command.grammar import PROGRAM, Verb, add_folder, add_model, add_output, whole
from command.output import emit, say, wants_json

if TYPE_CHECKING:
    from evaluation.metrics import TopicScores


def configure(to: argparse.ArgumentParser) -> None:
    """The arguments."""
    add_folder(to, "folder with formulas.tsv and an index, or an index folder", optional=False)
    to.add_argument("--queries", type=Path, required=True, metavar="FILE", help="JSON lines with query_id and latex")
    to.add_argument("--qrels", type=Path, required=True, metavar="FILE", help="TREC qrels: query_id 0 visual_id grade")
    to.add_argument("--out", type=Path, metavar="FILE", help="write the run here, in TREC format")
    to.add_argument("--baseline", type=Path, metavar="FILE", help="compare with this run")
    to.add_argument("--per-topic", action="store_true", help="show every topic")
    to.add_argument(
        "--warmup", type=whole(0), default=20, metavar="N", help="queries before the clock counts (default: 20)"
    )
    to.add_argument("--collection", type=Path, metavar="DIR", help="folder with formulas.tsv, if not near the index")
    add_model(to)
    add_output(to)


def run(arguments: argparse.Namespace) -> int:
    """Ask, score, print; by ``evaluation``, with the index in this process."""
    from command.folders import find
    from evaluation.__main__ import judge, judgements, read_collection
    from evaluation.collection import read_queries
    from evaluation.metrics import score_run
    from evaluation.produce import InProcess, produce
    from evaluation.report import score_report
    from evaluation.runs import write_run
    from index.corpus import FILE
    from index.search import Index

    place = find(arguments.folder, arguments.collection)
    if place.collection is None:
        raise CommandError(
            f"{arguments.folder}: no formulas.tsv near the index; expected its folder as --collection DIR"
        )
    queries = read_queries(arguments.queries)
    qrels = judgements(arguments)
    visuals = read_collection(place.collection / FILE)
    if arguments.out:
        write_run(arguments.out, {}, "formdex")  # a place that cannot be written fails before the work
    production = produce(InProcess(Index.open(place.index, arguments.model)), queries, warmup=arguments.warmup)
    if arguments.out:
        write_run(arguments.out, production.run, "formdex")
    rankings = {topic: visuals.groups(name for name, _ in ranking) for topic, ranking in production.run.items()}
    scores = score_run(rankings, qrels)
    baseline = judge(arguments.baseline, qrels, visuals) if arguments.baseline else None
    for query_id, why in production.failures.items():
        print(f"{PROGRAM} evaluate: {query_id}: {why}", file=sys.stderr)
    summary = production.summary()
    if wants_json(arguments.form):
        emit({**summary, **json.loads(score_report(scores, "json", arguments.per_topic))})
    else:
        latency = summary["latency_ms"]
        say(f"{summary['answered']} of {summary['queries']} queries answered")
        say(f"milliseconds a query: median {latency['p50']}, p99 {latency['p99']}, most {latency['max']}")
        say(score_report(scores, "text", arguments.per_topic))
    if baseline is not None:
        _compare(scores, baseline, wants_json(arguments.form))
    return PARTIAL if production.failures else DONE


def _compare(scores: dict[str, TopicScores], baseline: dict[str, TopicScores], as_json: bool) -> None:
    """Print the differences and their significance."""
    from evaluation.compare import compare
    from evaluation.metrics import METRICS, column
    from evaluation.report import comparison_report

    pairs = {name: (column(scores, name), column(baseline, name)) for name in METRICS}
    comparisons = {name: compare(ours, theirs, 100_000, 0) for name, (ours, theirs) in pairs.items() if ours}
    if as_json:
        emit({"compared": {name: asdict(row) for name, row in comparisons.items()}})
    else:
        say(comparison_report(comparisons, "text"))


VERB = Verb(
    "evaluate",
    "score an index on judged queries",
    "Ask the index every query, score the answers with the prime metrics of ARQMath Task 2 (nDCG', MAP', P'@10), and "
    "compare them with another run, with a paired randomisation test. python -m evaluation has the single steps, for "
    "any service.",
    [
        ("evaluate DATA --queries DATA/queries.jsonl --qrels DATA/qrels.tsv", "an index in DATA/index"),
        (
            "evaluate DATA --queries Q --qrels R --out new.run --baseline old.run",
            "keep the run, and say what it changed",
        ),
    ],
    configure,
    run,
)
