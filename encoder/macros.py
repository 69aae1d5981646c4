r"""Macros that a formula defines for itself: ``\newcommand``, ``\def``, ``\let``, ``\DeclareMathOperator``.

Works on raw tokens (``encoder.latex.lex``). Expansion is bounded, so a macro that calls itself ends.
"""

from __future__ import annotations

DEFINERS = frozenset((r"\newcommand", r"\renewcommand", r"\providecommand", r"\def", r"\let", r"\DeclareMathOperator"))
MOST_EXPANSIONS = 1000
LONGEST_BODY = 500
Macro = tuple[int, list[str]]


def _group(tokens: list[str], i: int) -> tuple[list[str], int]:
    """The argument that starts at i, a braced group (without its braces) or one token, and the place after it."""
    while i < len(tokens) and tokens[i].isspace():
        i += 1
    if i >= len(tokens) or tokens[i] != "{":
        return tokens[i : i + 1], i + 1
    depth, start = 0, i + 1
    while i < len(tokens):
        depth += (tokens[i] == "{") - (tokens[i] == "}")
        i += 1
        if depth == 0:
            return tokens[start : i - 1], i
    return tokens[start:], i


def _definition(tokens: list[str], i: int, macros: dict[str, Macro]) -> int:
    """Record the definition at i and return the place after it."""
    kind = tokens[i]
    if kind == r"\def":
        name, i = tokens[i + 1 : i + 2], i + 2
        arity = 0
        while i < len(tokens) and tokens[i] != "{" and arity < 9:
            arity += tokens[i] == "#"
            i += 1
        body, i = _group(tokens, i)
    elif kind == r"\let":
        name, i = _group(tokens, i + 1)
        while i < len(tokens) and (tokens[i] == "=" or tokens[i].isspace()):
            i += 1
        body, i = _group(tokens, i)
        arity = 0
    else:
        if tokens[i + 1 : i + 2] == ["*"]:
            i += 1
        name, i = _group(tokens, i + 1)
        arity = 0
        if tokens[i : i + 1] == ["["] and tokens[i + 2 : i + 3] == ["]"] and tokens[i + 1].isdigit():
            arity, i = int(tokens[i + 1]), i + 3
        body, i = _group(tokens, i)
        if kind == r"\DeclareMathOperator":
            body = [r"\operatorname{" + "".join(body) + "}"]
    name = [t for t in name if not t.isspace()]
    if len(name) == 1 and name[0].startswith("\\") and len(body) <= LONGEST_BODY:
        macros[name[0]] = (arity, body)
    return i


def expand(tokens: list[str]) -> list[str]:
    """Take the definitions out of ``tokens`` and put the bodies where the macros are used.

    Definitions hold from where they stand. At most 1,000 uses are expanded; the rest stay as they are.
    """
    macros: dict[str, Macro] = {}
    out: list[str] = []
    stack = [(tokens, 0)]
    left = MOST_EXPANSIONS
    while stack:
        current, i = stack.pop()
        while i < len(current):
            token = current[i]
            if token in DEFINERS:
                i = _definition(current, i, macros)
            elif token in macros and left > 0:
                left -= 1
                arity, body = macros[token]
                arguments = []
                i += 1
                for _ in range(arity):
                    argument, i = _group(current, i)
                    arguments.append(argument)
                stack.append((current, i))
                current, i = _fill(body, arguments), 0
            else:
                out.append(token)
                i += 1
    return out


def _fill(body: list[str], arguments: list[list[str]]) -> list[str]:
    """The macro's body with #1..#9 replaced, each argument in braces so that it stays one."""
    out: list[str] = []
    i = 0
    while i < len(body):
        if body[i] == "#" and i + 1 < len(body) and body[i + 1].isdigit():
            place = int(body[i + 1]) - 1
            if 0 <= place < len(arguments):
                out += ["{", *arguments[place][:LONGEST_BODY], "}"]
            i += 2
        else:
            out.append(body[i])
            i += 1
    return out
