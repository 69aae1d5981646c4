"""What the index of a large collection keeps: how many nodes, which groups, how their bits are spent. Pure arithmetic.

Chosen when exact vectors do not fit (``plan``). The order of decisions follows what was measured (docs/index.md): nodes
first, as many as a small share of the bytes carries; groups that stand in comments alone go if they leave the others
too few bits; names of n-grams before residuals of the vector; last, the groups with fewest instances go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from index import grams, ids
from index.codes import Layout
from index.errors import PlanError
from index.plan import RESERVE, Plan
from index.sample import SIZE

NODE_SHARE = 7  # nodes take at most one byte in 7
MOST_NODES, LEAST_NODES = 65_536, 256
GROUPS_A_NODE = 8  # at least, in the mean
SAMPLE_A_NODE = 3
ENOUGH = 12  # code bits a group below which groups in comments alone are dropped
FEWEST = 6  # code bits a group below which groups with few instances are dropped
NAME_BITS = (FEWEST, 14)
PARTED_NAME = 10  # bits of a name that has a residual after it
PARTS = ((1, 8), (1, 10), (1, 12), (2, 8), (2, 10), (4, 7), (4, 8), (4, 10), (8, 7), (8, 8), (8, 10), (16, 7), (16, 8),
         (16, 10), (32, 7), (32, 8), (64, 7), (64, 8))  # fmt: skip


@dataclass(frozen=True)
class Kinds:
    """The groups of a collection as the plan sees them.

    Attributes:
        instances: int (groups,), returnable instances.
        comment_only: bool (groups,).
        span: numbers in the stretches of the id range that are in use (``ids.stretches``).
        last: the largest id.
    """

    instances: np.ndarray
    comment_only: np.ndarray
    span: int
    last: int

    def members(self, groups: int, nodes: int) -> int:
        """Bytes of node and id together of so many of them, at most."""
        return ids.members_size(groups, nodes, self.span, self.last)


def layouts(dim: int) -> list[Layout]:
    """The layouts that a plan chooses from, by ascending bits: the name grows, then what is left of the vector."""
    found = [Layout((bits,)) for bits in range(NAME_BITS[0], NAME_BITS[1] + 1)]
    return found + [Layout((PARTED_NAME,), parts, bits) for parts, bits in PARTS if dim % parts == 0]


def fixed_bytes(nodes: int, dim: int, layout: Layout) -> int:
    """Bytes that do not grow with the groups: nodes, codebooks, dictionary, head."""
    books = sum(2 * dim << bits for bits in layout.names) + (layout.parts > 0) * (2 * dim << layout.part_bits)
    return _node_bytes(nodes, dim) + books + 4 * grams.SIZE + RESERVE


def _node_bytes(nodes: int, dim: int) -> int:
    """Bytes of the nodes: a byte a number and one of length, and the steps of the numbers."""
    return (dim + 1) * nodes + 8 * dim


def code_bytes(groups: int, layout: Layout) -> int:
    """Bytes of the codes of so many groups."""
    return sum((groups * width + 7) // 8 for width in layout.widths)


def decide(kinds: Kinds, dim: int, budget: int) -> tuple[Plan, np.ndarray]:
    """Choose what to keep.

    Args:
        kinds: the collection's groups.
        dim: numbers a vector.
        budget: bytes the index may take.

    Returns:
        The plan and the places of the groups that it keeps, ascending int64.

    Raises:
        PlanError: not even the smallest form of a single group fits.
    """
    total = len(kinds.instances)
    keep = np.arange(total)
    count = _node_count(total, dim, budget)
    choice = _richest(kinds, total, count, dim, budget)
    reasons = []
    dropped = int(kinds.comment_only.sum())
    if dropped and (choice is None or choice.bits < ENOUGH) and dropped < total:
        keep = np.flatnonzero(~kinds.comment_only)
        choice = _richest(kinds, len(keep), count, dim, budget)
        if choice is not None:  # only as far as the bytes demand: a bit more a group would be megabytes
            alone = np.flatnonzero(kinds.comment_only)
            spare = _fitting(kinds, total, count, dim, budget, choice) - len(keep)
            back = alone[np.argsort(-kinds.instances[alone], kind="stable")[:spare]]
            keep = np.sort(np.concatenate((keep, back)))
            dropped = total - len(keep)
        if dropped:
            reasons.append(
                f"{dropped:,} groups in comments alone are dropped: with them a code has under {ENOUGH} bits"
            )
    if choice is None:
        layout = Layout((FEWEST,))
        size = _fitting(kinds, len(keep), count, dim, budget, layout)
        if not size:
            raise PlanError(f"the collection does not fit: {budget:,} bytes are left, the smallest index takes more")
        likeliest = keep[np.argsort(-kinds.instances[keep], kind="stable")[:size]]
        reasons.append(f"{len(keep) - size:,} groups with the fewest instances are dropped: a code has {FEWEST} bits")
        keep, choice = np.sort(likeliest), layout
    plan = Plan("coded", len(keep), dim, budget, False, 0, _parts(kinds, len(keep), count, dim, choice), reasons)
    plan.nodes, plan.names, plan.parts = count, list(choice.names), [choice.parts, choice.part_bits]
    plan.reasons.insert(0, f"vectors do not fit: a group has one of {count:,} nodes and {choice.bits} bits of code")
    what = " and ".join(f"{bits} bits" for bits in choice.names)
    rest = f", {choice.parts} x {choice.part_bits} bits of residual" if choice.parts else ""
    plan.reasons.append(f"codes: a named n-gram of {what}{rest}")
    return plan, keep


def _node_count(groups: int, dim: int, budget: int) -> int:
    """The largest power of two that the bytes and the groups allow."""
    most = min(MOST_NODES, budget // NODE_SHARE // (dim + 1), groups // GROUPS_A_NODE, SIZE // SAMPLE_A_NODE)
    return max(LEAST_NODES, 1 << max(0, int(most).bit_length() - 1)) if most >= LEAST_NODES else LEAST_NODES


def _richest(kinds: Kinds, groups: int, nodes: int, dim: int, budget: int) -> Layout | None:
    """The layout with most bits that fits, or None."""
    left = budget - kinds.members(groups, nodes)
    fitting = [
        layout for layout in layouts(dim) if fixed_bytes(nodes, dim, layout) + code_bytes(groups, layout) <= left
    ]
    return fitting[-1] if fitting else None


def _fitting(kinds: Kinds, groups: int, nodes: int, dim: int, budget: int, layout: Layout) -> int:
    """How many groups fit, by bisection."""
    low, high = 0, groups
    while low < high:
        middle = (low + high + 1) // 2
        growing = kinds.members(middle, nodes) + code_bytes(middle, layout)
        fits = fixed_bytes(nodes, dim, layout) + growing <= budget
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _parts(kinds: Kinds, groups: int, nodes: int, dim: int, layout: Layout) -> dict[str, int]:
    """Expected bytes by part."""
    everything = fixed_bytes(nodes, dim, layout)
    return {
        "nodes": _node_bytes(nodes, dim),
        "ids": kinds.members(groups, nodes),
        "codes": code_bytes(groups, layout),
        "books": everything - _node_bytes(nodes, dim) - 4 * grams.SIZE - RESERVE,
        "dictionary": 4 * grams.SIZE,
        "head": RESERVE,
    }
