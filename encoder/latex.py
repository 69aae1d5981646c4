r"""Canonical LaTeX: one form for all spellings of a formula that look or mean the same.

``canonical`` turns what a person typed into tokens separated by blanks. It undoes HTML entities, comments, spacing and
sizing commands, redundant braces, synonyms, Unicode, macros defined inside the formula, plain-TeX infix fractions and
matrices, environments that only align, and the order of sub- and superscripts. Worked example::

    >>> canonical(r"\left( \dfrac12 \right)^{2} &le; {n \choose k}.")
    '( \\frac 1 2 ) ^ 2 \\le \\binom n k'

An argument of one token stands bare, a longer one in braces; letters and digits stand alone; a token of several letters
without a backslash is a word of running text. It never raises, whatever the input, and takes time linear in its length.

What it does not do: parse mathematics, or judge whether LaTeX would accept the formula.
"""

from __future__ import annotations

import html
import re
import unicodedata

from encoder import macros
from encoder.spelling import (
    ARGUMENTS,
    FENCES,
    FUNCTIONS,
    GRIDS,
    INFIX,
    NEGATED,
    NOTHING,
    SAME,
    TYPED_FUNCTIONS,
    UNICODE_TABLE,
)  # fmt: skip

# LaTeXML, which normalised part of the collection, breaks lines at 78 columns with "%" and a newline; where the newline
# was lost, a "% " this far from the start of its line is such a break and not the start of a comment.
WRAP_COLUMN = 60
LONGEST_SWAP = 256  # tokens of a superscript that may move behind its subscript; keeps the pass linear

_TEXT = "text|mbox|textrm|textbf|textit|textsf|texttt|textup|textnormal|hbox|mathrm|operatorname|operatornamewithlimits|emph"
_LEX = re.compile(
    rf"""
    \\(?=\\(?:[dtc]?frac|sqrt|sum|int|lim|left|right|begin|end|mathbb|infty)(?![A-Za-z]))   # a doubled backslash
    | \\\\(?:\s*\[\s*-?[\d.]+\s*[a-z]{{2}}\s*\])?                                 # end of a row, with extra space
    | \\(?:{_TEXT})\*?\s*\{{[^{{}}]{{0,400}}\}}                                   # running text
    | \\(?:begin|end)\s*\{{[^{{}}]{{0,40}}\}}
    | \\(?:tag|label|color|hspace|vspace|ref|eqref|phantom|vphantom|hphantom|cline|mspace|style|class|cssId)\*?
      \s*\{{[^{{}}]{{0,200}}\}}                                                   # with their argument, nothing
    | \\textcolor\s*\{{[^{{}}]{{0,60}}\}}
    | \\(?:hskip|kern|mkern|mskip|hspace|vskip|raise|lower)\s*-?[\d.]*\s*(?:em|ex|pt|mu|cm|mm|in)?(?![A-Za-z])
    | \\(?:left|right|middle)\s*\.
    | \\not\s*(?:\\[A-Za-z]+|[=<>|])
    | \\[A-Za-z]+\*?
    | \\.
    | \.(?:\s*\.){{2,}}
    | (?<![A-Za-z])(?:{"|".join(TYPED_FUNCTIONS)})(?=[A-Za-z]?(?![a-z]))
    | '+
    | \s+
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_RESIDUE = re.compile(r"&\s*(?:\\displaystyle\s*)?(amp|lt|gt);")
_BREAK = re.compile(r"<br\s*/?>")
_PERCENT = re.compile(r"(?<!\\)((?:\\\\)*)%")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_COLUMNS = re.compile(r"\s*(?:\[[^\]]{0,20}\])?\s*\{(?:[^{}]{0,100}|\{[^{}]{0,100}\}){0,20}\}")
_WORD = re.compile(r"[A-Za-z]+|\d|[^\sA-Za-z\d$\\~]")
_END_MARKS = frozenset((".", ",", ";", ":", r"\\"))

# What the pass does on a token. A string is the canonical spelling; a number selects a branch of ``_Pass.special``.
_DROP, _OPEN, _CLOSE, _SCRIPT, _PRIME, _INFIX, _FENCE, _ROOT, _BRACKET, _CELL = range(10)
_ACTIONS: dict[str, str | int] = {
    **SAME,
    **dict.fromkeys(NOTHING, _DROP),
    **dict.fromkeys(INFIX, _INFIX),
    **dict.fromkeys(FENCES, _FENCE),
    "{": _OPEN, "}": _CLOSE, "^": _SCRIPT, "_": _SCRIPT, r"\sqrt": _ROOT, "]": _BRACKET, "&": _CELL,
    "'": _PRIME, r"\sp": _SCRIPT, r"\sb": _SCRIPT, "\\": _DROP,
}  # fmt: skip
_ARITY = {**ARGUMENTS, **{k: ARGUMENTS[v] for k, v in SAME.items() if v in ARGUMENTS}}
_NEGATED = {**NEGATED, **{k: NEGATED[v] for k, v in SAME.items() if v in NEGATED}}

_ARGUMENT, _PLAIN, _FENCED, _OPTION = range(4)  # kinds of open groups
_Script = tuple[int, str, tuple[int, int] | None]  # its place in the output, ^ or _, the superscript before it


def _clean(text: str) -> str:
    """Undo what the formula's carriers added: HTML, comments, control characters, Unicode spellings."""
    if not text.isascii():
        text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").translate(UNICODE_TABLE)
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text)
    if "&" in text:
        for _ in range(2):  # some sources escape twice
            text = _ENTITY.sub(lambda m: html.unescape(m.group()), text)
        text = _RESIDUE.sub(lambda m: {"amp": "&", "lt": "<", "gt": ">"}[m.group(1)], text)
        if not text.isascii():
            text = text.translate(UNICODE_TABLE)
    if "<br" in text:
        text = _BREAK.sub(" ", text)
    if "%" in text:
        text = _uncomment(text)
    return _CONTROL.sub(" ", text)


