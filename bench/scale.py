"""Quality among many formulas: arqmath-mini inside the real formulas of other texts, exact vectors.

    python -m bench.scale --shared ../shared [--others 684000] [--model weights] [--teacher DIR --sample 20000]

Prints nDCG', MAP' and the recall of relevant groups in the top 1,000 for the vectors alone, BM25 over typed and renamed
n-grams alone, BM25 over typed 1- to 3-grams alone, and the fusion. The 384-d teacher is too slow to read a million
formulas on two cores, so with ``--teacher`` it reads the whole of arqmath-mini and a seeded sample of the rest, and
every sampled formula that outranks a judged one counts for as many as it stands for; the rank is an unbiased estimate.
Memory: about 12 GiB for 1.3 million formulas. No judgment is used for anything but scoring.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from encoder.model import WEIGHTS
from evaluation.collection import read_qrels, read_queries
from evaluation.compare import compare
from evaluation.metrics import DEPTH, TopicScores, means, score_topic
from index import sketch
from index.embed import Embedder, stream
from index.search import WEIGHT
from training import corpus as corpora
from training.prepare import Teacher, representatives_with_groups

CHUNK = 4096
YEARS = (2020, 2021)
Scores = dict[str, TopicScores]


class Task:
    """The queries of both years and the groups of arqmath-mini, which stand first in the collection."""

    def __init__(self, mini: Path) -> None:
        self.groups, self.formulas = representatives_with_groups(mini / "formulas.tsv")
        self.queries = [(y, q.query_id, q.latex) for y in YEARS for q in read_queries(mini / f"queries-{y}.jsonl")]
        self.qrels = {y: read_qrels(mini / f"qrels-{y}.tsv") for y in YEARS}

    def score(self, ranking: Iterator[np.ndarray]) -> dict[int, Scores]:
        """Scores by year and query of rankings of places, one a query; places behind the mini's are unjudged."""
        result: dict[int, Scores] = {y: {} for y in YEARS}
        for (year, name, _), places in zip(self.queries, ranking, strict=True):
            groups = [int(self.groups[p]) if p < len(self.groups) else -int(p) - 1 for p in places]
            result[year][name] = score_topic(groups, self.qrels[year][name])
        return result


def top(scores: np.ndarray, count: int = DEPTH) -> np.ndarray:
    """Places of the largest scores, largest first, ties by place."""
    best = np.argpartition(-scores, count)[:count]
    return best[np.lexsort((best, -scores[best]))]


def row(name: str, result: dict[int, Scores]) -> None:
    """Print one line of the table."""
    parts = []
    for year in YEARS:
        m = means(result[year])
        parts.append(f"{m['ndcg']:.3f} / {m['ap']:.3f} / {m['relevant_recall']:.3f}")
    mean = sum(means(result[y])["ndcg"] for y in YEARS) / len(YEARS)
    print(f"| {name} | {' | '.join(parts)} | {mean:.4f} |", flush=True)


def paired(name: str, one: dict[int, Scores], other: dict[int, Scores]) -> None:
    """Print the paired test over the queries of both years together."""
    ours, theirs = ({f"{y} {q}": s.ndcg for y in YEARS for q, s in r[y].items()} for r in (one, other))
    c = compare(ours, theirs)
    print(f"{name}: difference {c.difference:+.4f}, wins {c.wins}, losses {c.losses}, p = {c.p:.4f}", flush=True)


