from __future__ import annotations

import io

import pytest

from index import progress


@pytest.mark.parametrize(
    ("before", "line"),
    [
        (0, "coding: 800 formulas, 80 formulas/s, 80% done, 2 s left"),
        (600, "coding: 800 formulas, 20 formulas/s, 80% done, 10 s left"),  # 200 in 10 s, 200 to go
    ],
)
def test_what_a_cut_run_did_is_no_speed(before: int, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out, now = io.StringIO(), [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.Stage("coding", "formulas", 1000, before, out) as stage:
        stage.update(before)
        assert out.getvalue() == ""  # too early to say anything
        now[0] += 10
        stage.update(800)
    first, last = out.getvalue().splitlines()
    assert first == line
    assert last == "coding: 800 formulas, 10.0 s"


def test_of_a_share_that_is_told_the_time_left_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    out, now = io.StringIO(), [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    stage = progress.Stage("reading", "rows", stream=out)
    now[0] = 5.0
    stage.update(1000, 0.25)
    assert out.getvalue() == "reading: 1,000 rows, 200 rows/s, 25% done, 15 s left\n"
