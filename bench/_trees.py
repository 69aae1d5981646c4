r"""Operator trees and layout trees of canonical formulas, their paths, and the edit distance of two trees.

What ``bench.signals`` measures structure with; nothing here is part of building or serving. The canonical tokens
(``encoder.latex``, ``encoder.structure``) already say where arguments, scripts and groups stand; ``operator_tree`` adds
the precedence of infix operators, a guess where mathematics is ambiguous (``f(x)`` applies ``f``, ``2(x)`` multiplies).
Any token sequence gives a tree, balanced or not. Worked example::

    >>> show(operator_tree(r"a + \frac b 2 = x ^ 2".split()))
    '=(+(a \\frac(b 2)) ^(x 2))'
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from encoder.spelling import ARGUMENTS, FUNCTIONS, VARIABLES

COMMAS = frozenset(r", ; : \dots \\ &".split())
RELATIONS = frozenset(
    r"""= \ne < > \le \ge \in \notin \ni \subset \subseteq \supset \supseteq \to \mapsto \Rightarrow \Leftarrow
        \Leftrightarrow \leftarrow \leftrightarrow \rightarrow \sim \simeq \approx \cong \equiv \propto \ll \gg \prec
        \preceq \vdash \vDash \models | \perp \nmid""".split()
)
SUMS = frozenset(r"+ - \pm \mp \cup \cap \lor \land \oplus \setminus".split())
PRODUCTS = frozenset(r"\cdot \times * \otimes \circ".split())
QUOTIENTS = frozenset(r"/ \div".split())
LARGE = frozenset(
    r"\sum \prod \int \iint \iiint \oint \lim \bigcup \bigcap \limsup \liminf \max \min \sup \inf".split()
)
NAMED = frozenset("\\" + name for name in FUNCTIONS) - LARGE
CLOSERS = {"(": ")", "[": "]", r"\{": r"\}", r"\begin{matrix}": r"\end{matrix}", r"\lfloor": r"\rfloor",
           r"\lceil": r"\rceil", r"\langle": r"\rangle"}  # fmt: skip
ORDERED = frozenset(["^", "_", r"\frac", r"\binom", r"\root", "apply", *RELATIONS, *LARGE]) - {"=", r"\ne"}
"""Operators whose paths say which argument they pass through."""

PLACES = 16  # renamed variables that keep a place-holder of their own, as in ``encoder.ngrams``


class Tree(NamedTuple):
    """A label and the trees below it, first to last."""

    label: str
    below: tuple[Tree, ...] = ()


def show(tree: Tree) -> str:
    """A tree as text."""
    return tree.label + (f"({' '.join(map(show, tree.below))})" if tree.below else "")


class Reader:
    """Reads tokens into nested rows of items; the rows become operator trees or layout trees."""

    def __init__(self, tokens: list[str], operators: bool) -> None:
        self.tokens, self.at, self.operators = tokens, 0, operators

    def row(self, closer: str = "") -> Tree:
        """Read up to the closing token, or to the end, and combine what stands there."""
        items: list[Tree] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token == closer:
                self.at += 1
                break
            self.at += 1
            if token == "}":
                continue  # a stray one
            if token in "^_":
                base = items.pop() if items else Tree("")
                items.append(Tree(token, (base, self.argument())))
            elif token.isdigit() and items and items[-1].label.isdigit():
                items[-1] = Tree(items[-1].label + token)
            else:
                items.append(self.item(token))
        return combine(items) if self.operators else chain(items)

    def argument(self) -> Tree:
        """The next token, with its own arguments, or the next group."""
        if self.at >= len(self.tokens):
            return Tree("")
        self.at += 1
        return self.item(self.tokens[self.at - 1])

    def item(self, token: str) -> Tree:
        """A token that has been read, with what belongs to it."""
        if token == "{":
            return self.row("}")
        if token in ARGUMENTS:
            return Tree(token, tuple(self.argument() for _ in range(ARGUMENTS[token])))
        if token in CLOSERS and CLOSERS[token] in self.tokens[self.at :]:
            return Tree(token, (self.row(CLOSERS[token]),))
        return Tree(token)


def operator_tree(tokens: list[str]) -> Tree:
    """Operators above their operands; a product without a sign is ``times``."""
    return Reader(tokens, True).row()


def layout_tree(tokens: list[str]) -> Tree:
    """Rows of symbols as typed, one below ``row``; scripts above their base, arguments below their command."""
    return Reader(tokens, False).row()


def chain(items: list[Tree]) -> Tree:
    """A row as a layout tree."""
    return items[0] if len(items) == 1 else Tree("row", tuple(items))


def combine(items: list[Tree]) -> Tree:
    """A row as an operator tree, loosest operators first."""
    for family, label in ((COMMAS, ","), (RELATIONS, ""), (SUMS, "+")):
        places = [i for i, item in enumerate(items) if item.label in family and not item.below]
        if places and family is RELATIONS:
            first = places[0]
            sides = (items[:first], items[first + 1 :])
            return Tree(items[first].label, tuple(combine(side) for side in sides if side))
        if places:
            return _listed(items, places, label)
    return _product(items)


def _listed(items: list[Tree], places: list[int], label: str) -> Tree:
    """Operands between operators of one family; a minus is an operator above the operand behind it."""
    parts = []
    for start, end in zip([-1, *places], [*places, len(items)], strict=True):
        if items[start + 1 : end]:
            part = combine(items[start + 1 : end])
            sign = items[start].label if start >= 0 else "+"
            parts.append(part if sign in COMMAS or sign == "+" else Tree(sign, (part,)))
    return parts[0] if len(parts) == 1 else Tree(label, tuple(parts))


def _base(item: Tree) -> Tree:
    """What carries the scripts of an item."""
    while item.label in ("^", "_") and item.below:
        item = item.below[0]
    return item


def _product(items: list[Tree]) -> Tree:
    """A row without looser operators: large operators reach to its end, functions over the next item."""
    factors: list[Tree] = []
    at = 0
    while at < len(items):
        item, base = items[at], _base(items[at])
        at += 1
        follows = items[at] if at < len(items) else None
        if base.label in LARGE and follows is not None:
            factors.append(Tree(base.label, (item, _product(items[at:]))))
            break
        if follows is not None and _applies(base.label, _base(follows).label):
            factors.append(Tree("apply", (item, follows)))
            at += 1
        elif item.label in QUOTIENTS and not item.below and factors and follows is not None:
            factors[-1] = Tree(r"\frac", (factors[-1], follows))
            at += 1
        elif item.label not in PRODUCTS or item.below:
            factors.append(item)
    return factors[0] if len(factors) == 1 else Tree("times", tuple(factors))


def _applies(label: str, follows: str) -> bool:
    return label in NAMED or (label in VARIABLES and follows == "(")


def renamed(tokens: list[str]) -> list[str]:
    """Variables by place-holders ``?0``, ``?1``, ... in order of first occurrence."""
    places: dict[str, str] = {}
    return [places.setdefault(t, f"?{min(len(places), PLACES - 1)}") if t in VARIABLES else t for t in tokens]


def renamed_tree(tree: Tree, places: dict[str, str] | None = None) -> Tree:
    """The same tree with its variables by place-holders, in the order of the leaves."""
    known: dict[str, str] = {} if places is None else places
    below = tuple(renamed_tree(t, known) for t in tree.below)
    if tree.label not in VARIABLES:
        return Tree(tree.label, below)
    return Tree(known.setdefault(tree.label, f"?{min(len(known), PLACES - 1)}"), below)


def paths(tree: Tree, longest: int, inner: bool) -> Iterator[tuple[str, ...]]:
    """Labels from a leaf (with ``inner``, from any node) upwards, 2 to ``longest`` nodes; the root's parent is ``$``.

    An ordered operator carries the number of the argument that the path comes through.
    """
    stack: list[tuple[Tree, tuple[str, ...]]] = [(tree, ("$",))]
    while stack:
        node, above = stack.pop()
        if inner or not node.below:
            for length in range(1, min(longest, len(above) + 1)):
                yield (node.label, *above[:length])
        for number, child in enumerate(node.below):
            step = f"{node.label}#{number}" if node.label in ORDERED else node.label
            stack.append((child, (step, *above[: longest - 2])))


def subtrees(tree: Tree) -> Iterator[str]:
    """Every subtree as text, its variables renamed on their own."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield show(renamed_tree(node))
        stack += node.below


