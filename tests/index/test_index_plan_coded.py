from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import build, embed, grams, ids, plan, plan_coded, search, store
from index.codes import Layout
from index.errors import PlanError
from tests.index import coded_stand_in
from tests.index.stand_in import DIM, collection

BUDGET = int(29.6 * 2**20)  # 34 MiB less code and weights
SIZES = (250_000, 1_000_000, 3_000_000, 8_400_000)


def kinds(groups: int, seed: int = 0, spread: float = 3.37) -> plan_coded.Kinds:
    """Groups as in the whole collection: four in five occur once, ids fill a third of their range, 18 % of instances
    stand in comments."""
    rng = np.random.default_rng(seed)
    u = rng.random(groups, np.float32)
    instances = np.where(u < 0.8, 1, np.minimum(50_000, 2 / np.sqrt(1.0001 - u))).astype(np.int32)
    comment = rng.random(groups, np.float32) < 0.18**instances
    last = int(groups * spread)
    return plan_coded.Kinds(instances, comment, last, last)


@pytest.fixture(scope="module")
def plans() -> dict[int, tuple[plan_coded.Kinds, plan.Plan, np.ndarray]]:
    return {size: (made := kinds(size), *plan_coded.decide(made, 64, BUDGET)) for size in SIZES}


Plans = dict[int, tuple[plan_coded.Kinds, plan.Plan, np.ndarray]]


def bits_of(found: plan.Plan) -> int:
    return Layout(tuple(found.names), found.parts[0], found.parts[1]).bits


@pytest.mark.parametrize("size", SIZES)
def test_the_plan_fits_and_says_what_it_keeps(size: int, plans: Plans) -> None:
    made, found, keep = plans[size]
    assert found.form == "coded"
    assert sum(found.bytes.values()) <= found.budget == BUDGET
    assert found.groups == len(keep)
    assert bool((np.diff(keep) > 0).all())
    assert 0 <= keep[0] <= keep[-1] < size
    assert any(f"{found.nodes:,} nodes and {bits_of(found)} bits of code" in reason for reason in found.reasons)
    assert found.bytes["ids"] == ids.members_size(len(keep), found.nodes, made.span, made.last)


def test_the_full_size_uses_what_it_may(plans: Plans) -> None:
    _, found, _ = plans[SIZES[-1]]
    assert sum(found.bytes.values()) >= BUDGET - (1 << 20)  # 33 MiB of 34 with code and weights


def test_bits_fall_as_groups_grow(plans: Plans) -> None:
    spent = [bits_of(plans[size][1]) for size in SIZES]
    assert spent == sorted(spent, reverse=True)
    assert len(set(spent)) == len(SIZES)


def test_comments_alone_are_dropped_only_where_bits_are_short(plans: Plans) -> None:
    for size in SIZES:
        made, found, keep = plans[size]
        dropped = any("in comments alone are dropped" in reason for reason in found.reasons)
        assert dropped == (size == SIZES[-1])
        gone = np.setdiff1d(np.arange(size), keep)
        assert dropped == (len(gone) > 0)
        if dropped:
            back = keep[made.comment_only[keep]]
            assert made.comment_only[gone].all()
            assert made.instances[gone].max() <= made.instances[back].min(initial=10**6)
            assert any(reason.startswith(f"{len(gone):,} groups in comments") for reason in found.reasons)


def test_then_the_fewest_instances_go() -> None:
    made = kinds(1_000_000)
    found, keep = plan_coded.decide(made, 64, 2 << 20)
    assert bits_of(found) == plan_coded.FEWEST
    assert not made.comment_only[keep].any()
    gone = np.setdiff1d(np.flatnonzero(~made.comment_only), keep)
    assert len(gone)
    assert made.instances[gone].max() <= made.instances[keep].min()
    assert any(reason.startswith(f"{len(gone):,} groups with the fewest instances") for reason in found.reasons)
    assert 0.99 * (2 << 20) < sum(found.bytes.values()) <= 2 << 20
    assert len(plan_coded.decide(made, 64, (2 << 20) + 4096)[1]) > len(keep)


