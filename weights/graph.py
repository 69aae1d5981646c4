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
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Weights = dict[str, np.ndarray]
WEIGHT_LIMIT = 63  # see the module's docstring
OPSET, MS_DOMAIN = 17, "com.microsoft"


@dataclass(frozen=True)
class Shape:
    """What a graph looks like: layers, width, attention heads, feed-forward width, output dimensions, longest input."""

    layers: int
    width: int
    heads: int
    ffn: int
    dim: int
    positions: int
    activation: str = "Relu"
    epsilon: float = 1e-12


class _Builder:
    """Collects nodes and initialisers; every method returns the name of the value it adds."""

    def __init__(self, weights: Weights, scales: dict[str, float] | None, taps: list[str]) -> None:
        self.weights, self.scales, self.taps = weights, scales, taps
        self.nodes: list[onnx.NodeProto] = []
        self.initial: dict[str, np.ndarray] = {}
        self.count = 0

    def node(self, op: str, inputs: list[str], domain: str = "", **attributes: Any) -> str:
        self.count += 1
        out = f"v{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [out], name=f"{op}{self.count}", domain=domain, **attributes))
        return out

    def constant(self, name: str, value: np.ndarray | np.generic) -> str:
        self.initial[name] = np.asarray(value, order="C")  # not ascontiguousarray, which turns a scalar into a vector
        return name

    def linear(self, x: str, name: str) -> str:
        """X (.., in) @ weights[name] (in, out) + bias, in float32 or in 8 bits with float32 in and out."""
        matrix = self.weights[f"{name}.weight"]
        bias = self.constant(f"{name}.bias", self.weights[f"{name}.bias"].astype(np.float32))
        self.taps.append(x)
        if self.scales is None:
            return self.node("Add", [self.node("MatMul", [x, self.constant(f"{name}.weight", matrix)]), bias])
        codes, scale = quantise(matrix)
        low, high = self.scales[f"{name}.low"], self.scales[f"{name}.high"]
        step = np.float32(max(high - low, 1e-6) / 255)
        zero = np.uint8(np.clip(np.rint(-low / step), 0, 255))
        a_scale, a_zero = self.constant(f"{name}.a_scale", step), self.constant(f"{name}.a_zero", zero)
        b_scale = self.constant(f"{name}.b_scale", scale)
        inputs = [self.node("QuantizeLinear", [x, a_scale, a_zero]), self.constant(f"{name}.codes", codes),
                  a_scale, b_scale, a_zero, "", bias]  # fmt: skip
        return self.node("MatMulIntegerToFloat", inputs, domain=MS_DOMAIN)

    def normalise(self, x: str, residual: str | None, name: str, epsilon: float) -> str:
        """Layer normalisation of x (+ residual)."""
        gamma = self.constant(f"{name}.gamma", self.weights[f"{name}.weight"].astype(np.float32))
        beta = self.constant(f"{name}.beta", self.weights[f"{name}.bias"].astype(np.float32))
        if residual is not None:
            # Not SkipLayerNormalization: ONNX Runtime 1.32's CPU kernel for it takes five times as long as these two.
            x = self.node("Add", [x, residual])
        return self.node("LayerNormalization", [x, gamma, beta], epsilon=epsilon, axis=-1)

    def embed(self, ids: str, shape: Shape) -> str:
        """Token plus position embeddings, (B, T, width); the tokens' rows in 8 bits when the graph is quantised."""
        table = self.weights["tokens"]
        if self.scales is None:
            tokens = self.node("Gather", [self.constant("tokens", table.astype(np.float32)), ids], axis=0)
        else:
            step = np.maximum(np.abs(table).max(axis=1), 1e-9).astype(np.float32) / 127
            codes = np.clip(np.rint(table / step[:, None]), -127, 127).astype(np.int8)
            rows = self.node("Gather", [self.constant("tokens", codes), ids], axis=0)
            steps = self.node("Gather", [self.constant("tokens.scale", step[:, None]), ids], axis=0)
            tokens = self.node("Mul", [self.node("Cast", [rows], to=TensorProto.FLOAT), steps])
        one, zero = self.constant("one", np.array([1], np.int64)), self.constant("zero", np.array([0], np.int64))
        length = self.node("Slice", [self.node("Shape", [ids]), one, self.constant("two", np.array([2], np.int64))])
        positions = self.constant("positions", self.weights["positions"].astype(np.float32))
        places = self.node("Slice", [positions, zero, length, zero])
        return self.normalise(self.node("Add", [tokens, places]), None, "embed", shape.epsilon)

    def layer(self, x: str, name: str, shape: Shape) -> str:
        """One post-norm transformer layer (Vaswani et al. 2017), (B, T, width) to the same."""
        joined = self.linear(x, f"{name}.qkv")
        sizes = self.constant("thirds", np.array([shape.width] * 3, np.int64))
        parts = [f"{name}.q", f"{name}.k", f"{name}.v"]
        self.nodes.append(helper.make_node("Split", [joined, sizes], parts, name=f"{name}.split", axis=-1))
        mixed = self.node("MultiHeadAttention", parts, domain=MS_DOMAIN, num_heads=shape.heads)
        x = self.normalise(self.linear(mixed, f"{name}.out"), x, f"{name}.norm1", shape.epsilon)
        inner = self.node(shape.activation, [self.linear(x, f"{name}.up")],
                          domain=MS_DOMAIN if shape.activation == "Gelu" else "")  # fmt: skip
        return self.normalise(self.linear(inner, f"{name}.down"), x, f"{name}.norm2", shape.epsilon)


def quantise(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric 7-bit codes of a (in, out) float matrix, one scale per output column.

    Returns:
        int8 codes (in, out) within +-63 and float32 scales (out,).
    """
    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-9).astype(np.float32) / WEIGHT_LIMIT
    codes = np.clip(np.rint(matrix / scale), -WEIGHT_LIMIT, WEIGHT_LIMIT).astype(np.int8)
    return codes, scale


def linear_names(shape: Shape) -> list[str]:
    """The matrix products of a graph in the order in which they run."""
    inner = [f"layer{i}.{part}" for i in range(shape.layers) for part in ("qkv", "out", "up", "down")]
    return [*inner, "project"]


def build(
    weights: Weights, shape: Shape, scales: dict[str, float] | None = None, *, tap: bool = False
) -> onnx.ModelProto:
    """The encoder as an ONNX model: ``ids`` int64 (B, T) of equal-length formulas to ``vectors`` float32 (B, dim).

    Args:
        weights: ``tokens`` (V, width), ``positions`` (P, width), and ``.weight``/``.bias`` of ``embed``,
            ``layerN.{qkv,out,up,down,norm1,norm2}`` and ``project``; matrices are (in, out).
        shape: the architecture.
        scales: ``NAME.low`` and ``NAME.high`` of every product's input (see ``calibrate``); None for float32.
        tap: also output the input of every product, each once, for calibration.
    """
    taps: list[str] = []
    b = _Builder(weights, scales, taps)
    x = b.embed("ids", shape)
    for i in range(shape.layers):
        x = b.layer(x, f"layer{i}", shape)
    pooled = b.node("ReduceMean", [x], axes=[1], keepdims=0)
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
