"""What a domain is: values with a text form, operators on them, and a notion of similar inputs.

A domain's values are immutable and hashable. An operator is total: it maps every value of its domain to another one.
The domains themselves are in `memory.strings`, `memory.integers` and `memory.latex`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

Value = Any
"""A value of a domain: a str, a tuple of int or a `memory.formula.Formula`."""


@dataclass(frozen=True)
class Operator:
    """A function on a domain's values.

    Attributes:
        name: its fixed identifier, such as `swap_ends`; never shown to a model, which sees a nonsense word drawn anew
            for each case, so that nothing can be known about a rule but what the context says.
        words: the definition as the context states it.
        apply: the exact implementation.
        preimages: some of the values that `apply` maps to the given one (all of them where they are finitely many),
            and none exactly where there is none. A proposed answer without one could not come from the rule.
    """

    name: str
    words: str
    apply: Callable[[Value], Value]
    preimages: Callable[[Value], list[Value]]


class Domain(ABC):
    """A set of values, its operators and its text form.

    Attributes:
        name: as it stands in file names.
        title: how the context introduces the rules.
        operators: at least 8, distinct.
        alphabet: the characters that a value's text may hold.
    """

    name: str
    title: str
    operators: tuple[Operator, ...]
    alphabet: frozenset[str]

    @abstractmethod
    def draw(self, rng: Random) -> Value:
        """A random input."""

    def neighbour(self, rng: Random, value: Value) -> Value | None:
        """An input much like `value` and made of the same parts, so that its parts do not tell the two apart.

        None where parts that changed places would tell (a rule keeps the terms of a formula in order): the generator
        then works backwards, from what some rule makes of `value`.
        """
        return None

    @abstractmethod
    def show(self, value: Value) -> str:
        """The text of a value."""

    @abstractmethod
    def parse(self, text: str) -> Value:
        """The value of a text that `show` could have written, or of a spelling of it.

        Raises:
            ValueError: it is no such text.
        """

    @abstractmethod
    def canonical(self, text: str) -> str:
        """One form for all spellings of an answer: two options are the same answer exactly if these are equal."""

    @abstractmethod
    def similarities(self, query: str, texts: Sequence[str]) -> np.ndarray:
        """How similar each text is to the query.

        Returns:
            float64 (len(texts),), larger is more similar; comparable within one call only.
        """

    def operator(self, name: str) -> Operator:
        """The operator of that name; KeyError where there is none."""
        return {operator.name: operator for operator in self.operators}[name]


def edit_distance(left: Sequence[Any], right: Sequence[Any]) -> int:
    """The Levenshtein distance: insertions, deletions and replacements, each of cost 1.

    >>> edit_distance("abcd", "acbd")
    2
    """
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (a != b))
    return row[-1]


def swapped(rng: Random, items: Sequence[Any]) -> list[Any]:
    """The items with two different ones exchanged, neighbours in two of three draws; unchanged if all are equal."""
    pairs = [(i, j) for i in range(len(items)) for j in range(i + 1, len(items)) if items[i] != items[j]]
    out = list(items)
    if pairs:
        near = [(i, j) for i, j in pairs if j == i + 1]
        i, j = rng.choice(near if near and rng.random() < 2 / 3 else pairs)
        out[i], out[j] = out[j], out[i]
    return out


def cyclic(items: Sequence[Any], by: int) -> Any:
    """The items moved `by` places to the left, those that fall off coming back on the right; of the same type."""
    by %= max(len(items), 1)
    return items[by:] + items[:by]  # type: ignore[operator]


def pairwise_swapped(items: Sequence[Any]) -> list[Any]:
    """First and second item exchanged, third and fourth, and so on; an odd last one stays."""
    out = list(items)
    for i in range(0, len(out) - 1, 2):
        out[i], out[i + 1] = out[i + 1], out[i]
    return out


def halves_swapped(items: Any) -> Any:
    """The first and the last half exchanged; the middle item of an odd number stays."""
    half = len(items) // 2
    return items[len(items) - half :] + items[half : len(items) - half] + items[:half]


def ends_swapped(items: Any) -> Any:
    """The first and the last item exchanged."""
    return items if len(items) < 2 else items[-1:] + items[1:-1] + items[:1]


def evens_first(items: Any) -> Any:
    """The items at even places (second, fourth, ...) and then those at odd ones."""
    return items[1::2] + items[::2]


def evens_first_undone(items: Any) -> Any:
    """The value that `evens_first` maps to this one."""
    half = len(items) // 2
    out = [None] * len(items)
    out[1::2], out[::2] = list(items[:half]), list(items[half:])
    return "".join(out) if isinstance(items, str) else tuple(out)  # type: ignore[arg-type]
