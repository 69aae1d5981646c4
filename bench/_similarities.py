"""The similarities that ``bench.signals`` compares: weighted overlap, tree paths, tree edits, threads.

Every function returns float32 (queries, formulas), larger is nearer, or the sparse rows that such scores come from.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from bench import _trees as trees
from bench.scale import top
from training import corpus as corpora

LONGEST_PATH = 4  # nodes
RERANKED = 200  # best of the base that tree edit distance sorts anew
RARE = 5  # threads at most, for a formula to say anything about its thread


def weigh(
    rows: np.ndarray, row_start: np.ndarray, saturation: float = corpora.SATURATION, power: float = 1, norm: float = 1
) -> sp.csr_matrix:
    """``training.corpus.weigh`` with other constants: the idf's power, and the power of the length that divides."""
    unique, columns = np.unique(rows, return_inverse=True)
    n = len(row_start) - 1
    matrix = sp.csr_matrix((np.ones(len(columns), np.float32), columns, row_start), shape=(n, len(unique)))
    matrix.sum_duplicates()
    df = np.bincount(matrix.indices, minlength=len(unique))
    idf = np.where(df >= corpora.COMMON, np.log1p(n / np.maximum(df, 1)), 0).astype(np.float32) ** power
    matrix.data = matrix.data * (saturation + 1) / (matrix.data + saturation) * idf[matrix.indices]
    matrix.eliminate_zeros()
    length = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags((1 / np.maximum(length, 1e-6) ** norm).astype(np.float32)) @ matrix)


def cosines(matrix: sp.csr_matrix, queries: int) -> np.ndarray:
    """The last rows against all others, in units of each query's similarity to itself: (queries, n - queries)."""
    last = matrix[-queries:]
    itself = np.asarray(last.multiply(last).sum(axis=1))
    return np.asarray((last @ matrix[:-queries].T).toarray() / np.maximum(itself, 1e-12), np.float32)


def overlap(features: Iterable[Iterable[object]]) -> sp.csr_matrix:
    """Unit TF-IDF rows of formulas given by their features."""
    known: dict[object, int] = {}
    rows: list[int] = []
    start = [0]
    for some in features:
        rows += [known.setdefault(f, len(known)) for f in some]
        start.append(len(rows))
    return corpora.weigh(np.array(rows, np.int32), np.array(start))


def path_features(
    make: Callable[[list[str]], trees.Tree], kinds: str, inner: bool
) -> Callable[[list[str]], list[object]]:
    """Features of a formula's tokens; ``kinds``: ``t`` for typed paths, ``r`` for renamed ones, ``s`` for subtrees."""

    def features(tokens: list[str]) -> list[object]:
        tree = make(tokens)
        found: list[object] = []
        if "t" in kinds:
            found += list(trees.paths(tree, LONGEST_PATH, inner))
        if "r" in kinds:
            found += [("", *p) for p in trees.paths(trees.renamed_tree(tree), LONGEST_PATH, inner)]
        if "s" in kinds:
            found += list(trees.subtrees(tree))
        return found

    return features


def edits(
    tokens: list[list[str]], base: np.ndarray, wanted: Sequence[np.ndarray], variable: float, rename: bool
) -> np.ndarray:
    """1 - tree edit distance / larger tree of wanted places among the base's best, 0 elsewhere.

    Args:
        tokens: of the formulas, then of the queries.
        base: (queries, formulas).
        wanted: places by query; the judged ones, since nDCG' does not depend on the others.
        variable: see ``_trees.distance``.
        rename: compare trees with renamed variables.
    """

    def tree(number: int) -> trees.Flat:
        found = trees.operator_tree(tokens[number])
        return trees.flatten(trees.renamed_tree(found) if rename else found)

    scores = np.zeros_like(base)
    for q, row in enumerate(base):
        query = tree(base.shape[1] + q)
        for place in np.intersect1d(top(row, RERANKED), wanted[q]):
            other = tree(int(place))
            larger = max(len(query.labels), len(other.labels))
            scores[q, place] = 1 - trees.distance(query, other, variable) / larger
    return scores


def reranked(base: np.ndarray, scores: np.ndarray, weight: float) -> np.ndarray:
    """The base's best by the mixture, above all others, which keep their order."""
    result = (1 - weight) * base + weight * scores
    for row, before in zip(result, base, strict=True):
        best = top(before, RERANKED)
        rest = np.ones(len(row), bool)
        rest[best] = False
        row[rest] = before[rest] - before[rest].max() + row[best].min() - 1e-3
    return result


def members(path: Path, groups: list[int]) -> sp.csr_matrix:
    """Which group has an instance in which thread, float32 0 or 1 (groups, threads)."""
    place = {g: i for i, g in enumerate(groups)}
    threads: dict[str, int] = {}
    with path.open(newline="", encoding="utf-8") as file:
        pairs = {
            (place[int(r["visual_id"])], threads.setdefault(r["thread_id"], len(threads)))
            for r in csv.DictReader(file, delimiter="\t")
        }
    rows, columns = np.array(sorted(pairs)).T
    return sp.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(groups), len(threads)))


def mates_mean(scores: np.ndarray, member: sp.csr_matrix) -> np.ndarray:
    """Mean score of the other formulas of a formula's threads, averaged over the threads; 0 without any."""
    size = np.asarray(member.sum(axis=0)).ravel()
    sums = np.asarray((member.T @ scores.T).T)
    at = member.tocoo()
    result = np.zeros_like(scores)
    share = 1 / (np.maximum(size[at.col] - 1, 1) * np.asarray(member.sum(axis=1)).ravel()[at.row])
    every = sp.csr_matrix((share.astype(np.float32), (at.row, at.col)), shape=member.shape)
    result[:] = (every @ sums.T).T - scores * np.asarray(every.sum(axis=1)).ravel()
    return result


def mates_best(scores: np.ndarray, member: sp.csr_matrix) -> np.ndarray:
    """Largest score of another formula in any thread of a formula; only for formulas of at most ``RARE`` threads."""
    columns = member.tocsc()
    rare = np.asarray(member.sum(axis=1)).ravel() <= RARE
    result = np.zeros_like(scores)
    for start, end in zip(columns.indptr, columns.indptr[1:], strict=False):
        inside = columns.indices[start:end]
        if len(inside) < 2:
            continue
        part = scores[:, inside]
        two = np.partition(part, -2, axis=1)[:, -2:]
        others = np.where(part >= two[:, 1:], two[:, :1], two[:, 1:])
        result[:, inside] = np.maximum(result[:, inside], others * rare[inside])
    return result
