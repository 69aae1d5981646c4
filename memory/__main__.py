"""The command line: `python -m memory generate|score|report|smoke`. Errors become one line and exit status 2."""

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from memory import files, records, render
from memory.cases import COM, RET, REV, TYPES, Setting
from memory.domains import DOMAINS, make
from memory.errors import MemoryBenchmarkError
from memory.generate import Generator
from memory.options import CommandProposer
from memory.report import build
from memory.score import find_files, score_files
from memory.scorers.base import NORMS
from memory.scorers.registry import FORMS, open_scorer

EPILOG = """\
examples:
  python -m memory generate --out cases --count 100 --M 10 70
  python -m memory score cases --model ngram --out records.jsonl --control both
  python -m memory score cases --model gguf:gemma.gguf --out records.jsonl --limit 20
  python -m memory report records.jsonl --html report.html
exit status: 0 done, 2 an input or an argument cannot be used"""
SMOKE_CASES = 10
RAW = argparse.RawDescriptionHelpFormatter


def settings(domain: str, task: str, ms: Sequence[int], ks: Sequence[int], edit_ks: Sequence[int]) -> list[Setting]:
    """All settings of a domain and task: MemoryCom for K of at least 2, MemoryRev for every K and editK."""
    if task == RET:
        return [Setting(domain, task, m) for m in ms]
    if task == COM:
        return [Setting(domain, task, m, k) for m in ms for k in ks if k > 1]
    return [Setting(domain, task, m, k, edit_k) for m in ms for k in ks for edit_k in edit_ks]


def generate_command(args: argparse.Namespace) -> None:
    """Write a file for every combination of the arguments."""
    proposer = CommandProposer(args.proposer) if args.proposer else None
    for name in args.domain:
        domain = make(name)
        for task in args.task:
            for setting in settings(name, task, args.M, args.K, args.edit_k):
                start = time.perf_counter()
                generator = Generator(domain, setting, args.seed, proposer, args.shown)
                path = files.write(args.out, setting, generator.cases(args.count), args.seed)
                print(f"{path}: {args.count} cases in {time.perf_counter() - start:.1f} s")


def score_command(args: argparse.Namespace) -> None:
    """Score files with a model and append to the records."""
    paths = find_files(args.paths)
    controls = {"no": [False], "only": [True], "both": [False, True]}[args.control]
    scorer = open_scorer(args.model, args.threads)
    start = time.perf_counter()
    new, old = score_files(scorer, paths, args.out, controls, args.limit)
    seconds = time.perf_counter() - start
    print(f"{args.out}: {new} cases scored with {scorer.name} in {seconds:.1f} s, {old} were there already")


def report_command(args: argparse.Namespace) -> None:
    """Print the report, and write it where asked."""
    found = records.read_all(args.records)
    pair = (args.compare[0], args.compare[1]) if args.compare else None
    report = build(found, args.norm, pair)
    print(render.text(report), end="")
    if args.html:
        try:
            args.html.write_text(render.html(report), encoding="utf-8")
        except OSError as error:
            raise MemoryBenchmarkError(f"{args.html}: {error.strerror}") from None
    if args.markdown:
        render.fill(args.markdown, report, args.markdown.with_suffix(""))


def smoke_command(args: argparse.Namespace) -> None:
    """Ten cases of each task on strings and integers, scored with the n-gram floor, and the report."""
    cases = args.out / "cases"
    for name in ("strings", "integers"):
        for setting in (Setting(name, RET, 10), Setting(name, COM, 10, 2), Setting(name, REV, 10, 1, 1)):
            files.write(cases, setting, Generator(make(name), setting, 0).cases(SMOKE_CASES), 0)
    out = args.out / "records.jsonl"
    score_files(open_scorer("ngram"), find_files([cases]), out, [False, True])
    report = build(records.read_all([out]))
    print(render.text(report), end="")
    (args.out / "report.html").write_text(render.html(report), encoding="utf-8")


def _generate_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    p = commands.add_parser("generate", help="write files of cases")
    p.add_argument("--out", type=Path, required=True, help="folder for the files")
    p.add_argument("--domain", nargs="+", default=list(DOMAINS), choices=list(DOMAINS))
    p.add_argument("--task", nargs="+", default=list(TYPES), choices=list(TYPES))
    p.add_argument("--M", type=int, nargs="+", default=[70], help="examples in the context (default 70)")
    p.add_argument(
        "--K", type=int, nargs="+", default=[2], help="rules of a query in MemoryCom and MemoryRev (default 2)"
    )
    p.add_argument(
        "--edit-k", "--editK", type=int, nargs="+", default=[1], help="rules revised in MemoryRev (default 1)"
    )
    p.add_argument("--count", type=int, default=100, help="cases a file (default 100)")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--shown", action="store_true", help="MemoryRet with the query's own example in the context")
    p.add_argument("--proposer", help="a program that proposes distractors: JSON object in, JSON list of texts out")
    p.set_defaults(run=generate_command)


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    top = argparse.ArgumentParser(prog="python -m memory", description=__doc__, epilog=EPILOG, formatter_class=RAW)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    _generate_parser(commands)
    p = commands.add_parser("score", help="score files of cases with a model")
    p.add_argument("paths", type=Path, nargs="+", help="files of cases, or folders of them")
    p.add_argument("--model", required=True, help=FORMS)
    p.add_argument("--out", type=Path, required=True, help="JSON lines to append to; cases in it are not scored again")
    p.add_argument("--control", choices=("no", "only", "both"), default="no", help="also score without the context")
    p.add_argument("--limit", type=int, help="cases of each file")
    p.add_argument("--threads", type=int, default=2)
    p.set_defaults(run=score_command)
    p = commands.add_parser("report", help="tables and pictures from records")
    p.add_argument("records", type=Path, nargs="+")
    p.add_argument("--norm", choices=NORMS, default="sum", help="what decides (default: the sum)")
    p.add_argument("--compare", nargs=2, metavar="MODEL", help="a paired test of two models")
    p.add_argument("--html", type=Path, help="also write a page")
    p.add_argument("--markdown", type=Path, help="also fill the marked part of this document, pictures beside it")
    p.set_defaults(run=report_command)
    p = commands.add_parser("smoke", help="a few cases through everything, in seconds")
    p.add_argument("--out", type=Path, required=True, help="folder for cases, records and report")
    p.set_defaults(run=smoke_command)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 when done, 2 after an error."""
    logging.basicConfig(level=logging.INFO, format="memory: %(message)s", stream=sys.stderr)
    args = parser().parse_args(argv)
    try:
        args.run(args)
    except MemoryBenchmarkError as error:
        print(f"memory: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
