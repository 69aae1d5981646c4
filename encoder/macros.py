r"""Macros that a formula defines for itself: ``\newcommand``, ``\def``, ``\let``, ``\DeclareMathOperator``.

Works on raw tokens (``encoder.lexer``). Expansion is bounded, so a macro that calls itself ends.
"""

from __future__ import annotations

from typing import NamedTuple

DEFINERS = frozenset((r"\newcommand", r"\renewcommand", r"\providecommand", r"\def", r"\let", r"\DeclareMathOperator"))
MOST_EXPANSIONS = 1000
MOST_TOKENS = 100_000  # that expansions may add; keeps the time linear
LONGEST_BODY = 500  # tokens of a definition, and of an argument


class Macro(NamedTuple):
    """How many arguments, what stands for a missing first one if that is an option, and the body."""

    arity: int
    default: list[str] | None
    body: list[str]


def _skip(tokens: list[str], i: int) -> int:
    """The place of the next token that is not a blank."""
    while i < len(tokens) and tokens[i].isspace():
        i += 1
    return i


def _group(tokens: list[str], i: int, opening: str = "{", closing: str = "}") -> tuple[list[str], int]:
    """The argument that starts at i, a braced group (without its braces) or one token, and the place after it."""
    i = _skip(tokens, i)
    if i >= len(tokens) or tokens[i] != opening:
        return tokens[i : i + 1], i + 1
    depth, start = 0, i + 1
    while i < len(tokens):
        depth += (tokens[i] == opening) - (tokens[i] == closing)
        i += 1
        if depth == 0:
            return tokens[start : i - 1], i
    return tokens[start:], i


def _option(tokens: list[str], i: int) -> tuple[list[str] | None, int]:
    """The option in brackets that starts at i, and the place after it; None and i where there is none."""
    at = _skip(tokens, i)
    if tokens[at : at + 1] != ["["]:
        return None, i
    return _group(tokens, at, "[", "]")


def _parameters(tokens: list[str], i: int) -> tuple[int, int]:
    r"""How many parameters (``#1#2``) a ``\def`` lists at i, and the place after them."""
    arity = 0
    while True:
        i = _skip(tokens, i)
        if tokens[i : i + 1] != ["#"] or arity == 9:
            return arity, i
        arity, i = arity + 1, i + 2


def _definition(tokens: list[str], i: int, macros: dict[str, Macro]) -> int:
    """Record the definition at i and return the place after it."""
    kind, arity, default = tokens[i].rstrip("*"), 0, None
    i = _skip(tokens, i + 1)
    if tokens[i : i + 1] == ["*"]:
        i += 1
    name, i = _group(tokens, i)
    name = [t for t in name if not t.isspace()]
    if len(name) != 1 or not name[0].startswith("\\"):
        return i  # no definition that TeX would take: what it consists of is dropped, what follows stays
    if kind == r"\def":
        arity, i = _parameters(tokens, i)
    elif kind == r"\let":
        i = _skip(tokens, i)
        i += tokens[i : i + 1] == ["="]
    else:
        count, i = _option(tokens, i)
        digits = "".join(count or []).strip()
        arity = int(digits) if len(digits) == 1 and digits.isdecimal() else 0
        default, i = _option(tokens, i)
    body, i = _group(tokens, i)
    if kind == r"\DeclareMathOperator":
        body = [r"\operatorname{" + "".join(body) + "}"]
    if len(body) <= LONGEST_BODY:
        macros[name[0]] = Macro(arity, default, body)
    return i


def _use(macro: Macro, tokens: list[str], i: int) -> tuple[list[str], int]:
    """What a macro whose arguments start at i stands for, and the place after them."""
    arguments: list[list[str]] = []
    if macro.default is not None and macro.arity:
        option, i = _option(tokens, i)
        arguments.append(macro.default if option is None else option)
    while len(arguments) < macro.arity:
        argument, i = _group(tokens, i)
        arguments.append(argument)
    return _fill(macro.body, arguments), i


def _fill(body: list[str], arguments: list[list[str]]) -> list[str]:
    """The macro's body with #1..#9 replaced, each argument in braces so that it stays one."""
    out: list[str] = []
    i = 0
    while i < len(body):
        if body[i] == "#" and i + 1 < len(body) and body[i + 1] in tuple("123456789"):
            place = int(body[i + 1]) - 1
            if place < len(arguments):
                out += ["{", *arguments[place][:LONGEST_BODY], "}"]
            i += 2
        else:
            out.append(body[i])
            i += 1
    return out


def expand(tokens: list[str]) -> list[str]:
    """Take the definitions out of ``tokens`` and put the bodies where the macros are used.

    Definitions hold from where they stand. At most 1,000 uses are expanded, to 100,000 tokens; the rest stay as they
    are.
    """
    macros: dict[str, Macro] = {}
    out: list[str] = []
    stack = [(tokens, 0)]
    uses, room = MOST_EXPANSIONS, MOST_TOKENS
    while stack:
        current, i = stack.pop()
        while i < len(current):
            token = current[i]
            if token.rstrip("*") in DEFINERS:
                i = _definition(current, i, macros)
            elif token in macros and uses > 0 and room > 0:
                body, i = _use(macros[token], current, i + 1)
                stack.append((current, i))
                uses, room = uses - 1, room - len(body)
                current, i = body, 0
            else:
                out.append(token)
                i += 1
    return out
