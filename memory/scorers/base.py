"""What every scorer shares: where context and option part, the window, the sums; a backend adds only its model.

Context and option are tokenised as one string and split at the boundary. A token that spans the boundary belongs to the
option, and all options of a case are scored from the same token on, so their sums are conditioned on the same text.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memory.cases import Case
from memory.errors import MemoryBenchmarkError

log = logging.getLogger("memory")


@dataclass(frozen=True)
class OptionScore:
    """Log-probabilities (natural logarithm) of one option.

    Attributes:
        sum: of all its tokens.
        tokens: how many.
        chars: characters of its text, without the blank before it.
        bytes: UTF-8 bytes of its text.
    """

    sum: float
    tokens: int
    chars: int
    bytes: int

    def by(self, norm: str) -> float:
        """The sum, or the sum per `token`, `char` or `byte`."""
        sizes = {"sum": 1, "token": self.tokens, "char": self.chars, "byte": self.bytes}
        return self.sum / max(sizes[norm], 1)


NORMS = ("sum", "token", "char", "byte")


@dataclass(frozen=True)
class Scored:
    """Scores of a case's options; `context_tokens` were read before them, `cut` left out at the left."""

    options: list[OptionScore]
    context_tokens: int
    cut: int


def continuation(prompt: str, option: str) -> tuple[str, str]:
    """Move the prompt's trailing blanks to the option, or put one blank between them where neither has one.

    Tokenisers attach a blank to the word that follows, so a prompt that ends in one would tear that token apart.

    >>> continuation("zor: ab -> ", "ba")
    ('zor: ab ->', ' ba')
    >>> continuation("", "ba")
    ('', 'ba')
    """
    bare = prompt.rstrip(" ")
    blanks = prompt[len(bare) :]
    if not bare:
        return "", option
    if not blanks and not bare[-1].isspace() and not option[:1].isspace():
        blanks = " "
    return bare, blanks + option


class Scorer(ABC):
    """A model that gives log-probabilities of tokens.

    Attributes:
        name: as it stands in records and reports.
        window: most tokens that the model reads at once; None for no limit.
        begin: tokens that precede every text, such as a BOS the model was trained with.
        prefix: a token to condition on where nothing else precedes; None where the model needs none or has none.
        needs_prefix: whether it can score a first token only after another one.
        caches: whether the context is run once for all options.
    """

    name: str
    window: int | None = None
    begin: Sequence[int] = ()
    prefix: int | None = None
    needs_prefix: ClassVar[bool] = True
    caches: bool = True

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """Token ids of a text, without special tokens."""

    @abstractmethod
    def logprobs(self, context: list[int], options: Sequence[list[int]]) -> list[np.ndarray]:
        """Log-probabilities of each option's tokens after the context, which is run once.

        Args:
            context: at least one token where `needs_prefix`.
            options: token ids, at least one each.

        Returns:
            float64 (len(option),) for each option.
        """

    def naive(self, context: list[int], option: list[int]) -> np.ndarray:
        """The same for one option, with the whole text run from scratch; the yardstick for `logprobs`."""
        return self.logprobs(context, [option])[0]

    def prepare(self, cases: Sequence[Case]) -> None:  # noqa: B027
        """Learn from the cases of a file what may be learnt; neural models are trained already."""

    def select(self, number: int) -> None:  # noqa: B027
        """Get ready for the case of that place in the prepared file."""

    def split(self, prompt: str, options: Sequence[str]) -> tuple[list[int], list[list[int]], int]:
        """Tokens of the shared context and of each option, and how many tokens the window cost.

        Raises:
            MemoryBenchmarkError: an option is longer than the window, or nothing precedes the first token and the
                model has no token to begin with.
        """
        pairs = [continuation(prompt, option) for option in options]
        alone = self.encode(pairs[0][0]) if pairs[0][0] else []
        wholes = [self.encode(bare + rest) for bare, rest in pairs]
        shared = min(_common(alone, whole) for whole in wholes)
        begin = list(self.begin)
        if not begin and not shared and self.needs_prefix:
            if self.prefix is None:
                raise MemoryBenchmarkError(f"{self.name}: empty context, and the model has no BOS or EOS to begin with")
            begin = [self.prefix]
        context, tails = wholes[0][:shared], [whole[shared:] for whole in wholes]
        if min(map(len, tails)) == 0:
            raise MemoryBenchmarkError(f"{self.name}: an option has no tokens")
        cut = 0
        if self.window is not None:
            room = self.window - len(begin) - max(map(len, tails)) + 1  # the last token is predicted, not read
            if room < (not begin and self.needs_prefix):
                raise MemoryBenchmarkError(f"{self.name}: an option is longer than the window of {self.window} tokens")
            cut = max(len(context) - room, 0)
        return begin + context[cut:], tails, cut

    def score(self, prompt: str, options: Sequence[str], cached: bool = True) -> Scored:
        """Score all options after the prompt.

        Args:
            prompt: the text before; may be empty.
            options: their texts.
            cached: run the context once; else from scratch for each option, for comparison.

        Raises:
            MemoryBenchmarkError: as in `split`, or the model gives infinities or no numbers.
        """
        context, tails, cut = self.split(prompt, options)
        if cut:
            log.warning("%s: context cut by %d tokens on the left to fit the window of %s", self.name, cut, self.window)
        rows = self.logprobs(context, tails) if cached else [self.naive(context, tail) for tail in tails]
        if not all(np.isfinite(row).all() for row in rows):
            raise MemoryBenchmarkError(f"{self.name}: the model gives log-probabilities that are no finite numbers")
        scores = [
            OptionScore(float(row.sum()), len(tail), len(text), len(text.encode("utf-8", "surrogatepass")))
            for row, tail, text in zip(rows, tails, options, strict=True)
        ]
        return Scored(scores, len(context), cut)


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """The length of the longest common prefix."""
    n = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        n += 1
    return n


def pick(logits: np.ndarray, tokens: Sequence[int]) -> np.ndarray:
    """Log-probabilities of tokens, from the logits at the places before them.

    Args:
        logits: (len(tokens), vocabulary), any float type.
        tokens: one a row.

    Returns:
        float64 (len(tokens),).
    """
    x = np.asarray(logits, np.float64)
    top = x.max(axis=1)
    return x[np.arange(len(tokens)), list(tokens)] - top - np.log(np.exp(x - top[:, None]).sum(axis=1))
