"""A checker of generated cases, written without the generator: it reads a case's text alone.

It holds its own implementation of every operator, found by the definition in words that the context states, and its own
parsers, edit distance and search for the most similar example. It imports nothing of `memory`.
"""

import itertools
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

Function = Callable[[Any], Any]
ABC = "abcdefghijklmnopqrstuvwxyz"


def place(source: Callable[[int, int], int]) -> Function:
    """An operator that fills place i of n from place source(i, n)."""
    return lambda items: [items[source(i, len(items))] for i in range(len(items))]


def _pair(i: int, n: int) -> int:
    return i if i == n - 1 and n % 2 else i ^ 1


def _half(i: int, n: int) -> int:
    h = n // 2
    return i if n % 2 and i == h else (i + h + n % 2 if i < h else i - h - n % 2)


def _even(i: int, n: int) -> int:
    return 2 * i + 1 if i < n // 2 else 2 * (i - n // 2)


def _ends(i: int, n: int) -> int:
    return {0: n - 1, n - 1: 0}.get(i, i)


def letters(table: str) -> Function:
    """An operator that replaces the i-th letter of the alphabet by the i-th of the table."""
    return lambda items: [table[ABC.find(item)] for item in items]


STRINGS: dict[str, Function] = {
    "write the letters in reverse order": place(lambda i, n: n - 1 - i),
    "move the first letter to the end": place(lambda i, n: (i + 1) % n),
    "move the last two letters to the front": place(lambda i, n: (i - 2) % n),
    "exchange the first and the last letter": place(_ends),
    "exchange the first letter with the second, the third with the fourth, and so on": place(_pair),
    "exchange the first and the last half; a middle letter stays": place(_half),
    "write the letters at even places, then those at odd places": place(_even),
    "keep the first letter and reverse the rest": place(lambda i, n: 0 if i == 0 else n - i),
    "replace every letter by the next one of the alphabet, z by a": letters(ABC[1:] + "a"),
    "replace every letter by the one three places before it, c by z": letters("xyz" + ABC[:-3]),
    "replace a by z, b by y, c by x and so on": letters(ABC[::-1]),
    "write the letters in alphabetical order": lambda items: sorted(items),
}


def _running(items: list[int]) -> list[int]:
    return [sum(items[: i + 1]) for i in range(len(items))]


INTEGERS: dict[str, Function] = {
    "write the numbers in reverse order": place(lambda i, n: n - 1 - i),
    "move the first number to the end": place(lambda i, n: (i + 1) % n),
    "exchange the first and the last number": place(_ends),
    "exchange the first number with the second, the third with the fourth, and so on": place(_pair),
    "exchange the first and the last half; a middle number stays": place(_half),
    "write the numbers at even places, then those at odd places": place(_even),
    "add 1 to every number": lambda items: [x + 1 for x in items],
    "subtract 3 from every number": lambda items: [x - 3 for x in items],
    "subtract every number from 30": lambda items: [30 - x for x in items],
    "double every number": lambda items: [x + x for x in items],
    "keep the first number and replace every other by its difference to the one before it":
        lambda items: [x - (items[i - 1] if i else 0) for i, x in enumerate(items)],
    "replace every number by the sum of all numbers up to it": _running,
    "write the numbers from the smallest to the largest": lambda items: sorted(items),
}  # fmt: skip


# A formula is [left, relation, right]; a side is (prefix, terms, suffix), a term (number, letter or "", power).
WRAPPERS = ((r"\sqrt{", "}"), (r"\sin(", ")"), (r"\frac{1}{", "}"))


def read_side(text: str) -> Any:
    """A side from its text."""
    prefix = suffix = ""
    peeled = True
    while peeled:
        peeled = False
        for opening, closing in WRAPPERS:
            if text.startswith(opening):
                assert text.endswith(closing)
                prefix, suffix = prefix + opening, closing + suffix
                text, peeled = text[len(opening) : -len(closing)], True
    terms = []
    if text != "0":
        pieces = re.findall(r"[+-]?[^+-]+", text)
        assert "".join(pieces) == text
        for piece in pieces:
            number, letter, power = re.fullmatch(r"([+-]?\d*)(?:([a-cx-z])(?:\^\{?(\d+)\}?)?)?", piece).groups()  # type: ignore[union-attr]
            size = int(number + "1") if number in ("", "+", "-") else int(number)
            terms.append((size, letter or "", int(power or 1) if letter else 0))
    return prefix, terms, suffix


