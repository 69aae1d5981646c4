"""Stack Exchange dumps: ``Posts.xml``, streamed row by row in constant memory.

A row's place is the line and column of its ``<row``: the body is HTML escaped inside an attribute, all on one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO
from xml.parsers import expat

from collect.delimiters import Trust, Trusted, scan
from collect.errors import Unreadable
from collect.formats import html
from collect.page import Found, Page, Post

CHUNK = 1 << 18  # bytes
TRUSTED = Trusted(Trust.LENIENT)
_KINDS = {"1": "question", "2": "answer"}
_MAYBE = re.compile(r"\$|\\[(\[]|\\begin|math")
_Row = tuple[int, int, dict[str, str]]


def extract(stream: BinaryIO) -> Iterator[Found]:
    """The formulas of a dump: for every question its title's and its body's, for every answer its body's.

    Args:
        stream: the bytes of the file, from its start.

    Raises:
        Unreadable: it is not well-formed XML. What stood before the fault has been yielded by then.
    """
    rows: list[_Row] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "row":
            rows.append((parser.CurrentLineNumber, parser.CurrentColumnNumber + 1, attributes))

    parser.StartElementHandler = start
    while True:
        chunk = stream.read(CHUNK)
        try:
            parser.Parse(chunk, not chunk)
        except expat.ExpatError as error:
            raise Unreadable(f"not well-formed XML: {error}") from error
        for line, column, attributes in rows:
            yield from _row(line, column, attributes)
        rows.clear()
        if not chunk:
            return


def _row(line: int, column: int, attributes: dict[str, str]) -> Iterator[Found]:
    """The formulas of one post; other kinds of rows (wikis, moderators' notes) have none."""
    kind = _KINDS.get(attributes.get("PostTypeId", ""))
    number = attributes.get("Id", "")
    thread = attributes.get("ParentId", number) if kind == "answer" else number
    if kind is None or not number.isdecimal() or not thread.isdecimal() or max(len(number), len(thread)) > 12:
        return
    title = attributes.get("Title", "") if kind == "question" else ""
    if "$" in title or "\\" in title:
        page, post = Page(title), Post(int(number), int(thread), "title", line, title)
        for m in scan(title, TRUSTED):
            yield replace(page.found(m.start, m.end, m.latex, m.display), line=line, column=column, post=post)
    body = attributes.get("Body", "")
    if not _MAYBE.search(body):
        return
    post = Post(int(number), int(thread), kind, line, title)
    for found in html.extract(Page(body), TRUSTED):
        yield replace(found, line=line, column=column, post=post)
