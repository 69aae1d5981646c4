"""Small models with random weights, for the tests of ``weights``."""

from typing import Any

import numpy as np
from tokenizers import Tokenizer

from encoder import vocabulary
from weights.graph import Shape, Weights

SHAPE = Shape(layers=2, width=32, heads=2, ffn=48, dim=16, positions=24)
ENTRIES = ["[UNK]", *"abcxyz+-=()0123^_{}", "\\frac", "\\sqrt"]


def random_weights(shape: Shape = SHAPE, vocabulary_size: int = len(ENTRIES), seed: int = 0) -> Weights:
    rng = np.random.default_rng(seed)
    weights: dict[str, np.ndarray] = {}

    def linear(name: str, rows: int, columns: int) -> None:
        weights[f"{name}.weight"] = rng.normal(0, rows**-0.5, (rows, columns)).astype(np.float32)
        weights[f"{name}.bias"] = rng.normal(0, 0.1, columns).astype(np.float32)

    def norm(name: str) -> None:
        weights[f"{name}.weight"] = rng.uniform(0.5, 1.5, shape.width).astype(np.float32)
        weights[f"{name}.bias"] = rng.normal(0, 0.1, shape.width).astype(np.float32)

    weights["tokens"] = rng.normal(0, 1, (vocabulary_size, shape.width)).astype(np.float32)
    weights["positions"] = rng.normal(0, 0.5, (shape.positions, shape.width)).astype(np.float32)
    norm("embed")
    for i in range(shape.layers):
        linear(f"layer{i}.qkv", shape.width, 3 * shape.width)
        linear(f"layer{i}.out", shape.width, shape.width)
        linear(f"layer{i}.up", shape.width, shape.ffn)
        linear(f"layer{i}.down", shape.ffn, shape.width)
        norm(f"layer{i}.norm1")
        norm(f"layer{i}.norm2")
    linear("project", shape.width, shape.dim)
    return weights


def random_ids(count: int, shape: Shape = SHAPE, vocabulary_size: int = len(ENTRIES), seed: int = 1) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, vocabulary_size, rng.integers(1, shape.positions)).tolist() for _ in range(count)]


def tokenizer() -> Tokenizer:
    return vocabulary.make(ENTRIES)


def reference(weights: Weights, shape: Shape, ids: list[int]) -> np.ndarray:
    """The encoder written out in numpy, float64, one formula at a time."""
    w: dict[str, Any] = {k: v.astype(np.float64) for k, v in weights.items()}

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + shape.epsilon)
        return centred / spread * w[f"{name}.weight"] + w[f"{name}.bias"]

    x = norm(w["tokens"][ids] + w["positions"][: len(ids)], "embed")
    for i in range(shape.layers):
        parts = np.split(linear(x, f"layer{i}.qkv"), 3, axis=-1)
        heads = []
        for q, k, v in zip(*(np.split(part, shape.heads, axis=-1) for part in parts), strict=True):
            scores = np.exp(q @ k.T / np.sqrt(q.shape[-1]))
            heads.append(scores / scores.sum(-1, keepdims=True) @ v)
        x = norm(x + linear(np.concatenate(heads, axis=-1), f"layer{i}.out"), f"layer{i}.norm1")
        x = norm(x + linear(np.maximum(linear(x, f"layer{i}.up"), 0), f"layer{i}.down"), f"layer{i}.norm2")
    vector = linear(x.mean(0), "project")
    return vector / np.linalg.norm(vector)