def test_groups_in_comments_alone_stay_where_there_are_no_others() -> None:
    made = plan_coded.Kinds(np.ones(500_000, np.int32), np.ones(500_000, bool), 2_000_000, 2_000_000)
    found, keep = plan_coded.decide(made, 64, 2 << 20)
    assert len(keep) == found.groups > 0
    assert not any("comments" in reason for reason in found.reasons)


@pytest.mark.parametrize("budget", [-5, 0, 1000, 4 * grams.SIZE])
def test_nothing_fits(budget: int) -> None:
    with pytest.raises(PlanError, match=r"^the collection does not fit: -?[\d,]+ bytes are left"):
        plan_coded.decide(kinds(10_000), 64, budget)


@settings(max_examples=60)
@given(
    st.integers(1, 20_000), st.integers(0, 99), st.sampled_from([1.0, 3.4, 900.0]), st.sampled_from([16, 60, 64, 96]),
    st.integers(0, 4 << 20), st.booleans(),
)  # fmt: skip
def test_any_plan_fits_or_is_refused(
    groups: int, seed: int, spread: float, dim: int, budget: int, comments: bool
) -> None:
    made = kinds(groups, seed, spread)
    if comments:
        made.comment_only[:] = True
    try:
        found, keep = plan_coded.decide(made, dim, budget)
    except PlanError:
        return
    assert sum(found.bytes.values()) <= budget
    assert 1 <= len(keep) == found.groups <= groups
    assert plan_coded.LEAST_NODES <= found.nodes <= plan_coded.MOST_NODES
    assert found.nodes & (found.nodes - 1) == 0
    assert found.parts[0] == 0 or dim % found.parts[0] == 0
    assert bits_of(found) >= plan_coded.FEWEST


@pytest.mark.parametrize("dim", [16, 60, 64])
def test_layouts_ascend_and_fit_the_dimensions(dim: int) -> None:
    found = plan_coded.layouts(dim)
    spent = [layout.bits for layout in found]
    assert spent == sorted(set(spent))
    assert found[0] == Layout((plan_coded.FEWEST,))
    assert all(not layout.parts or dim % layout.parts == 0 for layout in found)


Write = Callable[..., Path]


@pytest.mark.parametrize(
    ("layout", "spread"),
    [(Layout((14, 14, 12)), 3), (Layout((14, 14), 16, 8), 3), (Layout((14, 14), 1, 12), 10**14)],
)
def test_the_estimate_is_no_less_than_the_index_and_within_3_percent(
    layout: Layout, spread: int, write_tsv: Write, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    coded_stand_in.replace(monkeypatch)
    monkeypatch.setattr(embed, "CHUNK", 500)
    monkeypatch.setattr(plan_coded, "layouts", lambda dim: [layout])
    monkeypatch.setattr(grams, "SIZE", 1000)
    monkeypatch.setattr(grams, "learn", partial(grams.learn, size=1000))

    def never(*_: object) -> plan.Plan:
        raise PlanError("exact vectors are not asked for")

    monkeypatch.setattr(plan, "decide", never)
    rows = [[row[0] * spread, *row[1:]] for row in collection(1500, most=2)]  # type: ignore[operator]
    target = tmp_path / "index"
    data = write_tsv(rows)
    build.build(build.Options(data, target, threads=1, model=model, submission=plan.PREPARED - (4 << 20)))
    opened = search.Index.open(target, model)
    guess, real = sum(opened.plan["bytes"].values()), (target / store.FILE).stat().st_size
    assert real <= guess <= 1.03 * real
    sections = store.read(target)[1]
    kept = sum(part.nbytes for name, part in sections.items() if name.startswith(("vectors", "lengths")))
    assert kept == opened.plan["bytes"]["nodes"]
    assert sections["vectors"].shape[1] == DIM
    named = {"books": "books.", "codes": "codes."}
    for part, prefix in named.items():
        held = sum(array.nbytes for name, array in sections.items() if name.startswith(prefix))
        assert held == opened.plan["bytes"][part]
