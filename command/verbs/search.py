"""``search``: the formulas of a collection nearest to a query, and where they stand."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from command.errors import DONE, PARTIAL, CommandError
from command.grammar import PROGRAM, Verb, add_folder, add_model, add_output, finite, whole
from command.output import columns, emit, fit, nearby, plain, say, wants_json
from command.queries import Query, lines, parse

if TYPE_CHECKING:
    from index.coded import CodedIndex
    from index.search import Index
    from service.collection import Collection

MOST = 1000  # results, as many as the contract asks for


def configure(to: argparse.ArgumentParser) -> None:
    """The arguments."""
    add_folder(to, "collected folder with an index, or an index folder", optional=False)
    to.add_argument(
        "queries",
        nargs="+",
        metavar="QUERY",
        help="LaTeX; - for lines of stdin, each LaTeX or JSON with latex, query_id",
    )
    to.add_argument("-n", "--number", type=whole(1), default=10, metavar="N", help="results a query (default: 10)")
    to.add_argument("--places", type=whole(1), default=3, metavar="N", help="places a result (default: 3)")
    to.add_argument("--least", type=finite, metavar="SCORE", help="leave out results below this score")
    to.add_argument("--collection", type=Path, metavar="DIR", help="folder with formulas.tsv, if not near the index")
    add_model(to)
    add_output(to)


def run(arguments: argparse.Namespace) -> int:
    """Answer query after query on one open index."""
    from command.folders import find
    from index.search import Index
    from service.collection import Collection

    place = find(arguments.folder, arguments.collection)
    collection = None if place.collection is None else Collection(place.collection)
    index = Index.open(place.index, arguments.model)
    status = DONE
    for where, text in lines(arguments.queries):
        try:
            query = parse(text, where)
        except CommandError as error:  # the other lines are answered all the same
            print(f"{PROGRAM} search: {error}", file=sys.stderr)
            status = PARTIAL
            continue
        found = hits(index, collection, query, arguments)
        if not found:
            status = PARTIAL
            print(f"{PROGRAM} search: {where}: nothing found for {fit(plain(query.latex), 60)!a}", file=sys.stderr)
        elif wants_json(arguments.form):
            for hit in found:
                emit(hit)
        else:
            table(query, found)
    return status


def hits(
    index: Index | CodedIndex, collection: Collection | None, query: Query, arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """The results of a query, best first, as JSON values; none for a query without content."""
    from encoder.latex import canonical

    if not canonical(query.latex):
        return []
    least = arguments.least
    found = []
    for rank, (formula_id, score) in enumerate(index.search(query.latex, min(arguments.number, MOST)), 1):
        if least is not None and score < least:
            break
        named = {} if query.query_id is None else {"query_id": query.query_id}
        hit = {**named, "query": query.latex, "rank": rank, "formula_id": formula_id, "score": score}
        if collection is not None:
            hit.update(details(collection, int(formula_id), arguments.places))
        found.append(hit)
    return found


def details(collection: Collection, formula_id: int, most: int) -> dict[str, Any]:
    """The LaTeX of a formula, the size of its group, and where the formula and others of its group stand."""
    places = []
    for member in collection.group(formula_id)[:most]:
        place = collection.place(member)
        if place is not None:
            places.append(
                {
                    "file": os.path.join(place.root, place.path),
                    "line": place.line,
                    "column": place.column,
                    "before": place.before,
                    "after": place.after,
                    **({"title": place.title} if place.title else {}),
                    **({} if place.external_id is None else {"post": place.external_id}),
                }
            )
    return {
        "formula": collection.latex(formula_id),
        "group_size": collection.group_size(formula_id),
        "places": places,
    }


def table(query: Query, found: list[dict[str, Any]]) -> None:
    """The results for people: a line each, with more places below."""
    say(fit(plain(query.latex), columns()))
    firsts = [_where(hit["places"][0]) if hit.get("places") else f"id {hit['formula_id']}" for hit in found]
    room = max(20, columns() - 26 - min(50, max(map(len, firsts))))
    for hit, first in zip(found, firsts, strict=True):
        places = [_where(place) for place in hit.get("places", ())]
        more = hit.get("group_size", 0) - len(places) if places else 0
        formula = plain(hit.get("formula") or f"formula {hit['formula_id']}")
        size = f"x{hit['group_size']}" if "group_size" in hit else ""
        say(f"{hit['rank']:4}  {hit['score']:8.4f}  {size:>5}  {fit(formula, room):<{room}}  {first}")
        for other in places[1:]:
            say(f"{'':24}{other}")
        if more > 0 and len(places) > 1:
            say(f"{'':24}and {more} more")


def _where(place: Mapping[str, Any]) -> str:
    return f"{plain(nearby(place['file']))}:{place['line']}"


VERB = Verb(
    "search",
    "find formulas like one",
    "Rank the formulas of FOLDER by likeness to each QUERY. A result names the formula, its score (1 at most), how "
    "many formulas of the collection look the same, and the file and line of the first few of them. The index is "
    "opened once, so many queries on stdin are answered as they come. Write -- before a QUERY that begins with a minus "
    "sign.",
    [
        ("search .formdex 'x^2+y^2'", "the ten nearest formulas"),
        (r"search .formdex '\int e^{-x^2} dx' -n 3 --json", "the best three, for a program"),
        ("search .formdex - < queries.txt", "a query a line, on one open index"),
    ],
    configure,
    run,
)
