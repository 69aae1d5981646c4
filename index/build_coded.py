"""The build of a collection whose vectors do not fit: a sample teaches the codes, then every group is coded.

Stages: the sample is encoded; nodes, dictionary and codebooks are learnt from it; the representatives stream through
the workers, which encode and code them; codes are packed in the order of nodes. Between the stages stand files in the
scratch folder, so that a build that was cut goes on where it was, and memory holds a few numbers a group.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from index import bits, clusters, codes, embed, grams, ids, nodes, rounded, scratch
from index import sample as samples
from index.corpus import Corpus
from index.errors import BuildError
from index.groups import Groups, representatives
from index.plan import Plan
from index.progress import Stage

KEPT_EVERY = 16  # chunks between two entries of what is done
CODING = 1.35  # time of a coded formula against an encoded one: 1.28 at full size, reading the file included
# Time kept for what follows the coding: seconds, and a share of the whole. Packing takes 7 of 2,879 s at full size.
PACKING_S, PACKING_SHARE = 30.0, 0.02


class Coding:
    """What a worker makes of vectors and n-grams; loads its coder once.

    Args:
        path: a pickled ``codes.Coder``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._coder: codes.Coder | None = None
        self._graph: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "_coder": None, "_graph": None}

    def __call__(self, embedded: embed.Embedded) -> tuple[np.ndarray, np.ndarray]:
        """Of some formulas uint16 (n, 1 + columns), node and codes, and int32 (n, d + 1), what is left to the node."""
        if self._coder is None:
            self._coder = pickle.loads(self.path.read_bytes())
            self._graph = samples.angles(self._coder.nodes)  # as they were learnt
        node = nodes.owners(self._graph, embedded.vectors)
        coded = self._coder.encode(embedded.vectors, node, embedded.features, embedded.counts)
        rest = self._coder.remainder(embedded.vectors, embedded.counts, coded)
        return np.column_stack((node.astype(np.uint16), coded)), rest


@dataclass
class Clock:
    """The time a build may take.

    Attributes:
        started: ``time.monotonic`` of its start.
        seconds: that it may take in all.
    """

    started: float
    seconds: float

    @property
    def left(self) -> float:
        """Seconds until what follows the coding must begin."""
        spent = time.monotonic() - self.started
        return self.seconds * (1 - PACKING_SHARE) - PACKING_S - spent


