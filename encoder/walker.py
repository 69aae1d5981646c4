r"""What raw tokens mean: synonyms, spacing, running text, environments, negations, roots.

``Walker`` takes the tokens of ``encoder.lexer`` in one walk and builds the canonical form with ``encoder.structure``.
"""

from __future__ import annotations

import re

from encoder.lexer import TEXT
from encoder.spelling import ARGUMENTS, FENCES, FUNCTIONS, GRIDS, INFIX, NEGATED, NOTHING, SAME
from encoder.structure import OPTION, Structure

MOST_PRIMES = 8  # a longer run of apostrophes is no derivative
_END_MARKS = frozenset((".", ",", ";", ":", r"\\"))
_WORD = re.compile(r"[A-Za-z]+|\d|[^\sA-Za-z\d$\\~]")
_TEXT_NAMES = frozenset(TEXT.split("|"))
_SPACE = re.compile(r"\\[,;:!>/\s]")
_ESCAPED = {c: "\\" + c for c in "%#&_"}
_dropped = re.compile(r"\\(?:hskip|kern|mkern|mskip|hspace|vskip|raise|lower|left|right|middle|color)\b").match

# What the walk does on a token. A string is the canonical spelling; a number selects a branch of ``Walker.special``.
_DROP, _OPEN, _CLOSE, _SCRIPT, _PRIME, _INFIX, _FENCE, _SQRT, _ROOT, _OF, _BRACKET, _CELL, _SEVERAL = range(13)
_ACTIONS: dict[str, str | int] = {
    **{typed: _SEVERAL if " " in same else same for typed, same in SAME.items()},
    **dict.fromkeys(NOTHING, _DROP),
    **dict.fromkeys(INFIX, _INFIX),
    **dict.fromkeys(FENCES, _FENCE),
    "{": _OPEN, "}": _CLOSE, "^": _SCRIPT, "_": _SCRIPT, r"\sp": _SCRIPT, r"\sb": _SCRIPT, "'": _PRIME,
    r"\sqrt": _SQRT, r"\root": _ROOT, r"\of": _OF, "]": _BRACKET, "&": _CELL, "\\": _DROP,
}  # fmt: skip
_ARITY = {**ARGUMENTS, **{k: ARGUMENTS[v] for k, v in SAME.items() if v in ARGUMENTS}}
_NEGATED = {**NEGATED, **{k: NEGATED[v] for k, v in SAME.items() if v in NEGATED}}


class Walker(Structure):
    """One walk over the raw tokens of a formula."""

    def __init__(self) -> None:
        super().__init__()
        self.ofs = 0  # \of commands still to come

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
            elif isinstance(action, str):
                if token in arity:
                    self.command(action, arity[token])
                else:
                    self.atom(action)
            elif action == _SQRT:
                self.square_root(tokens, i)
            elif action != _DROP:
                self.special(action, token)

    def special(self, action: int, token: str) -> None:
        """The branches that are not plain tokens."""
        if action == _OPEN:
            self.brace()
        elif action == _CLOSE:
            self.unbrace()
        elif action == _SCRIPT:
            self.begin_script("^" if token in ("^", r"\sp") else "_")
        elif action == _INFIX:
            self.begin_infix(INFIX[token])
        elif action == _FENCE:
            self.begin_fence(token)
        elif action == _PRIME:
            self.prime(1)
        elif action == _SEVERAL:
            self.several(SAME[token].split())
        elif action == _CELL:
            if self.grids > 0:
                self.atom("&")
        else:
            self.root_part(action)

    def square_root(self, tokens: list[str], i: int) -> None:
        r"""``\sqrt``, with its option where one follows."""
        while i + 1 < len(tokens) and tokens[i + 1].isspace():
            i += 1
        if i + 1 < len(tokens) and tokens[i + 1] == "[":
            tokens[i + 1] = " "
            self.command(r"\root", 2)
            self.open(OPTION)
        else:
            self.command(r"\sqrt", 1)

    def root_part(self, action: int) -> None:
        r"""``\root 3 \of x`` of plain TeX, ``\root 3 x`` as in the canonical form, and what ends an option."""
        if action == _ROOT:
            self.command(r"\root", 2)
            if self.ofs:
                self.ofs -= 1
                self.open(OPTION)
        elif self.stack and self.stack[-1][0] == OPTION:
            self.close()
        elif action == _BRACKET:
            self.atom("]")

    def long(self, token: str) -> None:
        """Tokens that the lexer took whole: texts, environments, negations, dots, typed functions."""
        if token[0] == "\\":
            self.long_command(token)
        elif token[0] == "'":
            self.prime(min(len(token), MOST_PRIMES))
        elif token[0] == ".":
            self.atom(r"\dots")
        elif not token.isspace():
            self.atom("\\" + token)

    def long_command(self, token: str) -> None:
        r"""``\text{...}``, ``\begin{...}``, ``\not...``, a starred command, or one without a meaning of its own."""
        if token.startswith(r"\\"):
            self.atom(r"\\")
        elif token.startswith(r"\not") and len(token) > 4 and not token[4].isalpha():
            self.negation(token[4:].strip("{} \t\r\n"))
        elif token[-1] == "}" and len(token) > 2:
            name, _, content = token[1:-1].partition("{")
            name = name.strip(" *\t\r\n")
            if name in ("begin", "end"):
                self.environment(name, content.strip(" *\t\r\n"))
            elif name in _TEXT_NAMES:
                self.text(content)
        elif token[-1] == "*" and len(token) > 2:
            self.walk([token[:-1]])
        elif not _dropped(token) and not token[1].isspace():
            self.atom(token)

    def negation(self, operand: str) -> None:
        r"""``\not`` and the relation after it."""
        if operand in _NEGATED:
            self.several(_NEGATED[operand].split())
        else:
            self.atom(r"\not")
            self.walk([operand])

    def environment(self, edge: str, name: str) -> None:
        """The start or end of an environment: a grid's delimiters, or nothing."""
        grid = GRIDS.get(name)
        if grid is not None:
            self.grids = max(0, self.grids + (1 if edge == "begin" else -1))
            self.swap = None
            self.out.append(grid[0] if edge == "begin" else grid[1])

    def text(self, content: str) -> None:
        """Running text: known functions as commands, short capitals as letters, all else as lower-case words."""
        tokens: list[str] = []
        for word in _WORD.findall(_SPACE.sub(" ", content)):
            if word in FUNCTIONS:
                tokens.append("\\" + word)
            elif len(word) <= 3 and word.isupper():
                tokens += word
            else:
                tokens.append(_ESCAPED.get(word, word) if len(word) == 1 else word.lower())
        self.several(tokens)


def walk(tokens: list[str]) -> list[str]:
    """Canonical tokens of raw tokens, without punctuation at the end. Blanks options in ``tokens`` as it reads them."""
    walker = Walker()
    walker.ofs = tokens.count(r"\of")
    walker.walk(tokens)
    out = walker.finish()
    end = len(out)
    while end > 1 and out[end - 1] in _END_MARKS:
        end -= 1
    return out[:end]
