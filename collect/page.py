r"""What extractors work on and return: a text that knows where in its file each character stands, and formulas found.

A notebook's cell, a docstring or the text of an HTML page is not a stretch of the file: escapes were decoded, indents
and tags taken out. ``Page.part`` makes such a text from pieces of another and keeps the way back, so that every
extractor can search plain text and still name the line and column of the file. Worked example::

    >>> file = Page(r'say "a\tb" now')
    >>> cell = file.part([("a", 5), ("\t", 6), ("b", 8)])
    >>> cell.text, cell.origin(2)
    ('a\tb', 8)
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

CONTEXT = 160  # characters kept before and after a formula
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Post:
    """The forum post that a formula stands in; only dumps have posts.

    Attributes:
        number: the dump's own id of the post.
        thread: the id of the thread's question.
        kind: ``title``, ``question`` or ``answer``.
        line: line of the file where the post starts, 1-based.
        title: the post's title, empty for answers.
    """

    number: int
    thread: int
    kind: str
    line: int
    title: str


@dataclass(frozen=True, slots=True)
class Found:
    """A formula as it stands in a file.

    Attributes:
        latex: without delimiters, blanks squeezed, the document's macros not yet expanded unless the format is LaTeX.
        line: 1-based line where its markup starts.
        column: 1-based column, in characters, where its markup starts.
        display: does it stand on a line of its own?
        before: the text before it, at most ``CONTEXT`` characters.
        after: the text behind it, likewise.
        post: the post that it belongs to, where the file holds many.
    """

    latex: str
    line: int
    column: int
    display: bool
    before: str
    after: str
    post: Post | None = None


def squeeze(text: str) -> str:
    """One blank for every run of blanks and control characters, none at the ends, no lone surrogates."""
    text = _BLANKS.sub(" ", text).strip()
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class Page:
    """A text and the place of each of its characters in the file."""

    def __init__(self, text: str) -> None:
        """Take the whole text of a file: every character stands at its own offset."""
        self.text = text
        self._parent: Page | None = None
        self._starts: list[int] = []
        self._origins: list[int] = []
        self._newlines: list[int] | None = None

    def part(self, pieces: Iterable[tuple[str, int]]) -> Page:
        """A text put together from this one.

        Args:
            pieces: the parts of the new text in order, each with the offset in this text where it stands. A piece
                that was decoded may be shorter or longer than what it stands for.
        """
        texts: list[str] = []
        page = Page("")
        page._parent = self
        at = 0
        for piece, origin in pieces:
            if piece:
                texts.append(piece)
                page._starts.append(at)
                page._origins.append(origin)
                at += len(piece)
        page.text = "".join(texts)
        return page

    def slice(self, start: int, end: int) -> Page:
        """The text from start to end as a page of its own."""
        return self.part([(self.text[start:end], start)])

    def origin(self, at: int) -> int:
        """Offset in the file of the character at offset ``at`` of this text."""
        if self._parent is None:
            return at
        if not self._starts:
            return self._parent.origin(0)
        i = max(0, bisect_right(self._starts, at) - 1)
        return self._parent.origin(self._origins[i] + at - self._starts[i])

    def position(self, at: int) -> tuple[int, int]:
        """Line and column in the file, both 1-based, of the character at offset ``at`` of this text."""
        root, offset = self, self.origin(at)
        while root._parent is not None:
            root = root._parent
        if root._newlines is None:
            root._newlines = [m.start() for m in re.finditer("\n", root.text)]
        line = bisect_right(root._newlines, offset - 1)
        start = root._newlines[line - 1] + 1 if line else 0
        return line + 1, offset - start + 1

    def found(self, start: int, end: int, latex: str, display: bool) -> Found:
        """The formula ``latex`` whose markup takes [start, end) of this text."""
        line, column = self.position(start)
        before = squeeze(self.text[max(0, start - 2 * CONTEXT) : start])[-CONTEXT:]
        after = squeeze(self.text[end : end + 2 * CONTEXT])[:CONTEXT]
        return Found(squeeze(latex), line, column, display, before, after)
