r"""Formulas between delimiters in running text: ``$``, ``$$``, ``\(``, ``\[``, ``\begin{align}``.

A dollar is also a price, a shell variable and the end of a regular expression, so what stands between two of them is
looked at. ``LENIENT`` serves formats where the dollar is the agreed delimiter (Markdown, forum posts, pages that
configure it): only what is clearly something else is refused. ``STRICT`` serves those where it is not (docstrings,
other pages): only what is unmistakably mathematics is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

# amsmath, section 3, LaTeX's own displays, and the packages breqn, IEEEtrantools and empheq.
ENVIRONMENTS = (
    "equation|align|alignat|xalignat|xxalignat|flalign|gather|multline|eqnarray|displaymath|math|"
    "dmath|dgroup|darray|IEEEeqnarray|IEEEeqnarrayBox|empheq|split|aligned"
)
BEGIN = re.compile(rf"\\begin\s*\{{((?:{ENVIRONMENTS})\*?)\}}")
UNWRAPPED = re.compile(r"(?:equation|displaymath|math|dmath)\*?\Z")  # environments that only say "display this"
LONGEST = 20_000  # characters between delimiters
LONGEST_INLINE = 2_000


class Trust(Enum):
    """How far a delimiter is trusted."""

    NEVER = 0
    STRICT = 1
    LENIENT = 2


@dataclass(frozen=True, slots=True)
class Trusted:
    r"""How far a format's delimiters are trusted: dollars, and the brackets and environments of LaTeX."""

    dollars: Trust
    brackets: Trust = Trust.LENIENT


@dataclass(frozen=True, slots=True)
class Match:
    """A formula between delimiters: its markup takes [start, end), ``latex`` is what it says."""

    start: int
    end: int
    latex: str
    display: bool


_OPENING = re.compile(rf"\\\\|\\\$|\\\(|\\\[|{BEGIN.pattern}|\$\$?")
_STOP = re.compile(r"\x00|\n[ \t]*\n")
_INSIDE = re.compile(r"\\.|[{}$]", re.DOTALL)
_INSIDE_TEX = re.compile(r"\\.|%[^\n]*|[{}$]", re.DOTALL)


def closing_dollar(text: str, start: int, end: int, comments: bool = False) -> int:
    r"""Offset of the dollar that closes a formula whose text starts at ``start``, or -1.

    A dollar inside braces, as in ``\text{for $x$}``, does not close it, unless none outside does. Where there are
    ``comments``, what follows a percent sign does not count.
    """
    depth, first = 0, -1
    for match in (_INSIDE_TEX if comments else _INSIDE).finditer(text, start, end):
        token = match.group()
        if token == "$":
            if depth <= 0:
                return match.start()
            first = match.start() if first < 0 else first
        elif token in "{}":
            depth += 1 if token == "{" else -1
    return first


def match_at(text: str, at: int, trusted: Trusted, end: int | None = None) -> Match | None:
    r"""The formula whose delimiter stands at ``at``, or None.

    Args:
        text: where to look. A NUL ends what a formula may span (extractors of HTML put one where a tag was).
        at: offset of ``$``, ``\(``, ``\[`` or ``\begin``.
        trusted: how far to trust which delimiter.
        end: offset where the search for the end stops; the end of the text by default.
    """
    end = len(text) if end is None else end
    if text[at] == "$":
        if trusted.dollars is Trust.NEVER:
            return None
        if not text.startswith("$$", at):
            return _dollar(text, at, trusted.dollars, min(end, at + LONGEST_INLINE))
        match = _between(text, at, at + 2, "$$", min(end, at + LONGEST), True)
        return match if match and _accepted(match, text, trusted.dollars) else None
    if trusted.brackets is Trust.NEVER:
        return None
    if text.startswith(r"\(", at):
        match = _between(text, at, at + 2, r"\)", min(end, at + LONGEST_INLINE), False)
    elif text.startswith(r"\[", at):
        match = _between(text, at, at + 2, r"\]", min(end, at + LONGEST), True)
    else:
        begin = BEGIN.match(text, at)
        return environment(text, begin, min(end, at + LONGEST)) if begin else None
    return match if match and _accepted(match, text, trusted.brackets) else None


def _accepted(match: Match, text: str, trust: Trust) -> bool:
    r"""Is this a formula, and not an escaped bracket as in ``\[1\]`` or ``file\(s\)``?"""
    inner = match.latex.strip()
    if trust is Trust.LENIENT:
        return True
    if _STRONG.search(_TEXTS.sub("", inner)):
        return mathematical(inner) or _words(inner) * 12 < len(inner)
    glued = match.start > 0 and text[match.start - 1].isalnum()
    return mathematical(inner) and not glued and not re.fullmatch(r"[\d\s,;–-]+", inner)


def environment(text: str, begin: re.Match[str], end: int) -> Match | None:
    r"""The environment that ``begin`` (a match of ``BEGIN``) opens; alignments keep their ``\begin`` and ``\end``."""
    name = begin.group(1)
    closing = re.compile(rf"\\end\s*\{{{re.escape(name)}\}}").search(text, begin.end(), end)
    if closing is None or "\x00" in text[begin.end() : closing.start()]:
        return None
    whole = not UNWRAPPED.match(name)
    latex = text[begin.start() : closing.end()] if whole else text[begin.end() : closing.start()]
    return Match(begin.start(), closing.end(), latex, name != "math")


