from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import clusters, codes, grams
from index.codes import Layout
from tests.index.coder_made import ALL, CODERS, DIM, GROUPS, LAYOUTS, MADE, NODES, Made


def rebuilt(coder: codes.Coder, node: np.ndarray, coded: np.ndarray, columns: int | None = None) -> np.ndarray:
    """The vectors that codes stand for, up to some column; float32 (n, d)."""
    total = coder.nodes[node].astype(np.float32)
    names = len(coder.layout.names)
    for column in range(coded.shape[1] if columns is None else columns):
        piece = coder.books[column][coded[:, column]].astype(np.float32)
        if column < names:
            total += piece
        else:
            width = DIM // coder.layout.parts
            total[:, (column - names) * width : (column - names + 1) * width] += piece
    return total


def test_the_dictionary_of_these_tests_is_not_empty() -> None:
    assert len(MADE.dictionary.hashes) > 50
    assert sum(len(MADE.own(row)) > 0 for row in range(GROUPS)) > GROUPS / 2


@pytest.mark.parametrize("layout", LAYOUTS)
def test_names_are_of_the_groups_own_ngrams_and_none_twice(layout: Layout) -> None:
    coder = CODERS[layout]
    coded = MADE.encode(coder, ALL)
    assert coded.dtype == np.uint16
    assert coded.shape == (GROUPS, len(layout.widths))
    assert (coded < 1 << np.array(layout.widths)).all()
    for row in range(GROUPS):
        own = MADE.own(row)
        for column, bits in enumerate(layout.names):
            allowed = MADE.names(row, bits, column)
            if column < len(own):  # earlier stages took one n-gram each
                assert coded[row, column] in allowed
            else:
                assert coded[row, column] == grams.NONE


def test_stages_pick_different_ngrams() -> None:
    wide = codes.train(
        Layout((14, 14)), MADE.nodes, MADE.dictionary, MADE.vectors, MADE.node, MADE.features, MADE.counts
    )
    coded = MADE.encode(wide, ALL)
    both = [row for row in range(GROUPS) if len(MADE.own(row)) > 1]
    same = 0
    for row in both:
        one, other = MADE.names(row, 14, 0), MADE.names(row, 14, 1)
        if len(np.unique(one)) == len(one) and len(np.unique(other)) == len(other):
            same += int(np.flatnonzero(one == coded[row, 0])[0] == np.flatnonzero(other == coded[row, 1])[0])
    assert len(both) > GROUPS / 2
    assert same == 0


