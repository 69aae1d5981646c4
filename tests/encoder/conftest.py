"""Fixtures of this folder: a tiny seeded model, the shipped model, the shared collection."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest

from encoder import ngrams, vocabulary
from encoder.latex import canonical
from encoder.model import WEIGHTS, Encoder

FORMULAS = [
    r"x^2+y^2=z^2", r"\frac{a}{b+1}", r"\sum_{n=1}^\infty \frac{1}{n^2}", r"\alpha+\beta", "x", "", r"\sqrt{x+1}", "ab",
    r"\nosuch{x}", r"\int_0^1 f(x)\,dx", "x=" * 200, "é", r"\text{if } x>0",
]  # fmt: skip


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small student with random weights, n-gram rows and all."""
    onnx = pytest.importorskip("onnx", reason="making a model needs the onnx package")
    from tests.weights.weights_models import random_weights
    from weights.graph import Shape, build

    folder = tmp_path_factory.mktemp("model")
    entries = vocabulary.learn((canonical(f) for f in FORMULAS * 20), 80)
    ids = {e: i for i, e in enumerate(entries)}
    shape = Shape(layers=1, width=16, heads=2, ffn=24, dim=12, positions=32, rows=64, hidden=20)
    plain = dataclasses.replace(shape, rows=0, hidden=0)
    rng = np.random.default_rng(5)

    def normal(*size: int) -> np.ndarray:
        return rng.normal(0, 0.3, size).astype(np.float32)

    weights = random_weights(plain, len(entries), seed=4)
    weights |= {
        "renamed": normal(len(entries) + ngrams.PLACES, shape.width),
        "grams": normal(shape.rows, shape.width),
        "variable": ngrams.is_variable(ids),
        "gram_norm.weight": np.ones(shape.width, np.float32),
        "gram_norm.bias": np.zeros(shape.width, np.float32),
        "hidden.weight": normal(2 * shape.width, shape.hidden),
        "hidden.bias": normal(shape.hidden),
        "project.weight": normal(2 * shape.width + shape.hidden, shape.dim),
    }
    onnx.save(build(weights, shape), str(folder / "model.onnx"))
    vocabulary.make(entries).save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def shipped() -> Encoder:
    """The shipped model, loaded."""
    if not (WEIGHTS / "model.onnx").is_file() or not (WEIGHTS / "tokenizer.json").is_file():
        pytest.skip("weights/model.onnx is not here")
    return Encoder()


@pytest.fixture(scope="session")
def mini() -> list[str]:
    """Every fourth formula of the shared small collection, as typed."""
    path = Path(__file__).resolve().parents[3] / "shared" / "arqmath-mini" / "formulas.tsv"
    if not path.is_file():
        pytest.skip("../shared/arqmath-mini is not here")
    with path.open(newline="", encoding="utf-8") as handle:
        return [row["formula"] for row in csv.DictReader(handle, delimiter="\t")][::4]
