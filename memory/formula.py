r"""Small formulas as values: two sides of monomials under functions, with a relation between them.

    >>> show(parse(r"3x^2-y=\sqrt{4z^{12}+1}"))
    '3x^2-y=\\sqrt{4z^{12}+1}'

Does not parse LaTeX in general: only what `show` writes, with any spacing and braces.
"""

import re
from dataclasses import dataclass

LETTERS = "xyzabc"
RELATIONS = "=<>"
OPENING = {"sqrt": r"\sqrt{", "sin": r"\sin(", "inverse": r"\frac{1}{"}
CLOSING = {"sqrt": "}", "sin": ")", "inverse": "}"}


@dataclass(frozen=True)
class Term:
    """A monomial c v^n; a plain number has no letter and n = 0. The coefficient is not 0, and n > 0 with a letter."""

    coefficient: int
    letter: str = ""
    power: int = 0


@dataclass(frozen=True)
class Side:
    """The sum of the terms in order (none: 0), inside functions, the outermost first."""

    terms: tuple[Term, ...]
    functions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Formula:
    """Two sides and the relation between them."""

    left: Side
    relation: str
    right: Side


def _show_term(term: Term, first: bool) -> str:
    sign = "-" if term.coefficient < 0 else "" if first else "+"
    size = abs(term.coefficient)
    number = str(size) if size != 1 or not term.letter else ""
    power = "" if term.power < 2 else f"^{term.power}" if term.power < 10 else f"^{{{term.power}}}"
    return sign + number + term.letter + power


def _show_side(side: Side) -> str:
    inner = "".join(_show_term(term, i == 0) for i, term in enumerate(side.terms)) or "0"
    before = "".join(OPENING[function] for function in side.functions)
    return before + inner + "".join(CLOSING[function] for function in reversed(side.functions))


def show(formula: Formula) -> str:
    """LaTeX without blanks."""
    return _show_side(formula.left) + formula.relation + _show_side(formula.right)


_TERM = re.compile(r"([+-]?)(\d*)(?:([a-z])(?:\^(?:(\d)|\{(\d+)\}))?)?")


def _parse_side(text: str) -> Side:
    functions: list[str] = []
    inner = text
    while True:
        for function, opening in OPENING.items():
            if inner.startswith(opening) and inner.endswith(CLOSING[function]):
                functions.append(function)
                inner = inner[len(opening) : -1]
                break
        else:
            break
    terms: list[Term] = []
    place = 0
    while place < len(inner) and inner != "0":
        match = _TERM.match(inner, place)
        if match is None or match.end() == place or not (match[2] or match[3]) or bool(terms) > bool(match[1]):
            raise ValueError(f"expected a sum of terms such as 3x^2, not {inner[place:]!r}")
        coefficient = int(match[1] + (match[2] or "1"))
        power = int(match[4] or match[5] or 1) if match[3] else 0
        if coefficient == 0 or (match[3] and (match[3] not in LETTERS or power == 0)):
            raise ValueError(f"expected a term without zeros in the letters {LETTERS}, not {match[0]!r}")
        terms.append(Term(coefficient, match[3] or "", power))
        place = match.end()
    if not inner:
        raise ValueError("expected a sum of terms, not nothing")
    return Side(tuple(terms), tuple(functions))


def parse(text: str) -> Formula:
    """The formula that `show` writes so; blanks do not matter.

    Raises:
        ValueError: it is no such formula.
    """
    sides = re.split(f"([{RELATIONS}])", "".join(text.split()))
    if len(sides) != 3:
        raise ValueError(f"expected two sides with one of {RELATIONS} between them, not {text!r}")
    return Formula(_parse_side(sides[0]), sides[1], _parse_side(sides[2]))
