"""``encoder.ngrams`` as ONNX nodes: renamed variables and hashed n-grams, computed inside the encoder's graph.

The same integers as there, step by step; a test compares the two. Needs the ``onnx`` package.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from encoder.ngrams import KIND, MODULUS, MULTIPLIER, PLACES, RENAMED, TYPED
from weights.builder import Builder


def read(b: Builder, ids: str, rows: int) -> tuple[str, str]:
    """The renamed stream, int64 (B, T), and the rows of all n-grams, int64 (B, F), of ids int64 (B, T)."""
    size = len(b.weights["variable"])
    renamed = _rename(b, ids, size)
    typed_hashes = _hashes(b, _marked(b, ids, size), 0, TYPED[-1])
    renamed_hashes = _hashes(b, _marked(b, renamed, size), 1, RENAMED[-1])
    inner = b.node("Slice", [typed_hashes[0], b.integers(1), b.integers(-1), b.integers(1)])
    parts = [inner, *typed_hashes[1:], *renamed_hashes[RENAMED[0] - 1 :]]
    return renamed, b.node("Mod", [b.node("Concat", parts, axis=1), b.integer(rows)])


def _rename(b: Builder, ids: str, size: int) -> str:
    """See ``encoder.ngrams.rename``."""
    equal = b.node("Equal", [b.node("Unsqueeze", [ids, b.integers(2)]), b.node("Unsqueeze", [ids, b.integers(1)])])
    first = b.node("ArgMax", [b.node("Cast", [equal], to=TensorProto.INT32)], axis=2, keepdims=0)
    flags = b.node("Gather", [b.constant("variable", b.weights["variable"].astype(np.int64)), ids], axis=0)
    length = b.node("Squeeze", [b.node("Slice", [b.node("Shape", [ids]), b.integers(1), b.integers(2)])])
    places = b.node("Range", [b.integer(0), length, b.integer(1)])
    opens = b.node("Mul", [flags, b.node("Cast", [b.node("Equal", [first, places])], to=TensorProto.INT64)])
    counted = b.node("CumSum", [opens, b.integer(1)])
    place = b.node("Sub", [b.node("GatherElements", [counted, first], axis=1), b.integer(1)])
    holder = b.node("Add", [b.node("Min", [place, b.integer(PLACES - 1)]), b.integer(size)])
    return b.node("Where", [b.node("Cast", [flags], to=TensorProto.BOOL), holder, ids])


def _marked(b: Builder, ids: str, size: int) -> str:
    """Ids with a mark before and after, (B, T + 2)."""
    before = b.node("Pad", [ids, b.integers(0, 1, 0, 0), b.integer(size + PLACES)])
    return b.node("Pad", [before, b.integers(0, 0, 0, 1), b.integer(size + PLACES + 1)])


def _hashes(b: Builder, stream: str, kind: int, longest: int) -> list[str]:
    """See ``encoder.ngrams``; n-grams longer than the stream are empty."""
    value = b.node("Add", [stream, b.integer(1 + kind * KIND)])
    hashes = [value]
    end = b.integers(2**31)
    for n in range(2, longest + 1):
        before = b.node("Slice", [value, b.integers(0), b.integers(-1), b.integers(1)])
        last = b.node("Slice", [stream, b.integers(n - 1), end, b.integers(1)])
        total = b.node("Add", [b.node("Mul", [before, b.integer(MULTIPLIER)]), b.node("Add", [last, b.integer(1)])])
        value = b.node("Mod", [total, b.integer(MODULUS)])
        hashes.append(value)
    return hashes
