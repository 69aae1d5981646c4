"""What ``bench.signals`` prints below its table: relevance among thread mates, same tokens in another order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

from bench import _trees as trees
from bench._similarities import RARE
from bench.scale import YEARS, Task, top
from evaluation.metrics import RELEVANT

BANDS = ((10, 50), (50, 200), (200, 1000))  # ranks compared with one another
ALIKE, CLOSE = 0.7, 0.05  # token cosine that shares most tokens, and a difference that is none


def thread_odds(task: Task, base: np.ndarray, member: sp.csr_matrix) -> Iterator[str]:
    """Are judged formulas that share a thread with one of the ten best relevant more often, at equal ranks?"""
    rare = np.asarray(member.sum(axis=1)).ravel() <= RARE
    counts: dict[tuple[int, int, bool], list[int]] = defaultdict(list)
    for (year, name, _), row in zip(task.queries, base, strict=True):
        order = top(row)
        first = member[order[:10][rare[order[:10]]]].sum(axis=0)
        mate = np.asarray(member @ np.asarray(first).ravel()).ravel() > 0
        grades = task.qrels[year][name]
        for low, high in BANDS:
            for p in order[low:high]:
                if rare[p] and task.groups[p] in grades:
                    counts[year, low, bool(mate[p])].append(grades[task.groups[p]] >= RELEVANT)
    for year in YEARS:
        for low, high in BANDS:
            parts = [f"{np.mean(c):.2f} of {len(c)}" if (c := counts[year, low, m]) else "none" for m in (True, False)]
            yield f"- {year}, ranks {low + 1} to {high}: relevant {parts[0]} thread mates, {parts[1]} others"


def order_pairs(tokens: list[list[str]], similar: Callable[[int, int], float], seed: int = 0) -> list[str]:
    """The base's similarity of formulas with the same tokens in another order, against consistently renamed ones."""
    bags: dict[tuple, list[int]] = defaultdict(list)
    shapes: dict[tuple, list[int]] = defaultdict(list)
    keys = []
    for i, some in enumerate(tokens):
        plain = tuple(sorted(t for t in some if t not in "{}"))
        keys.append((plain, tuple(some), tuple(trees.renamed(some))))
        if len(plain) >= 4:
            bags[plain].append(i)
            shapes[keys[-1][2]].append(i)
    rng = np.random.default_rng(seed)
    shuffled, pairs, wrong, ties = [], 0, 0, 0
    for bag, inside in bags.items():
        for i in inside:
            moved = [j for j in inside if keys[j][2] != keys[i][2]]
            same = [j for j in shapes[keys[i][2]] if keys[j][0] != bag]
            pairs += len(moved)
            if moved:
                shuffled.append(similar(i, int(rng.choice(moved))))
            if moved and same:
                other = similar(i, int(rng.choice(same)))
                ties += 1
                wrong += shuffled[-1] >= other
    spread = " / ".join(f"{v:.2f}" for v in np.percentile(shuffled, (10, 50, 90))) if shuffled else "none"
    return [
        f"- same tokens, other structure even when renamed: {pairs // 2:,} pairs of groups; base similarity of "
        f"{len(shuffled):,} formulas to a random one of theirs, percentiles 10 / 50 / 90: {spread}",
        f"- of {ties:,} formulas that have both, {wrong:,} lie nearer to such a one than to a consistently renamed one",
    ]


def pair_accuracy(task: Task, tokens: np.ndarray, rankings: dict[str, np.ndarray]) -> Iterator[str]:
    """Judged formulas that share most tokens equally: how often does a ranking put the more relevant one first?"""
    right: Counter[str] = Counter()
    total = 0
    place = {g: i for i, g in enumerate(task.groups)}
    for q, (year, name, _) in enumerate(task.queries):
        judged = [(place[g], grade) for g, grade in task.qrels[year][name].items() if g in place]
        alike = [(p, grade) for p, grade in judged if tokens[q, p] >= ALIKE]
        for p, better in alike:
            for other, worse in alike:
                if better > worse and abs(tokens[q, p] - tokens[q, other]) < CLOSE:
                    total += 1
                    right.update(n for n, s in rankings.items() if s[q, p] > s[q, other])
    for name in rankings:
        yield f"- {name}: {right[name] / max(total, 1):.3f} of {total} pairs in the right order"
