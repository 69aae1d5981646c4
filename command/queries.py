"""Queries from the command line and from stdin, one a line: LaTeX as it is, or a JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from command.errors import CommandError

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Query:
    """What to search for, and the id to answer under where it came with one."""

    latex: str
    query_id: str | int | None = None


def parse(line: str, where: str) -> Query:
    """The query in a line.

    Args:
        line: LaTeX, or an object with ``latex`` and perhaps ``query_id``. No LaTeX begins with a brace and a quote, so
            whatever begins so is meant to be JSON.
        where: for the message.

    Raises:
        CommandError: it begins as JSON and is not such an object.
    """
    text = line.strip()
    if not text.startswith('{"'):
        return Query(text)
    try:
        fields = json.loads(text)
        latex, query_id = fields["latex"], fields.get("query_id")
    except (ValueError, KeyError, RecursionError):
        raise CommandError(f'{where}: expected {{"latex": "..."}} or LaTeX, got {text[:60]!a}') from None
    if not isinstance(latex, str):
        raise CommandError(f"{where}: field latex: expected a string, got {str(latex)[:60]!a}")
    if isinstance(query_id, bool) or not isinstance(query_id, str | int | None):
        raise CommandError(f"{where}: field query_id: expected a string or a whole number, got {str(query_id)[:60]!a}")
    return Query(latex, query_id)


def lines(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Every text given as an argument, ``-`` replaced by the lines of stdin as they come; each with where it stands."""
    for number, word in enumerate(words, 1):
        if word != STDIN:
            yield f"query {number}", word
            continue
        stream = sys.stdin.buffer
        at = 0
        while line := stream.readline():  # not by iteration: that would wait for more than one line
            at += 1
            text = line.decode("utf-8", "replace").strip("\ufeff \t\r\n")
            if text:
                yield f"stdin:{at}", text
