from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index import grams

SAMPLES = st.lists(st.lists(st.integers(0, 30), max_size=8), min_size=1, max_size=120)


def arrays(formulas: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    flat = [feature for formula in formulas for feature in formula]
    return np.array(flat, np.uint32), np.array([len(formula) for formula in formulas], np.int64)


@given(SAMPLES, st.integers(0, 40))
def test_the_dictionary_holds_the_most_frequent_that_are_not_common(formulas: list[list[int]], size: int) -> None:
    spread = {f: sum(f in formula for formula in formulas) for f in range(31)}
    most = max(len(formulas), grams.LEAST * grams.COMMON_SHARE) / grams.COMMON_SHARE
    usable = [f for f, count in spread.items() if grams.LEAST <= count <= most]
    expected = sorted(sorted(usable, key=lambda f: (-spread[f], f))[:size])
    found = grams.learn(*arrays(formulas), size=size)
    assert found.hashes.tolist() == expected
    assert found.hashes.dtype == np.uint32
    idf = np.log1p(len(formulas) / np.array([spread[f] for f in expected]))
    assert np.allclose(found.idf, idf, atol=0.5 / grams.STEPS + 1e-6)
    assert (found.idf > 0).all()


@given(st.lists(st.integers(0, 2**32 - 1), unique=True, max_size=30), st.lists(st.integers(0, 2**32 - 1), max_size=30))
def test_places_of_features(known: list[int], wanted: list[int]) -> None:
    hashes = np.array(sorted(known), np.uint32)
    dictionary = grams.Dictionary(hashes, np.ones(len(hashes), np.uint8))
    queries = [*wanted, *known]
    place = dictionary.find(np.array(queries, np.uint32))
    assert [hashes[p] if p >= 0 else None for p in place] == [q if q in known else None for q in queries]


@pytest.mark.parametrize("bits", [1, 6, 10, 14])
def test_names_fit_and_spread(bits: int) -> None:
    hashes = np.unique(np.random.default_rng(bits).integers(0, 2**32, 20_000).astype(np.uint32))
    names = grams.Dictionary(hashes, np.ones(len(hashes), np.uint8)).names(np.arange(len(hashes)), 2, bits)
    count = (1 << bits) - 1
    assert names.dtype == np.uint16
    assert names.min() >= 1 > grams.NONE
    assert names.max() <= count
    used = np.bincount(names, minlength=count + 1)[1:]
    assert used.max() < len(hashes) / count + 8 * np.sqrt(len(hashes) / count) + 8


def test_lengths_and_columns_have_names_of_their_own() -> None:
    hashes = np.unique(np.random.default_rng(1).integers(0, 2**32, 1_000).astype(np.uint32))
    dictionary, every = grams.Dictionary(hashes, np.ones(len(hashes), np.uint8)), np.arange(len(hashes))
    kinds = [(length, column) for length in range(len(grams.LENGTHS) + 1) for column in range(4)]
    names = np.array([dictionary.names(every, length, 14, column) for length, column in kinds])
    for one in range(len(kinds)):
        for other in range(one):
            assert (names[one] == names[other]).mean() < 0.01, (kinds[one], kinds[other])
    mixed = np.arange(len(hashes)) % 6
    together = dictionary.names(every, mixed, 14, 3)
    rows = np.array([kinds.index((int(m), 3)) for m in mixed])
    assert np.array_equal(together, names[rows, every])


def test_ngrams_that_share_a_name_do_not_share_the_next() -> None:
    hashes = np.unique(np.random.default_rng(2).integers(0, 2**32, 3_000).astype(np.uint32))
    dictionary, every = grams.Dictionary(hashes, np.ones(len(hashes), np.uint8)), np.arange(len(hashes))
    first = dictionary.names(every, 0, 10, 0)
    one, other = np.nonzero(np.triu(first[:, None] == first[None], 1))
    assert len(one) > 3_000
    others = [dictionary.names(every, length, 10, column) for length, column in ((1, 0), (0, 1), (3, 2))]
    others.append(replace(dictionary, draw=1).names(every, 0, 10, 0))
    for names in others:
        assert (names == first).mean() < 0.01
        assert (names[one] == names[other]).mean() < 0.01  # one in 1,023 by chance


def test_classes_of_length_ascend() -> None:
    counts = np.arange(3_000)
    classes = grams.length_class(counts)
    assert (np.diff(classes) >= 0).all()
    assert [int(np.flatnonzero(classes == c)[0]) for c in range(1, 6)] == grams.LENGTHS.tolist()
    assert (classes.min(), classes.max()) == (0, 5)


@given(
    st.lists(st.integers(0, 60), max_size=40), st.integers(0, 200), st.sampled_from([3, 6, 14]), st.sampled_from([0, 2])
)
def test_a_query_values_its_own_names_by_rarity_and_length(
    features: list[int], unknown: int, bits: int, column: int
) -> None:
    hashes = np.arange(0, 60, 2, dtype=np.uint32)
    dictionary = grams.Dictionary(hashes, np.arange(1, 31, dtype=np.uint8))
    features = features + [1_001] * unknown  # they only make the query longer
    table = grams.query_table(dictionary, np.array(features, np.uint32), bits, column)
    own = sorted({int(f) // 2 for f in features if f % 2 == 0 and f < 60})
    length = sum(len(features) >= edge for edge in grams.LENGTHS)
    expected = np.zeros(1 << bits)
    for place in own:
        worth = dictionary.idf[place] ** 2 / dictionary.idf[own[-1]] ** 2  # rarity ascends with the place here
        for other in range(6):
            name = int(dictionary.names(np.array([place]), other, bits, column)[0])
            expected[name] = max(expected[name], worth * grams.OFF_LENGTH ** abs(other - length))
    assert np.allclose(table, expected, atol=1e-6)
    assert table[grams.NONE] == 0
    assert table.dtype == np.float32


def test_nothing_is_known_of_an_empty_dictionary() -> None:
    dictionary = grams.learn(np.empty(0, np.uint32), np.zeros(5, np.int64))
    assert len(dictionary.hashes) == 0
    assert dictionary.find(np.array([1, 2], np.uint32)).tolist() == [-1, -1]
    assert grams.query_table(dictionary, np.array([1, 2], np.uint32), 6).tolist() == [0] * 64
