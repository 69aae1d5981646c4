r"""LaTeX and plain TeX: ``$``, ``$$``, ``\(``, ``\[``, the amsmath environments, ``\ensuremath`` in running text.

One pass over the tokens that matter in running text. Comments, verbatim text, code listings, addresses and R chunks
are stepped over; definitions are recorded where they stand and expanded in the formulas that follow. Macros that open
a display, as in ``\newcommand{\be}{\begin{equation}}``, are understood.

A general parser (pylatexenc) was not used here: documents define commands that it cannot know, and one wrong guess at
their arguments loses the rest of the paragraph, while the delimiters of mathematics can be read without knowing them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from collect.delimiters import BEGIN, LONGEST, LONGEST_INLINE, closing_dollar, environment
from collect.page import Found, Page
from collect.texmacros import DEFINER, Macros, group

_VERBATIM = (
    r"verbatim\*?|Verbatim\*?|BVerbatim|LVerbatim|SaveVerbatim|lstlisting|minted\*?|alltt|comment|filecontents\*?|"
    r"code|Sinput|Soutput|Schunk|CodeInput|CodeOutput|pycode|sagesilent|sageblock|sagecommandline|luacode\*?|asy|"
    r"tcblisting|python|example\*?lisp|IPythonIn|macrocode"
)
_TOKEN = re.compile(
    rf"""
    (?P<comment>%[^\n]*)
    | (?P<chunk>^<<[^\n]*>>=[^\n]*\n(?:.*?\n)??@[^\n]*$)
    | (?P<verb>\\(?:verb|lstinline|Verb)(?![A-Za-z])\*?(?:\[[^\]\n]*\])?(?P<bar>[^\sA-Za-z*{{\[])[^\n]*?(?P=bar))
    | (?P<mint>\\mint(?:inline)?(?:\[[^\]\n]*\])?\{{\w+\}}(?P<fence>[^\sA-Za-z*{{])[^\n]*?(?P=fence))
    | (?P<address>\\(?:url|path|nolinkurl|href|lstinline|verb|mintinline\{{\w+\}}|code|Sexpr|includegraphics
        |bibliography|label|ref|eqref|cite|hypersetup|index)\*?(?:\[[^\]\n]*\])?(?=\{{))
    | (?P<verbatim>\\begin\s*\{{(?P<name>{_VERBATIM})\}})
    | (?P<math>{BEGIN.pattern})
    | (?P<stop>\\end\s*\{{document\}})
    | (?P<false>\\iffalse(?![A-Za-z]))
    | (?P<code>\\(?:cat|lc|uc|sf|math|del)code\s*`\\?.)
    | (?P<include>\\(?:input|include|subfile|subfileinclude|import|subimport|usepackage|RequirePackage|documentclass)
        (?![A-Za-z]))
    | (?P<newenvironment>\\(?:re)?newenvironment(?![A-Za-z])\*?)
    | (?P<define>{DEFINER.pattern})
    | (?P<ensure>\\ensuremath\s*(?=\{{))
    | (?P<open>\\[(\[])
    | (?P<command>\\(?:[A-Za-z@]+|.))
    | (?P<dollar>\$\$?)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_PARAGRAPH = re.compile(r"\n[ \t]*\n|\\par(?![A-Za-z])|\\begin\s*\{(?:itemize|enumerate|document|section)|\\section\b")
_INPUT = re.compile(r"\s*(?:\[[^\]]*\]\s*)?(?:\{([^{}]*)\}(?:\s*\{([^{}]*)\})?|([^\s{}\\%$]+))")
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*\n?[ \t]*")
_LABEL = re.compile(
    r"\\(?:label|vspace)\*?\s*\{[^{}]*\}|\\(?:addto|set)counter\s*\{[^{}]*\}\s*\{[^{}]*\}|\\nonumber(?![A-Za-z])"
)
_CLOSING = re.compile(r"\\.|%[^\n]*|\$\$", re.DOTALL)
_ENDMARK = re.compile(r"\\(?:end\s*\{[A-Za-z]+\*?\}|[A-Za-z]+)")


@dataclass(frozen=True, slots=True)
class Include:
    r"""A file that the text asks for: the command (``input``, ``usepackage``, ...) and its arguments as written."""

    command: str
    folder: str
    name: str


def extract(page: Page, macros: Macros | None = None) -> Iterator[Found]:
    """The formulas of a LaTeX text, with the macros expanded.

    Args:
        page: the text.
        macros: definitions that hold where it starts; its own are added to them.
    """
    macros = Macros() if macros is None else macros
    for event in _events(page, macros, formulas=True):
        if isinstance(event, Found):
            yield event


def outline(text: str, macros: Macros) -> Iterator[Include]:
    """The files that a LaTeX text asks for; between them, ``macros`` gains the definitions passed on the way."""
    for event in _events(Page(text), macros, formulas=False):
        if isinstance(event, Include):
            yield event


def _events(page: Page, macros: Macros, formulas: bool) -> Iterator[Found | Include]:
    """Files asked for and, if they are wanted, formulas, in order; ``macros`` follows along."""
    text, at = page.text, 0
    while token := _TOKEN.search(text, at):
        kind, at = token.lastgroup or "", token.end()  # the outermost group: it closes last
        start = token.start()
        if kind in _SKIPPED:
            at = _skip(kind, token, text)
        elif kind == "stop":
            return
        elif kind == "define":
            at = macros.define(text, start)
        elif kind == "include":
            include, at = _include(text, token)
            if include is not None:
                yield include
        elif kind in ("math", "open", "dollar", "ensure", "command"):
            span = _formula(kind, token, text, macros)
            if span is None:
                continue
            at, latex, display = span
            if not formulas:
                continue
            latex = macros.expand(macros.take(_LABEL.sub("", _COMMENT.sub(r"\1", latex))))
            if latex.strip():
                yield page.found(start, at, latex, display)


_SKIPPED = frozenset(("comment", "chunk", "verb", "mint", "address", "verbatim", "false", "code", "newenvironment"))


def _skip(kind: str, token: re.Match[str], text: str) -> int:
    """Offset behind what a token opens that holds no formulas."""
    at = token.end()
    if kind == "verbatim":
        end = re.compile(rf"\\end\s*\{{{re.escape(token.group('name'))}\}}").search(text, at)
        return end.end() if end else len(text)
    if kind == "false":
        end = re.compile(r"\\fi(?![A-Za-z])").search(text, at)
        return end.end() if end else at
    if kind == "address":
        braced = group(text, at)
        return braced[1] if braced else at
    if kind == "newenvironment":
        return _skip_groups(text, at, 3)
    return at


def _skip_groups(text: str, at: int, most: int) -> int:
    """Offset behind up to ``most`` braced groups and the options between them."""
    for _ in range(most):
        option = re.compile(r"\s*(?:\[[^\]]*\]\s*)*").match(text, at)
        at = option.end() if option else at
        braced = group(text, at) if text[at : at + 1] == "{" else None
        if braced is None:
            return at
        at = braced[1]
    return at


def _include(text: str, token: re.Match[str]) -> tuple[Include | None, int]:
    match = _INPUT.match(text, token.end())
    if match is None:
        return None, token.end()
    command = token.group().lstrip("\\")
    first = (match.group(1) if match.group(1) is not None else match.group(3)).strip()
    if command in ("import", "subimport"):
        return Include(command, first, (match.group(2) or "").strip()), match.end()
    return Include(command, "", first), match.end(1) + 1 if match.group(1) is not None else match.end()


def _formula(kind: str, token: re.Match[str], text: str, macros: Macros) -> tuple[int, str, bool] | None:
    """The formula that a token opens: the offset behind it, its text, is it a display; None if it opens none."""
    at, limit = token.end(), min(len(text), token.start() + LONGEST)
    inline = min(limit, at + LONGEST_INLINE)
    if kind == "math":
        begin = BEGIN.match(text, token.start())
        match = environment(text, begin, limit) if begin else None
        return (match.end, match.latex, match.display) if match else None
    if kind == "ensure":
        braced = group(text, at)
        return (braced[1], braced[0], False) if braced else None
    if kind == "command":
        return _alias(token, text, macros, limit)
    if kind == "open":
        closing = r"\]" if token.group() == r"\[" else r"\)"
        close = _find(text, at, closing, limit if closing == r"\]" else inline)
        return None if close < 0 else (close + 2, text[at:close], closing == r"\]")
    if token.group() == "$$":
        close = _find(text, at, "$$", limit)
        return None if close < 0 else (close + 2, text[at:close], True)
    paragraph = _PARAGRAPH.search(text, at, inline)
    close = closing_dollar(text, at, paragraph.start() if paragraph else inline, comments=True)
    return None if close < 0 else (close + 1, text[at:close], False)


def _find(text: str, at: int, closing: str, end: int) -> int:
    """Offset of ``closing`` from ``at`` on, not escaped and not in a comment; -1 if there is none."""
    if text.find(closing, at, end) < 0:  # quick, since a text may open many displays and close none
        return -1
    return next((m.start() for m in _CLOSING.finditer(text, at, end) if m.group() == closing), -1)


def _alias(token: re.Match[str], text: str, macros: Macros, limit: int) -> tuple[int, str, bool] | None:
    r"""A macro without arguments that opens a display, up to ``\end{...}`` or the macro that stands for it."""
    macro = macros.known.get(token.group())
    if macro is None or macro.arity or "\\" not in macro.body:
        return None
    body = macro.body.strip()
    begin = BEGIN.match(body)
    opening = begin.group(1) if begin else body if body in (r"\[", "$$") else ""
    if not opening:
        return None
    closings = {rf"\end{{{opening}}}", {r"\[": r"\]"}.get(opening, "$$")}
    for mark in _ENDMARK.finditer(text, token.end(), limit):
        alias = macros.known.get(mark.group())
        meaning = alias.body.strip() if alias else mark.group()
        if meaning.replace(" ", "") in closings:
            inner = text[token.end() : mark.start()]
            whole = begin is not None and not opening.startswith(("equation", "displaymath"))
            return mark.end(), body + inner + rf"\end{{{opening}}}" if whole else inner, True
    return None
