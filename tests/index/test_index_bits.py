from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import bits, ids

QUICK = settings(deadline=None, max_examples=50)
LARGEST = 2**63 - 1


@QUICK
@given(st.integers(0, bits.WIDEST).flatmap(lambda w: st.tuples(st.just(w), st.lists(st.integers(0, (1 << w) - 1)))))
def test_packed_numbers_come_back(case: tuple[int, list[int]]) -> None:
    width, values = case
    packed = bits.pack(np.array(values, np.int64), width)
    assert packed.nbytes == (len(values) * width + 7) // 8
    assert bits.unpack(packed, len(values), width).tolist() == values


def test_packing_spans_pieces() -> None:
    values = np.random.default_rng(0).integers(0, 1 << 11, bits._PIECE * 2 + 77)
    assert np.array_equal(bits.unpack(bits.pack(values, 11), len(values), 11), values)


def test_bits_stand_lowest_first() -> None:
    assert bits.pack(np.array([1, 2, 3]), 3).tolist() == [0b11_010_001, 0b0]


@pytest.mark.parametrize(("values", "width"), [([8], 3), ([-1], 3), ([1], 0), ([1], 57)])
def test_numbers_that_do_not_fit_are_refused(values: list[int], width: int) -> None:
    with pytest.raises(ValueError, match=r"width|fit"):
        bits.pack(np.array(values), width)


def test_unpacking_checks_the_length() -> None:
    with pytest.raises(ValueError, match="2 bytes, expected 3"):
        bits.unpack(np.zeros(2, np.uint8), 8, 3)


@QUICK
@given(st.lists(st.one_of(st.integers(0, LARGEST), st.integers(0, 50)), max_size=300))
def test_ascending_numbers_come_back_in_the_size_foretold(values: list[int]) -> None:
    ordered = np.sort(np.array(values, np.int64))
    code = bits.ascending(ordered)
    assert np.array_equal(bits.read_ascending(code), ordered)
    assert len(code) == bits.ascending_size(len(ordered), int(ordered[-1]) if len(ordered) else 0)


def test_ascending_numbers_take_little() -> None:
    values = np.sort(np.random.default_rng(1).choice(28_000_000, 84_000, replace=False))
    assert len(bits.ascending(values)) * 8 / len(values) < 2 + np.log2(28_000_000 / 84_000) + 0.1


@pytest.mark.parametrize("values", [[3, 2], [-1, 4]])
def test_descending_or_negative_numbers_are_refused(values: list[int]) -> None:
    with pytest.raises(ValueError, match="ascend"):
        bits.ascending(np.array(values, np.int64))


@QUICK
@given(st.binary(max_size=120))
def test_no_code_makes_the_reader_fail_otherwise_than_by_saying_so(code: bytes) -> None:
    try:
        bits.read_ascending(np.frombuffer(code, np.uint8))
    except ValueError:
        return


@QUICK
@given(st.sets(st.one_of(st.integers(0, LARGEST), st.integers(0, 500)), max_size=200))
def test_ids_come_back(values: set[int]) -> None:
    ordered = np.array(sorted(values), np.int64)
    code = ids.encode(ordered)
    assert ids.decode(code).tolist() == sorted(values)
    assert ids.size(ordered) == len(code)


def test_repeated_ids_are_refused() -> None:
    with pytest.raises(ValueError, match="strictly"):
        ids.encode(np.array([1, 1]))
    with pytest.raises(ValueError, match="strictly"):
        ids.decode(bits.ascending(np.array([1, 1])))
