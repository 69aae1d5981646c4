"""The domain of strings: words of five to seven lower-case letters; similar means a small edit distance."""

import string
from collections.abc import Callable, Sequence
from random import Random

import numpy as np

from memory.domain import (
    Domain,
    Operator,
    cyclic,
    edit_distance,
    ends_swapped,
    evens_first,
    evens_first_undone,
    halves_swapped,
    pairwise_swapped,
    swapped,
)

LETTERS = string.ascii_lowercase
SHORTEST, LONGEST = 5, 7


def shifted(text: str, by: int) -> str:
    """Every letter moved `by` places through the alphabet, z followed by a."""
    return "".join(LETTERS[(LETTERS.index(letter) + by) % 26] for letter in text)


def mirrored(text: str) -> str:
    """Every letter replaced by the one as far from the other end of the alphabet: a by z, b by y."""
    return "".join(LETTERS[25 - LETTERS.index(letter)] for letter in text)


def _pairs(text: str) -> str:
    return "".join(pairwise_swapped(text))


def _tail(text: str) -> str:
    return text[:1] + text[:0:-1]


def _both(name: str, words: str, apply: Callable[[str], str], undo: Callable[[str], str] | None = None) -> Operator:
    """An operator with exactly one preimage; without `undo`, one that undoes itself."""
    back = undo or apply
    return Operator(name, words, apply, lambda value: [back(value)])


OPERATORS = (
    _both("reverse", "write the letters in reverse order", lambda t: t[::-1]),
    _both("rotate_left", "move the first letter to the end", lambda t: cyclic(t, 1), lambda t: cyclic(t, -1)),
    _both("rotate_right_two", "move the last two letters to the front", lambda t: cyclic(t, -2),
          lambda t: cyclic(t, 2)),
    _both("swap_ends", "exchange the first and the last letter", ends_swapped),
    _both("swap_pairs", "exchange the first letter with the second, the third with the fourth, and so on", _pairs),
    _both("swap_halves", "exchange the first and the last half; a middle letter stays", halves_swapped),
    _both("evens_first", "write the letters at even places, then those at odd places", evens_first, evens_first_undone),
    _both("reverse_tail", "keep the first letter and reverse the rest", _tail),
    _both("next_letter", "replace every letter by the next one of the alphabet, z by a", lambda t: shifted(t, 1),
          lambda t: shifted(t, -1)),
    _both("back_three", "replace every letter by the one three places before it, c by z", lambda t: shifted(t, -3),
          lambda t: shifted(t, 3)),
    _both("mirror", "replace a by z, b by y, c by x and so on", mirrored),
    Operator("sort", "write the letters in alphabetical order", lambda t: "".join(sorted(t)),
             lambda t: [t] if t == "".join(sorted(t)) else []),
)  # fmt: skip


class Strings(Domain):
    """Words of lower-case letters."""

    name = "strings"
    title = "Rules for words of letters."
    operators = OPERATORS
    alphabet = frozenset(LETTERS)

    def draw(self, rng: Random) -> str:
        """Five to seven letters, each of the 26 equally likely."""
        return "".join(rng.choices(LETTERS, k=rng.randint(SHORTEST, LONGEST)))

    def neighbour(self, rng: Random, value: str) -> str:
        """Two of its letters exchanged."""
        return "".join(swapped(rng, value))

    def show(self, value: str) -> str:
        """The word itself."""
        return value

    def parse(self, text: str) -> str:
        """The word, blanks around it and capitals ignored; ValueError unless it is letters alone."""
        word = self.canonical(text)
        if not word or not set(word) <= self.alphabet:
            raise ValueError(f"expected a word of the letters a to z, not {text!r}")
        return word

    def canonical(self, text: str) -> str:
        """Lower case, without blanks around it."""
        return text.strip().lower()

    def similarities(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """The negative edit distances in letters."""
        return np.array([-edit_distance(query, text) for text in texts], np.float64)
