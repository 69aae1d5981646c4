"""Codes of the compressed index compared: quality by bits a group, arqmath-mini inside other real formulas.

    python -m bench.codes --work DIR [--shared ../shared] [--others 684000] [--nodes 65536] [--layout 12 12+1x10 ...]
                          [--draws 3]

A layout is the bits of each name, joined by +, then parts x bits of a product stage: ``12+12+8x8`` is two names of 12
bits and 8 parts of 8 bits. Every row costs the ids besides, Elias-Fano coded within nodes at the density that the full
collection has (28.3 million ids for 8.4 million groups). All groups are scored, so a row is what the codes can give,
not what the index's search finds. Which n-grams share a name is chance and moves a row by a hundredth, so a row is the
mean of several draws of the names and of the order of groups with equal scores, given with the standard deviation of
its mean nDCG'. DIR keeps vectors, n-grams and nodes, so that a second run skips the encoding. No judgment is used for
anything but scoring.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.scale import YEARS, Task, top
from encoder.model import WEIGHTS
from evaluation.metrics import means
from index import cells, clusters, codes, grams, ids, rounded
from index.coded import NAME_WEIGHT
from index.embed import Embedded, Embedder, stream
from index.sample import SIZE, by_angle, centred, train_nodes
from training import corpus as corpora

CHUNK = 8192
THREADS = 2
DENSITY = 28_320_920 / 8_400_000  # ids of rows for each group, full collection
LAYOUTS = ("0", "4", "10", "10+1x10", "12+4x7", "4+4x9", "12+4+8x8")  # the table of docs/index.md


def layout_of(text: str) -> codes.Layout:
    """``12+12+8x8`` as a layout."""
    names, parts, width = [], 0, 0
    for piece in text.split("+"):
        if "x" in piece:
            parts, width = (int(number) for number in piece.split("x"))
        elif piece != "0":
            names.append(int(piece))
    return codes.Layout(tuple(names), parts, width)


class Collection:
    """Vectors and n-grams of the groups, arqmath-mini first, kept in a folder."""

    def __init__(self, work: Path, task: Task, shared: Path, others: int, model: Path, processes: int) -> None:
        work.mkdir(parents=True, exist_ok=True)
        if not (work / "counts.npy").exists():
            rest = [f for name in ("open", "other") for f in corpora.read(shared / "formulas" / f"{name}.txt.gz")]
            formulas = task.formulas + rest[:others]
            starts = range(0, len(formulas), CHUNK)
            chunks = ((np.arange(s, min(s + CHUNK, len(formulas))), formulas[s : s + CHUNK]) for s in starts)
            parts = [part for _, part in stream(chunks, model, processes)]
            np.save(work / "vectors.npy", np.concatenate([p.vectors for p in parts]))
            np.save(work / "features.npy", np.concatenate([p.features for p in parts]))
            np.save(work / "counts.npy", np.concatenate([p.counts for p in parts]))
        self.vectors = np.load(work / "vectors.npy")
        self.features = np.load(work / "features.npy", mmap_mode="r")
        self.counts = np.load(work / "counts.npy")
        self.starts = np.concatenate(([0], np.cumsum(self.counts)))

    def some(self, places: np.ndarray) -> np.ndarray:
        """Features of some groups, one after another."""
        return np.concatenate([self.features[self.starts[i] : self.starts[i + 1]] for i in places])


def nodes_of(collection: Collection, work: Path, count: int) -> tuple[np.ndarray, np.ndarray]:
    """float16 (count, d) nodes and the node of each group."""
    path = work / f"nodes-{count}.npz"
    if not path.exists():
        drawn = np.random.default_rng(0).choice(len(collection.vectors), min(SIZE, len(collection.vectors)), False)
        taught = collection.vectors[np.sort(drawn)]
        found, _ = centred(taught, train_nodes(taught, count, THREADS), THREADS)
        np.savez(path, nodes=found, owner=by_angle(found, collection.vectors, THREADS))
    kept = np.load(path)
    return kept["nodes"], kept["owner"]


def id_bits(owner: np.ndarray, nodes: int) -> float:
    """Bits a group of the ids at the full collection's density."""
    rng = np.random.default_rng(0)
    drawn = np.sort(rng.choice(int(len(owner) * DENSITY), len(owner), replace=False))
    return 8 * sum(part.nbytes for part in ids.encode_members(drawn, owner, nodes).values()) / len(owner)


def scored(
    coder: codes.Coder, owner: np.ndarray, coded: np.ndarray, queries: list[Embedded], mean: np.ndarray, weight: float
) -> Iterator[np.ndarray]:
    """Scores of all groups for each query."""
    order = np.argsort(owner, kind="stable")
    first = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=len(coder.nodes)))))
    names = coded[order, 0] if coded.shape[1] else np.empty(len(order), np.uint16)
    for query in queries:
        whole = query.vectors[0].astype(np.float32)
        vector = whole - codes.usual(whole, mean)
        total = coder.at_nodes(coder.nodes @ vector, len(query.features))[owner]
        for column, table in enumerate(coder.tables(vector, coder.lexical(query.features), weight)):
            total = total + table[coded[:, column]]
        cosines = coder.nodes @ whole / coder.norms
        own, worth = cells.members(*cells.own(coder, whole, cosines, query.features), first, names)
        total[order[own]] += worth
        yield total


