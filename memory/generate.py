"""Draw cases: rules, examples, a query, and options of every kind the task has.

A case depends on the seed, its setting and its number alone, so a longer file starts like a shorter one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from memory.cases import COM, CORRECT, LABELS, RET, REV, TYPES, Case, Option, Setting
from memory.domain import Domain, Operator, Value
from memory.errors import MemoryBenchmarkError
from memory.options import Proposer, Redraw, chain, echo, mutated, objection, proposed, wrong_order
from memory.rules import Rules, apply_words, context_text, draw_rules, example_line

DRAWS = 2000  # of one case; reached only where no case of the setting exists
EXAMPLES = 100  # inputs tried for one example
TIE = 1e-9  # equal echoes are ordered at random
NEIGHBOURS = 10  # inputs tried as the one most similar to the query's


@dataclass(frozen=True)
class Example:
    """A line of the context; `revised` where the new definitions hold."""

    words: tuple[str, ...]
    input: Value
    output: Value
    revised: bool


def check_setting(setting: Setting, shown: bool = False) -> None:
    """Refuse settings that no case can have.

    Raises:
        MemoryBenchmarkError: naming the value and what was expected.
    """
    if setting.task not in TYPES:
        raise MemoryBenchmarkError(f"task {setting.task!r}: expected one of {', '.join(TYPES)}")
    if setting.m < 1 + shown:
        raise MemoryBenchmarkError(f"M {setting.m}: expected at least {1 + shown}, for the most similar example")
    if setting.task == RET and (setting.k is not None or setting.edit_k is not None):
        raise MemoryBenchmarkError(f"{RET}: expected neither K nor editK")
    if setting.task == COM and (setting.k is None or setting.k < 2 or setting.edit_k is not None):
        raise MemoryBenchmarkError(f"{COM}: expected K of at least 2 (one rule has no wrong order) and no editK")
    if setting.task == REV and ((setting.k or 0) < 1 or (setting.edit_k or 0) < 1):
        raise MemoryBenchmarkError(f"{REV}: expected K and editK of at least 1")
    if shown and setting.task != RET:
        raise MemoryBenchmarkError(f"shown: expected the task {RET}, not {setting.task}")


class Generator:
    """Draws the cases of one setting.

    Args:
        domain: the operators and inputs.
        setting: task, M, K and editK.
        seed: of all random choices.
        proposer: an external source of `random_wrong` answers, asked first; without one (or where it proposes nothing
            valid) the answers are programmatic.
        shown: MemoryRet alone: the context also holds the query's own example, so the answer can be looked up.

    Raises:
        MemoryBenchmarkError: no case can have this setting.
    """

    def __init__(
        self, domain: Domain, setting: Setting, seed: int, proposer: Proposer | None = None, shown: bool = False
    ) -> None:
        check_setting(setting, shown)
        self.domain, self.setting, self.seed, self.proposer, self.shown = domain, setting, seed, proposer, shown
        self.depth = setting.k or 1

    def case(self, number: int) -> Case:
        """The case of that number.

        Raises:
            MemoryBenchmarkError: none was found in 2,000 draws.
        """
        rng = Random(f"{self.seed}/{self.setting.stem}/{self.shown}/{number}")
        why = ""
        rank = rng.randrange(len(TYPES[self.setting.task]))  # drawn once: ranks that are hard to meet stay as frequent
        for _ in range(DRAWS):
            try:
                return self._draw(rng, number, rank)
            except Redraw as redraw:
                why = str(redraw)
        raise MemoryBenchmarkError(f"{self.setting.stem}: case {number}: no case in {DRAWS} draws; last: {why}")

    def cases(self, count: int) -> list[Case]:
        """The first `count` cases."""
        return [self.case(number) for number in range(count)]

    def _draw(self, rng: Random, number: int, rank: int) -> Case:
        """A case in which `rank` options repeat more of the query's input than the correct one does, or Redraw."""
        domain = self.domain
        rules, words = draw_rules(domain, self.setting.edit_k or 0, self.depth, rng)
        value = domain.draw(rng)
        operators = [rules.new[word] for word in words]
        if chain(operators, value) == value:
            raise Redraw("the rules leave the query's input as it is")
        texts = [domain.show(chain(operators, value))]
        if self.setting.task == COM:
            texts.append(domain.show(wrong_order(operators, value, rng)))
        elif self.setting.task == REV:
            texts.append(domain.show(apply_words(words, rules.old, value)))
        source, text = self._random_wrong(words, rules, operators, value, texts, rng)
        echoes = [echo(domain.show(value), option) + TIE * rng.random() for option in (*texts, text)]
        missing = rank - sum(other > echoes[0] for other in echoes[1:])
        if missing not in (0, 1):
            raise Redraw("the correct option's rank is another")
        examples = self._examples(rules, words, value, rng)
        similar = self._place_neighbour(examples, rules, value, echoes[0], bool(missing), rng)
        texts = [texts[0], domain.show(examples[similar].output), *texts[1:], text]
        why = objection(domain, domain.show(value), texts)
        if why:
            raise Redraw(why)
        return self._assemble(number, rng, rules, words, value, examples, texts, similar, source)

    def _examples(self, rules: Rules, words: Sequence[str], value: Value, rng: Random) -> list[Example]:
        """M examples with different inputs; every rule of the query has one of its own where M allows."""
        m, domain = self.setting.m, self.domain
        early = m - m // 2 if rules.revised else m
        plans: list[tuple[str, ...]] = []
        for count in (early, m - early):
            forced = [(word,) for word in dict.fromkeys(words)][: max(count - 1, 0)]
            free = [self._words(rules, rng.randint(1, self.depth), rng) for _ in range(count - len(forced))]
            part = forced + free
            rng.shuffle(part)
            plans += part
        taken = {domain.show(value)}
        examples = []
        for i, plan in enumerate(plans):
            meaning = rules.new if i >= early else rules.old
            for _ in range(EXAMPLES):
                drawn = domain.draw(rng)
                output = apply_words(plan, meaning, drawn)
                if domain.show(drawn) not in taken and output != drawn:
                    break
            else:
                raise Redraw("the rules of an example undo one another")
            taken.add(domain.show(drawn))
            examples.append(Example(plan, drawn, output, i >= early))
        if self.shown:
            place = rng.randrange(m)
            examples[place] = Example(tuple(words), value, apply_words(words, rules.new, value), False)
        return examples

    def _words(self, rules: Rules, count: int, rng: Random) -> tuple[str, ...]:
        """Words of an example, different while there are enough."""
        words = list(rules.old)
        return tuple(rng.sample(words, count) if count <= len(words) else rng.choices(words, k=count))

    def _place_neighbour(
        self, examples: list[Example], rules: Rules, value: Value, bar: float, above: bool, rng: Random
    ) -> int:
        """Put an example with an input much like the query's in a random place, and return the place.

        It has as many rules as the query, so its output looks like the other options, and it is more similar to the
        query than any other example; its output repeats more of the query's input than `bar`, or less, as `above` says.

        Raises:
            Redraw: no neighbour tried is the most similar.
        """
        domain, query = self.domain, self.domain.show(value)
        places = [i for i, example in enumerate(examples) if example.input != value]
        place = rng.choice(places)
        others = [domain.show(examples[i].input) for i in places if i != place]
        meaning = rules.new if examples[place].revised else rules.old
        plans: dict[Value, tuple[str, ...]] = {}
        drawn = [domain.neighbour(rng, value) for _ in range(NEIGHBOURS)]
        if None in drawn:
            plans = self._inverse_neighbours(rules, meaning, value, rng)
            drawn = list(plans)
        near = [n for n in dict.fromkeys(drawn) if n != value and domain.show(n) not in others]
        scores = domain.similarities(query, [*map(domain.show, near), *others])
        rest = scores[len(near) :].max() if others else -float("inf")
        for _ in range(NEIGHBOURS if near else 0):
            plan = self._words(rules, self.depth, rng)
            i = rng.randrange(len(near))
            plan = plans.get(near[i], plan)
            output = apply_words(plan, meaning, near[i])
            level = echo(query, domain.show(output)) + TIE * rng.random()
            if scores[i] > rest and output != near[i] and (level > bar) == above:
                examples[place] = Example(plan, near[i], output, examples[place].revised)
                return place
        raise Redraw("no neighbour of the query's input is the most similar example")

    def _inverse_neighbours(
        self, rules: Rules, meaning: dict[str, Operator], value: Value, rng: Random
    ) -> dict[Value, tuple[str, ...]]:
        """Inputs that some rules of the context map to what other operators make of the query's input, with the rules.

        Such an example's output is made of the query's input like every other option, so nothing in it shows that it
        belongs to another input.
        """
        found: dict[Value, tuple[str, ...]] = {}
        operators = self.domain.operators
        for _ in range(NEIGHBOURS):
            images = [chain(rng.choices(operators, k=self.depth), value)]
            plan = self._words(rules, self.depth, rng)
            for word in reversed(plan):
                images = [before for image in images for before in meaning[word].preimages(image)]
            if images:
                found[rng.choice(images)] = plan
        return found

    def _random_wrong(
        self,
        words: Sequence[str],
        rules: Rules,
        operators: Sequence[Operator],
        value: Value,
        texts: list[str],
        rng: Random,
    ) -> tuple[str, str]:
        """The source and the text of the last option."""
        domain = self.domain
        if self.proposer is not None:
            facts: dict[str, object] = {
                "domain": domain.name,
                "query": example_line(words, domain.show(value), ""),
                "rules": [rules.new[word].words for word in words],
                "input": domain.show(value),
                "correct": texts[0],
            }
            text = proposed(domain, facts, operators[-1], texts, self.proposer)
            if text is not None:
                return "proposed", text
        text = domain.show(mutated(domain, operators, value, rng))
        why = objection(domain, domain.show(value), [*texts, text])
        if why:
            raise Redraw(why)
        return "program", text

    def _assemble(
        self, number: int, rng: Random, rules: Rules, words: Sequence[str], value: Value, examples: list[Example],
        texts: list[str], similar: int, source: str,
    ) -> Case:  # fmt: skip
        """Shuffle the options, write the context and keep the trace."""
        show = self.domain.show
        lines = [example_line(e.words, show(e.input), show(e.output)) for e in examples]
        early = sum(not example.revised for example in examples)
        typed = list(zip(TYPES[self.setting.task], texts, strict=True))
        rng.shuffle(typed)
        options = tuple(Option(LABELS[i], kind, text) for i, (kind, text) in enumerate(typed))
        trace: dict[str, object] = {
            "operators": {word: operator.name for word, operator in rules.old.items()},
            "revised": {word: rules.new[word].name for word in rules.revised},
            "rules": list(words),
            "input": show(value),
            "similar": similar,
            "random_wrong": source,
        }
        return Case(
            id=f"{self.setting.stem}-{number:04d}",
            context=context_text(self.domain.title, rules, lines[:early], lines[early:]),
            query=example_line(words, show(value), ""),
            options=options,
            answer=next(option.label for option in options if option.type == CORRECT),
            trace=trace,
        )