def remainders(coder: codes.Coder, coded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rest = coder.remainder(MADE.vectors, MADE.counts, coded)
    have = np.bincount(MADE.node, minlength=NODES)
    return clusters.sums(rest.astype(np.int64), MADE.node, NODES), have


@pytest.mark.parametrize("layout", LAYOUTS)
def test_settled_nodes_are_the_best_for_their_members(layout: Layout) -> None:
    coder = CODERS[layout]
    coded = MADE.encode(coder, ALL)
    settled = coder.settled(*remainders(coder, coded))
    target = MADE.vectors.astype(np.float32)
    errors = target - rebuilt(settled, MADE.node, coded)
    assert (errors**2).sum() < ((target - rebuilt(coder, MADE.node, coded)) ** 2).sum()
    for node in range(NODES):  # least squares: nothing is left in the mean
        assert np.abs(errors[MADE.node == node].mean(axis=0)).max() < 1e-3


def test_a_settled_node_knows_how_long_its_formulas_are() -> None:
    coder = CODERS[LAYOUTS[0]]
    assert not coder.lengths.any()
    settled = coder.settled(*remainders(coder, MADE.encode(coder, ALL)))
    assert settled.lengths.dtype == np.uint8
    logarithms = np.log(np.maximum(MADE.counts, grams.SHORTEST))
    for node in range(NODES):
        mean = logarithms[MADE.node == node].mean()
        assert abs(settled.lengths[node] / codes.LENGTH_STEPS - mean) <= 0.51 / codes.LENGTH_STEPS


def test_nodes_of_another_length_lose_and_short_ones_more() -> None:
    coder = CODERS[LAYOUTS[0]]
    lengths = np.full(NODES, round(np.log(100) * codes.LENGTH_STEPS), np.uint8)
    lengths[1] += codes.LENGTH_STEPS  # e times as long
    lengths[2] -= codes.LENGTH_STEPS
    nodes = replace(coder, lengths=lengths)
    worth = nodes.at_nodes(np.zeros(NODES, np.float32), 100)
    assert worth.dtype == np.float32
    assert np.allclose(worth[1] - worth[0], -codes.LENGTH_WEIGHT * codes.LONGER, atol=1e-3)
    assert np.allclose(worth[2] - worth[0], -codes.LENGTH_WEIGHT, atol=1e-3)
    products = np.random.default_rng(3).standard_normal(NODES).astype(np.float32)
    gain = nodes.at_nodes(products, 100) - worth
    assert np.allclose(gain, products / np.sqrt(nodes.norms) / np.mean(1 / np.sqrt(nodes.norms)), atol=1e-5)


def test_a_node_without_members_stays_where_it_is() -> None:
    coder = CODERS[LAYOUTS[0]]
    settled = coder.settled(np.zeros((NODES, DIM + 1), np.int64), np.zeros(NODES, np.int64))
    assert np.array_equal(settled.nodes, coder.nodes)


def test_sums_of_remainders_do_not_depend_on_the_order() -> None:
    coder = CODERS[LAYOUTS[2]]
    coded = MADE.encode(coder, ALL)
    whole = remainders(coder, coded)[0]
    mixed = np.random.default_rng(1).permutation(GROUPS)
    pieces = np.zeros_like(whole)
    for rows in np.array_split(mixed, 7):
        rest = coder.remainder(MADE.vectors[rows], MADE.counts[rows], coded[rows]).astype(np.int64)
        pieces += clusters.sums(rest, MADE.node[rows], NODES)
    assert np.array_equal(pieces, whole)


def test_a_query_loses_half_of_its_part_along_the_mean() -> None:
    rng = np.random.default_rng(0)
    mean = rng.standard_normal(DIM).astype(np.float32)
    mean /= np.linalg.norm(mean)
    query = rng.standard_normal(DIM).astype(np.float32)
    lost = codes.usual(query, mean)
    assert lost.dtype == np.float32
    assert np.allclose(lost @ mean, (query @ mean) / 2, atol=1e-5)
    assert np.allclose(lost, (lost @ mean) * mean, atol=1e-5)
    assert not codes.usual(query, np.zeros(DIM, np.float32)).any()


@settings(max_examples=40)
@given(st.sampled_from(LAYOUTS), st.lists(st.integers(0, GROUPS - 1), max_size=20))
def test_a_group_is_coded_alike_in_any_company(layout: Layout, rows: list[int]) -> None:
    coder = CODERS[layout]
    whole = MADE.encode(coder, ALL)
    assert np.array_equal(MADE.encode(coder, np.array(rows, np.int64)), whole[rows])


def test_a_group_is_coded_alike_alone() -> None:
    for layout in LAYOUTS:
        whole = MADE.encode(CODERS[layout], ALL)
        alone = [MADE.encode(CODERS[layout], ALL[i : i + 1])[0] for i in range(0, GROUPS, 4)]
        assert np.array_equal(np.array(alone), whole[::4])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_stage_reduces_the_residual(layout: Layout) -> None:
    coder = CODERS[layout]
    coded = MADE.encode(coder, ALL)
    target = MADE.vectors.astype(np.float32)
    errors = [((target - rebuilt(coder, MADE.node, coded, c)) ** 2).sum() for c in range(len(layout.widths) + 1)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.99 * errors[0]


def test_more_bits_of_residual_leave_less() -> None:
    target, left = MADE.vectors.astype(np.float32), []
    for layout in (Layout((6,)), Layout((6,), 1, 5), Layout((6,), 4, 5), Layout((6,), 16, 5)):
        coder = MADE.train(layout)
        left.append(float(((target - rebuilt(coder, MADE.node, MADE.encode(coder, ALL))) ** 2).sum()))
    assert left == sorted(left, reverse=True)
    assert left[-1] < 0.1 * left[0]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tables_give_the_inner_product_with_what_the_codes_stand_for(layout: Layout) -> None:
    coder = CODERS[layout]
    coded = MADE.encode(coder, ALL)
    query = MADE.vectors[3].astype(np.float32)
    own = MADE.features[MADE.starts[3] : MADE.starts[4]]
    for weight in (0.0, 0.7):
        tables = coder.tables(query, coder.lexical(own), weight)
        assert [len(table) for table in tables] == [1 << width for width in layout.widths]
        score = coder.nodes[MADE.node].astype(np.float32) @ query
        for column, table in enumerate(tables):
            score += table[coded[:, column]]
        expected = rebuilt(coder, MADE.node, coded) @ query
        for column, bits in enumerate(layout.names):
            expected += weight * grams.query_table(MADE.dictionary, own, bits, column)[coded[:, column]]
        assert np.abs(score - expected).max() < 1e-5


def test_the_same_sample_gives_the_same_books() -> None:
    for layout in LAYOUTS[:4]:
        again = MADE.train(layout)
        assert all(np.array_equal(a, b) for a, b in zip(CODERS[layout].books, again.books, strict=True))
        assert all(book.dtype == np.float16 for book in again.books)


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_tiny_samples_train(groups: int) -> None:
    made = Made(1, groups)
    for layout in LAYOUTS:
        coder = made.train(layout)
        coded = made.encode(coder, np.arange(groups))
        assert np.isfinite(rebuilt(coder, made.node, coded)).all()


def test_gathering_in_pieces_does_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    layout = LAYOUTS[1]
    whole = MADE.encode(CODERS[layout], ALL)
    monkeypatch.setattr(codes, "_GATHERED", 7)
    assert np.array_equal(MADE.encode(CODERS[layout], ALL), whole)


def test_parts_must_divide_the_dimensions() -> None:
    with pytest.raises(ValueError, match="16 dimensions cannot be cut into 5 parts"):
        MADE.train(Layout((6,), 5, 4))


def test_bits_of_a_layout() -> None:
    layout = Layout((14, 10), 4, 8)
    assert (layout.bits, layout.widths) == (56, (14, 10, 8, 8, 8, 8))
