from __future__ import annotations

from pathlib import Path

import numpy as np

from bench import known
from index.sample import mixed
from tests.index.conftest import write_rows

FIRST, VISUAL, ISSUE = 0, 6, 7  # columns


def rows() -> list[list[object]]:
    made: list[list[object]] = []
    for number in range(900):
        visual = number % 300
        kind = "comment" if visual % 5 == 0 or number < 300 else "answer"
        issue = "d" if number >= 600 and visual % 3 == 0 else ""
        made.append([number, 1, 1, kind, "", visual, visual, issue, f"x_{{{visual}}}"])
    return made


def test_groups_are_those_with_the_smallest_hashes_and_know_their_instances(tmp_path: Path) -> None:
    made = rows()
    data = write_rows(tmp_path, made)
    found = known.chosen(data, 20)
    posted = [visual for visual in range(300) if visual % 5]
    order = np.argsort(mixed(np.array(posted, np.int64)))
    expected = [posted[i] for i in order[:20]]
    assert [group.formula for group in found] == [f"x_{{{visual}}}" for visual in expected]
    for visual, group in zip(expected, found, strict=True):
        assert group.ids == {str(row[FIRST]) for row in made if row[VISUAL] == visual and row[ISSUE] != "d"}


def test_fewer_groups_than_asked_for_are_all_taken(tmp_path: Path) -> None:
    assert len(known.chosen(write_rows(tmp_path, rows()), 10_000)) == 240


class Answers:
    """Answers a formula by some ids."""

    def __init__(self, *ids: str) -> None:
        self.ids = ids

    def search(self, latex: str, k: int) -> list[tuple[str, float]]:
        return [(i, -float(n)) for n, i in enumerate(self.ids)]


def test_the_first_instance_among_the_answers_counts() -> None:
    group = known.Known("x", {"7", "9"}, True)
    assert known.place(Answers("1", "9", "7"), group) == 1  # type: ignore[arg-type]
    assert known.place(Answers("1", "2"), group) == float("inf")  # type: ignore[arg-type]
