r"""Canonical LaTeX: one form for all spellings of a formula that look or mean the same.

``canonical`` turns what a person typed into tokens separated by blanks. It undoes HTML entities, comments, spacing and
sizing commands, redundant braces, synonyms, Unicode, macros defined inside the formula, plain-TeX infix fractions and
matrices, environments that only align, and the order of sub- and superscripts. Worked example::

    >>> canonical(r"\left( \dfrac12 \right)^{2} &le; {n \choose k}.")
    '( \\frac 1 2 ) ^ 2 \\le \\binom n k'

An argument of one token stands bare, a longer one in braces; letters and digits stand alone; a token of several letters
without a backslash is a word of running text. It never raises, whatever the input, and takes time linear in its length.
Its braces balance. The canonical form of a canonical form is itself where no command lacks an argument, except that
words of running text and the prefix forms of ``\atop`` and ``\brack`` read differently when they are typed.

What it does not do: parse mathematics, or judge whether LaTeX would accept the formula.

The parts: ``lexer`` (text to raw tokens), ``macros`` (what the formula defines), ``walker`` (what raw tokens mean),
``structure`` (groups, arguments and scripts), ``spelling`` (the tables).
"""

from __future__ import annotations

from encoder import walker
from encoder.lexer import arrange, clean, lex

__all__ = ["canonical", "lex", "tokenize"]


def tokenize(latex: str) -> list[str]:
    """The canonical tokens of a formula.

    Args:
        latex: what was typed, with or without math delimiters.

    Returns:
        Tokens without blanks; empty where nothing is left (an empty formula, spacing alone).
    """
    return walker.walk(arrange(lex(clean(latex))))


def canonical(latex: str) -> str:
    """The canonical tokens of a formula, joined by single blanks. Never raises; see ``tokenize``."""
    return " ".join(tokenize(latex))
