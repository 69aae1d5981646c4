"""Which symbols of a result the query has too: decided here, on canonical tokens, and shown by the page.

Two forms, since a rendering has no source positions: `source` cuts a formula into pieces of its own text, each marked
or not, and `shared` names the canonical tokens, from which the page finds the glyphs. Neither changes the LaTeX, so
nothing in a document can break out of a mark or forge one.
"""

from collections.abc import Set
from functools import lru_cache
from itertools import groupby

from encoder.latex import lex, tokenize

UNMARKED = frozenset("{}^_&()[],.;:|'\"")
r"""Tokens that hold a formula together and say little about it; a mark on every bracket would hide the others."""

LONGEST = 10_000
"""Characters; longer formulas (`collect` keeps none) are shown unmarked."""


@lru_cache(maxsize=1 << 14)
def meaning(text: str) -> frozenset[str]:
    """The canonical tokens of a piece of LaTeX that are worth a mark."""
    return frozenset(tokenize(text)) - UNMARKED


def shared(query: Set[str], latex: str) -> list[str]:
    """The canonical tokens of a formula that are in the query, sorted.

    Args:
        query: `meaning` of the query.
        latex: the formula as it stands in its document.
    """
    return sorted(query & (frozenset(tokenize(latex)) - UNMARKED)) if len(latex) <= LONGEST else []


def source(query: Set[str], latex: str) -> list[tuple[str, bool]]:
    r"""The formula's own text in pieces, each with whether all it means is in the query.

    The pieces joined are the text, character by character.

        >>> source(meaning(r"\alpha+1"), r"\alpha^2+x")
        [('\\alpha', True), ('^2', False), ('+', True), ('x', False)]
    """
    pieces = lex(latex) if len(latex) <= LONGEST else [latex]
    if "".join(pieces) != latex:  # the formula defines macros, which the lexer expanded
        return [(latex, False)]
    marked = [(piece, bool(found := meaning(piece)) and found <= query) for piece in pieces]
    return [("".join(piece for piece, _ in run), hit) for hit, run in groupby(marked, key=lambda pair: pair[1])]
