"""The domain of LaTeX formulas and the rules that rewrite them; similar means near for the Formdex encoder.

Rules rewrite symbols, they do not solve equations: differentiating every monomial of both sides, say, need not keep the
relation true, and terms are never gathered.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from random import Random

import numpy as np

from encoder.latex import canonical
from encoder.model import WEIGHTS, Encoder
from memory.domain import Domain, Operator
from memory.errors import MemoryBenchmarkError
from memory.formula import LETTERS, RELATIONS, Formula, Side, Term, parse, show

NEXT = dict(zip("xyzabc", "yzxbca", strict=True))
PARTNER = dict(zip("xyzabc", "abcxyz", strict=True))
TERMS, LARGEST, HIGHEST = 3, 9, 5
Rewrite = Callable[[Formula], Formula]


def _terms(change: Callable[[tuple[Term, ...]], tuple[Term, ...]]) -> Rewrite:
    """A rule that changes the terms of each side and leaves functions and relation alone."""
    return lambda f: Formula(
        replace(f.left, terms=change(f.left.terms)), f.relation, replace(f.right, terms=change(f.right.terms))
    )


def _letters(table: dict[str, str]) -> Rewrite:
    return _terms(lambda terms: tuple(replace(t, letter=table.get(t.letter, "")) for t in terms))


def _turned(by: int) -> Rewrite:
    return lambda f: replace(f, relation=RELATIONS[(RELATIONS.index(f.relation) + by) % len(RELATIONS)])


def _scaled(by: int) -> Rewrite:
    return _terms(lambda terms: tuple(replace(t, coefficient=by * t.coefficient) for t in terms))


def _sides_swapped(f: Formula) -> Formula:
    return Formula(f.right, f.relation, f.left)


def _first_traded(f: Formula) -> Formula:
    """The first terms of the two sides exchanged; unchanged where a side has none."""
    left, right = f.left.terms, f.right.terms
    if not left or not right:
        return f
    return Formula(
        replace(f.left, terms=right[:1] + left[1:]), f.relation, replace(f.right, terms=left[:1] + right[1:])
    )


def _derived(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    out = []
    for t in terms:
        if t.power > 1:
            out.append(Term(t.coefficient * t.power, t.letter, t.power - 1))
        elif t.power == 1:
            out.append(Term(t.coefficient))
    return tuple(out)


def _integrals(f: Formula) -> list[Formula]:
    """One formula whose monomials have these derivatives: c v^n comes from c/(n+1) v^(n+1), a number c from c x.

    There are infinitely many (numbers vanish, and any letter leaves its coefficient), or none.
    """
    if any(t.coefficient % (t.power + 1) for side in (f.left, f.right) for t in side.terms):
        return []
    whole = _terms(lambda ts: tuple(Term(t.coefficient // (t.power + 1), t.letter or "x", t.power + 1) for t in ts))
    return [whole(f)]


def _powers(by: int) -> Rewrite:
    return _terms(lambda terms: tuple(replace(t, power=t.power + by) if t.letter else t for t in terms))


def _lowered(f: Formula) -> list[Formula]:
    possible = all(t.power != 1 for side in (f.left, f.right) for t in side.terms)
    return [_powers(-1)(f)] if possible else []


def _halved(f: Formula) -> list[Formula]:
    if any(t.coefficient % 2 for side in (f.left, f.right) for t in side.terms):
        return []
    return [_terms(lambda terms: tuple(replace(t, coefficient=t.coefficient // 2) for t in terms))(f)]


def _with(f: Formula, side: str, new: Side) -> Formula:
    """The formula with its `left` or `right` side replaced."""
    return replace(f, left=new) if side == "left" else replace(f, right=new)


def _wrap(name: str, words: str, side: str, function: str) -> Operator:
    """A rule that puts one side inside a function."""

    def apply(f: Formula) -> Formula:
        inner: Side = getattr(f, side)
        return _with(f, side, replace(inner, functions=(function, *inner.functions)))

    def preimages(f: Formula) -> list[Formula]:
        outer: Side = getattr(f, side)
        if outer.functions[:1] != (function,):
            return []
        return [_with(f, side, replace(outer, functions=outer.functions[1:]))]

    return Operator(name, words, apply, preimages)


def _both(name: str, words: str, apply: Rewrite, undo: Rewrite | None = None) -> Operator:
    """A rule with exactly one preimage; without `undo`, one that undoes itself."""
    back = undo or apply
    return Operator(name, words, apply, lambda f: [back(f)])


OPERATORS = (
    _both("rename", "replace x by y, y by z, z by x, a by b, b by c and c by a", _letters(NEXT),
          _letters({b: a for a, b in NEXT.items()})),
    _both("partner", "exchange x with a, y with b and z with c", _letters(PARTNER)),
    _both("swap_sides", "exchange the two sides and leave the sign between them", _sides_swapped),
    _both("turn", "replace = by <, < by > and > by =", _turned(1), _turned(-1)),
    _wrap("sqrt_left", "put the left side under a square root", "left", "sqrt"),
    _wrap("sin_right", "take the sine of the right side", "right", "sin"),
    _wrap("invert_right", "put the right side under a fraction bar below 1", "right", "inverse"),
    Operator("derive", "replace every term by its derivative; plain numbers vanish, and a side without terms is 0",
             _terms(_derived), _integrals),
    Operator("raise", "raise the power of every letter by one", _powers(1), _lowered),
    _both("negate", "change the sign of every term", _scaled(-1)),
    Operator("double", "double every term", _scaled(2), _halved),
    _both("reverse_terms", "write the terms of each side in reverse order", _terms(lambda ts: ts[::-1])),
    _both("trade_first", "exchange the first terms of the two sides", _first_traded),
)  # fmt: skip


class Latex(Domain):
    """Small formulas in LaTeX.

    Args:
        folder: the encoder's model, the shipped weights by default; loaded when a similarity is first asked for.
    """

    name = "latex"
    title = "Rules for formulas."
    operators = OPERATORS
    alphabet = frozenset("0123456789+-=<>^{}()\\ " + LETTERS + "sqrtinfrac")

    def __init__(self, folder: Path = WEIGHTS) -> None:
        self.folder = folder

    @cached_property
    def encoder(self) -> Encoder:
        """The loaded encoder."""
        try:
            return Encoder(self.folder)
        except FileNotFoundError as error:
            raise MemoryBenchmarkError(f"{error}; the latex domain needs the encoder's weights") from None

    def draw(self, rng: Random) -> Formula:
        """Three terms on two sides, at most one of them a plain number."""
        terms = []
        number = rng.randrange(2 * TERMS)  # in half of the draws one of the terms is a number
        for i in range(TERMS):
            size = rng.randint(1, LARGEST) * rng.choice((1, 1, -1))
            terms.append(Term(size) if i == number else Term(size, rng.choice(LETTERS), rng.randint(1, HIGHEST)))
        split = rng.randint(1, TERMS - 1)
        return Formula(Side(tuple(terms[:split])), rng.choice(RELATIONS), Side(tuple(terms[split:])))

    def show(self, value: Formula) -> str:
        """LaTeX without blanks."""
        return show(value)

    def parse(self, text: str) -> Formula:
        """The formula; ValueError where `memory.formula.show` could not have written it."""
        return parse(text)

    def canonical(self, text: str) -> str:
        """The canonical LaTeX tokens, as the search engine compares formulas."""
        return canonical(text)

    def similarities(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """Cosines of the encoder's vectors, to six digits: what lies closer is noise of the summation, a tie."""
        vectors = self.encoder.encode([query, *texts]).astype(np.float64)
        return np.round(vectors[1:] @ vectors[0], 6)