def _uncomment(text: str) -> str:
    """Take out comments, and the line breaks of LaTeXML that look like comments."""
    out, start, line = [], 0, 0
    for match in _PERCENT.finditer(text):
        at = match.end() - 1
        if at < start:
            continue
        newline = text.rfind("\n", line, at)
        line = newline + 1 if newline >= 0 else line
        out.append(text[start:at])
        if text[at + 1 : at + 2] == " " and at - line >= WRAP_COLUMN:
            start = line = at + 2
            continue
        end = text.find("\n", at)
        start = len(text) if end < 0 else end + 1
        line = start
    out.append(text[start:])
    return "".join(out)


def lex(text: str) -> list[str]:
    """Raw tokens of a cleaned formula: commands, groups of running text, single characters, blanks."""
    tokens = _LEX.findall(text)
    if any(name in text for name in macros.DEFINERS):
        # A definition's own tokens must stay single, so texts are left whole and everything else is as lexed.
        tokens = [t for token in macros.expand(tokens) for t in (_LEX.findall(token) if len(token) > 2 else (token,))]
    return tokens


class _Pass:
    """One walk over raw tokens. ``out`` grows only at its end; every open group keeps a slot for what opens it."""

    def __init__(self) -> None:
        self.out: list[str] = [""]
        self.need = 0  # arguments that the commands before still expect on this level
        self.stack: list[tuple[int, int, int, str]] = []  # kind, need outside, slot, what closes it
        self.grids = 0
        self.infix = [-1]  # per level: where the denominator's slot is
        self.fence = ""  # a fence command that waits for its argument
        self.swap: tuple[int, int] | None = None  # a finished superscript [from, to) that a subscript may follow
        self.script: _Script | None = None  # the script whose argument comes next
        self.scripts: list[_Script | None] = []  # the same of the levels outside

    def atom(self, token: str) -> None:
        """Append one token that is complete in itself."""
        self.swap = None
        if self.fence:
            left, right = FENCES[self.fence]
            self.fence = ""
            self.out += [left, token, right]
        else:
            self.out.append(token)
        if self.need:
            self.need -= 1
        if self.script and not self.need:
            self.finish_script()

    def command(self, token: str, arity: int) -> None:
        """Append a command that takes arguments; itself it is one argument of what stands before."""
        self.swap = None
        self.out.append(token)
        self.need = max(self.need, 1) - 1 + arity

    def finish_script(self) -> None:
        """A script's argument is complete: put a subscript before the superscript that it follows."""
        if self.script is None:
            return
        at, kind, before = self.script
        self.script = None
        if kind == "_" and before is not None and before[1] == at and len(self.out) - before[0] <= LONGEST_SWAP:
            start = before[0]
            self.out[start:] = self.out[at:] + self.out[start:at]
        elif kind == "^":
            self.swap = (at, len(self.out))

    def begin_script(self, kind: str) -> None:
        """``^`` or ``_``: the next argument belongs to it."""
        if self.need:  # a command still waits for its argument: broken input, kept as it stands
            self.out.append(kind)
            return
        before, self.swap = self.swap, None
        self.script = (len(self.out), kind, before)
        self.out.append(kind)
        self.need = 1

    def prime(self, count: int) -> None:
        """Apostrophes: a superscript of as many primes."""
        start = len(self.out)
        self.out += ["^", r"\prime"] if count == 1 else ["^", "{", *[r"\prime"] * count, "}"]
        self.swap = (start, len(self.out))

    def open(self, kind: int, closing: str = "") -> None:
        """Open a group. Its script, if it is the argument of one, waits on the stack's level below."""
        self.stack.append((kind, self.need, len(self.out), closing))
        self.scripts.append(self.script)
        self.infix.append(-1)
        self.out.append("")
        self.need, self.script, self.swap = 0, None, None

    def brace(self) -> None:
        """``{``: an argument of the command before, the argument of a fence, or a group without effect."""
        if self.fence:
            left, right = FENCES[self.fence]
            self.fence = ""
            self.grids += "matrix" in left
            self.open(_FENCED, right)
            self.out[-1] = left
        else:
            self.open(_ARGUMENT if self.need else _PLAIN)

    def close(self) -> None:
        """End the innermost group."""
        kind, need, slot, closing = self.stack.pop()
        self.end_infix()
        self.script = self.scripts.pop()
        self.swap = None
        self.need = need
        if kind == _FENCED:
            self.out.append(closing)
            self.grids -= "matrix" in closing
        elif kind in (_ARGUMENT, _OPTION) and len(self.out) - slot != 2 and not self.single(slot):
            self.out[slot] = "{ " + self.out[slot] if self.out[slot] else "{"
            self.out.append("}")
        if kind != _PLAIN or need:
            self.need = max(0, need - 1)
        if self.script and not self.need:
            self.finish_script()

    def single(self, slot: int) -> bool:
        """Is what follows the slot one token, beside the empty slots of inner groups?"""
        if len(self.out) - slot > 40:
            return False
        return sum(map(len, map(str.split, self.out[slot:]))) == 1

    def end_infix(self) -> None:
        """Close the denominator of an infix fraction of the innermost group."""
        at = self.infix.pop()
        if at >= 0 and not self.single(at):
            self.out[at] += " {"
            self.out.append("}")

    def begin_infix(self, operator: str) -> None:
        r"""``\over`` and its kin: what stands before in this group is the first argument, what follows the second."""
        if self.infix[-1] >= 0:  # TeX calls a second one ambiguous: ignored
            return
        slot = self.stack[-1][2] if self.stack else 0
        before = self.out[slot]
        if self.single(slot) and not before:
            self.out[slot] = operator
        else:
            self.out[slot] = f"{operator} {{ {before}".rstrip()
            self.out.append("}")
        self.infix[-1] = len(self.out)
        self.out.append("")
        self.need, self.script, self.swap = 0, None, None

    def bracket(self) -> None:
        """``]``: ends the innermost group if that is the option of a root, else a character."""
        if self.stack and self.stack[-1][0] == _OPTION:
            self.close()
        else:
            self.atom("]")

    def special(self, action: int, token: str) -> None:
        """The branches that are not plain tokens."""
        if action == _OPEN:
            self.brace()
        elif action == _CLOSE:
            while self.stack and self.stack[-1][0] == _OPTION:
                self.close()
            if self.stack:
                self.close()
        elif action == _SCRIPT:
            self.begin_script("^" if token in ("^", r"\sp") else "_")
        elif action == _INFIX:
            self.begin_infix(INFIX[token])
        elif action == _FENCE:
            self.fence = token
        elif action == _BRACKET:
            self.bracket()
        elif action == _PRIME:
            self.prime(1)
        elif action == _CELL and self.grids > 0:
            self.atom("&")

    def long(self, token: str) -> None:
        """Tokens that the lexer took whole: texts, environments, negations, dots, typed functions."""
        if token[0] == "\\":
            self.long_command(token)
        elif token[0] == "'":
            self.prime(min(len(token), 8))
        elif token[0] == ".":
            self.atom(r"\dots")
        elif token.isspace():
            return
        else:
            self.atom("\\" + token)

    def long_command(self, token: str) -> None:
        r"""``\text{...}``, ``\begin{...}``, ``\not...``, a starred command, or one without a meaning of its own."""
        if token.startswith(r"\\"):
            self.atom(r"\\")
        elif token[-1] == "}" and len(token) > 2:
            name, _, content = token[1:-1].partition("{")
            name = name.strip(" \t\n*")
            if name in ("begin", "end"):
                self.environment(name, content.strip(" *\t\n"))
            elif name in _TEXT_NAMES:
                self.text(content)
        elif token.startswith(r"\not") and len(token) > 4 and not token[4:5].isalpha():
            operand = token[4:].strip()
            negated = _NEGATED.get(operand)
            if negated is None:
                self.atom(r"\not")
                self.walk([operand])
            else:
                self.atom(negated)
        elif token[-1] == "*":
            self.walk([token[:-1]])
        elif not _dropped(token):
            self.atom(token)

    def environment(self, edge: str, name: str) -> None:
        """The start or end of an environment: a grid's delimiters, or nothing."""
        grid = GRIDS.get(name)
        if grid is None:
            return
        self.grids += 1 if edge == "begin" else -1
        self.grids = max(self.grids, 0)
        self.swap = None
        self.out.append(grid[0] if edge == "begin" else grid[1])

    def text(self, content: str) -> None:
        """Running text: known functions as commands, short capitals as letters, all else as lower-case words."""
        words = _WORD.findall(content)
        tokens: list[str] = []
        for word in words:
            if word in FUNCTIONS:
                tokens.append("\\" + word)
            elif len(word) <= 3 and word.isupper():
                tokens += word
            else:
                tokens.append(word if len(word) == 1 else word.lower())
        if len(tokens) == 1:
            self.atom(tokens[0])
        elif tokens and self.need:  # an argument: keep it one
            self.open(_ARGUMENT)
            self.out += tokens
            self.close()
        else:
            self.swap = None
            self.out += tokens
            if not tokens and self.need:
                self.open(_ARGUMENT)
                self.close()

    def walk(self, tokens: list[str]) -> None:
        """Take the raw tokens one by one."""
        actions, arity = _ACTIONS, _ARITY
        for i, token in enumerate(tokens):
            action = actions.get(token)
            if action is None:
                if len(token) == 1:
                    if not token.isspace():
                        self.atom(token)
                elif token in arity:
                    self.command(token, arity[token])
                else:
                    self.long(token)
            elif action.__class__ is str:
                if token in arity:
                    self.command(action, arity[token])  # type: ignore[arg-type]
                else:
                    self.atom(action)  # type: ignore[arg-type]
            elif action == _ROOT:
                self.root(tokens, i)
            elif action != _DROP:
                self.special(action, token)  # type: ignore[arg-type]

    def root(self, tokens: list[str], i: int) -> None:
        r"""``\sqrt``, with its option where one follows."""
        while i + 1 < len(tokens) and tokens[i + 1].isspace():
            i += 1
        if i + 1 < len(tokens) and tokens[i + 1] == "[":
            tokens[i + 1] = " "
            self.command(r"\root", 2)
            self.open(_OPTION)
        else:
            self.command(r"\sqrt", 1)

    def finish(self) -> list[str]:
        """Close what is open and return the canonical tokens, without punctuation at the end."""
        while self.stack:
            self.close()
        self.end_infix()
        tokens = " ".join(self.out).split()
        end = len(tokens)
        while end > 1 and tokens[end - 1] in _END_MARKS:
            end -= 1
        return tokens[:end]


