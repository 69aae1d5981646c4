"""The command line: `python -m evaluation run|score|compare`. Turns errors into one line and exit status 2."""

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from evaluation.client import ServiceClient
from evaluation.collection import VisualMap, read_qrels, read_queries, read_visual_map
from evaluation.compare import LEAST_PERMUTATIONS, compare
from evaluation.errors import EvaluationError
from evaluation.metrics import DEPTH, METRICS, TopicScores, column, score_run
from evaluation.produce import produce
from evaluation.report import FORMATS, comparison_report, score_report
from evaluation.runs import read_run, write_run

RAW = argparse.RawDescriptionHelpFormatter
"""Leaves the line breaks of the examples alone."""

EPILOG = """\
examples, with the collection in DATA and an index built from it in INDEX:
  python -m evaluation run --queries DATA/queries-2020.jsonl --index-dir INDEX --out dense.run
  python -m evaluation score --run dense.run --qrels DATA/qrels-2020.tsv --formulas DATA/formulas.tsv
  python -m evaluation compare --run both.run --baseline dense.run --qrels DATA/qrels-2020.tsv \\
      --formulas DATA/formulas.tsv
exit status: 0 done, 1 some queries failed, 2 an input or an argument cannot be used"""

RUN_EPILOG = """\
example:
  python -m evaluation run --queries DATA/queries-2020.jsonl --index-dir INDEX --out dense.run --latencies dense.json
writes lines such as
  B.1 Q0 8946 1 0.98171 formdex
and prints a summary as JSON; a query without a usable answer is named on stderr, has no line and so scores 0
(exit status 1)."""

SCORE_EPILOG = """\
example:
  python -m evaluation score --run dense.run --qrels DATA/qrels-2020.tsv --formulas DATA/formulas.tsv --per-topic
prints a line for each judged topic and their mean; a judged topic that the run lacks scores 0. MAP' and relevant
recall show - for a topic without a relevant group, and their means leave it out."""

COMPARE_EPILOG = """\
example:
  python -m evaluation compare --run both.run --baseline dense.run --qrels DATA/qrels-2020.tsv \\
      --formulas DATA/formulas.tsv --per-topic ndcg
p is that of a two-sided paired randomisation test; *, **, *** mark p below .05, .01, .001."""


def run_command(args: argparse.Namespace) -> int:
    """Ask a service every query, write the run, print the summary."""
    queries = read_queries(args.queries)
    write_run(args.out, {}, args.tag)  # so that a run that cannot be written fails before the work, not after it
    with ServiceClient(args.serve, args.index_dir, args.work_dir, args.timeout_s) as client:
        production = produce(client, queries, warmup=args.warmup, deadline_ms=args.deadline_ms)
        loads = [round(seconds, 2) for seconds in client.load_seconds]
    write_run(args.out, production.run, args.tag)
    summary = {"load_s": loads, **production.summary()}
    if args.latencies:
        text = json.dumps({**summary, "latencies_ms": production.latencies_ms}, indent=1)
        args.latencies.write_text(text + "\n", encoding="utf-8")
    for query_id, why in production.failures.items():
        print(f"evaluation: {query_id}: {why}", file=sys.stderr)
    print(json.dumps({**summary, "failures": len(production.failures)}))
    return 1 if production.failures else 0


def judge(path: Path, qrels: dict[str, dict[int, int]], visuals: VisualMap) -> dict[str, TopicScores]:
    """Scores of a run file by topic."""
    rankings = {}
    for topic, ranking in read_run(path).items():
        try:
            rankings[topic] = visuals.groups(formula_id for formula_id, _ in ranking[:DEPTH])
        except EvaluationError as error:
            raise EvaluationError(f"{path}: topic {topic}: {error}") from None
    if not rankings.keys() & qrels.keys():
        raise EvaluationError(f"{path}: expected at least one topic that the qrels judge, such as {next(iter(qrels))}")
    return score_run(rankings, qrels)


def judgements(args: argparse.Namespace) -> dict[str, dict[int, int]]:
    """The qrels, restricted to the topics of `--queries` where that is given."""
    qrels = read_qrels(args.qrels)
    if args.queries:
        wanted = [query.query_id for query in read_queries(args.queries)]
        qrels = {topic: qrels[topic] for topic in wanted if topic in qrels}
        if not qrels:
            raise EvaluationError(f"{args.queries}: expected at least one query that {args.qrels} judges")
    return qrels


def read_collection(path: Path) -> VisualMap:
    """The visual map, with a line on stderr if rows were skipped."""
    visuals = read_visual_map(path)
    if visuals.skipped:
        print(f"evaluation: {path}: skipped {visuals.skipped} unreadable rows", file=sys.stderr)
    return visuals


def score_command(args: argparse.Namespace) -> int:
    """Print the scores of a run."""
    scores = judge(args.run, judgements(args), read_collection(args.formulas))
    print(score_report(scores, args.format, args.per_topic))
    return 0


