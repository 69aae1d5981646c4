"""What each part of the student and of its signal is worth: short trainings, both years, dense alone.

    python -m bench.ablation --work WORK --shared ../shared [--steps 400] [--only NAME ...]

WORK is what ``training.prepare`` made. Every variant trains from scratch with the shipped recipe but for what its name
says, in a folder ``WORK/ablation/NAME`` that a cut run continues from. Prints a row a variant: nDCG' of 2020 and 2021
with 64, 48, 32 and 16 dimensions of the float32 student; of the 8-bit export its bytes and the formulas a second that
one process encodes, canonicalisation included (compare within one run: the machine's speed drifts). The last line of
every row's figures also goes to WORK/ablation/results.jsonl, from which ``bench.picture`` draws.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.scale import YEARS, Task, top
from encoder import ngrams, vocabulary
from encoder.latex import canonical
from encoder.model import Encoder
from evaluation.metrics import means
from training import corpus as corpora
from training.distil import TEACHER_SHARE, TEACHER_WEIGHT, forward, train
from training.export import arrays
from training.student import Size, Student
from weights.export import export

INPUTS = ("corpus.pickle", "taught.npy", "teacher.npy", "tokenizer.json")
DIMENSIONS = (64, 48, 32, 16)


@dataclass(frozen=True)
class Variant:
    """Changes to the shipped recipe."""

    size: dict[str, Any] = field(default_factory=dict)
    share: float = TEACHER_SHARE
    weight: float = TEACHER_WEIGHT
    vocabulary: int = 0  # entries; 0 for the shipped vocabulary


VARIANTS = {
    "as shipped": Variant(),
    "no transformer": Variant({"layers": 0}),
    "two layers": Variant({"layers": 2}),
    "narrow feed-forward": Variant({"ffn": 256, "hidden": 256}),
    "quarter of the n-gram rows": Variant({"rows": 4096}),
    "n-grams only as signal": Variant(share=0.0),
    "teacher only as signal": Variant(share=1.0, weight=1.0),
    "teacher's weight .5": Variant(weight=0.5),
    "width 64": Variant({"width": 64}),
    "half of the n-gram rows": Variant({"rows": 8192}),
    "vocabulary of 512": Variant(vocabulary=512),
    "vocabulary of 4,096": Variant(vocabulary=4096),
}


def vectors(model: Student, corpus: corpora.Corpus, variable: np.ndarray) -> np.ndarray:
    """float32 (n, dim) unit vectors of a whole corpus."""
    with torch.no_grad():
        parts = np.array_split(np.arange(len(corpus)), max(1, len(corpus) // 2048))
        return np.concatenate([forward(model, corpus, part, variable).numpy() for part in parts])


def rankings(documents: np.ndarray, queries: np.ndarray, dim: int) -> Iterator[np.ndarray]:
    """Top 1,000 places a query by the first ``dim`` numbers."""
    d, q = (x[:, :dim] / np.linalg.norm(x[:, :dim], axis=1, keepdims=True) for x in (documents, queries))
    return (top(d @ row) for row in q)


def prepare(variant: Variant, work: Path, folder: Path) -> None:
    """Lay out what a training reads: the shipped inputs, with the variant's own vocabulary if it has one."""
    folder.mkdir(parents=True, exist_ok=True)
    own = ("corpus.pickle", "tokenizer.json") if variant.vocabulary else ()
    for file in INPUTS:
        if file not in own and not (folder / file).exists():
            (folder / file).symlink_to((work / file).resolve())
    if own and not (folder / own[0]).exists():
        shipped: corpora.Corpus = pickle.loads((work / "corpus.pickle").read_bytes())
        forms = [canonical(formula) for formula in shipped.formulas]
        tokenizer = vocabulary.make(vocabulary.learn(forms, variant.vocabulary))
        tokenizer.save(str(folder / "tokenizer.json"))
        corpus = corpora.build(shipped.formulas, forms, tokenizer)
        (folder / "corpus.pickle").write_bytes(pickle.dumps(corpus, protocol=5))


def measure(name: str, work: Path, task: Task, forms: list[str], steps: int) -> None:
    """Train a variant and print its row; ``forms`` are the task's formulas, then its queries, canonical."""
    variant, folder = VARIANTS[name], work / "ablation" / name.replace(" ", "-").replace(",", "")
    prepare(variant, work, folder)
    tokenizer = vocabulary.load(folder / "tokenizer.json")
    corpus = corpora.build(forms, forms, tokenizer)
    size = replace(Size(**json.loads((work / "size.json").read_text())), **variant.size)
    size = replace(size, vocabulary=tokenizer.get_vocab_size())
    model = train(folder, size, steps, seed=1, share=variant.share, weight=variant.weight).eval()
    variable = ngrams.is_variable(tokenizer.get_vocab())
    every = vectors(model, corpus, variable)
    cells, means_by_dim = [], {}
    for dim in DIMENSIONS:
        scores = task.score(rankings(every[: len(task.formulas)], every[len(task.formulas) :], dim))
        both = [means(scores[year])["ndcg"] for year in YEARS]
        cells.append(" / ".join(f"{value:.3f}" for value in both))
        means_by_dim[dim] = both
    weights, shape = arrays(model.state_dict(), size, variable)
    some = [corpus.ids[corpus.start[i] : corpus.start[i + 1]].tolist() for i in range(0, len(corpus), 20)]
    record = export(weights, shape, tokenizer, some, folder / "model", {"ablation": name})
    total = sum(file["size"] for file in record["files"].values())
    rate = speed(folder / "model", task.formulas[::8])
    print(f"| {name} | {' | '.join(cells)} | {total / 1e6:.2f} MB | {rate:.0f} |", flush=True)
    row = {"name": name, "steps": steps, "ndcg": means_by_dim, "bytes": total, "formulas_per_s": rate}
    with (work / "ablation" / "results.jsonl").open("a") as results:
        results.write(json.dumps(row) + "\n")


def speed(folder: Path, formulas: list[str]) -> float:
    """Formulas a second of one process, the best of three."""
    encoder = Encoder(folder)
    times = []
    for _ in range(3):
        started = time.time()
        encoder.encode(formulas)
        times.append(time.time() - started)
    return len(formulas) / min(times)


def main(argv: list[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--only", nargs="*", choices=list(VARIANTS), default=list(VARIANTS))
    a = parser.parse_args(argv)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    task = Task(a.shared / "arqmath-mini")
    forms = [canonical(f) for f in task.formulas] + [canonical(latex) for _, _, latex in task.queries]
    dims = " | ".join(f"{d}-d" for d in DIMENSIONS)
    print(f"| {a.steps} steps | {dims} | size | formulas/s |\n|---|---|---|---|---|---|---|")
    for name in a.only:
        measure(name, a.work, task, forms, a.steps)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
