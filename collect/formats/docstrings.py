"""Python: the docstrings and attribute docstrings of a module, read as reStructuredText."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from collect.errors import Unreadable
from collect.formats import rst
from collect.page import Found, Page

_LITERAL = re.compile(r"([A-Za-z]{0,2})(\"\"\"|'''|\"|')", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]+\}|.)", re.DOTALL)


def extract(page: Page) -> Iterator[Found]:
    """The formulas in the docstrings of a Python file.

    Raises:
        Unreadable: it is not Python 3.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # docstrings full of LaTeX have invalid escapes
            tree = ast.parse(page.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(f"not Python 3: {error}") from error
    starts = _line_starts(page.text)
    constants = [n.value for n in ast.walk(tree) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)]
    for node in sorted(constants, key=lambda n: (n.lineno, n.col_offset)):
        if not isinstance(node.value, str):
            continue
        start = _offset(page.text, starts, node.lineno, node.col_offset)
        end = _offset(page.text, starts, node.end_lineno or node.lineno, node.end_col_offset or 0)
        if r"math" in node.value or "$" in node.value:
            yield from rst.extract(_dedent(page.part(_decode(page.text, start, end))))


def _line_starts(text: str) -> list[int]:
    """Offsets of the lines."""
    return [0, *(m.end() for m in re.finditer("\n", text))]


def _offset(text: str, starts: list[int], line: int, column: int) -> int:
    """Offset of a place that ast names by line and UTF-8 column."""
    start = starts[line - 1]
    head = text[start : start + column]
    return start + (column if head.isascii() else len(text[start:].encode()[:column].decode("utf-8", "ignore")))


def _decode(text: str, start: int, end: int) -> Iterator[tuple[str, int]]:
    """The value of the string literal in [start, end), piece by piece with its place."""
    match = _LITERAL.match(text, start)
    if match is None:
        return
    at, end = match.end(), end - len(match.group(2))
    if "r" in match.group(1).lower():
        yield text[at:end], at
        return
    for escape in _ESCAPE.finditer(text, at, end):
        yield text[at : escape.start()], at
        yield _character(escape.group()), escape.start()
        at = escape.end()
    yield text[at:end], at


def _character(escape: str) -> str:
    """What an escape stands for; an unknown one stands for itself, as in Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(f'"{escape}"' if escape != '\\"' else "'\"'")
    except (SyntaxError, ValueError):
        return escape
    return str(value)


def _dedent(page: Page) -> Page:
    """The docstring without its common indent (PEP 257)."""
    lines = page.text.splitlines(keepends=True)
    margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    pieces, at = [], 0
    for i, line in enumerate(lines):
        cut = min(margin, len(line) - len(line.lstrip(" \t"))) if i else len(line) - len(line.lstrip(" \t"))
        pieces.append((line[cut:], at + cut))
        at += len(line)
    return page.part(pieces)