def typed_only(features: np.ndarray, counts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The typed n-grams of every formula, which stand first among its features: 1-, 2- and 3-grams, ends marked."""
    typed = lengths + (lengths + 1) + lengths
    starts = np.cumsum(counts) - counts
    inside = np.arange(len(features)) - np.repeat(starts, counts)
    return features[inside < np.repeat(typed, counts)], typed


def lexical(task: Task, features: np.ndarray, counts: np.ndarray, queries: list[np.ndarray]) -> np.ndarray:
    """BM25 of all formulas, float32 (queries, formulas)."""
    owners = np.repeat(np.arange(len(counts)), counts)
    scorer = sketch.Scorer(sketch.invert(features, owners, len(counts)))
    return np.stack([scorer.score(q).astype(np.float32) for q in queries])


def teacher_rankings(task: Task, folder: Path, rest: list[str], sample: int, kept: Path | None) -> Iterator[np.ndarray]:
    """Rankings by the teacher in which each sampled formula is repeated for those that it stands for."""
    model = Teacher(folder)
    rng = np.random.default_rng(0)
    chosen = [rest[i] for i in np.sort(rng.choice(len(rest), min(sample, len(rest)), replace=False))]
    known = np.load(kept / "teacher-0.npy") if kept else np.empty((0, 384), np.float16)
    if kept and len(known) != len(task.formulas):
        raise ValueError(f"{kept / 'teacher-0.npy'}: {len(known):,} vectors, expected {len(task.formulas):,}")
    unread = task.formulas[len(known) :] + chosen
    print(f"the teacher reads {len(unread):,} formulas", file=sys.stderr, flush=True)
    vectors = np.concatenate((known, model.encode(unread))).astype(np.float32)
    weight = len(rest) / len(chosen)
    for query in model.encode([latex for _, _, latex in task.queries]).astype(np.float32):
        places = top(vectors @ query)
        rank = np.cumsum(np.where(places < len(task.formulas), 1.0, weight))
        yield places[rank <= DEPTH]


def main(argv: list[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--others", type=int, default=10**9, help="formulas beside arqmath-mini's (default: all)")
    parser.add_argument("--model", type=Path, default=WEIGHTS)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--teacher", type=Path)
    parser.add_argument("--sample", type=int, default=20_000)
    parser.add_argument("--kept", type=Path, help="work folder of training.prepare, whose teacher read arqmath-mini")
    parser.add_argument("--no-lexical", action="store_true", help="the vectors alone: less memory")
    a = parser.parse_args(argv)
    task = Task(a.shared / "arqmath-mini")
    rest = [f for name in ("open", "other") for f in corpora.read(a.shared / "formulas" / f"{name}.txt.gz")][: a.others]
    formulas = task.formulas + rest
    started = time.time()
    starts = range(0, len(formulas), CHUNK)
    chunks = ((np.arange(s, min(s + CHUNK, len(formulas))), formulas[s : s + CHUNK]) for s in starts)
    parts = [part for _, part in stream(chunks, a.model, a.processes)]
    rate = len(formulas) / (time.time() - started)
    print(f"{len(formulas):,} formulas, encoded at {rate:,.0f} a second in {a.processes} processes", flush=True)
    vectors = np.concatenate([p.vectors for p in parts]).astype(np.float32)
    embedder = Embedder(a.model)
    queries = [embedder.embed([latex]) for _, _, latex in task.queries]
    dense = [vectors @ q.vectors[0].astype(np.float32) for q in queries]
    print("| ranking | 2020 nDCG' / MAP' / recall | 2021 | mean nDCG' |\n|---|---|---|---|")
    alone = task.score(map(top, dense))
    row(f"vectors alone, {vectors.shape[1]}-d", alone)
    others: dict[str, dict[int, Scores]] = {}
    if not a.no_lexical:
        features, counts = np.concatenate([p.features for p in parts]), np.concatenate([p.counts for p in parts])
        del parts
        grams = lexical(task, features, counts, [q.features for q in queries])
        row("BM25, typed and renamed n-grams", task.score(map(top, grams)))
        fused = ((1 - WEIGHT) * d + WEIGHT * g / max(float(g.max()), 1e-9) for d, g in zip(dense, grams, strict=True))
        row(f"both, lexical weight {WEIGHT}", task.score(map(top, fused)))
        # A formula of T tokens has 3 T + 1 typed n-grams and, renamed, (T+1) + T + (T-1) + (T-2), none below zero.
        lengths = _lengths(counts)
        some, kept = typed_only(features, counts, lengths)
        wanted = [typed_only(q.features, q.counts, _lengths(q.counts))[0] for q in queries]
        others["BM25 over typed 1- to 3-grams"] = task.score(map(top, lexical(task, some, kept, wanted)))
    if a.teacher:
        name = f"teacher, 384-d, from a sample of {a.sample:,} of the others"
        others[name] = task.score(teacher_rankings(task, a.teacher, rest, a.sample, a.kept))
    for name, result in others.items():
        row(name, result)
    for name, result in others.items():
        paired(f"vectors alone against {name}", alone, result)
    return 0


def _lengths(counts: np.ndarray) -> np.ndarray:
    """Tokens of formulas from their number of n-grams."""
    tokens = np.arange(1, 257)
    total = 3 * tokens + 1 + sum(np.maximum(tokens + 3 - n, 0) for n in (2, 3, 4, 5))
    return tokens[np.searchsorted(total, counts)]


if __name__ == "__main__":
    raise SystemExit(main())
