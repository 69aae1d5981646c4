"""The rules of one case: which operators it teaches under which nonsense words, and how the context states them."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from memory.domain import Domain, Operator, Value
from memory.errors import MemoryBenchmarkError

TAUGHT = 6  # rules that a context defines; more only where more are revised
WORDS = (
    "bim dal fen gop hul jat kem lig mos nup pag rud sil tov vek wam yon zor bek dif fam gul hep jor kan lud mip nos "
    "pel ruf sog tam vin wop yel zat"
).split()
"""Names of rules, of one form, so that they say nothing; drawn anew for each case."""


@dataclass(frozen=True)
class Rules:
    """The taught operators by their word, before and after the revision.

    Attributes:
        old: word -> operator as first defined, in the order of definition.
        new: word -> operator as defined last; equal to `old` without a revision.
    """

    old: dict[str, Operator]
    new: dict[str, Operator]

    @property
    def revised(self) -> list[str]:
        """The words whose definition changed, in the order of definition."""
        return [word for word in self.old if self.new[word] is not self.old[word]]


def draw_rules(domain: Domain, edit_k: int, query_words: int, rng: Random) -> tuple[Rules, list[str]]:
    """Draw the taught rules and the words of the query.

    Args:
        domain: where the operators come from.
        edit_k: how many are revised, those of the query first; 0 for none.
        query_words: rules of the query, all different while there are enough.
        rng: the case's random numbers.

    Raises:
        MemoryBenchmarkError: the domain has too few operators.
    """
    taught = max(TAUGHT, edit_k)
    if edit_k and taught + edit_k > len(domain.operators):
        most = len(domain.operators) - TAUGHT
        raise MemoryBenchmarkError(f"editK {edit_k}: the domain {domain.name} has operators for at most {most}")
    operators = rng.sample(domain.operators, taught + edit_k)
    words = rng.sample(WORDS, taught)
    old = dict(zip(words, operators, strict=False))
    query = rng.sample(words, query_words) if query_words <= taught else rng.choices(words, k=query_words)
    first = list(dict.fromkeys(query))
    rng.shuffle(first)
    edited = (first + rng.sample([word for word in words if word not in first], taught - len(first)))[:edit_k]
    new = old | dict(zip(edited, operators[taught:], strict=True))
    return Rules(old, new), query


def apply_words(words: Sequence[str], meaning: dict[str, Operator], value: Value) -> Value:
    """The value after the rules of these words, from left to right."""
    for word in words:
        value = meaning[word].apply(value)
    return value


def example_line(words: Sequence[str], left: str, right: str) -> str:
    """An example as the context shows it; with an empty `right`, a query."""
    return f"{' '.join(words)}: {left} -> {right}".rstrip()


def context_text(title: str, rules: Rules, before: Sequence[str], after: Sequence[str]) -> str:
    """The context: definitions, examples, and after a revision the new definitions and more examples."""
    lines = [f"{title} Rules named in a row are applied from left to right."]
    lines += [f"{word}: {operator.words}." for word, operator in rules.old.items()]
    lines += ["Examples:", *before] if before else []
    if rules.revised:
        lines.append("Revision: from here on these rules are defined anew and their old definitions no longer hold.")
        lines += [f"{word}: {rules.new[word].words}." for word in rules.revised]
        lines += ["Examples:", *after] if after else []
    return "\n".join(lines)
