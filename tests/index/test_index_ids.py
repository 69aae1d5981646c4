from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index import bits, ids

ANY_ID = st.one_of(st.integers(0, 40), st.integers(0, 100_000), st.integers(0, 2**63 - 1), st.just(2**63 - 1))


@st.composite
def memberships(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Distinct ids in any order, the node of each, and how many nodes there are, most of them empty at times."""
    numbers = draw(st.lists(ANY_ID, unique=True, max_size=60))
    nodes = draw(st.sampled_from([1, 2, 5, 300, 16_384]))
    used = draw(st.integers(1, nodes))
    owner = draw(st.lists(st.integers(0, used - 1), min_size=len(numbers), max_size=len(numbers)))
    return np.array(numbers, np.int64), np.array(owner, np.int64), nodes


def size(sections: dict[str, np.ndarray]) -> int:
    return sum(section.nbytes for section in sections.values())


@given(memberships())
def test_ids_and_nodes_come_back_by_node_then_id(given_ids: tuple[np.ndarray, np.ndarray, int]) -> None:
    numbers, owner, nodes = given_ids
    found, node = ids.decode_members(ids.encode_members(numbers, owner, nodes), nodes)
    expected = sorted(zip(owner.tolist(), numbers.tolist(), strict=True))
    assert list(zip(node.tolist(), found.tolist(), strict=True)) == expected
    order = ids.order(numbers, owner)
    assert np.array_equal(found, numbers[order])
    assert np.array_equal(node, owner[order])


@given(memberships())
def test_the_order_in_which_ids_are_given_does_not_show(given_ids: tuple[np.ndarray, np.ndarray, int]) -> None:
    numbers, owner, nodes = given_ids
    one, other = ids.encode_members(numbers, owner, nodes), ids.encode_members(numbers[::-1], owner[::-1], nodes)
    assert all(np.array_equal(one[name], other[name]) for name in one)


@given(memberships())
def test_the_estimate_is_no_less_than_the_truth(given_ids: tuple[np.ndarray, np.ndarray, int]) -> None:
    numbers, owner, nodes = given_ids
    if not len(numbers):
        return
    guess = ids.members_size(len(numbers), nodes, ids.stretches(numbers), int(numbers.max()))
    real = size(ids.encode_members(numbers, owner, nodes))
    assert real <= guess + 8  # of rounding; the plan's reserve is 2,000 times that


@pytest.mark.parametrize("nodes", [8, 256, 16_384])
@pytest.mark.parametrize(("most", "above"), [(10**4, 1.03), (10**6, 1.02), (10**9, 1.09), (2**40, 1.09), (2**62, 1.01)])
def test_the_estimate_is_near(most: int, above: float, nodes: int) -> None:
    rng = np.random.default_rng(most)
    numbers = np.unique(rng.integers(0, most, 3000))
    owner = rng.integers(0, nodes, len(numbers))
    guess = ids.members_size(len(numbers), nodes, ids.stretches(numbers), int(numbers[-1]))
    assert 1 - 0.001 <= guess / size(ids.encode_members(numbers, owner, nodes)) <= above


def test_unused_stretches_cost_nothing() -> None:
    numbers = np.concatenate((np.arange(3000), 2**50 + np.arange(3000)))
    owner = np.arange(6000) % 100
    together = size(ids.encode_members(np.arange(6000), owner, 100))
    assert size(ids.encode_members(numbers, owner, 100)) < together + 200


def test_too_many_nodes_for_such_ids_are_said() -> None:
    with pytest.raises(ValueError, match="2 ids over 4611686018427387904 nodes: more than 62 bits each"):
        ids.encode_members(np.array([1, 2]), np.array([0, 0]), 1 << 62)


SECTIONS = ids.encode_members(np.array([3, 4, 5000, 90_000]), np.array([1, 0, 1, 6]), 7)
KEYS = bits.read_ascending(SECTIONS["members"])
DAMAGE: dict[str, tuple[dict[str, np.ndarray], str]] = {
    "a node too many": ({"members": bits.ascending(np.append(KEYS, KEYS[-1] + (1 << 20)))}, "belongs to node"),
    "an id twice": ({"members": bits.ascending(np.insert(KEYS, 1, KEYS[1]))}, "a node holds an id twice"),
    "no stretch": ({"blocks": bits.ascending(np.empty(0, np.int64))}, "4 ids in no stretch"),
    "no shift": ({"shift": np.empty(0, np.uint8)}, r"stretches of \[\] bits"),
    "another shift": ({"shift": np.array([63], np.uint8)}, r"stretches of \[63\] bits"),
    "members cut": ({"members": SECTIONS["members"][:-1]}, "bytes, expected|cannot be"),
    "members without a head": ({"members": SECTIONS["members"][:9]}, "9 bytes, expected at least"),
    "stretches cut": ({"blocks": SECTIONS["blocks"][:-1]}, "bytes, expected|cannot be"),
    "nothing": ({"members": np.empty(0, np.uint8)}, "0 bytes, expected at least"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_sections_are_refused(name: str) -> None:
    change, message = DAMAGE[name]
    with pytest.raises(ValueError, match=message):
        ids.decode_members(SECTIONS | change, 7)


def test_fewer_nodes_than_coded_for_are_refused() -> None:
    with pytest.raises(ValueError, match="a group belongs to node 6 of 6"):
        ids.decode_members(SECTIONS, 6)


@given(st.sampled_from(["blocks", "members"]), st.integers(0, 10**6), st.integers(1, 255))
def test_any_changed_byte_is_refused_or_leaves_ids_of_known_nodes(name: str, at: int, mask: int) -> None:
    damaged = SECTIONS[name].copy()
    damaged[at % len(damaged)] ^= mask
    try:
        found, node = ids.decode_members(SECTIONS | {name: damaged}, 7)
    except ValueError:
        return
    assert len(found) == len(node) == len(set(zip(node.tolist(), found.tolist(), strict=True)))
    assert bool(((node >= 0) & (node < 7)).all())


@pytest.mark.parametrize("step", [1, 1000, 1 << 40])
def test_stretches_hold_every_id(step: int) -> None:
    numbers = np.arange(1, 500, dtype=np.int64) * step
    assert ids.stretches(numbers) == len({number // 4096 for number in numbers.tolist()}) * 4096
