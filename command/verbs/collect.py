"""``collect``: the formulas of documents, into a folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from command.errors import DONE, PARTIAL
from command.grammar import FOLDER, PROGRAM, Verb, add_output, whole
from command.output import emit, nearby, plain, say, wants_json

_MIB = 1 << 20


def configure(to: argparse.ArgumentParser) -> None:
    """The arguments."""
    to.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file or a folder")
    to.add_argument(
        "--out", type=Path, default=FOLDER, metavar="DIR", help=f"folder for what was collected (default: {FOLDER})"
    )
    to.add_argument(
        "--largest", type=whole(1), default=64, metavar="MIB", help="skip larger files, dumps apart (default: 64)"
    )
    add_output(to)


def run(arguments: argparse.Namespace) -> int:
    """Collect; skipped files are named on stderr and do not change the status."""
    from collect import collect
    from collect.progress import Progress

    report = collect(arguments.paths, arguments.out, progress=Progress(sys.stderr), largest=arguments.largest * _MIB)
    for place, reason in report.skipped:
        print(f"{PROGRAM} collect: skipped {plain(str(place))}: {plain(reason)}", file=sys.stderr)
    if wants_json(arguments.form):
        emit({"out": str(arguments.out.absolute()), **report.as_dict()})
    else:
        formats = ", ".join(f"{count:,} {name}" for name, count in sorted(report.by_format.items())) or "none"
        say(f"{report.formulas:,} formulas in {report.documents:,} documents ({formats})")
        say(f"{report.read:,} files read, {report.reused:,} unchanged, {len(report.skipped):,} skipped")
        if report.formulas:
            say(f"next: {PROGRAM} build {nearby(arguments.out)}")
    if not report.formulas:
        print(f"{PROGRAM} collect: no formula found", file=sys.stderr)
    return DONE if report.formulas else PARTIAL


VERB = Verb(
    "collect",
    "find the formulas of documents",
    "Find the formulas of LaTeX, Markdown, notebooks, HTML, reStructuredText, Python docstrings and Stack Exchange "
    "dumps, with the place where each stands. Folders are walked; what .gitignore names is passed over. Run again, it "
    "reads only the files that changed.",
    [
        ("collect ~/papers", f"everything below a folder, into {FOLDER}"),
        ("collect thesis.tex notes/ --out thesis.formdex", "a file and a folder, into a folder of that name"),
        ("collect dumps/Posts.xml --out math.formdex", "a Stack Exchange dump, streamed"),
    ],
    configure,
    run,
)
