from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoder import ngrams, vocabulary
from encoder.latex import canonical
from tests.encoder.spellings import RENAMED

ENTRIES = ["[UNK]", *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123+=", r"\frac", r"\alpha", r"\infty"]
VARIABLE = ngrams.is_variable({e: i for i, e in enumerate(ENTRIES)})
IDS = st.lists(st.integers(0, len(ENTRIES) - 1), min_size=1, max_size=40)


def reference(ids: list[int]) -> list[int]:
    """The features of one formula, written out without numpy."""
    size = len(ENTRIES)
    holders: dict[int, int] = {}
    renamed = []
    for i in ids:
        if VARIABLE[i]:
            holders.setdefault(i, size + min(len(holders), ngrams.PLACES - 1))
        renamed.append(holders.get(i, i))
    out = []
    for kind, stream, lengths in ((0, ids, ngrams.TYPED), (1, renamed, ngrams.RENAMED)):
        marked = [size + ngrams.PLACES, *stream, size + ngrams.PLACES + 1]
        for n in lengths:
            starts = range(1, len(marked) - 1) if n == 1 else range(len(marked) - n + 1)
            for start in starts:
                value = marked[start] + 1 + kind * ngrams.KIND
                for token in marked[start + 1 : start + n]:
                    value = (value * ngrams.MULTIPLIER + token + 1) % ngrams.MODULUS
                out.append(value)
    return out


def test_variables_are_letters_and_greek_letters_alone() -> None:
    flags = dict(zip(ENTRIES, VARIABLE.tolist(), strict=True))
    assert flags["a"]
    assert flags[r"\alpha"]
    assert not any(flags[e] for e in ("[UNK]", "0", "+", r"\frac", r"\infty"))


@settings(max_examples=50, deadline=None)
@given(IDS)
def test_features_are_those_of_the_definition(ids: list[int]) -> None:
    found = ngrams.features(np.array([ids]), VARIABLE)
    assert found.dtype == np.uint32
    assert found[0].tolist() == reference(ids)


@settings(max_examples=50, deadline=None)
@given(st.lists(IDS, min_size=2, max_size=5))
def test_a_row_does_not_depend_on_its_neighbours(rows: list[list[int]]) -> None:
    length = min(map(len, rows))
    batch = np.array([r[:length] for r in rows])
    together = ngrams.features(batch, VARIABLE)
    for i in range(len(rows)):
        np.testing.assert_array_equal(together[i], ngrams.features(batch[i : i + 1], VARIABLE)[0])


@settings(max_examples=50, deadline=None)
@given(IDS, st.randoms(use_true_random=False))
def test_renaming_consistently_changes_no_renamed_token(ids: list[int], random: Random) -> None:
    letters = np.flatnonzero(VARIABLE).tolist()
    shuffled = list(letters)
    random.shuffle(shuffled)
    other = [dict(zip(letters, shuffled, strict=True)).get(i, i) for i in ids]
    np.testing.assert_array_equal(ngrams.rename(np.array([ids]), VARIABLE), ngrams.rename(np.array([other]), VARIABLE))


@pytest.mark.parametrize(("one", "other"), RENAMED)
def test_renamed_formulas_share_all_features_of_the_renamed_stream(one: str, other: str) -> None:
    forms = canonical(one), canonical(other)
    entries = vocabulary.learn([*forms] * 20, 200)
    variable = ngrams.is_variable({e: i for i, e in enumerate(entries)})
    first, second = (np.array([vocabulary.make(entries).encode(f).ids]) for f in forms)
    assert first.shape == second.shape
    typed = sum(first.shape[1] + 2 - n + 1 for n in ngrams.TYPED) - 2  # the marks are no n-grams
    a, b = ngrams.features(first, variable)[0], ngrams.features(second, variable)[0]
    np.testing.assert_array_equal(a[typed:], b[typed:])
    assert Counter(a[:typed].tolist()) != Counter(b[:typed].tolist())


def test_more_variables_than_place_holders_share_the_last() -> None:
    ids = np.arange(1, 53)[None]
    renamed = ngrams.rename(ids, VARIABLE)[0] - len(ENTRIES)
    assert renamed.tolist() == [min(k, ngrams.PLACES - 1) for k in range(52)]


def test_the_hash_stays_exact_in_64_bits_and_its_streams_apart() -> None:
    assert (ngrams.MODULUS - 1) * ngrams.MULTIPLIER + ngrams.KIND < 2**63 - 1
    long = ngrams.features(np.random.default_rng(0).integers(0, len(ENTRIES), (1, 500)), VARIABLE)
    assert long.max() < ngrams.MODULUS


@pytest.mark.parametrize("length", [1, 2, 3, 5, 24])
@pytest.mark.parametrize("rows", [7, 2048, 2**31])
def test_the_graph_computes_the_same_features(length: int, rows: int) -> None:
    onnx = pytest.importorskip("onnx", reason="the graph needs the onnx package")
    import onnxruntime as ort

    from weights import ngram_graph
    from weights.builder import Builder

    b = Builder({"variable": VARIABLE}, None, [])
    renamed, grams = ngram_graph.read(b, "ids", rows)
    integers = onnx.TensorProto.INT64
    graph = onnx.helper.make_graph(
        b.nodes,
        "n-grams",
        [onnx.helper.make_tensor_value_info("ids", integers, ["B", "T"])],
        [onnx.helper.make_tensor_value_info(name, integers, None) for name in (renamed, grams)],
        [onnx.numpy_helper.from_array(value, name) for name, value in b.initial.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    ids = np.random.default_rng(length).integers(0, len(ENTRIES), (9, length))
    found = session.run(None, {"ids": ids})
    np.testing.assert_array_equal(found[0], ngrams.rename(ids, VARIABLE))
    np.testing.assert_array_equal(found[1], ngrams.features(ids, VARIABLE).astype(np.int64) % rows)