_TEXT_NAMES = frozenset(_TEXT.split("|"))
_dropped = re.compile(r"\\(?:hskip|kern|mkern|mskip|hspace|vskip|raise|lower|left|right|middle|color)\b").match


def tokenize(latex: str) -> list[str]:
    """The canonical tokens of a formula.

    Args:
        latex: what was typed, with or without math delimiters.

    Returns:
        Tokens without blanks; empty where nothing is left (an empty formula, spacing alone).
    """
    walker = _Pass()
    tokens = lex(_clean(latex))
    # Column specifications follow the environment as a group of their own.
    for i, token in enumerate(tokens):
        if token.startswith(r"\begin") and ("array" in token or "tabular" in token or "alignat" in token):
            _blank_columns(tokens, i + 1)
    walker.walk(tokens)
    return walker.finish()


def _blank_columns(tokens: list[str], i: int) -> None:
    r"""Blank the group after ``\begin{array}``, and the option before it; at most 100 tokens."""
    for opening, closing in (("[", "]"), ("{", "}")):
        while i < len(tokens) and tokens[i].isspace():
            i += 1
        if i >= len(tokens) or tokens[i] != opening:
            continue
        depth, start = 0, i
        while i < min(len(tokens), start + 100):
            depth += (tokens[i] == opening) - (tokens[i] == closing)
            i += 1
            if depth == 0:
                tokens[start:i] = [" "] * (i - start)
                break


def canonical(latex: str) -> str:
    """The canonical tokens of a formula, joined by single blanks. Never raises; see ``tokenize``."""
    return " ".join(tokenize(latex))