def learn(plan: Plan, formulas: list[str], model: Path, processes: int) -> tuple[codes.Coder, float]:
    """Nodes, dictionary and codebooks.

    Args:
        plan: of the coded form.
        formulas: the sample.
        model: the model's folder.
        processes: that encode.

    Returns:
        The coder, and how many formulas a second were encoded.
    """
    starts = range(0, len(formulas), embed.CHUNK)
    chunks = ((np.arange(s, min(s + embed.CHUNK, len(formulas))), formulas[s : s + embed.CHUNK]) for s in starts)
    parts: list[embed.Embedded] = []
    with Stage("encoding a sample", "formulas", len(formulas)) as stage:
        began = None
        for places, part in embed.stream(chunks, model, processes):
            began = began or (time.monotonic(), len(places))  # the workers' start does not count
            parts.append(part)
            stage.update(int(places[-1]) + 1)
    assert began is not None
    rate = (len(formulas) - began[1]) / max(1e-3, time.monotonic() - began[0]) if len(parts) > 4 else float("inf")
    vectors = np.concatenate([part.vectors for part in parts])
    features = np.concatenate([part.features for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    with Stage("learning the codes", "groups") as stage:
        found, owner = samples.centred(vectors, samples.train_nodes(vectors, plan.nodes, processes), processes)
        layout = codes.Layout(tuple(plan.names), plan.parts[0], plan.parts[1])
        coder = codes.train(layout, found, grams.learn(features, counts), vectors, owner, features, counts)
        stage.update(len(vectors))
    return coder, rate


def likeliest(groups: Groups, count: int) -> np.ndarray:
    """Places of the groups most likely to be wanted: not in comments alone, then with most instances; ascending."""
    order = np.lexsort((groups.rows, -groups.instances.astype(np.int64), groups.comment_only))
    return np.sort(order[:count])


def code(
    corpus: Corpus, groups: Groups, coder: codes.Coder, folder: Path, model: Path, processes: int, clock: Clock,
    state: dict[str, Any],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Second pass: node and codes of every representative, into a file.

    Returns:
        uint16 (groups, 1 + columns), mapped from a file; bool (groups,), which groups are coded, not all if time ran
        out; int64 (nodes, d + 1), the sums of what codes leave to each node.

    Raises:
        BuildError: the collection changed since the first pass.
    """
    path = folder / "codes.u16"
    done = int(state.get("chunks", 0)) if path.exists() else 0
    shape = (len(groups), 1 + len(coder.books))
    table = scratch.mapped(path, shape, np.uint16) if done else scratch.allocate(path, shape, np.uint16)
    coded = np.zeros(len(groups), bool)
    sums = np.load(_sums(folder, done)) if done else np.zeros((len(coder.nodes), coder.nodes.shape[1] + 1), np.int64)

    def fresh() -> Iterator[tuple[np.ndarray, list[str]]]:
        for number, (places, formulas) in enumerate(representatives(groups, corpus.chunks(), embed.CHUNK)):
            if number < done:
                coded[places] = True
            elif clock.left < 0 and number:  # however late it is, the first chunk makes an index
                return
            else:
                yield places, formulas

    with Stage("coding", "formulas", len(groups), min(len(groups), done * embed.CHUNK)) as stage:
        results = embed.stream(fresh(), model, processes, Coding(folder / "coder"))
        for number, (places, (rows, rest)) in enumerate(results, done):
            table[places] = rows
            clusters.add(sums, rest.astype(np.int64), rows[:, 0])
            coded[places] = True
            stage.update(int(coded.sum()) if number % KEPT_EVERY == 0 else min(len(groups), (number + 1) * embed.CHUNK))
            if (number + 1) % KEPT_EVERY == 0:
                table.flush()
                np.save(_sums(folder, number + 1), sums)
                scratch.mark(folder, state | {"chunks": number + 1})
                _sums(folder, number + 1 - KEPT_EVERY).unlink(missing_ok=True)
        stage.update(int(coded.sum()))
        out_of_time = clock.left < 0
    left = int((~coded).sum())
    if left and not out_of_time:
        raise BuildError(f"{corpus.path}: changed while it was read, {left:,} of {len(groups):,} formulas not found")
    if left:
        print(f"coding: time is up, {left:,} of {len(groups):,} groups are left out", file=sys.stderr)
    return table, coded, sums


def _sums(folder: Path, chunks: int) -> Path:
    """The file of the sums after so many chunks."""
    return folder / f"sums-{chunks}.npy"


def pack(coder: codes.Coder, numbers: np.ndarray, table: np.ndarray, sums: np.ndarray) -> dict[str, np.ndarray]:
    """The sections of the index.

    Args:
        coder: what made the codes.
        numbers: int64 (groups,), the groups' ids.
        table: uint16 (groups, 1 + columns), node and codes of each.
        sums: int64 (nodes, d + 1), what codes leave to each node (``codes.Coder.remainder``).
    """
    owner = table[:, 0].astype(np.int64)
    coder = coder.settled(sums, np.bincount(owner, minlength=len(sums)))
    order = ids.order(numbers, owner)
    sections = {
        **rounded.sections("vectors", coder.nodes),
        "lengths": coder.lengths,
        **ids.encode_members(numbers, owner, len(coder.nodes)),
    }
    for column, width in enumerate(coder.layout.widths):
        sections[f"codes.{column}"] = bits.pack(table[order, 1 + column], width)
        sections[f"books.{column}"] = coder.books[column]
    sections["dictionary.hashes"] = bits.ascending(coder.dictionary.hashes.astype(np.int64))
    sections["dictionary.steps"] = coder.dictionary.steps
    return sections