def read_formula(text: str) -> Any:
    """A formula from its text."""
    left, relation, right = re.fullmatch(r"([^=<>]+)([=<>])([^=<>]+)", text).groups()  # type: ignore[union-attr]
    return [read_side(left), relation, read_side(right)]


def write_side(side: Any) -> str:
    """The text of a side."""
    prefix, terms, suffix = side
    out = ""
    for number, letter, power in terms:
        digits = f"{number:+d}"
        if letter and abs(number) == 1:
            digits = digits[0]
        exponent = "" if power < 2 else "^" + (str(power) if power < 10 else "{" + str(power) + "}")
        out += digits + letter + exponent
    return prefix + (out.removeprefix("+") or "0") + suffix


def on_terms(change: Callable[[list[Any]], list[Any]]) -> Function:
    """An operator that changes the terms of each side."""
    return lambda f: [(f[0][0], change(f[0][1]), f[0][2]), f[1], (f[2][0], change(f[2][1]), f[2][2])]


def on_each(change: Callable[[int, str, int], tuple[int, str, int] | None]) -> Function:
    """An operator that changes every term by itself; None drops it."""
    return on_terms(lambda terms: [new for term in terms if (new := change(*term))])


def renamed(before: str, after: str) -> Function:
    """An operator that replaces letters."""
    return on_each(lambda c, v, n: (c, v.translate(str.maketrans(before, after)), n))


def _derived(c: int, v: str, n: int) -> tuple[int, str, int] | None:
    return None if n == 0 else (c, "", 0) if n == 1 else (c * n, v, n - 1)


def _traded(f: Any) -> Any:
    (a, p, b), relation, (c, q, d) = f
    if not p or not q:
        return f
    return [(a, [q[0], *p[1:]], b), relation, (c, [p[0], *q[1:]], d)]


def around(where: int, opening: str, closing: str) -> Function:
    """An operator that wraps one side."""

    def wrap(f: Any) -> Any:
        out = list(f)
        prefix, terms, suffix = f[where]
        out[where] = (opening + prefix, terms, suffix + closing)
        return out

    return wrap


LATEX: dict[str, Function] = {
    "replace x by y, y by z, z by x, a by b, b by c and c by a": renamed("xyzabc", "yzxbca"),
    "exchange x with a, y with b and z with c": renamed("xyzabc", "abcxyz"),
    "exchange the two sides and leave the sign between them": lambda f: [f[2], f[1], f[0]],
    "replace = by <, < by > and > by =": lambda f: [f[0], {"=": "<", "<": ">", ">": "="}[f[1]], f[2]],
    "put the left side under a square root": around(0, r"\sqrt{", "}"),
    "take the sine of the right side": around(2, r"\sin(", ")"),
    "put the right side under a fraction bar below 1": around(2, r"\frac{1}{", "}"),
    "replace every term by its derivative; plain numbers vanish, and a side without terms is 0": on_each(_derived),
    "raise the power of every letter by one": on_each(lambda c, v, n: (c, v, n + 1 if v else 0)),
    "change the sign of every term": on_each(lambda c, v, n: (-c, v, n)),
    "double every term": on_each(lambda c, v, n: (c + c, v, n)),
    "write the terms of each side in reverse order": on_terms(lambda terms: list(reversed(terms))),
    "exchange the first terms of the two sides": _traded,
}
DOMAINS: dict[str, tuple[dict[str, Function], Callable[[str], Any], Callable[[Any], str], str]] = {
    "strings": (STRINGS, list, "".join, r"[a-z]+"),
    "integers": (INTEGERS, lambda t: [int(x) for x in t.split()], lambda v: " ".join(map(str, v)), r"-?\d+(?: -?\d+)+"),
    "latex": (LATEX, read_formula, lambda f: write_side(f[0]) + f[1] + write_side(f[2]), r"[-+\d=<>^{}()\\a-z]+"),
}


def distance(left: Iterable[Any], right: Iterable[Any]) -> int:
    """Levenshtein's distance by its recursive definition."""
    a, b = tuple(left), tuple(right)

    @cache
    def d(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + (a[i - 1] != b[j - 1]))

    return d(len(a), len(b))