def ranked(scores: Iterable[np.ndarray], seed: int) -> Iterator[np.ndarray]:
    """The best places for each query; those with equal scores in a random order."""
    for score in scores:
        order = np.random.default_rng(seed).permutation(len(score))
        yield order[top(score[order])]


def line(name: str, task: Task, draws: Iterable[Iterable[np.ndarray]]) -> None:
    """Print one line of the table: the mean of some draws of the scores."""
    results = [task.score(ranked(scores, seed)) for seed, scores in enumerate(draws)]
    table = np.array([[[means(r[y])[m] for m in ("ndcg", "ap", "relevant_recall")] for y in YEARS] for r in results])
    years = [" / ".join(f"{x:.3f}" for x in year) for year in table.mean(axis=0)]
    mean = table[:, :, 0].mean(axis=1)
    print(f"| {name} | {' | '.join(years)} | {mean.mean():.4f} ({mean.std():.3f}) |", flush=True)


def encoded(
    layout: codes.Layout, nodes: np.ndarray, owner: np.ndarray, dictionary: grams.Dictionary, collection: Collection,
    drawn: np.ndarray, taught: np.ndarray,
) -> tuple[codes.Coder, np.ndarray]:  # fmt: skip
    """A coder learnt from the groups drawn and their n-grams, settled, and uint16 (groups, columns) codes of all."""
    coder = codes.train(layout, nodes, dictionary, collection.vectors[drawn], owner[drawn], taught,
                        collection.counts[drawn], seed=dictionary.draw)  # fmt: skip
    found, sums = [], np.zeros((len(nodes), nodes.shape[1] + 1), np.int64)
    for start in range(0, len(owner), CHUNK):
        part, end = slice(start, start + CHUNK), min(start + CHUNK, len(owner))
        features = collection.features[collection.starts[start] : collection.starts[end]]
        found.append(coder.encode(collection.vectors[part], owner[part], features, collection.counts[part]))
        rest = coder.remainder(collection.vectors[part], collection.counts[part], found[-1])
        clusters.add(sums, rest.astype(np.int64), owner[part])
    coder = coder.settled(sums, np.bincount(owner, minlength=len(nodes)))
    kept = rounded.read("nodes", rounded.sections("nodes", coder.nodes))
    return replace(coder, nodes=kept), np.concatenate(found)


def main(argv: list[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--others", type=int, default=684_000)
    parser.add_argument("--model", type=Path, default=WEIGHTS)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--nodes", type=int, default=65_536)
    parser.add_argument("--weight", type=float, default=NAME_WEIGHT)
    parser.add_argument("--layout", nargs="*", default=list(LAYOUTS))
    parser.add_argument("--draws", type=int, default=3)
    a = parser.parse_args(argv)
    task = Task(a.shared / "arqmath-mini")
    collection = Collection(a.work, task, a.shared, a.others, a.model, a.processes)
    embedder = Embedder(a.model)
    queries = [embedder.embed([latex]) for _, _, latex in task.queries]
    print(f"{len(collection.vectors):,} groups, {a.draws} draws\n"
          "| codes | bits a group | 2020 nDCG' / MAP' / recall | 2021 | mean (deviation) |\n"
          "|---|---|---|---|---|")  # fmt: skip
    vectors = collection.vectors.astype(np.float32)
    line("exact vectors | 1,024", task, [(vectors @ q.vectors[0].astype(np.float32) for q in queries)])
    mean = vectors.mean(axis=0)
    mean /= np.linalg.norm(mean)
    del vectors
    nodes, owner = nodes_of(collection, a.work, a.nodes)
    drawn = np.sort(np.random.default_rng(0).choice(len(owner), min(SIZE, len(owner)), replace=False))
    taught = collection.some(drawn)
    dictionary = grams.learn(taught, collection.counts[drawn])
    base = id_bits(owner, a.nodes)
    for text in a.layout:
        started, layout = time.time(), layout_of(text)

        def draws(layout: codes.Layout = layout) -> Iterator[Iterator[np.ndarray]]:
            for draw in range(a.draws):
                coder, found = encoded(layout, nodes, owner, replace(dictionary, draw=draw), collection, drawn, taught)
                yield scored(coder, owner, found, queries, mean, a.weight)

        line(f"{text} | {base:.1f} + {layout.bits} = {base + layout.bits:.1f}", task, draws())
        print(f"{time.time() - started:.0f} s", end="\r", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
