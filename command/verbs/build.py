"""``build``: an index of a collected folder; again, only what is new is encoded."""

from __future__ import annotations

import argparse
import signal
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from command.errors import DONE, CommandError
from command.grammar import FOLDER, PROGRAM, Verb, add_folder, add_model, add_output, whole
from command.output import emit, nearby, say, wants_json

_MIB = 1 << 20


def configure(to: argparse.ArgumentParser) -> None:
    """The arguments."""
    add_folder(to, "folder with formulas.tsv")
    to.add_argument("--index-dir", type=Path, metavar="DIR", help="folder for the index (default: FOLDER/index)")
    to.add_argument(
        "--limit", type=whole(1), default=2048, metavar="MIB", help="largest size of the index (default: 2048)"
    )
    to.add_argument("--threads", type=whole(1), default=2, metavar="N", help="processes that encode (default: 2)")
    to.add_argument("--fresh", action="store_true", help="forget what earlier builds encoded")
    add_model(to)
    add_output(to)


def run(arguments: argparse.Namespace) -> int:
    """Build, unless nothing changed since the last build."""
    from command.built import beside
    from command.folders import default_index, is_collection
    from encoder.model import WEIGHTS

    started = time.monotonic()
    folder = arguments.folder
    if not is_collection(folder):
        raise CommandError(f"{folder}: holds no formulas.tsv; make it: {PROGRAM} collect PATH --out {folder}")
    model = (arguments.model or WEIGHTS).absolute()
    index = (arguments.index_dir or default_index(folder)).absolute()
    if arguments.fresh:
        for name in ("vectors.sqlite", "vectors.sqlite-wal", "vectors.sqlite-shm", "built.json"):
            beside(index, name).unlink(missing_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that scratch files go
    done = _build(folder.absolute(), index, model, arguments)
    report = {**_contents(index), **done, "seconds": round(time.monotonic() - started, 1)}
    if wants_json(arguments.form):
        emit(report)
    else:
        _say(report)
        if index == default_index(folder).absolute():
            say(f"next: {PROGRAM} search {nearby(folder)} 'x^2+y^2'")
    return DONE


def _build(folder: Path, index: Path, model: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Build through the kept vectors; says whether that was needed, and how much was encoded."""
    from command import built
    from command.vectors import Vectors
    from index.build import Options, build
    from index.embed import Embedder

    limit = arguments.limit * _MIB
    source = built.source(folder, model, limit)
    if built.recall(index) == source:
        return {"written": False, "encoded": 0, "reused": 0}
    index.mkdir(parents=True, exist_ok=True)
    kept = built.beside(index, "vectors.sqlite")
    try:
        with closing(Vectors(kept, model, Embedder(model).dim)) as vectors:
            options = Options(folder, index, None, arguments.threads, model, submission=0, limit=limit)
            options.stream = vectors.stream
            build(options)
            built.remember(index, source)
            vectors.drop_unused()
            return {"written": True, "encoded": vectors.encoded, "reused": vectors.reused}
    except sqlite3.Error as error:
        raise CommandError(f"{kept}: {error}; is another build running?") from None


def _contents(index: Path) -> dict[str, Any]:
    """What the index holds."""
    from index import store

    meta, _ = store.read(index)
    size = (index / store.FILE).stat().st_size
    return {"index": str(index), "groups": meta["groups"], "rows": meta["corpus"]["rows"], "bytes": size}


def _say(report: dict[str, Any]) -> None:
    """The report for people."""
    found = f"{report['groups']:,} distinct formulas among {report['rows']:,}"
    if report["written"]:
        say(f"{found}; {report['encoded']:,} encoded, {report['reused']:,} known")
        say(f"{report['bytes']:,} bytes in {report['seconds']} s")
    else:
        say(f"nothing changed: {found}")


VERB = Verb(
    "build",
    "make the index of a collected folder",
    "Make the index of the formulas in FOLDER. Run again, it encodes only the formulas that it has not seen, and ends "
    "with the same bytes as a fresh build; if nothing changed, it leaves the index alone.",
    [
        ("build", f"the index of {FOLDER}, inside it"),
        ("build thesis.formdex --model weights", "the index of another folder, with a model named"),
        ("build ARQMATH --index-dir /srv/arqmath", "the index elsewhere; the collection is not written to"),
    ],
    configure,
    run,
)
