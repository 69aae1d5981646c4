"""The activation ranges of 8-bit matrix products, measured with the float32 graph on real formulas.

Two passes over the formulas: the first finds every input's extremes, the second counts its values into equal bins, so
memory does not grow with the number of formulas. A rule turns the counts into a range; the default is the one that
kept int8 vectors closest to float32 ones (see ``docs/encoder.md``). Needs ``onnx``; not part of building or serving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import onnx
import onnxruntime as ort

from weights.graph import Shape, Weights, build, linear_names

BATCH = 64
BINS = 4096
CUTS = 48  # candidate limits a side in ``squared_error``

Ids = Sequence[Sequence[int]]
Rule = Callable[[np.ndarray, np.ndarray], tuple[float, float]]


def batches(sequences: Ids) -> Iterator[list[int]]:
    """Group sequences into batches of one length, at most ``BATCH`` each, as places in ``sequences``.

    Raises:
        ValueError: a sequence is empty; the graph has no vector for it.
    """
    by_length: dict[int, list[int]] = {}
    for i, ids in enumerate(sequences):
        if not len(ids):
            raise ValueError(f"sequence {i}: expected at least one token id")
        by_length.setdefault(len(ids), []).append(i)
    for _, rows in sorted(by_length.items()):
        for start in range(0, len(rows), BATCH):
            yield rows[start : start + BATCH]


def session(model: onnx.ModelProto, threads: int = 1) -> ort.InferenceSession:
    """A CPU session over a model in memory; one thread, so that sums are taken in one order, unless told otherwise."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def vectors(model: onnx.ModelProto, sequences: Ids) -> np.ndarray:
    """The model's vectors of token-id sequences, float32 (len(sequences), dim)."""
    runner = session(model)
    out: np.ndarray | None = None
    for rows in batches(sequences):
        part = runner.run(["vectors"], {"ids": np.array([sequences[i] for i in rows], np.int64)})[0]
        if out is None:
            out = np.empty((len(sequences), part.shape[1]), np.float32)
        out[rows] = part
    if out is None:
        raise ValueError("expected at least one sequence")
    return out


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Cosine of each row of one matrix with the same row of the other, float64 (rows,)."""
    a, b = one.astype(np.float64), other.astype(np.float64)
    return np.einsum("ij,ij->i", a, b) / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-30)


def extremes(edges: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """The whole range seen."""
    return float(edges[0]), float(edges[-1])


def percentile(share: float) -> Rule:
    """The range of the middle ``share`` of the values (0.999: all but one in two thousand a side)."""

    def rule(edges: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
        below = np.cumsum(counts) / counts.sum()
        low = int(np.searchsorted(below, (1 - share) / 2, side="right"))
        high = int(np.searchsorted(below, 1 - (1 - share) / 2, side="left"))
        return float(edges[low]), float(edges[min(high, len(counts) - 1) + 1])

    return rule


def squared_error(edges: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """The range with the least mean squared error of 8-bit codes: step^2/12 inside, the clipped distance outside.

    step^2/12 is the error of rounding a value that is uniform within a step (Widrow's quantisation noise model).
    """
    centres, share = (edges[:-1] + edges[1:]) / 2, counts / counts.sum()
    fractions = np.linspace(1, 0, CUTS, endpoint=False)
    lows, highs = min(edges[0], 0.0) * fractions, max(edges[-1], 0.0) * fractions
    under = [float((share * np.maximum(low - centres, 0) ** 2).sum()) for low in lows]
    over = [float((share * np.maximum(centres - high, 0) ** 2).sum()) for high in highs]
    error = np.add.outer(under, over) + np.subtract.outer(lows, highs) ** 2 / 255**2 / 12
    i, j = np.unravel_index(int(np.argmin(error)), error.shape)
    return float(lows[i]), float(highs[j])


RULES: dict[str, Rule] = {
    "extremes": extremes,
    "percentile 99.9": percentile(0.999),
    "percentile 99.99": percentile(0.9999),
    "squared error": squared_error,
}
RULE = "squared error"


def _product_inputs(model: onnx.ModelProto, shape: Shape) -> dict[str, str]:
    """Name of every product's input in a tapped float32 graph; found by the weights, as two may share one input."""
    sources = {node.input[1]: node.input[0] for node in model.graph.node if node.op_type == "MatMul"}
    return {name: sources[f"{name}.weight"] for name in linear_names(shape)}


def histograms(weights: Weights, shape: Shape, sequences: Ids) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Bin edges, float64 (BINS + 1,), and counts, int64 (BINS,), of every product's input over the sequences."""
    model = build(weights, shape, tap=True)
    sources = _product_inputs(model, shape)
    taps = list(dict.fromkeys(sources.values()))
    runner = session(model)

    def runs() -> Iterator[dict[str, np.ndarray]]:
        for rows in batches(sequences):
            ids = np.array([sequences[i] for i in rows], np.int64)
            yield dict(zip(taps, runner.run(taps, {"ids": ids}), strict=True))

    low, high = dict.fromkeys(taps, np.inf), dict.fromkeys(taps, -np.inf)
    for values in runs():
        for tap, value in values.items():
            low[tap], high[tap] = min(low[tap], float(value.min())), max(high[tap], float(value.max()))
    for tap in taps:
        if not low[tap] < high[tap]:
            high[tap] = low[tap] + 1e-6  # a constant input; the bins need a width
    counts = {tap: np.zeros(BINS, np.int64) for tap in taps}
    for values in runs():
        for tap, value in values.items():
            counts[tap] += np.histogram(value, BINS, (low[tap], high[tap]))[0]
    edges = {tap: np.linspace(low[tap], high[tap], BINS + 1) for tap in taps}
    return {name: (edges[tap], counts[tap]) for name, tap in sources.items()}


def ranges(seen: dict[str, tuple[np.ndarray, np.ndarray]], rule: str = RULE) -> dict[str, float]:
    """Turn histograms into ``NAME.low`` and ``NAME.high``.

    Every range holds 0, which then has a code of its own (the zero point). Limits are rounded to three digits, so that
    the last bits of a float32 sum, which differ from one kind of CPU to another, do not change the exported file.
    """
    result: dict[str, float] = {}
    for name, (edges, counts) in seen.items():
        low, high = RULES[rule](edges, counts)
        result[f"{name}.low"], result[f"{name}.high"] = float(f"{min(low, 0.0):.3g}"), float(f"{max(high, 0.0):.3g}")
    return result


def calibrate(weights: Weights, shape: Shape, sequences: Ids, rule: str = RULE) -> dict[str, float]:
    """Measure the input range of every matrix product, for ``graph.build``.

    Args:
        weights: as in ``graph.build``.
        shape: the architecture.
        sequences: token ids of real formulas, none empty, none longer than ``shape.positions``; some hundreds do.
        rule: a key of ``RULES``.

    Returns:
        ``NAME.low`` <= 0 <= ``NAME.high`` for each name in ``linear_names(shape)``.

    Raises:
        ValueError: there is no sequence, or an empty one.
    """
    if not len(sequences):
        raise ValueError("expected at least one sequence to calibrate with")
    return ranges(histograms(weights, shape, sequences), rule)
