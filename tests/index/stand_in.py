"""What stands in for the encoder and for a collection in these tests."""

from __future__ import annotations

import functools
import random
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from index import embed

HEADER = ["id", "post_id", "thread_id", "type", "comment_id", "old_visual_id", "visual_id", "issue", "formula"]
DIM = 16


@functools.cache
def token_vector(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(DIM)


class HashEmbedder:
    """Stands in for the encoder: the vector is the sum of a random vector a token, the features are token hashes."""

    dim = DIM

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self.folder, self.threads = folder, threads

    def embed(self, formulas: Sequence[str]) -> embed.Embedded:
        vectors, features, counts = [], [], []
        for formula in formulas:
            tokens = re.findall(r"\\[A-Za-z]+|\S", formula) or [""]
            hashes = [zlib.crc32(t.encode("utf-8", "replace")) for t in tokens]
            total = np.sum([token_vector(h) for h in hashes], axis=0)
            vectors.append((total / np.linalg.norm(total)).astype(np.float16))
            features += hashes
            counts.append(len(hashes))
        return embed.Embedded(np.array(vectors), np.array(features, np.uint32), np.array(counts, np.int64))


def collection(groups: int, seed: int = 0, most: int = 4) -> list[list[object]]:
    """Rows of a collection of so many visual groups, in random order, with withheld and comment rows among them."""
    rng = random.Random(seed)
    tokens = [*"abcdefxyzn0123+-=()", r"\frac", r"\sum", r"\int", r"\alpha", r"\pi", r"\le"]
    rows: list[list[object]] = []
    for visual in range(groups):
        formula = " ".join(rng.choices(tokens, k=rng.randint(1, 12)))
        for number in range(rng.randint(1, most)):
            kind = rng.choice(["question", "answer", "comment", "title"])
            issue = rng.choice(["", "", "", "v", "d", "dv"]) if number else ""
            rows.append([len(rows) * 3 + 1, 7, 7, kind, "", visual, visual + 1000, issue, formula])
    rng.shuffle(rows)
    return rows
