"""What the index keeps, from the number of groups and the bytes left. Pure arithmetic; obeyed by the build.

Exact form: every group's vector in float16, its id, and its n-grams. Where room is short the graph's links go first
(a query is then compared with every vector), next the n-grams that few groups have, then all n-grams. A collection
whose vectors do not fit is for ``plan_coded``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from index import bits, nodes
from index.errors import PlanError

PREPARED = 34 << 20  # bytes of submission and index together (the contract)
RESERVE = 16 << 10  # bytes of the index kept for the file's head and section table
# A feature is kept if this many groups have it. Of 100,000 groups, 2 gives nDCG' .948 / .901, 8 .924 / .895.
LEAST_GROUPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
# Bytes a group of n-grams for each of LEAST_GROUPS, a guess until the features are there: 1, 2, 8 and 32 measured on
# arqmath-mini, the others between them.
LEXICAL_GUESS = {1: 205, 2: 170, 3: 157, 4: 147, 6: 134, 8: 125, 12: 114, 16: 107, 24: 97, 32: 90}


@dataclass
class Plan:
    """What to keep.

    Attributes:
        form: "exact" or "coded".
        groups: visual groups in the index.
        dim: numbers a vector.
        budget: bytes the index may take.
        graph: the graph's links are kept.
        least: n-grams that this many groups have are kept; 0 for none.
        bytes: expected bytes by part.
        reasons: one sentence a decision.
        nodes: of the coded form, as many as asked for.
        names: of the coded form, bits of each named n-gram (``codes.Layout``).
        parts: of the coded form, [parts, bits] of the product stage.
    """

    form: str
    groups: int
    dim: int
    budget: int
    graph: bool
    least: int
    bytes: dict[str, int] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    nodes: int = 0
    names: list[int] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The plan as the index's head keeps it."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The plan for people."""
        total = sum(self.bytes.values())
        parts = ", ".join(f"{name} {count:,}" for name, count in self.bytes.items())
        return [
            f"plan: {self.form} form, {self.groups:,} groups, {self.dim}-d, {total:,} of {self.budget:,} bytes",
            f"plan: bytes: {parts}",
            *(f"plan: {reason}" for reason in self.reasons),
        ]


def lexical_guess(groups: int) -> dict[int, int]:
    """Expected bytes of the n-grams for each of ``LEAST_GROUPS``, before they are known."""
    return {least: count * groups for least, count in LEXICAL_GUESS.items()}


def decide(groups: int, dim: int, budget: int, ids: int, lexical: Mapping[int, int], node_count: int = 0) -> Plan:
    """Choose what to keep.

    Args:
        groups: visual groups, at least 1.
        dim: numbers a vector.
        budget: bytes the index may take.
        ids: bytes of the coded ids.
        lexical: bytes of the n-grams for each of ``LEAST_GROUPS``: a guess first, measured later.
        node_count: distinct vectors; as many as groups until they are known.

    Returns:
        The plan.

    Raises:
        PlanError: vectors and ids alone do not fit.
    """
    count = node_count or groups
    links = nodes.MEAN_LINKS * count
    parts = {
        "vectors": 2 * dim * count,
        "ids": ids,
        "members": (groups * (count - 1).bit_length() + 7) // 8,
        "head": RESERVE,
    }
    left = budget - sum(parts.values())
    if left < 0:
        raise PlanError(
            f"the collection is too large for the exact form: {groups:,} groups take {budget - left:,} bytes, "
            f"{max(0, budget):,} are left"
        )
    plan = Plan("exact", groups, dim, budget, False, 0, parts)
    plan.reasons.append(f"vectors are kept exactly: {parts['vectors']:,} bytes fit")
    for least in LEAST_GROUPS:
        if lexical[least] <= left:
            plan.least, parts["lexical"] = least, lexical[least]
            left -= lexical[least]
            what = "all n-grams are kept" if least == 1 else f"n-grams of fewer than {least} groups are dropped"
            plan.reasons.append(f"{what}: {lexical[least]:,} bytes fit")
            break
    else:
        plan.reasons.append(f"n-grams are dropped: {lexical[LEAST_GROUPS[-1]]:,} bytes do not fit the {left:,} left")
    graph = bits.ascending_size(links, count * count) + count // 2
    plan.graph = graph <= left
    if plan.graph:
        parts["graph"] = graph
        plan.reasons.append(f"the graph's links are kept: {graph:,} bytes fit, loading is quick")
    else:
        plan.reasons.append(
            f"queries are compared with all vectors: the graph's {graph:,} bytes do not fit the {left:,} left"
        )
    return plan
