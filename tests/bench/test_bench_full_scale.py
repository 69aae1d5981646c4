from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bench import full_scale

Told = pytest.CaptureFixture[str]


def run_of(groups: int, seconds: float) -> dict[str, object]:
    return {
        "groups": groups,
        "build_s": seconds,
        "verify": {str(y): {"all": {"ndcg_prime": 0.8}} for y in (2020, 2021)},
    }


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    rows = [run_of(1000, 3.0), run_of(10, 1.0), run_of(1000, 2.0)]
    (tmp_path / "full_scale.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_a_picture_without_its_library_says_what_to_install(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert full_scale.main(["--out", str(runs), "--picture", str(runs / "growth.svg")]) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "requirements/picture.lock" in told
    assert not (runs / "growth.svg").exists()


def test_the_same_runs_give_the_same_picture(runs: Path) -> None:
    pytest.importorskip("matplotlib", reason="the picture needs matplotlib: pip install -r requirements/picture.lock")
    for name in ("one.svg", "other.svg"):
        assert full_scale.main(["--out", str(runs), "--picture", str(runs / name)]) == 0
    assert (runs / "one.svg").read_bytes() == (runs / "other.svg").read_bytes()
