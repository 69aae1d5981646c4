from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import cells, codes, grams
from index.coded import _joined
from index.codes import Layout
from tests.index.coder_made import ALL, CODERS, DIM, LAYOUTS, MADE, NODES

CODER = CODERS[LAYOUTS[0]]
BITS = CODER.layout.names[0]
CODED = MADE.encode(CODER, ALL)


def own(row: int, coder: codes.Coder = CODER) -> tuple[np.ndarray, np.ndarray]:
    """The cells of a query that is one of the groups."""
    query = MADE.vectors[row].astype(np.float32)
    features = MADE.features[MADE.starts[row] : MADE.starts[row + 1]]
    cosines = coder.nodes.astype(np.float32) @ query / coder.norms
    return cells.own(coder, query, cosines, features)


@pytest.mark.parametrize("row", range(0, len(ALL), 7))
def test_before_nodes_settle_the_best_cell_is_that_of_the_groups_codes(row: int) -> None:
    nodes, worth = own(row)
    assert nodes.dtype == np.int64
    assert worth.dtype == np.float32
    assert worth.shape == (len(nodes), 1 << BITS)
    best = np.unravel_index(np.argmax(worth), worth.shape)
    assert nodes[best[0]] == MADE.node[row]
    assert worth[best] == pytest.approx(cells.WITHIN * cells.STEEP)
    assert worth[best] == pytest.approx(worth[best[0], CODED[row, 0]], abs=1e-5)
    assert worth.min() >= 0


def test_only_names_of_the_querys_own_ngrams_are_worth_something() -> None:
    for row in ALL[::5]:
        _, worth = own(row)
        allowed = MADE.names(row, BITS, 0) if len(MADE.own(row)) else [grams.NONE]
        assert np.isin(np.flatnonzero(worth.any(axis=0)), allowed).all()


def test_a_code_that_says_more_than_a_name_has_no_cells() -> None:
    for layout in LAYOUTS:
        nodes, worth = own(3, CODERS[layout])
        assert bool(len(nodes)) == (layout.parts == 0)
        assert len(worth) == len(nodes)


def test_far_nodes_have_none_and_no_more_are_looked_at_than_said(monkeypatch: pytest.MonkeyPatch) -> None:
    query = MADE.vectors[5].astype(np.float32)
    cosines = np.linspace(0, 1, NODES, dtype=np.float32)
    assert cells.own(CODER, query, cosines, MADE.features[:0])[0].tolist() == [NODES - 1]
    monkeypatch.setattr(cells, "NODES", 3)
    same = np.zeros(NODES, np.float32)  # equally near: the first
    nodes, worth = cells.own(CODER, query, same, MADE.features[:0])
    assert nodes.tolist() == [0, 1, 2]
    assert np.flatnonzero(worth.any(axis=0)).tolist() == [grams.NONE]


def test_a_node_of_no_length_is_no_fault() -> None:
    coder = replace(CODER, nodes=CODER.nodes * 0)
    assert (coder.norms > 0).all()
    assert np.isfinite(coder.at_nodes(np.zeros(NODES, np.float32), 3)).all()
    query = np.zeros(DIM, np.float32)
    nodes, worth = cells.own(coder, query, query[:1] * np.zeros(NODES, np.float32), MADE.features[:3])
    assert np.isfinite(worth).all()
    assert len(nodes) == min(NODES, cells.NODES)


@settings(max_examples=60)
@given(st.data())
def test_members_are_the_groups_of_the_cells(data: st.DataObject) -> None:
    names = np.array(data.draw(st.lists(st.integers(0, 3), max_size=30)), np.uint16)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(names)), min_size=4, max_size=4)))
    first = np.array([0, *cuts, len(names)])
    nodes = np.array(data.draw(st.lists(st.integers(0, 4), unique=True)), np.int64)
    values = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=4 * len(nodes), max_size=4 * len(nodes)))
    worth = np.array(values, np.float32).reshape(len(nodes), 4)
    places, found = cells.members(nodes, worth, first, names)
    expected = {
        place: worth[row, names[place]]
        for row, node in enumerate(nodes)
        for place in range(first[node], first[node + 1])
        if worth[row, names[place]] > 0
    }
    assert places.tolist() == sorted(expected)
    assert found.tolist() == [expected[place] for place in places.tolist()]


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
def test_places_are_joined_once(some: set[int], others: set[int]) -> None:
    joined = _joined(np.array(sorted(some), np.int64), np.array(list(others), np.int64))
    assert joined[: len(some)].tolist() == sorted(some)
    assert sorted(joined.tolist()) == sorted(some | others)


def test_layouts_of_two_names_are_found_by_the_first() -> None:
    layout = Layout((5, 7))
    nodes, worth = own(3, CODERS[layout])
    assert len(nodes)
    assert worth.shape[1] == 1 << 5
