"""``python -m collect PATH... --out DIR``: progress and what was skipped on stderr, the report as JSON on stdout."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from collect.errors import CollectError
from collect.progress import Progress
from collect.run import LARGEST, collect


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: arguments; the process's own by default.

    Returns:
        The exit status: 0, or 2 for an argument that cannot be used. Skipped files do not change it.
    """
    parser = argparse.ArgumentParser(
        prog="python -m collect",
        description="Collect the formulas of documents into DIR/formulas.tsv and DIR/posts.sqlite.",
        epilog="example: python -m collect ~/papers notes.md --out build/collection",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file or a folder")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the output and the cache go")
    parser.add_argument(
        "--largest", type=int, default=LARGEST >> 20, metavar="MIB", help="skip larger files (default: %(default)s)"
    )
    arguments = parser.parse_args(argv)
    try:
        report = collect(arguments.paths, arguments.out, progress=Progress(sys.stderr), largest=arguments.largest << 20)
    except CollectError as error:
        print(f"collect: {error}", file=sys.stderr)
        return 2
    for place, reason in report.skipped:
        print(f"collect: skipped {place}: {reason}", file=sys.stderr)
    print(json.dumps(report.as_dict()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
