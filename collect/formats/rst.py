r"""reStructuredText: the ``:math:`` role, the ``.. math::`` directive, and unmistakable ``$...$`` as Sphinx adds it.

Literal blocks, code directives, comments and doctests are blanked out, offsets kept, so that what is left can be
searched as one text. docutils was not used: it gives no columns and often no lines, and stops at Sphinx's directives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from collect.delimiters import Trust, Trusted, scan
from collect.page import Found, Page

_DIRECTIVE = re.compile(
    r"(\s*(?:[-*+]\s+|\d+\.\s+)*)\.\.\s+(?:\|[^|\n]+\|\s+)?([A-Za-z][\w:.+-]*?)\s?::(?:\s+(.*)|\s*)$"
)
_COMMENT = re.compile(r"\s*\.\.(?:\s+(?!_|\[)\S.*|\s*)$")
_DOCTEST = re.compile(r"\s*(?:>>>|In \[\d+\]:|sage:)(?:\s|$)")
_OPTION = re.compile(r"\s*:[A-Za-z-]+:")
_CODE = frozenset(
    "code code-block sourcecode literalinclude parsed-literal doctest testcode testoutput testsetup testcleanup plot "
    "ipython productionlist raw graphviz digraph graph jupyter-execute prompt highlight highlights toctree csv-table "
    "autosummary currentmodule module inheritance-diagram try_examples mermaid command-output include altair-plot "
    "nbplot image only-code tikz uml program-output".split()
)
_TRUSTED = Trusted(Trust.STRICT, Trust.NEVER)  # ``\\(`` escapes a bracket here
_INLINE = re.compile(
    r"""
    (?P<literal>``(?:(?!\n[ \t]*\n).)+?``)
    | :math:`(?P<role>(?:\\.|[^`\\]|\n(?![ \t]*\n))+?)`
    | (?<![`:\w])`(?P<postfix>[^`\n]+(?:\n[^`\n]+)*)`:math:
    | (?P<other>:[\w.+-]+(?::[\w.+-]+)*:`[^`]*`)
    | (?P<reference>(?<![`\w])`(?:[^`\n]|\n(?![ \t]*\n))+`__?(?!\w))
    | (?<![`\w])`(?P<default>[^`\s](?:[^`\n]|\n(?![ \t]*\n))*)`(?![`_\w])
    """,
    re.VERBOSE | re.DOTALL,
)


def extract(page: Page) -> Iterator[Found]:
    """The formulas of a reStructuredText."""
    lines = page.text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    blocks, masked, default_math = _blocks(lines, starts)
    text = "".join(masked)
    spans = [(start, end, latex, True) for start, end, latex in blocks]
    spans += _inline(text, default_math)
    for start, end, latex, display in sorted(spans):
        if latex.strip():
            yield page.found(start, end, latex, display)


def _inline(text: str, default_math: bool) -> list[tuple[int, int, str, bool]]:
    """Roles and dollars in running text."""
    spans = []
    rest = []
    at = 0
    for match in _INLINE.finditer(text):
        rest.append(text[at : match.start()])
        rest.append("\x00" * (match.end() - match.start()))
        at = match.end()
        latex = match.group("role") or match.group("postfix") or (default_math and match.group("default")) or ""
        if latex:
            spans.append((match.start(), match.end(), re.sub(r"\\`", "`", latex), False))
    rest.append(text[at:])
    spans += [(m.start, m.end, m.latex, m.display) for m in scan("".join(rest), _TRUSTED)]
    return spans


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _blocks(lines: list[str], starts: list[int]) -> tuple[list[tuple[int, int, str]], list[str], bool]:
    """Take the blocks out of the running text.

    Returns:
        Math directives as (start, end, latex); the lines, with everything blanked that is no running text; whether
        the default role is math.
    """
    found: list[tuple[int, int, str]] = []
    masked = list(lines)
    default_math = False
    i = 0
    while i < len(lines):
        line = lines[i].rstrip("\r\n")
        end = i + 1
        directive = _DIRECTIVE.match(line)
        if not line.strip():
            pass
        elif directive:
            name = directive.group(2).lower()
            end = _block_end(lines, i, _indent(line))
            if name == "math":
                found += _equations(lines, starts, i, end, directive)
            elif name == "default-role":
                default_math, end = (directive.group(3) or "").strip() == "math", i + 1
            elif name not in _CODE:
                end = i + 1
            if name in _CODE or name == "math":
                _blank(masked, i, end)
        elif _COMMENT.match(line):
            end = _block_end(lines, i, _indent(line))
            _blank(masked, i, end)
        elif _DOCTEST.match(line):
            while end < len(lines) and lines[end].strip():
                end += 1
            _blank(masked, i, end)
        elif line.rstrip().endswith("::"):
            end = _block_end(lines, i, _indent(line))
            _blank(masked, i + 1, end)
        i = end
    return found, masked, default_math


def _block_end(lines: list[str], i: int, indent: int) -> int:
    """Line behind the block of deeper indent that follows line i."""
    end, last = i + 1, i + 1
    while end < len(lines):
        if lines[end].strip():
            if _indent(lines[end]) <= indent:
                break
            last = end + 1
        end += 1
    return last


def _blank(masked: list[str], start: int, end: int) -> None:
    for i in range(start, end):
        body = masked[i].rstrip("\r\n")
        masked[i] = "\x00" * len(body) + masked[i][len(body) :]


def _equations(
    lines: list[str], starts: list[int], first: int, end: int, directive: re.Match[str]
) -> list[tuple[int, int, str]]:
    """The formulas of one math directive: docutils makes one of every block between blank lines."""
    found: list[tuple[int, int, str]] = []
    argument = (directive.group(3) or "").strip()
    start, content = starts[first] + _indent(lines[first]), [argument] if argument else []
    in_options = True
    for i in range(first + 1, end + 1):
        line = lines[i].strip() if i < end else ""
        if in_options and _OPTION.match(line):
            continue
        in_options = in_options and not line
        if line:
            if not content and found:
                start = starts[i] + _indent(lines[i])
            content.append(line)
        elif content and _balanced(content):
            found.append((start, starts[i], "\n".join(content)))
            content = []
    if content:
        found.append((start, starts[end], "\n".join(content)))
    return found


def _balanced(content: list[str]) -> bool:
    """Are all environments closed, so that a blank line may end the formula?"""
    text = "\n".join(content)
    return text.count(r"\begin{") <= text.count(r"\end{")
