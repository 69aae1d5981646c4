"""How often a formula of the collection, typed again as it stands, is among its own first answers.

    python -m bench.known --data DIR --index DIR [--groups 400]

The groups are those with the smallest hashes that stand not in comments alone, so every run and every index is asked
for the same. A group is found at the first answer that is one of its instances. Reads the whole collection once.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from encoder.model import WEIGHTS
from index.coded import CodedIndex
from index.corpus import COMMENT, Corpus
from index.sample import mixed
from index.search import Index

DEPTH = 1000
RANKS = (1, 3, 10, 30, 100, DEPTH)


@dataclass
class Known:
    """A group: its first formula, its instances' ids, whether it stands in more than comments."""

    formula: str
    ids: set[str] = field(default_factory=set)
    posted: bool = False


def chosen(data: Path, count: int) -> list[Known]:
    """At most ``count`` groups that stand in more than comments, those with the smallest hashes."""
    groups: dict[int, Known] = {}
    limit = (1 << 64) - 1
    for chunk in Corpus(data).chunks():
        hashes = mixed(chunk.visual)
        for row in np.flatnonzero((hashes <= np.uint64(limit)) & ~chunk.withheld).tolist():
            group = groups.setdefault(int(hashes[row]), Known(chunk.formulas[row]))
            group.ids.add(str(chunk.ids[row]))
            group.posted |= bool(chunk.kinds[row] != COMMENT)
        if len(groups) > 4 * count:  # most groups are posted, so twice as many hold enough
            limit = sorted(groups)[2 * count - 1]
            groups = {key: group for key, group in groups.items() if key <= limit}
    return [groups[key] for key in sorted(groups) if groups[key].posted][:count]


def place(index: Index | CodedIndex, group: Known) -> float:
    """How many answers come before the group's own; infinite if it is not among the first 1,000."""
    answer = index.search(group.formula, DEPTH)
    return next((float(n) for n, (number, _) in enumerate(answer) if number in group.ids), float("inf"))


def main(argv: list[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=WEIGHTS)
    parser.add_argument("--groups", type=int, default=400)
    a = parser.parse_args(argv)
    index = Index.open(a.index, a.model)
    places = np.array([place(index, group) for group in chosen(a.data, a.groups)])
    print(f"{len(places):,} groups asked for of {index.size:,} kept\n| among the first | share |\n|---|---|")
    for rank in RANKS:
        print(f"| {rank:,} | {np.mean(places < rank):.3f} |")
    print(f"mean reciprocal rank {np.mean(1 / (places + 1)):.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
