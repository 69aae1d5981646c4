"""Everything that a training reads, made from the pinned teacher and the formulas: vocabulary, corpus, teacher vectors.

``python -m training.prepare --teacher DIR --collection formulas.tsv --formulas open.txt.gz --work WORK`` writes into
WORK the files that ``training.distil`` names. The teacher reads every group of the collection and a seeded sample of
the other formulas; it is slow, so its vectors are kept block by block and a run that was cut goes on from there.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import pickle
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

from encoder import vocabulary
from encoder.latex import canonical
from training import corpus as corpora
from training.student import Size
from weights import teacher
from weights.graph import build

VOCABULARY = 1536
POOL, BLOCK = 100_000, 10_000  # formulas drawn for the teacher, and how many it reads at a time
LONGEST, BATCH = 128, 64  # the teacher's, in WordPiece tokens and formulas
PREFERENCE = {"question": 0, "answer": 0, "title": 1, "comment": 2}


def representatives_with_groups(path: Path) -> tuple[list[int], list[str]]:
    """The groups of a collection by ascending number, and a formula of each; any type of instance may stand for it."""
    csv.field_size_limit(1 << 30)
    best: dict[int, tuple[tuple[int, int], str]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            rank, group = (PREFERENCE[row["type"]], int(row["id"])), int(row["visual_id"])
            if group not in best or rank < best[group][0]:
                best[group] = (rank, row["formula"])
    groups = sorted(best)
    return groups, [best[group][1] for group in groups]


class Teacher:
    """The pinned model in float32 on two threads; reads LaTeX as typed."""

    def __init__(self, folder: Path) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 2
        model = build(*teacher.load(folder)).SerializeToString()
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.no_padding()

    def encode(self, formulas: Sequence[str]) -> np.ndarray:
        """float16 (n, 384) unit vectors."""
        ids = [e.ids for e in self.tokenizer.encode_batch(list(formulas))]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        out = np.zeros((len(ids), 384), np.float16)
        start = 0
        while start < len(order):
            length = len(ids[order[start]])
            end = start
            while end < len(order) and end - start < BATCH and len(ids[order[end]]) == length:
                end += 1
            rows = order[start:end]
            out[rows] = self.session.run(None, {"ids": np.array([ids[i] for i in rows])})[0]
            start = end
        return out


def taught(folder: Path, collection: list[str], others: list[str], count: int, work: Path) -> dict[str, np.ndarray]:
    """The teacher's vectors by canonical form, float16 (384,) each; blocks are kept in ``work``."""
    rng = random.Random(1)
    drawn = sorted(rng.sample(range(len(others)), min(POOL, len(others))))
    rng.shuffle(drawn)
    blocks = [collection, *([others[i] for i in drawn[s : s + BLOCK]] for s in range(0, count, BLOCK))]
    model: Teacher | None = None
    vectors: dict[str, np.ndarray] = {}
    for number, block in enumerate(blocks):
        path = work / f"teacher-{number}.npy"
        if not path.exists():
            model = model or Teacher(folder)
            print(f"teacher: block {number + 1} of {len(blocks)}, {len(block):,} formulas", file=sys.stderr, flush=True)
            with path.with_suffix(".new").open("wb") as file:
                np.save(file, model.encode(block))
            path.with_suffix(".new").replace(path)
        for formula, vector in zip(block, np.load(path), strict=True):
            vectors.setdefault(canonical(formula), vector)
    return vectors


def sha256(path: Path) -> str:
    """Hash of a file, hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(argv: list[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--teacher", type=Path, required=True, help="what weights.pin wrote")
    parser.add_argument("--collection", type=Path, required=True, help="a formulas.tsv")
    parser.add_argument("--formulas", type=Path, required=True, help="a .txt.gz with a formula a line")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--taught", type=int, default=20_000, help="formulas beside the collection for the teacher")
    for name, default in (("layers", 1), ("ffn", 512), ("hidden", 512), ("rows", 16384)):
        parser.add_argument(f"--{name}", type=int, default=default)
    a = parser.parse_args(argv)
    a.work.mkdir(parents=True, exist_ok=True)
    (_, collection), others = representatives_with_groups(a.collection), corpora.read(a.formulas)
    formulas, canonicals = corpora.distinct(collection + others)
    tokenizer = vocabulary.make(vocabulary.learn(canonicals, VOCABULARY))
    tokenizer.save(str(a.work / "tokenizer.json"))
    size = Size(tokenizer.get_vocab_size(), layers=a.layers, ffn=a.ffn, hidden=a.hidden, rows=a.rows)
    (a.work / "size.json").write_text(json.dumps(asdict(size)))
    print(f"corpus: {len(formulas):,} distinct formulas", file=sys.stderr, flush=True)
    corpus = corpora.build(formulas, canonicals, tokenizer)
    (a.work / "corpus.pickle").write_bytes(pickle.dumps(corpus, protocol=5))
    place = {form: i for i, form in enumerate(canonicals)}
    vectors = taught(a.teacher, collection, others, a.taught, a.work)
    known = {place[form]: vector for form, vector in vectors.items() if form in place}
    members = np.array(sorted(known))
    np.save(a.work / "taught.npy", members)
    np.save(a.work / "teacher.npy", np.stack([known[i] for i in members]))
    pinned = [a.teacher / name for name in ("model.safetensors", "tokenizer.json", "config.json")]
    files = [a.collection, a.formulas, *pinned]
    hashes = {path.name: sha256(path) for path in files}
    record = {"files": hashes, "taught": len(members), "formulas": len(formulas)}
    (a.work / "provenance.json").write_text(json.dumps(record, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
