from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import clusters, codes, grams
from index.codes import Layout

DIM, GROUPS, NODES = 16, 600, 8
LAYOUTS = [
    Layout((6,)),
    Layout((5, 7)),
    Layout((6,), 1, 5),
    Layout((4, 4, 4), 4, 4),
    Layout((), 4, 4),
    Layout((8,), 16, 3),
]


class Made:
    """Vectors with n-grams: those of one n-gram lie together."""

    def __init__(self, seed: int = 0, groups: int = GROUPS) -> None:
        rng = np.random.default_rng(seed)
        self.counts = rng.integers(0, 7, groups)
        self.features = rng.integers(0, 90, int(self.counts.sum())).astype(np.uint32) * 1_000_003
        self.starts = np.concatenate(([0], np.cumsum(self.counts)))
        pull = np.random.default_rng(99).standard_normal((90, DIM))
        vectors = rng.standard_normal((groups, DIM))
        owner = np.repeat(np.arange(groups), self.counts)
        np.add.at(vectors, owner, pull[self.features // 1_000_003])
        self.vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
        self.nodes = clusters.kmeans(self.vectors.astype(np.float32), NODES, 3, 0, spherical=True).astype(np.float16)
        self.node = clusters.assign(self.vectors.astype(np.float32), self.nodes.astype(np.float32), spherical=True)
        self.dictionary = grams.learn(self.features, self.counts)

    def train(self, layout: Layout) -> codes.Coder:
        return codes.train(layout, self.nodes, self.dictionary, self.vectors, self.node, self.features, self.counts)

    def encode(self, coder: codes.Coder, rows: np.ndarray) -> np.ndarray:
        features = [self.features[self.starts[i] : self.starts[i + 1]] for i in rows]
        joined = np.concatenate(features) if features else self.features[:0]
        return coder.encode(self.vectors[rows], self.node[rows], joined, self.counts[rows])

    def own(self, row: int) -> np.ndarray:
        """Places in the dictionary of a group's n-grams."""
        place = self.dictionary.find(self.features[self.starts[row] : self.starts[row + 1]])
        return np.unique(place[place >= 0])


MADE = Made()
CODERS = {layout: MADE.train(layout) for layout in LAYOUTS}
ALL = np.arange(GROUPS)


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
            allowed = MADE.dictionary.names(bits)[own]
            if column < len(own):  # earlier stages took one n-gram each
                assert coded[row, column] in allowed
            else:
                assert coded[row, column] == grams.NONE


def test_stages_pick_different_ngrams() -> None:
    wide = codes.train(
        Layout((14, 14)), MADE.nodes, MADE.dictionary, MADE.vectors, MADE.node, MADE.features, MADE.counts
    )
    coded = MADE.encode(wide, ALL)
    both = np.array([len(MADE.own(row)) > 1 for row in range(GROUPS)])
    distinct_names = len(np.unique(MADE.dictionary.names(14))) == len(MADE.dictionary.hashes)
    assert distinct_names  # else two n-grams might share a name
    assert (coded[both, 0] != coded[both, 1]).all()


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
        tables = coder.tables(query, own, weight)
        assert [len(table) for table in tables] == [1 << width for width in layout.widths]
        score = coder.nodes[MADE.node].astype(np.float32) @ query
        for column, table in enumerate(tables):
            score += table[coded[:, column]]
        expected = rebuilt(coder, MADE.node, coded) @ query
        for column, bits in enumerate(layout.names):
            expected += weight * grams.query_table(MADE.dictionary, own, bits)[coded[:, column]]
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
