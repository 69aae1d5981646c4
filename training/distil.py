"""The distillation loop: the student learns which formulas of a batch are near each other.

The target similarity of a pair mixes the teacher's cosine with the n-gram cosine, typed and renamed
(``training.corpus``); where the teacher has not read the formulas, the n-gram cosine stands alone. A batch is made of
neighbourhoods: formulas that collide under a minhash drawn anew for every epoch, so that near pairs, which decide a
ranking, are in it; where the teacher speaks, every other epoch takes formulas on the same side of random hyperplanes
of its space instead. The loss is the divergence between the softmax over similarities of both sides (listwise
distillation) at two temperatures, on the whole vector and on its first half, plus a squared error that fixes the scale.

Checkpoints hold everything; the same command continues where it stopped, and the result does not depend on the cut.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from encoder import ngrams, vocabulary
from training import corpus as corpora
from training.student import Size, Student

BATCH, NEIGHBOURHOOD = 512, 8
TEMPERATURES = ((0.07, 1.0), (0.2, 3.0))  # and their weight: the sharp one orders near pairs, the flat one the rest
PLANES = 11  # random hyperplanes that cut the teacher's space into neighbourhoods
PARTS = ((64, 1.0), (32, 0.5))  # dimensions and their weight, after Matryoshka representation learning
TEACHER_SHARE = 0.5  # of batches
TEACHER_WEIGHT = 0.3  # within them: as a ranking this mixture beats .5 and either side alone (docs/encoder.md)
LEARNING_RATE, WARM_UP = 2e-3, 200


class Batches:
    """Seeded batches of neighbourhoods, an endless stream that can start anywhere."""

    def __init__(
        self, corpus: corpora.Corpus, taught: np.ndarray, teacher: np.ndarray, seed: int, share: float = TEACHER_SHARE
    ) -> None:
        self.corpus, self.taught, self.teacher, self.seed, self.share = corpus, taught, teacher, seed, share

    def _minhash(self, rng: np.random.Generator) -> np.ndarray:
        """One minhash of every formula's n-grams, int64 (n,)."""
        a, b = (int(x) | 1 for x in rng.integers(1, 1 << 30, 2))
        mixed = ((self.corpus.rows.astype(np.int64) & 0x7FFFFFFF) * a + b) % 4294967291
        return np.minimum.reduceat(mixed, self.corpus.row_start[:-1])

    def _sides(self, rng: np.random.Generator) -> np.ndarray:
        """On which sides of random hyperplanes the teacher's vectors lie, int64 (taught,)."""
        planes = rng.normal(size=(self.teacher.shape[1], PLANES)).astype(np.float32)
        vectors = self.teacher.astype(np.float32)
        return ((vectors - vectors.mean(axis=0)) @ planes > 0) @ (1 << np.arange(PLANES))

    def neighbourhoods(self, kind: int, epoch: int) -> np.ndarray:
        """Formula numbers of a pool, so ordered that each run of NEIGHBOURHOOD lies near each other."""
        rng = np.random.default_rng((self.seed, kind, epoch))
        members = self.taught if kind else np.arange(len(self.corpus))
        keys = self._sides(rng) if kind and epoch % 2 else self._minhash(rng)[members]
        order = members[np.lexsort((rng.random(len(members)), keys))]
        usable = len(order) // NEIGHBOURHOOD * NEIGHBOURHOOD
        return rng.permutation(order[:usable].reshape(-1, NEIGHBOURHOOD), axis=0).reshape(-1)

    def stream(self) -> Iterator[tuple[np.ndarray, bool]]:
        """Formula numbers (BATCH,) and whether the teacher speaks."""
        queues: list[np.ndarray] = [np.empty(0, np.int64)] * 2
        epochs = [0, 0]
        credit = 0.0
        while True:
            credit += self.share if len(self.taught) >= BATCH else 0.0
            kind = int(credit >= 1)
            credit -= kind
            if len(queues[kind]) < BATCH:
                epochs[kind] += 1
                queues[kind] = self.neighbourhoods(kind, epochs[kind])
            yield queues[kind][:BATCH], bool(kind)
            queues[kind] = queues[kind][BATCH:]


def inputs(corpus: corpora.Corpus, members: np.ndarray, variable: np.ndarray, rows: int) -> dict[str, torch.Tensor]:
    """The student's inputs for some formulas of similar length."""
    spans = [corpus.ids[corpus.start[i] : corpus.start[i + 1]].astype(np.int64) for i in members]
    lengths = np.array([len(s) for s in spans])
    ids = np.zeros((len(spans), lengths.max()), np.int64)
    renamed = np.zeros_like(ids)
    for i, span in enumerate(spans):
        ids[i, : len(span)] = span
    for length in np.unique(lengths):
        some = np.flatnonzero(lengths == length)
        renamed[some, :length] = ngrams.rename(ids[some, :length], variable)
    grams = [corpus.rows[corpus.row_start[i] : corpus.row_start[i + 1]] for i in members]
    offsets = np.concatenate([[0], np.cumsum([len(g) for g in grams])[:-1]])
    flat = (np.concatenate(grams).view(np.uint32) % rows).astype(np.int64)
    arrays = {"ids": ids, "renamed": renamed, "lengths": lengths, "rows": flat, "offsets": offsets}
    return {k: torch.from_numpy(v) for k, v in arrays.items()}


def forward(model: Student, corpus: corpora.Corpus, members: np.ndarray, variable: np.ndarray) -> torch.Tensor:
    """Vectors of formulas in the given order, float32 (n, dim); runs in length groups, so padding stays small."""
    lengths = corpus.start[members + 1] - corpus.start[members]
    order = np.argsort(lengths, kind="stable")
    parts = [model(**inputs(corpus, members[p], variable, model.size.rows)) for p in np.array_split(order, 8) if len(p)]
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return torch.cat(parts)[torch.from_numpy(back)]


