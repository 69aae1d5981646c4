r"""A document's own macros: read from its definitions, expanded inside its formulas.

``encoder.macros`` does the same on the tokens of one formula, for canonical forms. A document needs more: starred
definers, optional arguments, ``\let`` that keeps the old meaning, definitions spread over files; and the formula must
stay text that a page can render. So this works on text and touches nothing but the macros. Worked example::

    >>> macros = Macros()
    >>> macros.take(r"\newcommand{\norm}[2][2]{\|#2\|_{#1}} \norm{x} < \norm[1]{y}")
    ' \\norm{x} < \\norm[1]{y}'
    >>> macros.expand(r"\norm{x} < \norm[1]{y}")
    '\\|{x}\\|_{2} < \\|{y}\\|_{1}'

What it does not do: run TeX. Bodies that need it (``\@ifnextchar``, ``\csname``, conditionals) are not recorded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_EXPANSIONS = 400  # per formula; a macro that calls itself ends here
LONGEST_BODY = 2_000  # characters of a body that is still notation
LONGEST_RESULT = 20_000  # characters; a text that grew beyond is expanded no further
DEFINER = re.compile(
    r"\\(?:newcommand|renewcommand|providecommand|DeclareRobustCommand|DeclareMathOperator|NewDocumentCommand|"
    r"RenewDocumentCommand|DeclareDocumentCommand|DeclarePairedDelimiter|newmathcommand|[egx]?def|let)(?![A-Za-z])\*?"
)
_USE = re.compile(r"\\(?:[A-Za-z@]+|.)", re.DOTALL)
_NAME = re.compile(r"\s*(?:\{\s*(\\(?:[A-Za-z@]+|.))\s*\}|(\\(?:[A-Za-z@]+|.)))", re.DOTALL)
_COUNT = re.compile(r"\s*\[\s*(\d)\s*\]")
_PROGRAM = re.compile(
    r"\\(?:[A-Za-z]*@|csname|expandafter|if|else|fi(?![A-Za-z])|futurelet|begingroup|egroup|global|write|input)|##"
)
_PARAMETERS = re.compile(r"((?:\s*#\d)*)\s*(?=\{)")
_ENDS_IN_COMMAND = re.compile(r"\\[A-Za-z]+\Z")
_LETTER = re.compile(r"[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Macro:
    r"""One macro: the number of its arguments, the default of an optional first one, and what it stands for.

    ``final`` says that the body is not expanded again: ``\let`` copies the meaning that a command had.
    """

    arity: int
    default: str | None
    body: str
    final: bool = False


def group(text: str, at: int, opening: str = "{", closing: str = "}") -> tuple[str, int] | None:
    """The content of the bracketed group that starts at ``at`` and the offset behind it; None if it does not close."""
    depth, i, n = 0, at, len(text)
    while i < n:
        char = text[i]
        if char == "\\":
            i += 2
            continue
        if char == "%":
            newline = text.find("\n", i)
            i = n if newline < 0 else newline
            continue
        if opening != "{" and char == "{":
            inner = group(text, i)
            if inner is None:
                return None
            i = inner[1]
            continue
        depth += (char == opening) - (char == closing)
        i += 1
        if depth == 0:
            return text[at + 1 : i - 1], i
    return None


def _blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _argument(text: str, at: int) -> tuple[str, int]:
    """The argument at ``at``: a braced group without its braces, a command or one character."""
    at = _blanks(text, at)
    if at < len(text) and text[at] == "{":
        braced = group(text, at)
        return braced if braced else (text[at + 1 :], len(text))
    use = _USE.match(text, at)
    return (use.group(), use.end()) if use else (text[at : at + 1], at + 1)


class Macros:
    """The macros that hold at some place of a document."""

    def __init__(self, known: dict[str, Macro] | None = None) -> None:
        self.known: dict[str, Macro] = dict(known or {})

    def define(self, text: str, at: int) -> int:
        """Record the definition at ``at`` (where ``DEFINER`` matches) and return the offset behind it.

        What cannot be read as a definition is passed over by its first command alone.
        """
        match = DEFINER.match(text, at)
        if match is None:
            return at + 1
        kind, end = match.group().strip("\\*"), match.end()
        name = _NAME.match(text, end)
        if name is None:
            return end
        macro: Macro | None
        if kind == "let":
            macro, end = self._let(text, name.end())
        elif kind.endswith("def"):
            macro, end = _def(text, name.end())
        elif kind.endswith("DocumentCommand"):
            macro, end = _document_command(text, name.end())
        elif kind == "DeclarePairedDelimiter":
            left, end = _argument(text, name.end())
            right, end = _argument(text, end)
            macro = Macro(1, None, rf"\left{left} #1 \right{right}")
        else:
            macro, end = _newcommand(text, name.end(), match.group())
        command = name.group(1) or name.group(2)
        if macro is not None and len(macro.body) <= LONGEST_BODY and not _PROGRAM.search(macro.body):
            if kind != "providecommand" or command not in self.known:
                self.known[command] = macro
        elif macro is not None:
            self.known.pop(command, None)
        return end

    def _let(self, text: str, at: int) -> tuple[Macro | None, int]:
        at = _blanks(text, at)
        if text[at : at + 1] == "=":
            at = _blanks(text, at + 1)
        use = _USE.match(text, at)
        token = use.group() if use else text[at : at + 1]
        return self.known.get(token, Macro(0, None, token, final=True)), at + max(1, len(token))

    def take(self, text: str) -> str:
        """Record the definitions in ``text`` and return it without them."""
        if "\\" not in text:
            return text
        out: list[str] = []
        at = 0
        while match := DEFINER.search(text, at):
            out.append(text[at : match.start()])
            at = self.define(text, match.start())
        return "".join([*out, text[at:]])

    def expand(self, text: str) -> str:
        """Put the bodies where the macros are used; the rest of the text stays as it is."""
        if not self.known or "\\" not in text:
            return text
        out: list[str] = []
        at, left = 0, MOST_EXPANSIONS
        while match := _USE.search(text, at):
            macro = self.known.get(match.group())
            if macro is None or left == 0 or len(text) > LONGEST_RESULT:
                out.append(text[at : match.end()])
                at = match.end()
                continue
            left -= 1
            out.append(text[at : match.start()])
            body, at = _apply(macro, text, match.end())
            if _ENDS_IN_COMMAND.search(body) and _LETTER.match(text, at):
                body += " "  # or the body's last command would swallow the letter behind the macro
            before = next((piece for piece in reversed(out) if piece), "")
            if _LETTER.match(body) and _ENDS_IN_COMMAND.search(before):
                out.append(" ")
            if macro.final:
                out.append(body)
            else:
                text, at = body + text[at:], 0
        return "".join([*out, text[at:]])


def _def(text: str, at: int) -> tuple[Macro | None, int]:
    parameters = _PARAMETERS.match(text, at)
    if parameters is None:  # delimited parameters: a program, not notation
        brace = text.find("{", at)
        skipped = group(text, brace) if 0 <= brace - at < 100 else None
        return None, skipped[1] if skipped else at
    braced = group(text, parameters.end())
    if braced is None:
        return None, at
    return Macro(parameters.group(1).count("#"), None, braced[0]), braced[1]


def _newcommand(text: str, at: int, definer: str) -> tuple[Macro | None, int]:
    arity, default = 0, None
    if count := _COUNT.match(text, at):
        arity, at = int(count.group(1)), count.end()
        bracket = _blanks(text, at)
        if text[bracket : bracket + 1] == "[":
            option = group(text, bracket, "[", "]")
            if option is None:
                return None, at
            default, at = option
    body, at = _argument(text, at)
    if definer.startswith(r"\DeclareMathOperator"):
        body = rf"\operatorname{'*' if definer.endswith('*') else ''}{{{body}}}"
    return Macro(arity, default, body), at


def _document_command(text: str, at: int) -> tuple[Macro | None, int]:
    """xparse: only mandatory arguments (``m``) and one optional first (``O{default}``) are read."""
    specification, at = _argument(text, at)
    body, at = _argument(text, at)
    match = re.fullmatch(r"\s*(?:O\s*\{([^{}]*)\})?((?:\s*m)*)\s*", specification)
    if match is None:
        return None, at
    default = match.group(1)
    return Macro(match.group(2).count("m") + (default is not None), default, body), at


def _apply(macro: Macro, text: str, at: int) -> tuple[str, int]:
    """The body with its arguments, which follow at ``at``, and the offset behind them."""
    arguments: list[str] = []
    if macro.default is not None:
        bracket = _blanks(text, at)
        option = group(text, bracket, "[", "]") if text[bracket : bracket + 1] == "[" else None
        value, at = option or (macro.default, at)
        arguments.append(value)
    while len(arguments) < macro.arity:
        value, at = _argument(text, at)
        arguments.append(value)
    if not arguments:
        return macro.body, at

    def fill(match: re.Match[str]) -> str:
        place = int(match.group(1)) - 1
        if place >= len(arguments):
            return ""
        before, after = macro.body[: match.start()].rstrip(), macro.body[match.end() :].lstrip()
        braced = before.endswith("{") and after.startswith("}")
        return arguments[place] if braced else "{" + arguments[place] + "}"

    return re.sub(r"#([1-9])", fill, macro.body), at
