from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.corpus import Chunk
from index.sample import Sample, centred, mixed, train_nodes

Row = tuple[int, int, bool]  # id, visual, withheld
ROWS = st.lists(
    st.tuples(
        st.integers(0, 2**63 - 1),
        st.one_of(st.integers(-5, 20), st.integers(-(2**63), 2**63 - 1)),
        st.booleans(),
    ),
    max_size=60,
    unique_by=lambda row: row[0],
)


def formula(row: Row) -> str:
    return f"row {row[0]} of {row[1]}" + (" withheld" if row[2] else "")


def sampled(rows: list[Row], size: int, chunk: int = 7) -> list[str]:
    sample = Sample(size)
    for start in range(0, len(rows), chunk):
        part = rows[start : start + chunk]
        ids, visual, withheld = zip(*part, strict=True)
        kinds = np.zeros(len(part), np.uint8)
        arrays = np.array(ids, np.int64), np.array(visual, np.int64), kinds, np.array(withheld, bool)
        sample.add(Chunk(*arrays, [formula(row) for row in part]))
    return sample.formulas


@given(ROWS, st.integers(1, 12), st.randoms(use_true_random=False), st.integers(1, 9))
def test_the_order_of_rows_does_not_matter(rows: list[Row], size: int, rng: object, chunk: int) -> None:
    shuffled = sorted(rows, key=lambda _: rng.random())  # type: ignore[attr-defined]
    assert sampled(rows, size) == sampled(shuffled, size, chunk)


@given(ROWS, st.integers(1, 12))
def test_it_holds_the_smallest_returnable_id_of_the_groups_with_the_smallest_hashes(rows: list[Row], size: int) -> None:
    first: dict[int, Row] = {}
    for row in rows:
        if not row[2] and (row[1] not in first or row[0] < first[row[1]][0]):
            first[row[1]] = row
    hashes = {visual: int(mixed(np.array([visual], np.int64))[0]) for visual in first}
    expected = [formula(first[visual]) for visual in sorted(first, key=lambda visual: hashes[visual])[:size]]
    assert sampled(rows, size) == expected
    assert not any("withheld" in text for text in expected)


def test_a_large_stream_keeps_little() -> None:
    sample = Sample(50)
    for start in range(0, 20_000, 1000):
        visual = np.arange(start, start + 1000, dtype=np.int64)
        none = np.zeros(1000, bool)
        sample.add(Chunk(visual, visual, none.astype(np.uint8), none, [str(v) for v in visual]))
        assert len(sample._formulas) <= 100 + 1000
    assert len(sample.formulas) == 50


def test_it_is_uniform() -> None:
    rows = [(i, i, False) for i in range(20_000)]
    chosen = np.array([int(text.split()[1]) for text in sampled(rows, 4000, chunk=500)])
    tenths = np.bincount(chosen // 2000, minlength=10)
    assert tenths.sum() == 4000
    assert (np.abs(tenths - 400) < 5 * np.sqrt(400 * 0.9)).all()  # five standard deviations


def test_hashes_do_not_collide_and_spread() -> None:
    hashes = mixed(np.arange(-5000, 5000, dtype=np.int64))
    assert len(np.unique(hashes)) == 10_000
    ones = np.unpackbits(hashes.view(np.uint8).reshape(-1, 8), axis=1).mean(axis=0)
    assert (np.abs(ones - 0.5) < 0.03).all()


@pytest.mark.parametrize(("rows", "count"), [(1, 4), (3, 8), (200, 16)])
def test_nodes_are_distinct_and_no_more_than_wanted(rows: int, count: int) -> None:
    vectors = np.random.default_rng(1).standard_normal((rows, 8)).astype(np.float16)
    nodes = train_nodes(np.repeat(vectors, 2, axis=0), count)
    assert nodes.dtype == np.float16
    assert len(np.unique(nodes, axis=0)) == len(nodes) <= min(count, rows)
    assert np.allclose(np.linalg.norm(nodes.astype(np.float32), axis=1), 1, atol=2e-3)
    assert np.array_equal(nodes, train_nodes(np.repeat(vectors, 2, axis=0), count))


def test_centred_nodes_are_the_means_of_those_nearest_by_angle() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((400, 12))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    found = train_nodes(vectors, 20)
    lonely = -vectors.astype(np.float32).mean(axis=0)  # nearer to none than some other node
    found = np.concatenate((found, (lonely / np.linalg.norm(lonely))[None])).astype(np.float16)
    unit = found.astype(np.float32) / np.linalg.norm(found.astype(np.float32), axis=1, keepdims=True)
    near = vectors.astype(np.float32) @ unit.T
    means, owner = centred(vectors, found)
    assert np.array_equal(owner, near.argmax(axis=1))
    for node in range(len(found)):
        members = vectors[owner == node].astype(np.float32)
        expected = members.mean(axis=0) if len(members) else found[node].astype(np.float32)
        assert np.allclose(means[node], expected, atol=1e-3)
    assert means.dtype == np.float16