def loss_of(vectors: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Listwise divergence plus squared error between the vectors' cosines and the target, (B, B)."""
    off = ~torch.eye(len(target), dtype=torch.bool)
    total = torch.zeros(())
    for dim, weight in PARTS:
        part = torch.nn.functional.normalize(vectors[:, :dim], dim=1)
        cosine = part @ part.T
        part_loss = 4 * (cosine - target)[off].square().mean()
        for temperature, share in TEMPERATURES:
            wanted = torch.log_softmax((target / temperature).masked_fill(~off, -1e4), dim=1)
            got = torch.log_softmax((cosine / temperature).masked_fill(~off, -1e4), dim=1)
            part_loss = part_loss + share * (wanted.exp() * (wanted - got)).sum(1).mean()
        total = total + weight * part_loss
    return total


def target_of(
    corpus: corpora.Corpus,
    members: np.ndarray,
    teacher: np.ndarray | None,
    place: np.ndarray,
    weight: float = TEACHER_WEIGHT,
) -> torch.Tensor:
    """Target similarities (B, B) float32 of a batch."""
    part = corpus.lexical[members]
    lexical = torch.from_numpy((part @ part.T).toarray())
    if teacher is None:
        return lexical
    t = torch.from_numpy(teacher[place[members]].astype(np.float32))
    cosine = ((t @ t.T) - 0.2).clamp(min=0) / 0.8  # unrelated formulas have about .2 by this teacher
    return weight * cosine + (1 - weight) * lexical


def rate(step: int, steps: int) -> float:
    """Share of the learning rate: warm-up, a slow cosine for five ninths of the steps, then straight down to zero."""

    def slow(at: int) -> float:
        return min(1, (at + 1) / WARM_UP) * (0.5 + 0.5 * math.cos(math.pi * min(1, at / (steps * 5 / 3))))

    knee = steps * 5 // 9
    return (slow(step) if step < knee else slow(knee) * (steps - step) / (steps - knee)) + 1e-3


def train(
    work: Path,
    size: Size,
    steps: int,
    seed: int,
    stop: int | None = None,
    share: float = TEACHER_SHARE,
    weight: float = TEACHER_WEIGHT,
) -> Student:
    """Run or continue a training.

    Args:
        work: the folder of ``training.prepare``; ``checkpoint.pt`` comes and stays there.
        size: the student's.
        steps: of the whole training.
        seed: of the parameters and the batches.
        stop: end early, as a cut would.
        share: the teacher's, of the batches.
        weight: the teacher's within those batches.
    """
    corpus: corpora.Corpus = pickle.loads((work / "corpus.pickle").read_bytes())
    taught = np.load(work / "taught.npy")
    teacher = np.load(work / "teacher.npy", mmap_mode="r")
    place = np.full(len(corpus), -1, np.int64)
    place[taught] = np.arange(len(taught))
    tokenizer = vocabulary.load(work / "tokenizer.json")
    variable = ngrams.is_variable(tokenizer.get_vocab())
    torch.manual_seed(seed)
    model = Student(size)
    _start_grams(model, corpus)
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: rate(step, steps))
    first, saved = 0, work / "checkpoint.pt"
    if saved.exists():
        state = torch.load(saved, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        schedule.load_state_dict(state["schedule"])
        first = state["step"]
    started, mean = time.time(), 0.0
    for step, (members, spoken) in enumerate(Batches(corpus, taught, teacher, seed, share).stream()):
        if step < first:
            continue  # the stream is cheap to replay
        if step >= (steps if stop is None else stop):
            break
        target = target_of(corpus, members, teacher if spoken else None, place, weight)
        loss = loss_of(forward(model, corpus, members, variable), target)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        mean += (loss.item() - mean) / min(step - first + 1, 100)
        if (step + 1) % 50 == 0 or step + 1 == steps:
            speed = (step + 1 - first) * BATCH / (time.time() - started)
            print(f"step {step + 1}/{steps} loss {mean:.4f} {speed:.0f} formulas/s", flush=True)
        if (step + 1) % 250 == 0 or step + 1 in (steps, stop):
            state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(),
                     "schedule": schedule.state_dict(), "step": step + 1}  # fmt: skip
            torch.save(state, saved.with_suffix(".new"))
            saved.with_suffix(".new").replace(saved)
    return model


def _start_grams(model: Student, corpus: corpora.Corpus) -> None:
    """Scale the random n-gram rows by the mean idf of what falls into them: a random projection of the TF-IDF."""
    rows = (corpus.rows.view(np.uint32) % model.size.rows).astype(np.int64)
    n = np.bincount(rows, minlength=model.size.rows)
    idf = np.log1p(len(corpus) / np.maximum(n, 1)).astype(np.float32)
    with torch.no_grad():
        model.grams.weight *= torch.from_numpy(idf / idf.mean())[:, None]


def main(argv: list[str] | None = None) -> int:
    """``python -m training.distil --work DIR --steps N``: DIR is what ``training.prepare`` made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1800)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="part of the recipe: sums depend on it")
    a = parser.parse_args(argv)
    torch.set_num_threads(a.threads)
    torch.use_deterministic_algorithms(True)
    size = Size(**json.loads((a.work / "size.json").read_text()))
    model = train(a.work, size, a.steps, a.seed)
    torch.save(model.state_dict(), a.work / "student.pt")
    run = {"steps": a.steps, "seed": a.seed, "threads": a.threads, "torch": torch.__version__}
    record = json.loads((a.work / "provenance.json").read_text()) | run
    (a.work / "run.json").write_text(json.dumps(record, indent=2))
    print(f"wrote {a.work / 'student.pt'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
