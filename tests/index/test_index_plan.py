from __future__ import annotations

from pathlib import Path

import pytest

from index import plan, size
from index.errors import PlanError

MIB = 1 << 20


def decide(groups: int, budget: int, scale: float = 1.0) -> plan.Plan:
    lexical = {least: int(count * scale) for least, count in plan.lexical_guess(groups).items()}
    return plan.decide(groups, 64, budget, groups // 2, lexical)


def test_a_small_collection_keeps_all() -> None:
    chosen = decide(40_000, 30 * MIB)
    assert (chosen.form, chosen.graph, chosen.least) == ("exact", True, 1)
    assert set(chosen.bytes) == {"vectors", "ids", "members", "head", "lexical", "graph"}
    assert sum(chosen.bytes.values()) <= chosen.budget
    assert len(chosen.reasons) == 3


def test_short_of_room_the_graph_goes_first_then_rare_n_grams_then_all() -> None:
    steps: list[tuple[bool, int]] = []
    for groups in range(60_000, 240_000, 1_000):
        try:
            chosen = decide(groups, 30 * MIB)
        except PlanError:
            break
        assert sum(chosen.bytes.values()) <= chosen.budget
        if (chosen.graph, chosen.least) not in steps:
            steps.append((chosen.graph, chosen.least))
    assert steps[0] == (True, 1)
    assert steps[1] == (False, 1)
    least = [s[1] for s in steps]
    assert [x for i, x in enumerate(least) if not i or least[i - 1] != x] == [*plan.LEAST_GROUPS, 0]


def test_too_large_is_one_line() -> None:
    with pytest.raises(PlanError) as caught:
        decide(8_400_000, 30 * MIB)
    assert str(caught.value).startswith("the collection is too large for the exact form: 8,400,000 groups take 1,")
    assert "31,457,280 are left" in str(caught.value)
    with pytest.raises(PlanError, match="0 are left"):
        decide(1, -5)


def test_distinct_vectors_count() -> None:
    chosen = plan.decide(1000, 64, MIB, 100, plan.lexical_guess(1000), 100)
    assert chosen.bytes["vectors"] == 100 * 128
    assert chosen.bytes["members"] == 875


def test_a_plan_says_what_it_does() -> None:
    lines = decide(150_000, 30 * MIB).lines()
    assert all(line.startswith("plan: ") for line in lines)
    assert any("n-grams of fewer than" in line or "n-grams are dropped" in line for line in lines)


def test_the_submission_is_weighed_without_caches(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_bytes(b"x" * 100)
    for name in (".git", "__pycache__"):
        (tmp_path / "code" / name).mkdir()
        (tmp_path / "code" / name / "big").write_bytes(b"x" * 1000)
    assert size.submission(tmp_path) == 100
