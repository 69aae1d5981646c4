"""The pinned teacher, all-MiniLM-L6-v2, as plain arrays in the naming of ``weights.graph``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from weights.graph import Shape, Weights

LONGEST = 256  # tokens; the model's own max_seq_length


def load(folder: Path) -> tuple[Weights, Shape]:
    """Read ``model.safetensors`` and ``config.json`` of a verified folder (see ``weights.pin``).

    Returns:
        The weights, matrices as (in, out) and with an identity as projection, and the shape (384 dimensions).

    Raises:
        KeyError: a tensor of the expected BERT layout is missing.
    """
    config = json.loads((folder / "config.json").read_text())
    raw = load_file(folder / "model.safetensors")
    width = config["hidden_size"]
    shape = Shape(config["num_hidden_layers"], width, config["num_attention_heads"], config["intermediate_size"], width,
                  LONGEST, "Gelu", config["layer_norm_eps"])  # fmt: skip
    weights: Weights = {
        "tokens": raw["embeddings.word_embeddings.weight"],
        # The segment embedding is the same for every token, so it can ride on the positions.
        "positions": raw["embeddings.position_embeddings.weight"][:LONGEST]
        + raw["embeddings.token_type_embeddings.weight"][0],
        "embed.weight": raw["embeddings.LayerNorm.weight"],
        "embed.bias": raw["embeddings.LayerNorm.bias"],
        "project.weight": np.eye(width, dtype=np.float32),
        "project.bias": np.zeros(width, np.float32),
    }
    for i in range(shape.layers):
        source, target = f"encoder.layer.{i}", f"layer{i}"
        parts = [f"{source}.attention.self.{part}" for part in ("query", "key", "value")]
        weights[f"{target}.qkv.weight"] = np.concatenate([raw[f"{p}.weight"].T for p in parts], axis=1)
        weights[f"{target}.qkv.bias"] = np.concatenate([raw[f"{p}.bias"] for p in parts])
        for name, place in (("out", "attention.output.dense"), ("up", "intermediate.dense"), ("down", "output.dense")):
            weights[f"{target}.{name}.weight"] = np.ascontiguousarray(raw[f"{source}.{place}.weight"].T)
            weights[f"{target}.{name}.bias"] = raw[f"{source}.{place}.bias"]
        for name, place in (("norm1", "attention.output.LayerNorm"), ("norm2", "output.LayerNorm")):
            weights[f"{target}.{name}.weight"] = raw[f"{source}.{place}.weight"]
            weights[f"{target}.{name}.bias"] = raw[f"{source}.{place}.bias"]
    return weights, shape
