"""The domain of integer lists: four or five numbers from 0 to 30; similar means few numbers replaced or moved."""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
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

Numbers = tuple[int, ...]
SHORTEST, LONGEST, LARGEST = 4, 5, 30


def _each(function: Callable[[int], int]) -> Callable[[Numbers], Numbers]:
    return lambda numbers: tuple(function(number) for number in numbers)


def differences(numbers: Numbers) -> Numbers:
    """The first number, then each number minus the one before it.

    >>> differences((3, 10, 4))
    (3, 7, -6)
    """
    return numbers[:1] + tuple(b - a for a, b in pairwise(numbers))


def sums(numbers: Numbers) -> Numbers:
    """Each number replaced by the sum of all up to it; undoes `differences`."""
    return tuple(accumulate(numbers))


def _both(
    name: str, words: str, apply: Callable[[Numbers], Numbers], undo: Callable[[Numbers], Numbers] | None = None
) -> Operator:
    """An operator with exactly one preimage; without `undo`, one that undoes itself."""
    back = undo or apply
    return Operator(name, words, apply, lambda value: [back(value)])


def _halved(numbers: Numbers) -> list[Numbers]:
    return [] if any(number % 2 for number in numbers) else [tuple(number // 2 for number in numbers)]


OPERATORS = (
    _both("reverse", "write the numbers in reverse order", lambda n: n[::-1]),
    _both("rotate_left", "move the first number to the end", lambda n: cyclic(n, 1), lambda n: cyclic(n, -1)),
    _both("swap_ends", "exchange the first and the last number", ends_swapped),
    _both("swap_pairs", "exchange the first number with the second, the third with the fourth, and so on",
          lambda n: tuple(pairwise_swapped(n))),
    _both("swap_halves", "exchange the first and the last half; a middle number stays", halves_swapped),
    _both("evens_first", "write the numbers at even places, then those at odd places", evens_first, evens_first_undone),
    _both("add_one", "add 1 to every number", _each(lambda x: x + 1), _each(lambda x: x - 1)),
    _both("subtract_three", "subtract 3 from every number", _each(lambda x: x - 3), _each(lambda x: x + 3)),
    _both("complement", "subtract every number from 30", _each(lambda x: LARGEST - x)),
    Operator("double", "double every number", _each(lambda x: 2 * x), _halved),
    _both("differences", "keep the first number and replace every other by its difference to the one before it",
          differences, sums),
    _both("sums", "replace every number by the sum of all numbers up to it", sums, differences),
    Operator("sort", "write the numbers from the smallest to the largest", lambda n: tuple(sorted(n)),
             lambda n: [n] if n == tuple(sorted(n)) else []),
)  # fmt: skip


class Integers(Domain):
    """Lists of integers, written with blanks between them."""

    name = "integers"
    title = "Rules for lists of numbers."
    operators = OPERATORS
    alphabet = frozenset("0123456789- ")

    def draw(self, rng: Random) -> Numbers:
        """Four or five numbers, each of 0 to 30 equally likely."""
        return tuple(rng.randint(0, LARGEST) for _ in range(rng.randint(SHORTEST, LONGEST)))

    def neighbour(self, rng: Random, value: Numbers) -> Numbers:
        """Two of its numbers exchanged."""
        return tuple(swapped(rng, value))

    def show(self, value: Numbers) -> str:
        """The numbers with one blank between them."""
        return " ".join(map(str, value))

    def parse(self, text: str) -> Numbers:
        """The numbers, whether blanks or commas part them, in brackets or not; ValueError where one is no integer."""
        return tuple(int(part) for part in text.strip().strip("[]()").replace(",", " ").split())

    def canonical(self, text: str) -> str:
        """The numbers with single blanks, or the text without blanks around it where it is no list of integers."""
        try:
            return self.show(self.parse(text))
        except ValueError:
            return text.strip()

    def similarities(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """The negative edit distances in numbers."""
        numbers = query.split()
        return np.array([-edit_distance(numbers, text.split()) for text in texts], np.float64)