class Flat(NamedTuple):
    """A tree for ``distance``: labels in postorder, each node's leftmost leaf, and the key roots."""

    labels: list[str]
    left: list[int]
    keys: list[int]


def flatten(tree: Tree) -> Flat:
    """Postorder of a tree, see ``Flat``."""
    labels: list[str] = []
    left: list[int] = []

    def visit(node: Tree) -> int:
        first = -1
        for child in node.below:
            leaf = visit(child)
            first = leaf if first < 0 else first
        labels.append(node.label)
        left.append(len(labels) - 1 if first < 0 else first)
        return left[-1]

    visit(tree)
    return Flat(labels, left, sorted({leaf: i for i, leaf in enumerate(left)}.values()))


def distance(a: Flat, b: Flat, variable: float = 1.0) -> float:
    """Tree edit distance (Zhang and Shasha, SIAM J. Computing 18(6), 1989): insert, delete and relabel cost 1.

    Args:
        a: one tree.
        b: the other.
        variable: what it costs to relabel a variable by another.
    """
    cost = [[_relabel(x, y, variable) for y in b.labels] for x in a.labels]
    trees = [[0.0] * len(b.labels) for _ in a.labels]
    for i in a.keys:
        for j in b.keys:
            _forests(a.left, b.left, i, j, cost, trees)
    return trees[-1][-1]


def _relabel(x: str, y: str, variable: float) -> float:
    if x == y:
        return 0.0
    return variable if x in VARIABLES and y in VARIABLES else 1.0


def _forests(
    left_a: list[int], left_b: list[int], i: int, j: int, cost: list[list[float]], trees: list[list[float]]
) -> None:
    """Distances of the forests below two key roots; those of whole subtrees go into ``trees``."""
    first_a, first_b = left_a[i], left_b[j]
    before = [float(n) for n in range(j - first_b + 2)]
    table = [before]
    for x in range(first_a, i + 1):
        row = [before[0] + 1]
        whole_a, jump = left_a[x] == first_a, table[left_a[x] - first_a]
        cost_x, trees_x = cost[x], trees[x]
        for y in range(first_b, j + 1):
            at = y - first_b
            best = min(before[at + 1], row[at]) + 1
            if whole_a and left_b[y] == first_b:
                best = min(best, before[at] + cost_x[y])
                trees_x[y] = best
            else:
                best = min(best, jump[left_b[y] - first_b] + trees_x[y])
            row.append(best)
        table.append(row)
        before = row
