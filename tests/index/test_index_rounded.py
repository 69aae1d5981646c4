from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from index import rounded

NUMBERS = st.floats(-4, 4, width=16)


@given(arrays.arrays(np.float16, st.tuples(st.integers(1, 40), st.integers(1, 9)), elements=NUMBERS))
def test_each_number_is_within_half_a_step(vectors: np.ndarray) -> None:
    sections = rounded.sections("v", vectors)
    assert sections["v"].dtype == np.uint8
    assert sum(part.nbytes for part in sections.values()) == vectors.size + 8 * vectors.shape[1]
    span = np.ptp(vectors.astype(np.float32), axis=0)
    found = rounded.read("v", sections)
    assert (np.abs(found - vectors) <= span / 510 + 1e-5).all()


def test_the_ends_of_a_range_are_kept() -> None:
    vectors = np.array([[0.0, -3.0], [1.0, 5.0], [0.3, 0.1]], np.float32)
    found = rounded.read("v", rounded.sections("v", vectors))
    assert np.allclose(found[:2], vectors[:2], atol=1e-6)
    assert abs(found[2] - vectors[2]).max() > 1e-6  # the others are not


@pytest.mark.parametrize("lost", ["v", "v.low", "v.step"])
def test_missing_sections_are_named(lost: str) -> None:
    sections = rounded.sections("v", np.ones((2, 3), np.float32))
    del sections[lost]
    with pytest.raises(KeyError, match=lost):
        rounded.read("v", sections)