def compare_command(args: argparse.Namespace) -> int:
    """Print the comparison of two runs."""
    qrels, visuals = judgements(args), read_collection(args.formulas)
    system, baseline = judge(args.run, qrels, visuals), judge(args.baseline, qrels, visuals)
    pairs = {name: (column(system, name), column(baseline, name)) for name in METRICS}
    comparisons = {
        name: compare(ours, theirs, args.permutations, args.seed) for name, (ours, theirs) in pairs.items() if ours
    }
    topics = None
    if args.per_topic:
        ours, theirs = pairs[args.per_topic]
        topics = {topic: (value, theirs[topic]) for topic, value in ours.items()}
    print(comparison_report(comparisons, args.format, topics, args.per_topic or "ndcg"))
    return 0


def number_from(least: float, kind: type[int] | type[float] = int) -> Callable[[str], float]:
    """A type for argparse: a finite number of `kind`, at least `least`."""

    def parse(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value < math.inf:
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"expected {what} from {least:g}, got {text!r}")
        return value

    return parse


class Parser(argparse.ArgumentParser):
    """Reports a wrong argument in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Print the message and leave with status 2."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def add_run(verbs: Any) -> None:
    """The grammar of `run`."""
    run = verbs.add_parser(
        "run", help="ask a service every query and write a TREC run", epilog=RUN_EPILOG, formatter_class=RAW
    )
    run.add_argument("--queries", type=Path, required=True, help="JSON lines with query_id and latex")
    run.add_argument("--index-dir", type=Path, required=True, help="a built index")
    run.add_argument("--out", type=Path, required=True, help="the run file to write")
    default_serve = Path(__file__).resolve().parent.parent / "serve.sh"
    run.add_argument(
        "--serve", type=Path, default=default_serve, help="script of the service (default: serve.sh of this checkout)"
    )
    run.add_argument("--work-dir", type=Path, help="folder the service may write to (default: a temporary one)")
    run.add_argument("--tag", default="formdex", help="name of the system in the run (default: formdex)")
    run.add_argument(
        "--warmup", type=number_from(0), default=20, help="queries asked before the clock counts (default: 20)"
    )
    run.add_argument(
        "--timeout-s", type=number_from(0.001, float), default=5.0, help="seconds to wait for an answer (default: 5)"
    )
    run.add_argument(
        "--deadline-ms",
        type=number_from(0, float),
        help="drop later answers, as the consumer does (default: keep them)",
    )
    run.add_argument("--latencies", type=Path, help="write the summary with every latency here, as JSON")
    run.set_defaults(command=run_command)


def add_judging(verbs: Any) -> None:
    """The grammar of `score` and `compare`, which share what they judge against."""
    judged = Parser(add_help=False)
    judged.add_argument("--run", type=Path, required=True, help="the run to judge")
    judged.add_argument("--qrels", type=Path, required=True, help="TREC qrels on visual ids: qid 0 visual_id grade")
    judged.add_argument("--formulas", type=Path, required=True, help="formulas.tsv, for the visual id of each formula")
    judged.add_argument(
        "--queries", type=Path, help="judge only the topics of this query file (default: all of the qrels)"
    )
    judged.add_argument("--format", choices=FORMATS, default="text", help="of the output (default: text)")

    score = verbs.add_parser("score", parents=[judged], help="score a run", epilog=SCORE_EPILOG, formatter_class=RAW)
    score.add_argument("--per-topic", action="store_true", help="show every topic")
    score.set_defaults(command=score_command)

    versus = verbs.add_parser(
        "compare", parents=[judged], help="compare two runs, topic by topic", epilog=COMPARE_EPILOG, formatter_class=RAW
    )
    versus.add_argument("--baseline", type=Path, required=True, help="the run to compare with")
    versus.add_argument(
        "--per-topic", choices=METRICS, metavar="METRIC", help=f"show every topic's {', '.join(METRICS)}"
    )
    versus.add_argument(
        "--permutations",
        type=number_from(LEAST_PERMUTATIONS),
        default=100_000,
        help="random sign assignments (default: 100000)",
    )
    versus.add_argument("--seed", type=number_from(0), default=0, help="of the sign assignments (default: 0)")
    versus.set_defaults(command=compare_command)


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    result = Parser(
        prog="python -m evaluation", description="Produce, score and compare runs.", epilog=EPILOG, formatter_class=RAW
    )
    verbs = result.add_subparsers(dest="verb", required=True, metavar="run|score|compare")
    add_run(verbs)
    add_judging(verbs)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    args = parser().parse_args(arguments)
    try:
        status: int = args.command(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of the output has left (`| head`): not an error, but Python must not flush again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except EvaluationError as error:
        message = str(error)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    print(f"evaluation: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
