"""Jupyter notebooks: markdown cells, and the LaTeX, Markdown and HTML among the outputs.

A notebook is JSON, and the place of a formula is its place in the file, so the strings are read with their offsets,
which no JSON library gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from collect.errors import Unreadable
from collect.formats import html, latex, markdown
from collect.page import Found, Page

_JSON = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|([{}\[\]:,])|([^\s{}\[\]:,"]+))', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|(.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class _String:
    """A JSON string: offsets of its content, between the quotes."""

    start: int
    end: int


def extract(page: Page) -> Iterator[Found]:
    """The formulas of a notebook, format 3 or 4.

    Raises:
        Unreadable: it is not JSON, or not a notebook.
    """
    root = _parse(page.text)
    if not isinstance(root, dict):
        raise Unreadable("not a notebook: expected a JSON object")
    cells = root.get("cells")
    if "cells" not in root:
        cells = [cell for sheet in _list(root.get("worksheets")) for cell in _list(_dict(sheet).get("cells"))]
    if not isinstance(cells, list):
        raise Unreadable("not a notebook: expected a list of cells")
    for cell in map(_dict, cells):
        kind = _value(page.text, cell.get("cell_type"))
        if kind in ("markdown", "heading"):
            yield from markdown.extract(_join(page, cell.get("source")))
        for output in map(_dict, _list(cell.get("outputs"))):
            yield from _output(page, _dict(output.get("data")) or output)


def _output(page: Page, data: dict[str, Any]) -> Iterator[Found]:
    """The richest of an output's texts that holds mathematics."""
    for mime, key in (("text/latex", "latex"), ("text/markdown", "markdown"), ("text/html", "html")):
        value = data.get(mime, data.get(key))
        if value is None or isinstance(value, dict):
            continue
        text = _join(page, value)
        if mime == "text/latex":
            yield from latex.extract(text)
        elif mime == "text/markdown":
            yield from markdown.extract(text)
        else:
            yield from html.extract(text)
        return


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _value(text: str, value: Any) -> str:
    return text[value.start : value.end] if isinstance(value, _String) else ""


def _join(page: Page, value: Any) -> Page:
    """A string, or a list of strings that together are one text, decoded."""
    strings = [value] if isinstance(value, _String) else [v for v in _list(value) if isinstance(v, _String)]
    return page.part(piece for string in strings for piece in _decode(page.text, string))


def _decode(text: str, string: _String) -> Iterator[tuple[str, int]]:
    at = string.start
    for escape in _ESCAPE.finditer(text, string.start, string.end):
        yield text[at : escape.start()], at
        first, second, simple = escape.groups()
        if simple is not None:
            yield _SIMPLE.get(simple, simple), escape.start()
        else:
            units = bytes.fromhex(first + (second or ""))
            yield units.decode("utf-16-be", "replace"), escape.start()
        at = escape.end()
    yield text[at : string.end], at


def _tokens(text: str) -> Iterator[tuple[str, Any, int]]:
    """The marks and values of a JSON text, and where each ends."""
    at = 1 if text.startswith("\ufeff") else 0
    while match := _JSON.match(text, at):
        at = match.end()
        if match.group(1) is not None:
            yield "value", _String(match.start(1) + 1, match.end(1) - 1), at
        elif match.group(2) is not None:
            yield match.group(2), None, at
        else:
            yield "value", None, at
    if text[at:].strip():
        raise Unreadable(f"not a notebook: broken JSON at offset {at}")


def _parse(text: str) -> Any:
    """The JSON value of a text: strings as offsets, numbers and constants as None."""
    root: list[Any] = []
    stack: list[Any] = [root]
    key: str | None = None  # of the innermost object, once it has been read
    for mark, value, at in _tokens(text):
        if mark in ":,":
            continue
        if mark in "]}":
            if len(stack) == 1 or isinstance(stack[-1], dict) != (mark == "}"):
                raise Unreadable(f"not a notebook: broken JSON at offset {at}")
            stack.pop()
            key = None
            continue
        top = stack[-1]
        if isinstance(top, dict) and key is None:
            if not isinstance(value, _String):
                raise Unreadable(f"not a notebook: expected a key before offset {at}")
            key = text[value.start : value.end]
            continue
        value = {} if mark == "{" else [] if mark == "[" else value
        if isinstance(top, dict):
            top[key] = value
        else:
            top.append(value)
        key = None
        if mark in "[{":
            if len(stack) > _DEEPEST:
                raise Unreadable("not a notebook: nested too deeply")
            stack.append(value)
    if len(stack) != 1 or len(root) != 1:
        raise Unreadable("not a notebook: the JSON does not end")
    return root[0]
