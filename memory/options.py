"""The answers to choose from: the correct one and one distractor of each kind, and the rules that they must obey.

All kinds are made alike, by as many operators of the domain applied to inputs made of the same parts, so the form of an
option does not tell its kind. `random_wrong` mutates the rule: one step of the query is
replaced by another operator. The retrieved example's input differs from the query's by an exchange of parts alone.
"""

import json
import shlex
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations
from random import Random

from memory.domain import Domain, Operator, Value
from memory.errors import MemoryBenchmarkError

LONGER = 2, 6
"""The longest option of a case has at most this many times the characters of the shortest, and this many more."""
PERMUTATIONS = 5040
Proposer = Callable[[dict[str, object]], list[str]]
"""Takes the facts of a case (domain, rules in words, input, correct answer), returns proposals for `random_wrong`."""


class Redraw(Exception):
    """A case cannot have options of all kinds; the generator draws another."""


def chain(operators: Sequence[Operator], value: Value) -> Value:
    """The value after all operators, from left to right."""
    for operator in operators:
        value = operator.apply(value)
    return value


def wrong_order(operators: Sequence[Operator], value: Value, rng: Random) -> Value:
    """The value after the operators in a random order that gives another result.

    Raises:
        Redraw: every order gives the right result.
    """
    right = chain(operators, value)
    if len(operators) <= 7:
        orders = list(permutations(operators))
        rng.shuffle(orders)
    else:
        orders = [tuple(rng.sample(operators, len(operators))) for _ in range(PERMUTATIONS)]
    for order in orders:
        if chain(order, value) != right:
            return chain(order, value)
    raise Redraw("no order of the rules gives another answer")


def mutated(domain: Domain, operators: Sequence[Operator], value: Value, rng: Random) -> Value:
    """The value after the operators with one of them replaced by another of the domain."""
    step = rng.randrange(len(operators))
    other = rng.choice([operator for operator in domain.operators if operator is not operators[step]])
    return chain([*operators[:step], other, *operators[step + 1 :]], value)


def echo(source: str, text: str) -> float:
    """Minus the mean number of a text's strings of 2, 3 and 4 characters that the source lacks.

    What a model without the context can go by is how much an option repeats of the query's input, so the generator
    draws the correct option's rank in this at random. A number, not a share: what cannot be copied costs
    log-probability, so the sum that decides falls with it. Single characters say nothing: inputs are of the same parts.
    """
    missing = 0
    for n in (2, 3, 4):
        have, want = (Counter(t[i : i + n] for i in range(len(t) - n + 1)) for t in (source, text))
        missing += (want - have).total()
    return -missing / 3


def objection(domain: Domain, query_input: str, texts: Sequence[str]) -> str | None:
    """Why these options cannot stand together, the correct one first; None if they can.

    They must be values of the domain, of its alphabet, of similar length, different from one another and from the
    query's input in their canonical forms. The test is symmetric in the options, so it cannot mark the correct one.
    """
    for text in texts:
        if not set(text) <= domain.alphabet:
            return f"{text!r} has characters outside the domain's alphabet"
        try:
            domain.parse(text)
        except ValueError as error:
            return str(error)
    forms = [domain.canonical(text) for text in (query_input, *texts)]
    if len(set(forms)) < len(forms):
        return "two options are the same answer, or one is the query's input"
    times, more = LONGER
    if max(map(len, texts)) > times * min(map(len, texts)) + more:
        return "the options differ too much in length"
    return None


def proposed(
    domain: Domain, facts: dict[str, object], last: Operator, taken: Sequence[str], proposer: Proposer
) -> str | None:
    """The first proposal that may stand as `random_wrong`: it obeys `objection` and could come from the last rule."""
    for text in proposer(facts):
        if objection(domain, str(facts["input"]), [*taken, text]) is None and last.preimages(domain.parse(text)):
            return domain.show(domain.parse(text))
    return None


class CommandProposer:
    """Asks an external program, such as a script around a language model, for distractors.

    The program gets one JSON object on its standard input (domain, query, rules, input, correct) and prints a JSON list
    of strings. It is started once a case.

    Args:
        command: a shell-like command line, run without a shell.
        timeout_s: seconds for one answer.
    """

    def __init__(self, command: str, timeout_s: float = 60.0) -> None:
        self.arguments = shlex.split(command)
        self.timeout_s = timeout_s

    def __call__(self, facts: dict[str, object]) -> list[str]:
        """The program's proposals.

        Raises:
            MemoryBenchmarkError: it cannot be run, fails, is late, or prints something else than a list of strings.
        """
        name = self.arguments[0] if self.arguments else ""
        try:
            done = subprocess.run(
                self.arguments,
                input=json.dumps(facts),
                capture_output=True,
                text=True,
                timeout=self.timeout_s,
                check=True,
            )
            answer = json.loads(done.stdout)
        except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
            raise MemoryBenchmarkError(f"proposer {name!r}: {type(error).__name__}: {error}") from None
        if not isinstance(answer, list) or not all(isinstance(text, str) for text in answer):
            raise MemoryBenchmarkError(f"proposer {name!r}: expected a JSON list of strings, not {done.stdout[:80]!r}")
        return answer
