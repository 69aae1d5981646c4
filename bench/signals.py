"""What could a student learn from: similarities that rank arqmath-mini better when mixed into the training target.

    python -m bench.signals --work WORK --teacher DIR [--shared ../shared] [--only PART ...]

A distilled student ranks no better than its target similarity, so each candidate is measured as a ranking by itself and
mixed into the base of ``training.distil``: .3 of the teacher's cosine, .7 of the n-gram cosine. WORK is what
``training.prepare`` made or any folder: the teacher's vectors of the collection (``teacher-0.npy``, as prepare keeps
them) and of the queries are read from it, or else made with ``--teacher`` (about 5 minutes) and kept there. Prints a
markdown table: nDCG' of both years, their mean, the difference from the base by year; over all 88 queries wins, losses
and p of the paired test; and the differences by year once more, each without its most changed query, since a single one
can move a year by .01. Beside the teacher it takes 3 minutes of one idle core. Judgments are used for scoring only, but
whoever picks the best of so many rows has used them: a signal counts if it helps both years, with and without those
queries.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from bench import _trees as trees
from bench._evidence import order_pairs, pair_accuracy, thread_odds
from bench._similarities import (
    RERANKED,
    cosines,
    edits,
    mates_best,
    mates_mean,
    members,
    overlap,
    path_features,
    reranked,
    weigh,
)
from bench.scale import YEARS, Scores, Task, top
from encoder import vocabulary
from encoder.latex import canonical
from encoder.model import WEIGHTS
from evaluation.compare import compare
from evaluation.metrics import means
from training import corpus as corpora
from training.distil import TEACHER_WEIGHT
from training.prepare import Teacher

MIXED = (0.1, 0.2, 0.3)  # weights of a candidate in the mixture


class Table:
    """Prints rows against the base."""

    def __init__(self, task: Task, base: np.ndarray) -> None:
        self.task, self.base = task, task.score(map(top, base))
        print(
            "| similarity | 2020 | 2021 | mean | 2020 - base | 2021 - base | wins / losses, p | less the most changed |"
        )
        print("|---|---|---|---|---|---|---|---|")

    def row(self, name: str, scores: np.ndarray) -> None:
        """Score float32 (queries, formulas)."""
        result = self.task.score(map(top, scores))
        ours = [means(result[y])["ndcg"] for y in YEARS]
        changes = [np.array([s.ndcg - self.base[y][q].ndcg for q, s in result[y].items()]) for y in YEARS]
        cells = [f"{v:.4f}" for v in (*ours, sum(ours) / len(YEARS))] + [f"{c.mean():+.4f}" for c in changes]
        c = compare(_flat(result), _flat(self.base), permutations=10_000)
        trimmed = " / ".join(f"{without_largest(change):+.4f}" for change in changes)
        print(f"| {name} | {' | '.join(cells)} | {c.wins} / {c.losses}, {c.p:.3f} | {trimmed} |", flush=True)

    def mixtures(self, name: str, base: np.ndarray, scores: np.ndarray, weights: Iterable[float] = MIXED) -> None:
        """The base and a candidate at several weights."""
        for weight in weights:
            self.row(f"{1 - weight:g} base + {weight:g} {name}", (1 - weight) * base + weight * scores)


def _flat(result: dict[int, Scores]) -> dict[str, float]:
    return {f"{y} {q}": s.ndcg for y in YEARS for q, s in result[y].items()}


def without_largest(changes: np.ndarray) -> float:
    """Mean without the value farthest from 0."""
    return float(np.delete(changes, np.abs(changes).argmax()).mean())


def teacher_vectors(work: Path, folder: Path | None, name: str, formulas: list[str]) -> np.ndarray:
    """The teacher's unit vectors, float32 (n, 384); kept in ``work``.

    Raises:
        FileNotFoundError: they are not there, and neither is the teacher.
        ValueError: those that are there belong to other formulas.
    """
    path = work / name
    if not path.exists():
        if folder is None:
            raise FileNotFoundError(f"{path}: expected the teacher's vectors, or --teacher DIR to make them with")
        print(f"the teacher reads {len(formulas):,} formulas", file=sys.stderr, flush=True)
        with path.with_suffix(".new").open("wb") as file:
            np.save(file, Teacher(folder).encode(formulas))
        path.with_suffix(".new").replace(path)
    vectors = np.load(path).astype(np.float32)
    if len(vectors) != len(formulas):
        raise ValueError(f"{path}: expected {len(formulas)} vectors, found {len(vectors)}")
    return vectors


PATHS = {
    "operator paths from leaves, typed": path_features(trees.operator_tree, "t", False),
    "operator paths from leaves, renamed": path_features(trees.operator_tree, "r", False),
    "operator paths from all nodes, renamed": path_features(trees.operator_tree, "r", True),
    "operator paths from all nodes, both": path_features(trees.operator_tree, "tr", True),
    "layout paths from all nodes, renamed": path_features(trees.layout_tree, "r", True),
    "layout paths from all nodes, both": path_features(trees.layout_tree, "tr", True),
    "operator subtrees, renamed": path_features(trees.operator_tree, "s", False),
}
STRUCTURE = "operator paths from all nodes, renamed"
OTHER_STRUCTURES = (
    "operator paths from leaves, renamed",
    "operator paths from all nodes, both",
    "layout paths from all nodes, renamed",
)
LENGTHS = ((0.0, 1, 1), (1.2, 1, 1), (0.6, 1.5, 1), (0.6, 2, 1), (0.6, 1, 0.9), (0.6, 1, 0.75), (0.6, 1, 0.5),
           (0.6, 1, 0.25), (0.6, 1.5, 0.5))  # fmt: skip
"""Saturation, the idf's power, and the power of its length that divides a formula's weights."""


class Signals:
    """The parts of the table, each a method that prints its rows."""

    def __init__(self, task: Task, work: Path, folder: Path | None) -> None:
        self.task = task
        asked = [latex for _, _, latex in task.queries]
        self.queries = len(asked)
        forms = [canonical(f) for f in task.formulas + asked]
        own = work / "tokenizer.json"
        self.corpus = corpora.build(forms, forms, vocabulary.load(own if own.exists() else WEIGHTS / "tokenizer.json"))
        self.tokens = [form.split()[: corpora.LONGEST] for form in forms]
        self.vectors = teacher_vectors(work, folder, "teacher-0.npy", task.formulas)
        queries = teacher_vectors(work, folder, "teacher-queries.npy", asked)
        self.teacher = np.clip(queries @ self.vectors.T - 0.2, 0, None) / 0.8
        self.grams = cosines(self.corpus.lexical, self.queries)
        self.base = self.with_teacher(self.grams)
        self.table = Table(task, self.base)
        self.notes: list[str] = []  # to print below the table

    def with_teacher(self, grams: np.ndarray, share: float = TEACHER_WEIGHT) -> np.ndarray:
        """The target of ``training.distil``."""
        return share * self.teacher + (1 - share) * grams

    def overlap(self, features: Callable[[list[str]], Iterable[object]]) -> np.ndarray:
        """TF-IDF cosine of features of tokens."""
        return cosines(overlap(map(features, self.tokens)), self.queries)

    def teachers(self) -> None:
        """The teacher's weight."""
        for share in np.arange(11) / 10:
            self.table.row(f"{share:g} teacher + {1 - share:g} n-grams", self.with_teacher(self.grams, share))

    def lengths(self) -> None:
        """The n-gram cosine with other constants, alone and with the teacher."""
        for saturation, power, norm in LENGTHS:
            rows = weigh(self.corpus.rows, self.corpus.row_start, saturation, power, norm)
            grams = cosines(rows, self.queries)
            name = f"n-grams, saturation {saturation:g}, idf^{power:g}, length^{norm:g}"
            self.table.row(name, grams)
            self.table.row(f".3 teacher + .7 {name}", self.with_teacher(grams))
            if norm < 1:
                size = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
                both = (1 + (size[-self.queries :, None] / np.maximum(size[: -self.queries], 1e-6)) ** 2) / 2
                self.table.row("the same, mean of both directions", self.with_teacher(grams * both.astype(np.float32)))

    def paths(self) -> None:
        """Paths and subtrees."""
        for name, features in PATHS.items():
            scores = self.overlap(features)
            self.table.row(name, scores)
            self.table.mixtures(name, self.base, scores)

    @cached_property
    def structure(self) -> np.ndarray:
        """The path cosine that stands for structure."""
        return self.overlap(PATHS[STRUCTURE])

    @cached_property
    def bag(self) -> np.ndarray:
        """Cosine of tokens without order."""
        return self.overlap(lambda tokens: [t for t in tokens if t not in "{}"])

    @property
    def excess(self) -> np.ndarray:
        """By how much tokens agree more than structure does."""
        return np.maximum(self.bag - self.structure, 0)

    def order(self) -> None:
        """What shares tokens but not structure."""
        for weight in (0.025, 0.05, 0.1, 0.15, 0.2, 0.3):
            self.table.row(f"base - {weight:g} (token cosine above path cosine)", self.base - weight * self.excess)
        for weight in (0.05, 0.1):
            self.table.row(f"base - {weight:g} token cosine", self.base - weight * self.bag)
            self.table.row(f"n-grams alone - {weight:g} excess", self.grams - weight * self.excess)
        for name in OTHER_STRUCTURES:
            excess = np.maximum(self.bag - self.overlap(PATHS[name]), 0)
            for weight in (0.05, 0.1):
                self.table.row(f"base - {weight:g} (token cosine above {name})", self.base - weight * excess)
        self.notes += ["\nSame tokens, other structure:", *order_pairs(self.tokens[: -self.queries], self.similar)]
        rankings = {"base": self.base, "n-grams": self.grams, "teacher": self.teacher, "tokens": self.bag,
                    STRUCTURE: self.structure, "base - .1 excess": self.base - 0.1 * self.excess}  # fmt: skip
        self.notes += pair_accuracy(self.task, self.bag, rankings)

    def together(self) -> None:
        """Two or three of the signals that help both years."""
        for penalty in (0.05, 0.1):
            less = self.base - penalty * self.excess
            for weight in (0.1, 0.2, 0.3):
                name = f"base - {penalty:g} excess, {weight:g} {STRUCTURE}"
                self.table.row(name, (1 - weight) * less + weight * self.structure)
            scores = self.edited(less, 1.0, True)
            for weight in (0.1, 0.2, 0.3):
                self.table.row(
                    f"base - {penalty:g} excess, {weight:g} tree edits, renamed", reranked(less, scores, weight)
                )
        mixed = 0.8 * self.base + 0.2 * self.structure
        scores = self.edited(mixed, 1.0, True)
        for weight in (0.1, 0.2):
            self.table.row(f"base, .2 {STRUCTURE}, {weight:g} tree edits, renamed", reranked(mixed, scores, weight))

    def similar(self, i: int, j: int) -> float:
        """The base's similarity of two formulas of the collection."""
        cosine = max(0.0, float(self.vectors[i] @ self.vectors[j]) - 0.2) / 0.8
        grams = float(self.corpus.lexical[i].multiply(self.corpus.lexical[j]).sum())
        return TEACHER_WEIGHT * cosine + (1 - TEACHER_WEIGHT) * grams

    def threads(self, member: sp.csr_matrix) -> None:
        """Thread mates as evidence, beside threads of the same sizes with shuffled members."""
        shuffled = member[np.random.default_rng(0).permutation(member.shape[0])]
        for name, how in (("mean", mates_mean), ("best", mates_best)):
            scores = how(self.base, member)
            self.table.row(f"thread mates' {name}", scores)
            self.table.mixtures(f"thread mates' {name}", self.base, scores, (0.05, *MIXED))
            self.table.mixtures(f"shuffled mates' {name}", self.base, how(self.base, shuffled), (0.1, 0.2))
        self.notes += ["\nThreads:", *thread_odds(self.task, self.base, member)]

    def edited(self, base: np.ndarray, variable: float, rename: bool) -> np.ndarray:
        """Tree edit similarity of the judged formulas among the best of a ranking."""
        place = {g: i for i, g in enumerate(self.task.groups)}
        judged = [np.array([place[g] for g in self.task.qrels[y][q] if g in place]) for y, q, _ in self.task.queries]
        return edits(self.tokens, base, judged, variable, rename)

    def edits(self) -> None:
        """Tree edit distance."""
        for name, variable, rename in (("typed", 0.5, False), ("renamed", 1.0, True)):
            scores = self.edited(self.base, variable, rename)
            for weight in (0.05, *MIXED, 0.5, 1.0):
                label = f"{1 - weight:g} base + {weight:g} tree edits, {name}, in the best {RERANKED}"
                self.table.row(label, reranked(self.base, scores, weight))


PARTS = ("teachers", "lengths", "paths", "edits", "threads", "order", "together")


def main(argv: list[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--teacher", type=Path)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    a = parser.parse_args(argv)
    a.work.mkdir(parents=True, exist_ok=True)
    task = Task(a.shared / "arqmath-mini")
    signals = Signals(task, a.work, a.teacher)
    for part in a.only:
        if part == "threads":
            signals.threads(members(a.shared / "arqmath-mini" / "formulas.tsv", task.groups))
        else:
            getattr(signals, part)()
    print(*signals.notes, sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
