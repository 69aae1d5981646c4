"""``inspect``: what an index holds, and what the canonical form makes of a formula."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from command.errors import DONE, PARTIAL, CommandError
from command.grammar import FOLDER, Verb, add_output
from command.output import emit, pairs, plain, say, wants_json
from command.queries import lines


def configure(to: argparse.ArgumentParser) -> None:
    """The arguments."""
    to.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help=f"collected folder with an index, or an index folder (default: {FOLDER}, unless --latex is given)",
    )
    to.add_argument(
        "--latex", action="append", default=[], metavar="FORMULA", help="show its canonical form; - for lines of stdin"
    )
    add_output(to)


def run(arguments: argparse.Namespace) -> int:
    """Print what was asked for."""
    as_json = wants_json(arguments.form)
    if arguments.folder is not None or not arguments.latex:
        found = index(arguments.folder or FOLDER)
        if as_json:
            emit(found)
        else:
            pairs(found)
    status = DONE
    for _, text in lines(arguments.latex):
        form = formula(text)
        if not form["tokens"]:
            status = PARTIAL
        if as_json:
            emit(form)
        else:
            say(plain(text))
            pairs({**form, "tokens": len(form["tokens"])}, "  ")
    return status


def index(folder: Path) -> dict[str, Any]:
    """Header, plan, section sizes and corpus counts of the index of a folder.

    Raises:
        CommandError: there is none.
        StoreError: it cannot be read.
    """
    from command.folders import find
    from index import store

    place = find(folder)
    meta, sections = store.read(place.index)
    path = place.index / store.FILE
    return {
        "file": str(path.absolute()),
        "bytes": path.stat().st_size,
        "version": store.VERSION,
        "collection": None if place.collection is None else str(place.collection.absolute()),
        **{name: value for name, value in meta.items() if name not in ("plan", "corpus")},
        "corpus": meta.get("corpus", {}),
        "plan": meta.get("plan", {}),
        "sections": {name: array.nbytes for name, array in sections.items()},
    }


def formula(latex: str) -> dict[str, Any]:
    """The canonical form of a formula, its tokens, and the visual group that ``collect`` puts it in.

    Raises:
        CommandError: the text is longer than the encoder reads.
    """
    from collect.rows import visual_id
    from encoder.latex import canonical, tokenize
    from encoder.model import LONGEST_TEXT

    if len(latex) > LONGEST_TEXT:
        raise CommandError(f"--latex: {len(latex):,} characters, expected at most {LONGEST_TEXT:,}")
    return {"latex": latex, "canonical": canonical(latex), "tokens": tokenize(latex), "visual_id": visual_id(latex)}


VERB = Verb(
    "inspect",
    "show what an index holds, or the canonical form of a formula",
    "Show the header, the plan, the size of each section and the counts of an index; or what the canonical form makes "
    "of a formula: formulas with one canonical form are one formula to a search.",
    [
        ("inspect .formdex", "the index of a collected folder"),
        (r"inspect --latex '\left( \dfrac12 \right)^{2}'", r"( \frac 1 2 ) ^ 2"),
        ("inspect --latex - < formulas.txt", "a formula a line"),
    ],
    configure,
    run,
)
