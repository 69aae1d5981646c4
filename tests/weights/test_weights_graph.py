from dataclasses import replace

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from tests.weights.weights_models import SHAPE, random_ids, random_weights, reference
from weights.builder import MS_DOMAIN, WEIGHT_LIMIT, quantise
from weights.calibrate import (
    BATCH,
    RULES,
    batches,
    calibrate,
    cosines,
    histograms,
    percentile,
    ranges,
    session,
    squared_error,
    vectors,
)
from weights.graph import build, linear_names

WEIGHTS = random_weights()


def product(codes: np.ndarray, zero: int, inputs: np.ndarray, threads: int = 1) -> np.ndarray:
    """What ONNX Runtime makes of the graph's 8-bit product, with scales of 1 and no bias."""
    one = np.float32(1)
    initial = {"codes": codes, "a": one, "b": np.ones(codes.shape[1], np.float32), "zero": np.uint8(zero)}
    node = helper.make_node("MatMulIntegerToFloat", ["x", "codes", "a", "b", "zero"], ["y"], domain=MS_DOMAIN)
    graph = helper.make_graph(
        [node], "product", [helper.make_tensor_value_info("x", TensorProto.UINT8, ["M", codes.shape[0]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in initial.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS_DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return session(model, threads).run(None, {"x": inputs})[0]


def integers(codes: np.ndarray, zero: int, inputs: np.ndarray) -> np.ndarray:
    return ((inputs.astype(np.int64) - zero) @ codes.astype(np.int64)).astype(np.float32)


@pytest.mark.parametrize("depth", [32, 128, 256, 384, 1536])
@pytest.mark.parametrize("sign", [1, -1])
def test_integer_product_cannot_saturate(depth: int, sign: int) -> None:
    codes = np.full((depth, 48), sign * WEIGHT_LIMIT, np.int8)
    inputs = np.full((17, depth), 255, np.uint8)
    np.testing.assert_array_equal(product(codes, 0, inputs), integers(codes, 0, inputs))


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 70), depth=st.integers(1, 300), columns=st.integers(1, 130), zero=st.integers(0, 255),
    seed=st.integers(0, 2**32 - 1), threads=st.sampled_from([1, 2]),
)  # fmt: skip
def test_integer_product_is_exact(rows: int, depth: int, columns: int, zero: int, seed: int, threads: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(-WEIGHT_LIMIT, WEIGHT_LIMIT + 1, (depth, columns)).astype(np.int8)
    inputs = rng.integers(0, 256, (rows, depth)).astype(np.uint8)
    np.testing.assert_array_equal(product(codes, zero, inputs, threads), integers(codes, zero, inputs))


def test_codes_stay_in_seven_bits_and_near_the_weights() -> None:
    matrix = np.random.default_rng(4).normal(0, 1, (50, 20)).astype(np.float32) * np.logspace(-3, 3, 20, dtype="f")
    matrix[:, 7] = 0
    codes, scale = quantise(matrix)
    assert codes.dtype == np.int8
    assert np.abs(codes.astype(int)).max() == WEIGHT_LIMIT
    assert (np.abs(codes * scale - matrix) <= scale * 0.5001).all()


def test_float_graph_computes_the_encoder() -> None:
    sequences = random_ids(40)
    got = vectors(build(WEIGHTS, SHAPE), sequences)
    want = np.array([reference(WEIGHTS, SHAPE, ids) for ids in sequences])
    np.testing.assert_allclose(got, want, atol=2e-5)


def test_models_are_valid_onnx_and_say_their_shape() -> None:
    for scales in (None, calibrate(WEIGHTS, SHAPE, random_ids(20))):
        model = build(WEIGHTS, SHAPE, scales)
        onnx.checker.check_model(model)
        assert {p.key: p.value for p in model.metadata_props}["dim"] == str(SHAPE.dim)


@pytest.mark.parametrize("width", [32, 128])
def test_int8_vector_is_bitwise_the_same_alone_and_in_company(width: int) -> None:
    # In float32 it is not: a product of one row runs through another kernel than one of many.
    shape = replace(SHAPE, width=width, ffn=2 * width, dim=width // 2)
    weights = random_weights(shape)
    model = build(weights, shape, calibrate(weights, shape, random_ids(60, shape)))
    sessions = [session(model, 1), session(model, 2)]
    rng = np.random.default_rng(9)
    for length in (1, 2, 3, 7, 15, SHAPE.positions):
        ids = rng.integers(0, len(weights["tokens"]), (BATCH, length))
        want = sessions[0].run(None, {"ids": ids})[0]
        assert np.unique(want, axis=0).shape[0] > 1
        for one in sessions:
            assert one.run(None, {"ids": ids})[0].tobytes() == want.tobytes()
            assert one.run(None, {"ids": ids[5:18]})[0].tobytes() == want[5:18].tobytes()
            alone = np.concatenate([one.run(None, {"ids": ids[i : i + 1]})[0] for i in range(BATCH)])
            assert alone.tobytes() == want.tobytes()


def test_int8_stays_near_float32_on_other_formulas() -> None:
    held = random_ids(200, seed=2)
    model = build(WEIGHTS, SHAPE, calibrate(WEIGHTS, SHAPE, random_ids(200)))
    cosine = cosines(vectors(build(WEIGHTS, SHAPE), held), vectors(model, held))
    assert cosine.mean() > 0.995
    assert np.percentile(cosine, 1) > 0.98


@pytest.mark.parametrize("rule", RULES)
def test_ranges_hold_zero_and_name_every_product(rule: str) -> None:
    scales = calibrate(WEIGHTS, SHAPE, random_ids(30), rule)
    assert set(scales) == {f"{name}.{side}" for name in linear_names(SHAPE) for side in ("low", "high")}
    for name in linear_names(SHAPE):
        assert scales[f"{name}.low"] <= 0 <= scales[f"{name}.high"]
        assert scales[f"{name}.low"] < scales[f"{name}.high"]
    assert all(scales[f"layer{i}.down.low"] == 0 for i in range(SHAPE.layers)), "the input comes from a ReLU"


def test_histograms_belong_to_their_products() -> None:
    sequences = random_ids(30)
    seen = histograms(WEIGHTS, SHAPE, sequences)
    tokens = sum(map(len, sequences))
    size = dict.fromkeys(linear_names(SHAPE), tokens * SHAPE.width)
    size.update({f"layer{i}.down": tokens * SHAPE.ffn for i in range(SHAPE.layers)})
    size["project"] = len(sequences) * SHAPE.width  # pooled: one vector a formula
    assert {name: int(counts.sum()) for name, (_, counts) in seen.items()} == size


def test_first_product_sees_the_normalised_embedding() -> None:
    x = WEIGHTS["tokens"][[3, 5]] + WEIGHTS["positions"][:2]
    x = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True) * WEIGHTS["embed.weight"] + WEIGHTS["embed.bias"]
    edges, _ = histograms(WEIGHTS, SHAPE, [[3, 5]])["layer0.qkv"]
    np.testing.assert_allclose([edges[0], edges[-1]], [x.min(), x.max()], rtol=1e-4)


def test_constant_input_has_a_range() -> None:
    weights = {**WEIGHTS, "layer0.up.weight": WEIGHTS["layer0.up.weight"] * 0, "layer0.up.bias": np.zeros(48, "f")}
    vector = vectors(build(weights, SHAPE, calibrate(weights, SHAPE, random_ids(5))), [[1, 2]])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_percentile_and_squared_error_ignore_a_lone_outlier() -> None:
    values = np.append(np.random.default_rng(0).normal(0, 1, 100_000), 60.0)
    counts, edges = np.histogram(values, 4096)
    low, high = percentile(0.999)(edges, counts)
    assert (low, high) == (pytest.approx(-3.29, abs=0.15), pytest.approx(3.29, abs=0.15))
    _, high = squared_error(edges, counts)
    assert high > 50, "cutting it would cost 60^2 / 100,000 a value, more than finer steps save"
    counts[:-1] *= 1000
    _, high = squared_error(edges, counts)
    assert 3 < high < 8
    assert ranges({"x": (edges, counts)}, "extremes")["x.high"] == 60


def test_batches_cover_every_sequence_once_by_length() -> None:
    sequences = random_ids(500)
    seen = [i for rows in batches(sequences) for i in rows]
    assert sorted(seen) == list(range(500))
    for rows in batches(sequences):
        assert len(rows) <= BATCH
        assert len({len(sequences[i]) for i in rows}) == 1


def test_empty_input_is_refused() -> None:
    with pytest.raises(ValueError, match="sequence 1: expected at least one token id"):
        calibrate(WEIGHTS, SHAPE, [[1], []])
    with pytest.raises(ValueError, match="at least one sequence"):
        calibrate(WEIGHTS, SHAPE, [])
