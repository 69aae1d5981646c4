"""The ONNX graph of a sentence encoder: token ids in, unit vectors out.

One builder serves the pinned teacher and our own student, in float32 or with 8-bit matrix products. It takes plain
numpy weights, so an exported file depends on nothing but them, and two exports are the same bytes.

Two decisions make a vector the same wherever and beside whatever it is computed:

* There is no padding and no attention mask. A batch holds formulas of one length only (see ``encoder.model``), so a
  row of the result never depends on its neighbours.
* Activations are quantised with fixed, calibrated scales (never per batch), weights symmetrically to 7 bits. On x86
  without VNNI the 8-bit kernel adds two products in 16 bits: 2 x 255 x 63 = 32,130 < 32,767, so it cannot saturate
  and the integer sums are exact on every machine (ONNX Runtime's quantisation notes call this reduced range).

Needs the ``onnx`` package; building an index and serving never import this module.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from weights import ngram_graph
from weights.builder import MS_DOMAIN, Builder, Weights

OPSET = 17
GRAM_EPSILON = 1e-5


@dataclass(frozen=True)
class Shape:
    """What a graph looks like: layers, width, attention heads, feed-forward width, output dimensions, longest input.

    ``rows`` n-gram rows and a layer of ``hidden`` units behind them make it a student; 0 leaves both out.
    """

    layers: int
    width: int
    heads: int
    ffn: int
    dim: int
    positions: int
    activation: str = "Relu"
    epsilon: float = 1e-12
    rows: int = 0
    hidden: int = 0


def _embed(b: Builder, ids: str, renamed: str | None, shape: Shape) -> str:
    """Token (plus renamed token) plus position embeddings, normalised, (B, T, width)."""
    x = b.lookup("tokens", ids)
    if renamed is not None:
        x = b.node("Add", [x, b.lookup("renamed", renamed)])
    length = b.node("Slice", [b.node("Shape", [ids]), b.integers(1), b.integers(2)])
    positions = b.constant("positions", b.weights["positions"].astype(np.float32))
    places = b.node("Slice", [positions, b.integers(0), length, b.integers(0)])
    return b.normalise(b.node("Add", [x, places]), None, "embed", shape.epsilon)


def _layer(b: Builder, x: str, name: str, shape: Shape) -> str:
    """One post-norm transformer layer (Vaswani et al. 2017), (B, T, width) to the same."""
    joined = b.linear(x, f"{name}.qkv")
    parts = [f"{name}.q", f"{name}.k", f"{name}.v"]
    sizes = b.integers(*[shape.width] * 3)
    b.nodes.append(helper.make_node("Split", [joined, sizes], parts, name=f"{name}.split", axis=-1))
    mixed = b.node("MultiHeadAttention", parts, domain=MS_DOMAIN, num_heads=shape.heads)
    x = b.normalise(b.linear(mixed, f"{name}.out"), x, f"{name}.norm1", shape.epsilon)
    domain = MS_DOMAIN if shape.activation == "Gelu" else ""
    inner = b.node(shape.activation, [b.linear(x, f"{name}.up")], domain=domain)
    return b.normalise(b.linear(inner, f"{name}.down"), x, f"{name}.norm2", shape.epsilon)


def linear_names(shape: Shape) -> list[str]:
    """The matrix products of a graph in the order in which they run."""
    inner = [f"layer{i}.{part}" for i in range(shape.layers) for part in ("qkv", "out", "up", "down")]
    return [*inner, *(["hidden"] if shape.hidden else []), "project"]


def build(
    weights: Weights, shape: Shape, scales: dict[str, float] | None = None, *, tap: bool = False
) -> onnx.ModelProto:
    """The encoder as an ONNX model: ``ids`` int64 (B, T) of equal-length formulas to ``vectors`` float32 (B, dim).

    Args:
        weights: ``tokens`` (V, width), ``positions`` (P, width), and ``.weight``/``.bias`` of ``embed``,
            ``layerN.{qkv,out,up,down,norm1,norm2}`` and ``project``; matrices are (in, out). A shape with n-gram rows
            also wants ``renamed`` (V + places, width), ``grams`` (rows, width), ``variable`` bool (V,), ``gram_norm``
            and ``hidden``.
        shape: the architecture.
        scales: ``NAME.low`` and ``NAME.high`` of every product's input (see ``calibrate``); None for float32.
        tap: also output the input of every product, each once, for calibration.
    """
    taps: list[str] = []
    b = Builder(weights, scales, taps)
    renamed, grams = ngram_graph.read(b, "ids", shape.rows) if shape.rows else (None, None)
    x = _embed(b, "ids", renamed, shape)
    for i in range(shape.layers):
        x = _layer(b, x, f"layer{i}", shape)
    pooled = b.node("ReduceMean", [x], axes=[1], keepdims=0)
    if grams is not None:
        lexical = b.normalise(b.lookup_sum("grams", grams), None, "gram_norm", GRAM_EPSILON)
        pooled = b.node("Concat", [pooled, lexical], axis=1)
        pooled = b.node("Concat", [pooled, b.node("Relu", [b.linear(pooled, "hidden")])], axis=1)
    vector = b.linear(pooled, "project")
    b.nodes.append(helper.make_node("LpNormalization", [vector], ["vectors"], name="unit", axis=-1, p=2))
    outputs = [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["B", shape.dim])]
    if tap:
        outputs += [helper.make_tensor_value_info(t, TensorProto.FLOAT, None) for t in dict.fromkeys(taps)]
    inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, ["B", "T"])]
    initial = [numpy_helper.from_array(v, k) for k, v in sorted(b.initial.items())]
    graph = helper.make_graph(b.nodes, "formula encoder", inputs, outputs, initial)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MS_DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=opsets, producer_name="formdex", ir_version=8)
    helper.set_model_props(model, {k: str(v) for k, v in sorted(asdict(shape).items())})
    return model
