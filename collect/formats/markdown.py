r"""Markdown and MyST: dollars, ``\(``, ``\[``, amsmath environments, ``{math}`` roles and directives, math fences.

markdown-it-py decides what is text and what is code; two rules added to it find the mathematics before emphasis and
escapes can tear it apart. Raw HTML inside is read as HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from collect.delimiters import BEGIN, LONGEST, UNWRAPPED, Trust, Trusted, match_at
from collect.errors import CollectError
from collect.formats import html, rst
from collect.page import Found, Page

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

TRUSTED = Trusted(Trust.LENIENT, Trust.STRICT)  # a backslash may as well escape a bracket
DEEPEST = 8  # directives inside directives
_CLOSINGS = {"$$": "$$", r"\[": r"\]", r"\\[": r"\\]"}
_TAIL = re.compile(r"\s*(?:\([\w:.-]+\)|\{[^{}\n]*\}|[.,;])?\s*\Z")
_MATH_FENCE = re.compile(r"\{?(?:math|eq|amsmath|katex|mathjax)\}?\s*\Z")
_TEXT_DIRECTIVE = re.compile(
    r"\{(?!code|eval-rst|literalinclude|raw|mermaid|figure-md|parsed|plot|graphviz|py|ipython)[\w:.-]+\}"
)
_OPTION = re.compile(r"[ \t]*:[\w-]+:[^\n]*(?:\n|\Z)")
_YAML = re.compile(r"\s*---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_MATH_ROLES = frozenset(("math", "eq-inline"))


def _inline_rule(state: StateInline, silent: bool) -> bool:
    """Mathematics between delimiters inside a paragraph."""
    text, at = state.src, state.pos
    if text[at] not in "$\\":
        return False
    doubled = text.startswith((r"\\(", r"\\["), at)
    if doubled:
        closing = r"\\)" if text[at + 2] == "(" else r"\\]"
        close = text.find(closing, at + 3, min(state.posMax, at + LONGEST))
        if close < 0 or not text[at + 3 : close].strip():
            return False
        start, end, latex, display = at, close + 3, text[at + 3 : close], closing == r"\\]"
    elif text[at] == "$" or text.startswith((r"\(", r"\[", r"\begin"), at):
        match = match_at(text, at, TRUSTED, state.posMax)
        if match is None or (at and text[at - 1] == "\\" and text[at] == "$"):
            return False
        start, end, latex, display = match.start, match.end, match.latex, match.display
        if latex[0] == "`" == latex[-1] and len(latex) > 2:  # GitHub's $`...`$
            latex = latex[1:-1]
    else:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content, token.meta = latex, {"start": start, "end": end, "display": display}
    state.pos = end
    return True


def _block_rule(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """A display that starts a line; blank lines, list marks and underlines inside it mean nothing."""
    if state.is_code_block(start_line):
        return False
    first = state.src[state.bMarks[start_line] + state.tShift[start_line] : state.eMarks[start_line]]
    opening = next((o for o in _CLOSINGS if first.startswith(o)), "")
    begin = None if opening else BEGIN.match(first)
    if not opening and begin is None:
        return False
    closing = _CLOSINGS[opening] if opening else rf"\end{{{begin.group(1)}}}"  # type: ignore[union-attr]
    skip = len(opening) if opening else begin.end()  # type: ignore[union-attr]
    line = start_line
    while line < end_line and (line == start_line or state.isEmpty(line) or state.sCount[line] >= state.blkIndent):
        text = state.src[state.bMarks[line] : state.eMarks[line]]
        from_ = state.tShift[line] + skip if line == start_line else 0
        at = text.find(closing, from_)
        if at >= 0:
            if not _TAIL.match(text, at + len(closing)):
                return False
            if not silent:
                _push_display(state, start_line, line, opening, closing)
            state.line = line + 1
            return True
        line += 1
    return False


def _push_display(state: StateBlock, first: int, last: int, opening: str, closing: str) -> None:
    content = state.getLines(first, last + 1, state.blkIndent, False).strip()
    end = content.rindex(closing)
    inside = content[len(opening) : end] if opening else content[:end] + closing
    begin = BEGIN.match(inside)
    if not opening and begin and UNWRAPPED.match(begin.group(1)):
        inside = inside[begin.end() : -len(closing)]
    token = state.push("display_formula", "", 0)
    token.block, token.content, token.map = True, inside, [first, last + 1]


@cache
def _parser() -> MarkdownIt:
    try:
        from markdown_it import MarkdownIt
        from mdit_py_plugins.admon import admon_plugin
        from mdit_py_plugins.colon_fence import colon_fence_plugin
        from mdit_py_plugins.front_matter import front_matter_plugin
        from mdit_py_plugins.myst_role import myst_role_plugin
    except ImportError as error:
        raise CollectError(
            "Markdown needs markdown-it-py and mdit-py-plugins: pip install -r requirements/collect.lock"
        ) from error
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    for plugin in (front_matter_plugin, colon_fence_plugin, admon_plugin, myst_role_plugin):
        parser.use(plugin)
    parser.inline.ruler.before("escape", "formula", _inline_rule)
    interrupts = ["paragraph", "reference", "blockquote", "list"]
    parser.block.ruler.before("fence", "display_formula", _block_rule, {"alt": interrupts})
    return parser


class _Walk:
    """The tokens of one Markdown text, turned into formulas."""

    def __init__(self, page: Page, depth: int) -> None:
        self.page, self.depth = page, depth
        self.starts = [0, *(m.end() for m in re.finditer("\n", page.text))]

    def block(self, content: str, first: int) -> Page:
        """A block's content as a page; its lines stand, without indent and quote marks, from line ``first`` on."""
        pieces = []
        for i, line in enumerate(content.splitlines(keepends=True), first):
            start = self.starts[min(i, len(self.starts) - 1)]
            end = self.starts[i + 1] if i + 1 < len(self.starts) else len(self.page.text)
            raw = self.page.text[start:end]
            at = raw.find(line.rstrip("\n"))
            pieces.append((line, start + (at if at >= 0 else max(0, raw.find(line.strip())))))
        return self.page.part(pieces)

    def span(self, token: Token) -> tuple[int, int]:
        """Start and end, in this text, of the lines of a block, from its first mark on."""
        first, last = token.map or [0, 0]
        start = self.starts[min(first, len(self.starts) - 1)]
        end = self.starts[last] if last < len(self.starts) else len(self.page.text)
        raw = self.page.text[start:end]
        mark = re.search(r"\$\$|\\\\?\[|\\begin|```|~~~|:::|<", raw)
        return start + (mark.start() if mark else 0), end

    def tokens(self, tokens: list[Token]) -> Iterator[Found]:
        """The formulas of a list of block tokens."""
        for token in tokens:
            if token.type == "inline":
                yield from self.inline(token)
            elif token.type == "display_formula":
                start, end = self.span(token)
                yield self.page.found(start, end, token.content, True)
            elif token.type in ("fence", "colon_fence"):
                yield from self.fence(token)
            elif token.type == "html_block":
                yield from html.extract(self.block(token.content, (token.map or [0])[0]), TRUSTED)

    def inline(self, token: Token) -> Iterator[Found]:
        """The formulas of a paragraph, a heading or a cell."""
        if not any(child.type in ("formula", "myst_role") for child in token.children or ()):
            return
        page = self.block(token.content, (token.map or [0])[0])
        at = 0
        for child in token.children or ():
            if child.type == "formula":
                meta: dict[str, Any] = child.meta
                at = meta["end"]
                yield page.found(meta["start"], at, child.content, meta["display"])
            elif child.type == "myst_role" and child.meta["name"] in _MATH_ROLES:
                start = page.text.find("{" + child.meta["name"] + "}`", at)
                at = page.text.find(child.content[-1:] + "`", start) + 2 if start >= 0 else at
                yield page.found(max(start, 0), at, child.content, False)

    def fence(self, token: Token) -> Iterator[Found]:
        """A fenced block: mathematics, a directive with text inside, or code."""
        info = token.info.strip()
        name, _, argument = info.partition(" ")
        if _MATH_FENCE.match(name):
            start, end = self.span(token)
            content = token.content
            if name.startswith("{"):
                yaml = _YAML.match(content)
                content = content[yaml.end() :] if yaml else content
                while option := _OPTION.match(content.lstrip("\n")):
                    content = content.lstrip("\n")[option.end() :]
                content = f"{argument}\n{content}" if argument.strip() else content
            for latex in _split(content):
                yield self.page.found(start, end, latex, True)
        elif info.startswith(("{eval-rst}", "{glossary}")):  # a glossary's definitions are indented as there
            yield from rst.extract(self.block(token.content, (token.map or [0])[0] + 1))
        elif self.depth < DEEPEST and (_TEXT_DIRECTIVE.match(info) or token.type == "colon_fence"):
            yield from _extract(self.block(token.content, (token.map or [0])[0] + 1), self.depth + 1)


def _split(content: str) -> list[str]:
    """The formulas of a directive: blank lines part them, outside of environments."""
    parts: list[str] = []
    for part in re.split(r"\n[ \t]*\n", content):
        if parts and parts[-1].count(r"\begin{") > parts[-1].count(r"\end{"):
            parts[-1] += "\n" + part
        else:
            parts.append(part)
    return [part for part in parts if part.strip()]


def _extract(page: Page, depth: int) -> Iterator[Found]:
    yield from _Walk(page, depth).tokens(_parser().parse(page.text))


def extract(page: Page) -> Iterator[Found]:
    """The formulas of a Markdown text.

    Raises:
        CollectError: the parser is not installed.
    """
    yield from _extract(page, 0)