def _between(text: str, at: int, inside: int, closing: str, end: int, display: bool) -> Match | None:
    """Up to the next ``closing`` that no backslash escapes."""
    close = text.find(closing, inside, end)
    while close > 0 and (len(text[inside:close]) - len(text[inside:close].rstrip("\\"))) % 2:
        close = text.find(closing, close + 1, end)
    if close < 0:
        return None
    latex = text[inside:close]
    if not latex.strip() or "\x00" in latex:
        return None
    return Match(at, close + len(closing), latex, display)


def _dollar(text: str, at: int, trust: Trust, end: int) -> Match | None:
    """A single dollar at ``at``: up to its partner, if what stands between is taken for a formula."""
    stop = _STOP.search(text, at + 1, end)
    close = closing_dollar(text, at + 1, stop.start() if stop else end)
    if close < 0:
        return None
    latex = text[at + 1 : close]
    before, after = text[at - 1 : at] if at else "", text[close + 1 : close + 2]
    accepted = lenient(latex, after) if trust is Trust.LENIENT else strict(latex, before, after)
    return Match(at, close + 1, latex, False) if accepted else None


def scan(text: str, trusted: Trusted) -> Iterator[Match]:
    """All formulas between delimiters, in order."""
    at = 0
    while opening := _OPENING.search(text, at):
        at = opening.end()
        if opening.group() in ("\\\\", r"\$"):
            continue
        match = match_at(text, opening.start(), trusted)
        if match is not None:
            at = match.end
            yield match
        elif opening.group() == "$$":  # not a display: perhaps its second dollar opens a formula
            at = opening.end()


_TEXTS = re.compile(
    r"\\(?:text\w*|mbox|hbox|mathrm|operatorname\*?|mathsf|mathtt|mathit|label|tag|begin|end)\s*\{[^{}]*\}"
)
_COMMANDS = re.compile(r"\\[A-Za-z]+")
_STRONG = re.compile(r"\\[A-Za-z]{2,}|[_^=<>≤≥∈]|\\[{}|,;]")
_WORDS = re.compile(r"(?<![A-Za-z_\\])[A-Za-z]{3,}(?![A-Za-z_(])")
_MONEY = re.compile(r"\d[\d.,]*(?:[kKMB]|[-–]\d[\d.,]*)?(?:\s+(?:[A-Za-z]{2,}|a)\b|[/)]|\s*[-–,;]?\s*\Z)")
_SHELL = re.compile(
    r"[({]?[A-Za-z_]\w{2,}[)}]?\s*(?:[/:;|\"'`,.]|\Z)|\{[A-Za-z_]\w*\}?|\(\w+(?: [^)]*)?\)[/.]|[@?*#!]?\Z"
)
_FUNCTIONS = frozenset(
    "sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan log exp max min sup inf lim det dim ker deg gcd lcm "
    "mod arg sgn sign rank diag var cov grad div curl poly sqrt atan asin acos erf".split()
)


def _words(latex: str) -> int:
    """Number of words of running text outside of commands and their texts."""
    bare = _COMMANDS.sub(" ", _TEXTS.sub(" ", latex))
    return sum(word.lower() not in _FUNCTIONS for word in _WORDS.findall(bare))


def lenient(latex: str, after: str) -> bool:
    """May this stand between two dollars that are agreed to delimit formulas?

    Args:
        latex: what stands between.
        after: the character behind the second dollar, empty at the end.
    """
    inner = latex.strip()
    if not inner or "\x00" in inner:
        return False
    strong = _STRONG.search(_TEXTS.sub("", inner)) is not None
    words = _words(inner)
    if after.isdigit() or inner != latex or after.isalpha():
        return mathematical(inner) and not (after.isdigit() and _MONEY.match(inner))
    if strong:
        return words <= 8 or words * 12 < len(inner)
    if _MONEY.match(inner) and (len(inner.split()) > 1 or not inner[-1].isalnum()):
        return False
    if _SHELL.match(inner) and not inner.isalpha():
        return mathematical(inner)
    return words <= 1


_ATOM = re.compile(r"[A-Za-z]\w?'*|\d+(?:\.\d+)?")
_CALL = re.compile(r"[A-Za-z]{1,3}\([^()]*\)")
_PLAIN = re.compile(r"[A-Za-z0-9\s+\-*/=<>|!.,:;()\[\]'{}^_\\&~]*")
_OPERATOR = re.compile(r"[\w)\]}]\s*[-+*/,]\s*[-\w(\[{\\.]|[-+]\s*[\w(]|[=<>]")


def mathematical(latex: str) -> bool:
    """Is this unmistakably a formula, by itself?"""
    if not latex or latex != latex.strip() or _words(latex):
        return False
    bare = _TEXTS.sub(r"\\text", latex)
    if re.search(r"\\[A-Za-z]{2,}|[_^]\s*[\w{\\*+'-]|\\[{}|]", bare):
        return re.match(r"[\w/.~-]*/[\w/.~-]*\Z", bare) is None and '"' not in bare
    if not _PLAIN.fullmatch(latex) or latex[0] in "/*:;.,|)" or latex[-1] in "/*:;|(":
        return False
    return bool(_ATOM.fullmatch(latex) or _CALL.fullmatch(latex) or _OPERATOR.search(latex))


def strict(latex: str, before: str, after: str) -> bool:
    """Is this a formula though nothing says that dollars delimit formulas here?

    Args:
        latex: what stands between two dollars.
        before: the character before the first dollar, empty at the start.
        after: the character behind the second, empty at the end.
    """
    if before and not (before.isspace() or before in "([{\"'-–—/~,;:*>|\x00"):
        return False
    if after.isdigit() or after in ("$", "{") or after == "(":
        return False
    if _MONEY.match(latex) and not latex.isdigit():
        return False
    return mathematical(latex)