class Checker:
    """Checks the cases of one file.

    Args:
        head: the file's `domain`, `task`, `K`, `editK` and `M`.
        similarity: for LaTeX, the similarities of texts to a text; by edit distance elsewhere.
        canonical: the form in which answers are compared.
    """

    def __init__(
        self, head: dict[str, Any], similarity: Callable[[str, list[str]], Any] | None, canonical: Callable[[str], str]
    ) -> None:
        self.head, self.similarity, self.canonical = head, similarity, canonical
        self.functions, self.read, self.write, self.form = DOMAINS[head["domain"]]

    def run(self, words: Iterable[str], meaning: dict[str, Function], text: str) -> str:
        """The text after the rules of these words."""
        value = self.read(text)
        for word in words:
            value = meaning[word](value)
        return self.write(value)

    def check(self, case: dict[str, Any], shown: bool = False) -> None:
        """Raise AssertionError where the case is not what its file says."""
        old, new, examples = self._read_context(case["context"])
        head = self.head
        assert len(examples) == head["M"]
        assert sum(old[word] is not new[word] for word in old) == (head["editK"] or 0)
        words, rest = case["query"].split(": ", 1)
        query = words.split()
        text = rest.removesuffix(" ->")
        assert len(query) == (head["K"] or 1)
        inputs = [example[1] for example in examples]
        assert len(set(inputs)) == len(inputs)
        assert (text in inputs) == shown
        others = [example for example in examples if example[1] != text]
        options = {option["type"]: option["text"] for option in case["options"]}
        assert [option["label"] for option in case["options"]] == list("ABCD"[: len(options)])
        assert next(o["type"] for o in case["options"] if o["label"] == case["answer"]) == "correct"
        forms = [self.canonical(option["text"]) for option in case["options"]]
        assert len(set(forms)) == len(forms)
        assert self.canonical(text) not in forms
        for option in options.values():
            assert re.fullmatch(self.form, option)
        assert max(map(len, options.values())) <= 2 * min(map(len, options.values())) + 6
        self._check_kinds(options, query, text, old, new, others)

    def _read_context(
        self, context: str
    ) -> tuple[dict[str, Function], dict[str, Function], list[tuple[str, str, str]]]:
        """Definitions before and after the revision, and the examples, each recomputed under those in force."""
        lines = context.split("\n")[1:]
        old: dict[str, Function] = {}
        new: dict[str, Function] = {}
        examples = []
        revised = False
        for line in lines:
            if line.startswith("Revision:"):
                revised = True
            elif " -> " in line:
                name, rest = line.split(": ", 1)
                left, right = rest.split(" -> ")
                assert self.run(name.split(), new, left) == right, line
                examples.append((name, left, right))
            elif line != "Examples:":
                name, words = line.split(": ", 1)
                function = self.functions[words.removesuffix(".")]
                assert (name in old) == revised
                if not revised:
                    old[name] = function
                new[name] = function
        return old, new, examples

    def _check_kinds(
        self, options: dict[str, str], query: list[str], text: str, old: dict[str, Function], new: dict[str, Function],
        examples: list[tuple[str, str, str]],
    ) -> None:  # fmt: skip
        task = self.head["task"]
        assert options["correct"] == self.run(query, new, text)
        expected = {
            "MemoryRet": {"correct", "retrieval_similar", "random_wrong"},
            "MemoryCom": {"correct", "surface_similar", "wrong_rule", "random_wrong"},
            "MemoryRev": {"correct", "retrieval_similar", "old_rule", "random_wrong"},
        }
        assert set(options) == expected[task]
        similar = options["surface_similar" if task == "MemoryCom" else "retrieval_similar"]
        assert similar == self._most_similar(text, examples)
        if task == "MemoryCom":
            orders = {self.run(order, new, text) for order in itertools.permutations(query)}
            assert options["wrong_rule"] in orders - {options["correct"]}
        if task == "MemoryRev":
            assert options["old_rule"] == self.run(query, old, text)
        steps = [new[word] for word in query]
        wrong = set()
        for i in range(len(steps)):
            for other in self.functions.values():
                value = self.read(text)
                for step in [*steps[:i], other, *steps[i + 1 :]]:
                    value = step(value)
                wrong.add(self.write(value))
        assert options["random_wrong"] in wrong - {options["correct"]}

    def _most_similar(self, text: str, examples: list[tuple[str, str, str]]) -> str:
        """The output of the only most similar example."""
        if self.similarity is not None:
            scores = [float(score) for score in self.similarity(text, [example[1] for example in examples])]
        else:
            split = (lambda t: t.split()) if self.head["domain"] == "integers" else list
            scores = [-float(distance(split(text), split(example[1]))) for example in examples]
        best = [example for example, score in zip(examples, scores, strict=True) if score == max(scores)]
        assert len(best) == 1
        return best[0][2]
