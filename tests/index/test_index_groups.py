from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.corpus import COMMENT, KINDS, Chunk
from index.groups import Groups, group, representatives

QUICK = settings(deadline=None, max_examples=50)
Row = tuple[int, int, int, bool]  # id, visual, kind, withheld

ROWS = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 40), st.integers(0, 2**63 - 1)),
        st.one_of(st.integers(-6, 6), st.integers(-(2**63), 2**63 - 1)),
        st.integers(0, len(KINDS) - 1),
        st.booleans(),
    ),
    max_size=60,
)


def chunks(rows: list[Row], size: int = 7) -> Iterator[Chunk]:
    for start in range(0, len(rows), size):
        ids, visual, kinds, withheld = zip(*rows[start : start + size], strict=True)
        yield Chunk(
            np.array(ids, np.int64),
            np.array(visual, np.int64),
            np.array(kinds, np.uint8),
            np.array(withheld, bool),
            [f"formula {start + i}" for i in range(len(ids))],
        )


def reference(rows: list[Row]) -> dict[int, tuple[int, int, int]]:
    """The obvious way: representative id -> its row, instances, kinds."""
    seen: set[int] = set()
    members: dict[int, list[tuple[bool, int, int, int]]] = {}
    for place, (number, visual, kind, withheld) in enumerate(rows):
        if withheld or number in seen:
            continue
        seen.add(number)
        members.setdefault(visual, []).append((kind == COMMENT, number, place, kind))
    return {
        min(m)[1]: (min(m)[2], len(m), int(np.bitwise_or.reduce([1 << kind for *_, kind in m])))
        for m in members.values()
    }


def table(groups: Groups) -> dict[int, tuple[int, int, int]]:
    columns = (groups.ids, groups.rows, groups.instances, groups.kinds)
    return {int(i): (int(r), int(n), int(k)) for i, r, n, k in zip(*columns, strict=True)}


@QUICK
@given(ROWS)
def test_grouping_is_the_obvious_one(rows: list[Row]) -> None:
    groups = group(chunks(rows))
    expected = reference(rows)
    assert table(groups) == expected
    assert groups.ids.tolist() == sorted(expected)
    assert groups.dropped == sum(w for *_, w in rows)
    assert groups.dropped + groups.repeated + int(groups.instances.sum()) == len(rows)


@QUICK
@given(ROWS, st.randoms(use_true_random=False), st.integers(1, 9))
def test_the_order_of_rows_does_not_matter(rows: list[Row], rng: object, size: int) -> None:
    rows = list({row[0]: row for row in rows}.values())  # among rows of one id the first counts
    shuffled = sorted(rows, key=lambda _: rng.random())  # type: ignore[attr-defined]
    one, other = group(chunks(rows)), group(chunks(shuffled, size))
    assert np.array_equal(one.ids, other.ids)
    assert np.array_equal(one.instances, other.instances)
    assert np.array_equal(one.kinds, other.kinds)


@QUICK
@given(ROWS, st.integers(1, 9), st.integers(1, 9))
def test_representatives_come_with_their_places(rows: list[Row], size: int, chunk: int) -> None:
    groups = group(chunks(rows))
    found: dict[int, str] = {}
    sizes = []
    for places, formulas in representatives(groups, chunks(rows, chunk), size):
        assert len(places) == len(formulas)
        sizes.append(len(places))
        found.update(zip(places.tolist(), formulas, strict=True))
    assert found == {i: f"formula {row}" for i, row in enumerate(groups.rows.tolist())}
    assert sum(sizes) == len(groups)
    assert all(s == size for s in sizes[:-1])


def test_preference() -> None:
    question, answer, title, comment = (KINDS.index(k) for k in ("question", "answer", "title", "comment"))
    rows = [
        (1, 10, comment, False), (9, 10, answer, False), (8, 10, title, False), (7, 10, question, True),
        (2, 11, comment, False), (3, 11, comment, False),
        (4, 12, question, True),
    ]  # fmt: skip
    groups = group(chunks(rows))
    assert groups.ids.tolist() == [2, 8]
    assert groups.comment_only.tolist() == [True, False]
    assert groups.instances.tolist() == [2, 3]
    assert groups.dropped == 2


def test_a_million_rows_of_one_group() -> None:
    count = 1_000_000
    ids = np.random.default_rng(0).permutation(count).astype(np.int64)
    chunk = Chunk(ids, np.full(count, 5), np.full(count, COMMENT, np.uint8), np.zeros(count, bool), [""] * count)
    groups = group([chunk])
    assert table(groups) == {0: (int(np.argmin(ids)), count, 1 << COMMENT)}


@pytest.mark.parametrize("rows", [[], [(1, 2, 0, True)]])
def test_nothing_that_may_be_returned(rows: list[Row]) -> None:
    groups = group(chunks(rows))
    assert len(groups) == 0
    assert list(representatives(groups, chunks(rows), 4)) == []
