"""The parts of an ONNX graph: nodes, constants, matrix products in float32 or 8 bits, table look-ups.

``weights.graph`` and ``weights.ngram_graph`` put encoders together from them. Needs the ``onnx`` package.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

Weights = dict[str, np.ndarray]
WEIGHT_LIMIT = 63  # 7 bits: see the docstring of weights.graph
MS_DOMAIN = "com.microsoft"


def quantise(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric 7-bit codes of a (in, out) float matrix, one scale per output column.

    Returns:
        int8 codes (in, out) within +-63 and float32 scales (out,).
    """
    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-9).astype(np.float32) / WEIGHT_LIMIT
    codes = np.clip(np.rint(matrix / scale), -WEIGHT_LIMIT, WEIGHT_LIMIT).astype(np.int8)
    return codes, scale


class Builder:
    """Collects nodes and initialisers; every method returns the name of the value it adds."""

    def __init__(self, weights: Weights, scales: dict[str, float] | None, taps: list[str]) -> None:
        self.weights, self.scales, self.taps = weights, scales, taps
        self.nodes: list[onnx.NodeProto] = []
        self.initial: dict[str, np.ndarray] = {}
        self.count = 0

    def node(self, op: str, inputs: list[str], domain: str = "", **attributes: Any) -> str:
        """Add a node with one output."""
        self.count += 1
        out = f"v{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [out], name=f"{op}{self.count}", domain=domain, **attributes))
        return out

    def constant(self, name: str, value: np.ndarray | np.generic) -> str:
        """Add an initialiser; the same name twice is the same value."""
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

    def lookup(self, name: str, ids: str) -> str:
        """Rows of weights[name] (V, width) by id, float32 (.., width); kept in 8 bits a row when quantised."""
        table = self.weights[name]
        if self.scales is None:
            return self.node("Gather", [self.constant(name, table.astype(np.float32)), ids], axis=0)
        step = np.maximum(np.abs(table).max(axis=1), 1e-9).astype(np.float32) / 127
        codes = np.clip(np.rint(table / step[:, None]), -127, 127).astype(np.int8)
        rows = self.node("Gather", [self.constant(name, codes), ids], axis=0)
        steps = self.node("Gather", [self.constant(f"{name}.scale", step[:, None]), ids], axis=0)
        return self.node("Mul", [self.node("Cast", [rows], to=TensorProto.FLOAT), steps])

    def lookup_sum(self, name: str, ids: str) -> str:
        """Sum over axis 1 of rows of weights[name] by ids (B, F), float32 (B, width); 8 bits, one scale a column."""
        table = self.weights[name].astype(np.float32)
        axis = self.constant("axis1", np.array([1], np.int64))
        if self.scales is None:
            rows = self.node("Gather", [self.constant(name, table), ids], axis=0)
            return self.node("ReduceSum", [rows, axis], keepdims=0)
        step = np.maximum(np.quantile(np.abs(table), 0.9999, axis=0), 1e-9).astype(np.float32) / 127
        codes = np.clip(np.rint(table / step), -127, 127).astype(np.int8)
        rows = self.node("Gather", [self.constant(name, codes), ids], axis=0)
        total = self.node("ReduceSum", [self.node("Cast", [rows], to=TensorProto.FLOAT), axis], keepdims=0)
        return self.node("Mul", [total, self.constant(f"{name}.scale", step)])

    def integer(self, value: int) -> str:
        """An int64 scalar constant."""
        return self.constant(f"int{value}", np.int64(value))

    def integers(self, *values: int) -> str:
        """An int64 vector constant."""
        return self.constant("ints" + "_".join(map(str, values)), np.array(values, np.int64))
