"""A count-based character n-gram model: the honest floor, which knows frequencies and nothing else.

P(c | h) = (n(hc) + t(h) P(c | h')) / (n(h) + t(h)), with h' = h without its first character, n counts and t(h) the
number of different characters seen after h: interpolated Witten-Bell smoothing (Witten and Bell, 1991, method C, as in
Chen and Goodman, 1998, equation 2.14). Below the empty history stands a uniform distribution. It counts in the case's
own context and in other cases of the same file, never in the case it scores; its tokens are characters.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from memory.cases import Case
from memory.scorers.base import Scorer

ORDER = 5
UNIFORM = 1 / 256  # probability of a character never seen
FOLDS = 2
TRAINING_CASES = 200  # of each fold
Table = dict[str, dict[str, int]]


def count(text: str, order: int, table: Table, start: int = 0) -> None:
    """Add to the table, for every character from `start` on, its occurrence after each history of under `order`."""
    for i in range(start, len(text)):
        for length in range(min(order - 1, i) + 1):
            follow = table.setdefault(text[i - length : i], {})
            follow[text[i]] = follow.get(text[i], 0) + 1


class NgramScorer(Scorer):
    """The n-gram model, trained on the other fold of the file being scored.

    Args:
        order: characters of the longest n-gram.
    """

    needs_prefix = False

    def __init__(self, order: int = ORDER) -> None:
        self.order = order
        self.name = f"ngram:{order}"
        self._folds: list[Table] = [{} for _ in range(FOLDS)]
        self._base: Table = {}

    def prepare(self, cases: Sequence[Case]) -> None:
        """Count the contexts, queries and right answers of each fold; the cases of a fold are every second one."""
        for fold in range(FOLDS):
            table: Table = {}
            for case in cases[fold::FOLDS][:TRAINING_CASES]:
                right = next(option.text for option in case.options if option.label == case.answer)
                count(f"{case.prompt()} {right}\n", self.order, table)
            self._folds[fold] = table

    def select(self, number: int) -> None:
        """Use the counts of the fold that the case is not in."""
        self._base = self._folds[(number + 1) % FOLDS]

    def encode(self, text: str) -> list[int]:
        """Code points."""
        return [ord(character) for character in text]

    def logprobs(self, context: list[int], options: Sequence[list[int]]) -> list[np.ndarray]:
        """See `Scorer.logprobs`; the context's counts serve all options, an option's own are not added."""
        text = "".join(map(chr, context))
        local: Table = {}
        count(text, self.order, local)
        return [self._tail(text, "".join(map(chr, option)), local) for option in options]

    def _tail(self, text: str, option: str, local: Table) -> np.ndarray:
        history, out = text[-self.order :], []
        for character in option:
            start = max(len(history) - self.order + 1, 0)
            histories = (history[i:] for i in range(len(history), start - 1, -1))
            out.append(np.log(self._probability(histories, character, local)))
            history += character
        return np.array(out, np.float64)

    def _probability(self, histories: Iterable[str], character: str, local: Table) -> float:
        """P(character | history), from the shortest history to the longest."""
        p = UNIFORM
        for history in histories:
            a, b = self._base.get(history, {}), local.get(history, {})
            if not a and not b:
                break
            kinds = len(a.keys() | b.keys())
            seen = a.get(character, 0) + b.get(character, 0)
            p = (seen + kinds * p) / (sum(a.values()) + sum(b.values()) + kinds)
        return p
