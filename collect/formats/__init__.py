"""One extractor a format, and the registry that finds it by a file's name or first bytes.

An extractor is a pure function from a ``Page`` to the ``Found`` in it, in order; the one of dumps reads a byte stream.
It raises ``Unreadable`` for a text that is not of its format. Extractors whose parser is an optional package import it
when they are first called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from collect.formats import docstrings, html, latex, markdown, notebook, rst
from collect.page import Found, Page

HEAD = 4096  # bytes that sniffing sees


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name, the file name endings that mark it, what its first bytes look like, and its extractor.

    ``extract`` is None for ``posts``, which is streamed (``collect.formats.posts``).
    """

    name: str
    suffixes: tuple[str, ...]
    head: re.Pattern[bytes] | None
    extract: Callable[[Page], Iterator[Found]] | None


FORMATS = (
    Format("posts", (), re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>)?\s*<posts[\s>]"), None),
    Format(
        "latex",
        (".tex", ".ltx", ".latex", ".rnw", ".snw"),
        re.compile(rb"(?s).*\\(?:documentclass|documentstyle|begin\{document\})"),
        latex.extract,
    ),
    Format("notebook", (".ipynb",), re.compile(rb'(?s)\s*\{.*"(?:cells|nbformat|worksheets)"\s*:'), notebook.extract),
    Format(
        "markdown", (".md", ".markdown", ".mdown", ".mkd", ".rmd", ".qmd", ".mdx", ".myst", ".md.txt"), None,
        markdown.extract,
    ),
    Format(
        "rst", (".rst", ".rest", ".rst.txt"), re.compile(rb"(?s).*(?:^|\n)[ \t]*\.\. math::|.*:math:`"), rst.extract,
    ),
    Format("python", (".py", ".pyi"), re.compile(rb"#![^\n]*python"), docstrings.extract),
    Format(
        "html", (".html", ".htm", ".xhtml"),
        re.compile(rb"(?si)(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)?<(?:!doctype html|html)"),
        html.extract,
    ),
)  # fmt: skip
BY_NAME = {format_.name: format_ for format_ in FORMATS}
_FOREIGN = tuple(".sty .cls .c .h .cpp .js .ts .css .r .jl .json .bib .svg .po .sh .log .m .xsl .yml .toml".split())


def format_of(name: str, head: bytes) -> Format | None:
    """The format of a file, or None if it is none of ours.

    Args:
        name: its file name; an ending that we know decides.
        head: its first ``HEAD`` bytes; they decide where the name says nothing.
    """
    lower = name.lower()
    for format_ in FORMATS:
        if lower.endswith(format_.suffixes) and format_.suffixes:
            return format_
    if lower.endswith(_FOREIGN) or b"\0" in head:
        return None
    return next((f for f in FORMATS if f.head is not None and f.head.match(head)), None)
