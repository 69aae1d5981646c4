"""``serve``: the local page, or the JSON-lines service, until it is stopped."""

from __future__ import annotations

import argparse
import sys
import threading
from pathlib import Path

from command.errors import DONE, CommandError
from command.grammar import PROGRAM, Verb, add_folder, add_model, whole

_PAGE = ("host", "port", "allow_remote", "allow_host")  # what only the page knows


def configure(to: argparse.ArgumentParser) -> None:
    """The arguments."""
    add_folder(to, "collected folder with an index, or an index folder")
    to.add_argument("--http", action="store_true", help="serve the page and its JSON interface (default: JSON lines)")
    to.add_argument("--host", metavar="NAME", help="with --http: address to listen on (default: 127.0.0.1)")
    to.add_argument("--port", type=whole(0), metavar="N", help="with --http: port; 0 for a free one (default: 8080)")
    to.add_argument("--allow-remote", action="store_true", help="with --http: let other machines search and read")
    to.add_argument("--allow-host", action="append", metavar="NAME", help="with --http: answer to this name too")
    to.add_argument("--collection", type=Path, metavar="DIR", help="folder with formulas.tsv, if not near the index")
    add_model(to)


def run(arguments: argparse.Namespace) -> int:
    """Serve until the end of stdin, or until a signal."""
    from command.folders import find

    place = find(arguments.folder, arguments.collection)
    if arguments.http:
        return _page(arguments, place.index, place.collection)
    for name in _PAGE:
        value = getattr(arguments, name)
        if value is not None and value is not False:  # a port of 0 is one
            raise CommandError(f"--{name.replace('_', '-')}: expected only with --http")
    _lines(place.index, arguments.model)
    return DONE


def _page(arguments: argparse.Namespace, index: Path, collection: Path | None) -> int:
    """Hand over to ``service.http``."""
    try:
        from service import http
    except SystemExit as missing:  # a package: the message says how to install it
        raise CommandError(str(missing.code)) from None
    given = ["--index-dir", str(index)]
    named = {"collection": collection, "model": arguments.model, "host": arguments.host, "port": arguments.port}
    for name, value in named.items():
        if value is not None:
            given += [f"--{name}", str(value)]
    for name in arguments.allow_host or []:
        given += ["--allow-host", name]
    return http.main([*given, "--allow-remote"] if arguments.allow_remote else given)


def _lines(index: Path, model: Path | None) -> None:
    """The contract's service on stdin and stdout, with another model if one is named (see ``service.jsonl.main``)."""
    from index.search import Index
    from service import jsonl
    from service.session import THREADS, Session

    writing = threading.Lock()
    jsonl.end_on_signals(writing)
    if sys.stdin.isatty():
        print(f'{PROGRAM} serve: type {{"op":"load"}}, then {{"latex":"x^2"}}, a line each', file=sys.stderr)
    output = jsonl.claim_stdout()
    session = Session(str(index), opener=lambda folder: Index.open(folder, model, THREADS))
    jsonl.serve(0, output, session, writing)


VERB = Verb(
    "serve",
    "serve the local page or JSON lines",
    "Serve FOLDER: with --http a page for a browser and its JSON interface, else the JSON-lines protocol on stdin and "
    "stdout. The page listens to this machine alone unless told otherwise.",
    [
        ("serve --http", "the page of .formdex, at http://127.0.0.1:8080/"),
        ("serve thesis.formdex --http --port 0", "the page of another folder, on a free port that is printed"),
        ("serve < requests.jsonl", 'requests such as {"op":"load"} and {"latex":"x^2"}, a reply a line'),
    ],
    configure,
    run,
)
