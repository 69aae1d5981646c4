"""From the trained student to the shipped files (``weights.export``)."""

from __future__ import annotations

import argparse
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch

from encoder import ngrams, vocabulary
from training import corpus as corpora
from training.student import Size
from weights.builder import Weights
from weights.calibrate import vectors as vectors_of
from weights.export import export
from weights.graph import Shape, build

LIMIT = 4_000_000  # bytes of model and tokenizer; every one of them is taken from the index
STRETCH = 0.5
CALIBRATION = 50_000  # formulas, of which every fifth is held out: int8 is compared with float32 on 10,000


def arrays(state: dict[str, torch.Tensor], size: Size, variable: np.ndarray) -> tuple[Weights, Shape]:
    """A student's parameters in the naming of ``weights.graph``.

    Args:
        state: ``Student.state_dict()``.
        size: the student's size.
        variable: bool (V,), see ``encoder.ngrams.is_variable``.
    """
    raw = {k: v.detach().numpy() for k, v in state.items()}
    weights: Weights = {"variable": variable}
    for target, source in (("tokens", "tokens"), ("renamed", "renamed"), ("positions", "places"), ("grams", "grams")):
        weights[target] = raw[f"{source}.weight"]
    norms = ["embed", "gram_norm"]
    linears = ["hidden", "project"]
    for i in range(size.layers):
        norms += [f"layer{i}.norm1", f"layer{i}.norm2"]
        linears += [f"layer{i}.{part}" for part in ("qkv", "out", "up", "down")]
    for name in norms + linears:
        source = name.replace("layer", "layers.", 1) if name.startswith("layer") else name
        matrix = raw[f"{source}.weight"]
        weights[f"{name}.weight"] = matrix if name in norms else np.ascontiguousarray(matrix.T)
        weights[f"{name}.bias"] = raw[f"{source}.bias"]
    shape = Shape(size.layers, size.width, size.heads, size.ffn, size.dim, size.positions,
                  epsilon=1e-5, rows=size.rows, hidden=size.hidden)  # fmt: skip
    return weights, shape


def rotate(weights: Weights, vectors: np.ndarray) -> Weights:
    """Turn the space to its principal axes and stretch them a little, inside the projection.

    Normalising is the only step after the projection, so a linear map of the vectors is a linear map of its matrix.
    The axes come by falling variance, so that a truncated vector keeps the most; stretching by the STRETCH-th power of
    their deviation weighs down those that carry least.

    Args:
        weights: the student's; not changed.
        vectors: float (n, dim) unit vectors of formulas.

    Returns:
        The weights with another ``project``.
    """
    values, axes = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors / len(vectors))
    values, axes = values[::-1], axes[:, ::-1]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(len(axes))])  # eigenvectors have no sign
    turn = axes * np.sqrt(values / values.mean()) ** STRETCH
    turned = {name: (weights[name] @ turn).astype(np.float32) for name in ("project.weight", "project.bias")}
    return weights | turned


def main(argv: list[str] | None = None) -> int:
    """``python -m training.export --work DIR --out weights``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="the folder that training.distil worked in")
    parser.add_argument("--out", type=Path, required=True)
    a = parser.parse_args(argv)
    size = Size(**json.loads((a.work / "size.json").read_text()))
    tokenizer = vocabulary.load(a.work / "tokenizer.json")
    state = torch.load(a.work / "student.pt", weights_only=True)
    weights, shape = arrays(state, size, ngrams.is_variable(tokenizer.get_vocab()))
    corpus: corpora.Corpus = pickle.loads((a.work / "corpus.pickle").read_bytes())
    chosen = np.sort(np.random.default_rng(0).choice(len(corpus), min(CALIBRATION, len(corpus)), replace=False))
    ids = [corpus.ids[corpus.start[i] : corpus.start[i + 1]].tolist() for i in chosen]
    weights = rotate(weights, vectors_of(build(weights, shape), ids[::10]))
    provenance: dict[str, Any] = json.loads((a.work / "run.json").read_text())
    record = export(weights, shape, tokenizer, ids, a.out, provenance, limit=LIMIT)
    print(json.dumps(record["int8_against_float32"]), sum(f["size"] for f in record["files"].values()), "bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
