from __future__ import annotations

import csv
import errno
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index import build, build_coded, codes, embed, plan, plan_coded, scratch, search, store
from index.coded import CodedIndex
from index.errors import PlanError, StoreError
from tests.index import coded_stand_in
from tests.index.coded_stand_in import BUDGET, GramEmbedder, arguments
from tests.index.conftest import write_model, write_rows
from tests.index.stand_in import collection

ROOT = Path(__file__).resolve().parents[2]
GROUPS = 600
ROWS = collection(GROUPS)
Write = Callable[..., Path]
Told = pytest.CaptureFixture[str]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that passes for a model; small constants, so that 600 groups take every path."""
    coded_stand_in.replace(monkeypatch)
    return write_model(tmp_path / "model")


@pytest.fixture
def data(write_tsv: Write) -> Path:
    return write_tsv(ROWS)


def made(data: Path, target: Path, model: Path, *more: str, budget: int = BUDGET) -> bytes:
    """Build, and the bytes of the index."""
    assert build.main([*arguments(data, target, model, budget), *more]) == 0
    return (target / store.FILE).read_bytes()


def nothing_left(folder: Path, *more: str) -> None:
    """Only these names, and no scratch, are in a folder."""
    assert sorted(path.name for path in folder.iterdir()) == sorted(["data", "model", *more])


def members(rows: Sequence[Sequence[Any]]) -> dict[object, set[int]]:
    """Visual group -> ids of it that may be returned; of rows with one id the first counts."""
    found: dict[object, set[int]] = {}
    seen: set[object] = set()
    for row in rows:
        if row[7] not in ("d", "dv") and row[0] not in seen:
            seen.add(row[0])
            found.setdefault(row[6], set()).add(int(row[0]))
    return found


def check_answers(index: Any, rows: Sequence[Sequence[Any]], queries: Sequence[str]) -> None:
    """Every group's id is one of it that may be returned, no group comes twice, and there are as many as can be."""
    owner = {number: visual for visual, ids in members(rows).items() for number in ids}
    groups = len(members(rows))
    assert index.size == groups
    for query in queries:
        for k in (1000, groups):
            answer = [owner[int(i)] for i, _ in index.search(query, k)]
            assert len(answer) == len(set(answer)) == min(k, groups)


def test_a_budget_too_small_for_vectors_gives_the_coded_form(data: Path, tmp_path: Path, model: Path) -> None:
    content = made(data, tmp_path / "index", model)
    assert len(content) <= BUDGET
    index = search.Index.open(tmp_path / "index", model)
    assert isinstance(index, CodedIndex)
    assert index.plan["names"] == [7]
    assert index.plan["parts"] == [4, 5]
    check_answers(index, ROWS, ["x + 1", r"\frac a b"])
    nothing_left(tmp_path, "index")
    assert [path.name for path in (tmp_path / "index").iterdir()] == [store.FILE]


def test_planning_alone_builds_nothing(data: Path, tmp_path: Path, model: Path, capsys: Told) -> None:
    assert build.main([*arguments(data, tmp_path / "index", model), "--plan-only"]) == 0
    assert "plan: coded form, 600 groups, 16-d" in capsys.readouterr().err
    nothing_left(tmp_path)


LARGE = st.one_of(st.integers(0, 300), st.integers(0, 2**63 - 1))
ROW = st.tuples(
    LARGE,
    st.sampled_from(["question", "answer", "title", "comment", "comment"]),
    st.one_of(st.integers(0, 30), LARGE),
    st.sampled_from(["", "", "", "v", "d", "dv"]),
    st.lists(st.sampled_from(["x", "y", "+", "2", r"\frac", "^"]), max_size=6).map(" ".join),
)
LAYOUTS = [codes.Layout((6,)), codes.Layout((5, 4), 2, 3), codes.Layout((14,), 1, 8)]


@settings(max_examples=25)
@given(st.lists(ROW, min_size=1, max_size=80), st.integers(1, 40), st.sampled_from(LAYOUTS))
def test_random_collections(drawn: list[tuple], repeats: int, layout: codes.Layout) -> None:
    """The first row stands for a group of its own that may be returned, with as many rows as ``repeats``."""
    rows: list[list[object]] = [[2**62 + i, 1, 1, "answer", "", 77, 77, "", "x ^ 2"] for i in range(repeats)]
    rows += [[number, 1, 1, kind, "", visual, visual, issue, text] for number, kind, visual, issue, text in drawn]

    def never(*_: object) -> plan.Plan:
        raise PlanError("exact vectors are not asked for")

    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        coded_stand_in.replace(patch)
        patch.setattr(plan, "decide", never)
        patch.setattr(plan_coded, "layouts", lambda dim: [layout])
        patch.setattr(os, "fsync", lambda _: None)
        place = Path(name)
        folder, model = write_rows(place / "data", rows), write_model(place / "model")
        build.build(build.Options(folder, place / "index", threads=1, model=model, submission=0))
        check_answers(search.Index.open(place / "index", model), rows, ["x ^ 2", "", "q"])


def forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small a collection is, its vectors do not fit."""

    def never(*_: object) -> plan.Plan:
        raise PlanError("exact vectors are not asked for")

    monkeypatch.setattr(plan, "decide", never)


EXTREMES: dict[str, list[list[object]]] = {
    "one row": [[2**63 - 1, 1, 1, "comment", "", 5, 5, "", "x"]],
    "one group of many rows": [[i, 1, 1, "answer", "", 5, 5, "d" if i < 9 else "", "x"] for i in range(5000)],
    "comments alone": [[i * 10**15, 1, 1, "comment", "", i, i, "", f"x + {i}"] for i in range(50)],
    "repeated rows": [[i % 40, 1, 1, "title", "", i % 40, i % 40, "", f"x {i % 40}"] for i in range(400)],
    "one formula": [[i, 1, 1, "answer", "", i, i, "", "x + y"] for i in range(1300)],
    "no formula": [[i, 1, 1, "answer", "", i, i, "", ""] for i in range(30)],
}


@pytest.mark.parametrize("name", EXTREMES)
def test_odd_collections(
    name: str, write_tsv: Write, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced(monkeypatch)
    made(write_tsv(EXTREMES[name]), tmp_path / "index", model, budget=1 << 20)
    check_answers(search.Index.open(tmp_path / "index", model), EXTREMES[name], ["x + 7", "", r"\int"])


def test_the_order_of_rows_does_not_show(write_tsv: Write, data: Path, tmp_path: Path, model: Path) -> None:
    content = made(data, tmp_path / "index", model)
    assert made(write_tsv(ROWS[::-1], name="reversed"), tmp_path / "other", model) == content
    assert made(write_tsv(sorted(ROWS, key=str), name="sorted"), tmp_path / "third", model) == content


class Cut(GramEmbedder):
    """The stand-in encoder that counts its chunks, and is interrupted at one."""

    at, count = -1, 0

    def embed(self, formulas: Sequence[str]) -> embed.Embedded:
        Cut.count += 1
        if Cut.count == Cut.at:
            raise KeyboardInterrupt
        return super().embed(formulas)


def cut_at(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "Embedder", Cut)
    monkeypatch.setattr(Cut, "at", at)
    monkeypatch.setattr(Cut, "count", 0)


SAMPLE_CHUNKS = -(-coded_stand_in.SAMPLED // coded_stand_in.CHUNK)
ALL_CHUNKS = SAMPLE_CHUNKS + -(-GROUPS // coded_stand_in.CHUNK)


@pytest.mark.parametrize(
    ("at", "saved"), [(5, 0), (SAMPLE_CHUNKS + 2, SAMPLE_CHUNKS), (SAMPLE_CHUNKS + 9, SAMPLE_CHUNKS + 6)]
)
def test_a_cut_build_goes_on_and_gives_the_same(
    at: int, saved: int, data: Path, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    content = made(data, tmp_path / "uncut", model)
    cut_at(at, monkeypatch)
    assert build.main(arguments(data, tmp_path / "index", model)) == 130
    assert "build.sh: interrupted" in capsys.readouterr().err
    with pytest.raises(StoreError):
        store.read(tmp_path / "index")
    cut_at(-1, monkeypatch)
    assert made(data, tmp_path / "index", model) == content
    assert "going on with the build that was cut" in capsys.readouterr().err
    assert Cut.count == ALL_CHUNKS - saved
    nothing_left(tmp_path, "index", "uncut")


@pytest.mark.parametrize("mark", [1, 2, 3, 4])
def test_a_build_cut_just_before_a_mark_goes_on(
    mark: int, data: Path, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a stage wrote may be there without its mark."""
    content = made(data, tmp_path / "uncut", model)
    keep, calls = scratch.mark, []

    def cut(folder: Path, state: dict[str, Any]) -> None:
        calls.append(state)
        if len(calls) == mark:
            raise KeyboardInterrupt
        keep(folder, state)

    monkeypatch.setattr(scratch, "mark", cut)
    assert build.main(arguments(data, tmp_path / "index", model)) == 130
    assert bool(list(tmp_path.glob(".*.building"))) == (mark > 1)
    assert made(data, tmp_path / "index", model) == content
    nothing_left(tmp_path, "index", "uncut")


@pytest.mark.parametrize("what", ["collection", "model", "budget"])
def test_scratch_of_another_build_is_not_used(
    what: str, write_tsv: Write, data: Path, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    cut_at(SAMPLE_CHUNKS + 9, monkeypatch)
    assert build.main(arguments(data, tmp_path / "index", model)) == 130
    cut_at(-1, monkeypatch)
    budget = BUDGET
    if what == "collection":
        write_tsv(ROWS[:-1])
    elif what == "model":
        (model / "model.onnx").write_bytes(b"another graph")
    else:
        budget += 100
    content = made(data, tmp_path / "index", model, budget=budget)
    assert "going on" not in capsys.readouterr().err
    assert made(data, tmp_path / "clean", model, budget=budget) == content
    nothing_left(tmp_path, "index", "clean")


def run(data: Path, target: Path, model: Path, threads: int = 1, slow: float = 0.0) -> subprocess.Popen[bytes]:
    """The build in a process of its own, with the stand-ins."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "SLOW": str(slow)}
    command = [sys.executable, "-m", "tests.index.coded_stand_in", *arguments(data, target, model, threads=threads)]
    return subprocess.Popen(command, cwd=target.parent, env=environment, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> str:
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors.decode()
    return errors.decode()


def test_one_process_or_two_give_the_same_bytes(data: Path, tmp_path: Path, model: Path) -> None:
    content = made(data, tmp_path / "index", model)
    finish(run(data, tmp_path / "two", model, threads=2))
    assert (tmp_path / "two" / store.FILE).read_bytes() == content


def killed_at_random_moments(moments: int, seed: int, data: Path, place: Path, model: Path, threads: int) -> None:
    content = made(data, place / "uncut", model)
    slow, rng = 0.01, random.Random(seed)
    began = time.monotonic()
    finish(run(data, place / "timed", model, threads, slow))
    whole = time.monotonic() - began
    cut = 0
    for number in range(moments):
        target = place / f"killed-{number}"
        process = run(data, target, model, threads, slow)
        time.sleep(rng.uniform(0.2, 0.95) * whole)
        process.send_signal(rng.choice([signal.SIGKILL, signal.SIGTERM]))
        process.communicate(timeout=60)
        if (target / store.FILE).exists():  # done, perhaps killed while it ended
            assert (target / store.FILE).read_bytes() == content
        else:
            assert process.returncode != 0
            cut += 1
            with pytest.raises(StoreError):
                store.read(target)
        finish(run(data, target, model, threads))
        assert (target / store.FILE).read_bytes() == content
        assert [path.name for path in target.iterdir()] == [store.FILE]
        assert not list(place.glob(".*building"))
    assert cut


def test_a_killed_build_leaves_nothing_that_loads_and_runs_again(data: Path, tmp_path: Path, model: Path) -> None:
    killed_at_random_moments(4, 1, data, tmp_path, model, threads=1)


@pytest.mark.slow
def test_a_build_killed_at_twenty_moments(data: Path, tmp_path: Path, model: Path) -> None:
    killed_at_random_moments(20, 2, data, tmp_path, model, threads=2)


class Clock:
    """Time that passes by so much with every chunk that is encoded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, sample_s: float, coding_s: float) -> None:
        self.now, self.chunks = 1000.0, 0
        clock = self

        class Embedder(GramEmbedder):
            def embed(self, formulas: Sequence[str]) -> embed.Embedded:
                clock.now += sample_s if clock.chunks < SAMPLE_CHUNKS else coding_s
                clock.chunks += 1
                return super().embed(formulas)

        monkeypatch.setattr(embed, "Embedder", Embedder)
        for module in (build, build_coded):
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(build_coded, "PACKING_S", 0.0)
        monkeypatch.setattr(build_coded, "PACKING_SHARE", 0.0)


def preferred(rows: Sequence[Sequence[Any]]) -> list[tuple[bool, int]]:
    """(comments alone, minus instances) of every group, the likeliest first."""
    found: dict[object, list[object]] = {}
    for row in rows:
        if row[7] not in ("d", "dv"):
            found.setdefault(row[6], []).append(row[3])
    return sorted((set(kinds) == {"comment"}, -len(kinds)) for kinds in found.values())


def kept(index: Any, rows: Sequence[Sequence[Any]]) -> list[tuple[bool, int]]:
    """The same of the groups that an index holds."""
    owner = {number: visual for visual, ids in members(rows).items() for number in ids}
    chosen = {owner[int(i)] for i, _ in index.search("x", index.size)}
    return preferred([row for row in rows if row[6] in chosen])


def test_short_of_time_the_likeliest_groups_are_coded(
    data: Path, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    Clock(monkeypatch, 1.0, 1.0)
    made(data, tmp_path / "index", model, "--build-seconds", str(SAMPLE_CHUNKS + 20))
    rate = (coded_stand_in.SAMPLED - coded_stand_in.CHUNK) / (SAMPLE_CHUNKS - 1)
    fitting = int(20 * rate / build_coded.CODING)
    index = search.Index.open(tmp_path / "index", model)
    assert index.size == fitting == index.plan["groups"] < GROUPS
    assert kept(index, ROWS) == preferred(ROWS)[:fitting]
    said = f"{GROUPS - fitting:,} groups are left out: 15 formulas/s, 20 s left"
    assert said in index.plan["reasons"]
    assert f"plan: {said}" in capsys.readouterr().err
    nothing_left(tmp_path, "index")


def test_a_machine_that_slows_down_finishes_with_what_it_has(
    data: Path, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    Clock(monkeypatch, 1.0, 5.0)
    made(data, tmp_path / "index", model, "--build-seconds", str(SAMPLE_CHUNKS + 20))
    index = search.Index.open(tmp_path / "index", model)
    chunks = 20 // 5 + 1  # the last one begins in time
    assert index.size == chunks * coded_stand_in.CHUNK == index.plan["groups"]
    assert "coding: time is up, 147 of 227 groups are left out" in capsys.readouterr().err
    assert max(kept(index, ROWS)) <= preferred(ROWS)[226]
    nothing_left(tmp_path, "index")


@pytest.mark.parametrize(("chunk", "left"), [(16, 1), (64, 64)])  # 4 chunks of a sample are too few to know the rate
def test_without_any_time_an_index_still_holds_something(
    chunk: int, left: int, data: Path, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "CHUNK", chunk)
    made(data, tmp_path / "index", model, "--build-seconds", "0")
    index = search.Index.open(tmp_path / "index", model)
    assert index.size == left
    assert len(index.search("x")) == left


def refuse(number: int, name: str = "") -> Callable[..., Any]:
    def refused(*_: object, **__: object) -> Any:
        raise OSError(number, os.strerror(number), name or None)

    return refused


FULL: dict[str, tuple[object, str]] = {
    "codes": (scratch, "allocate"),
    "a mark": (scratch, "mark"),
    "the index": (os, "fsync"),
    "what the sample taught": (Path, "write_bytes"),
}


@pytest.mark.parametrize("what", FULL)
def test_a_full_disk_is_one_line_and_leaves_nothing(
    what: str, data: Path, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    owner, name = FULL[what]
    monkeypatch.setattr(owner, name, refuse(errno.ENOSPC))
    assert build.main(arguments(data, tmp_path / "index", model)) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"build.sh: {tmp_path}/index: No space left on device"
    nothing_left(tmp_path, "index")
    assert list((tmp_path / "index").iterdir()) == []


def test_a_disk_that_fills_up_while_coding_leaves_nothing(
    data: Path, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    keep, calls = scratch.mark, []

    def full(folder: Path, state: dict[str, Any]) -> None:
        calls.append(state)
        if len(calls) == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder / "state.json.part"))
        keep(folder, state)

    monkeypatch.setattr(scratch, "mark", full)
    assert build.main(arguments(data, tmp_path / "index", model)) == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("state.json.part: No space left on device")
    nothing_left(tmp_path, "index")


def test_a_read_only_target_is_one_line(
    data: Path, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    (tmp_path / "index").mkdir()
    monkeypatch.setattr(Path, "mkdir", refuse(errno.EROFS))
    target = tmp_path / "index"
    assert build.main(arguments(data, target, model)) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"build.sh: {target}: Read-only file system"
    make = os.mkdir
    monkeypatch.undo()
    coded_stand_in.replace(monkeypatch)

    def only_outside(path: Any, *rest: Any, **named: Any) -> None:
        refuse(errno.EROFS)() if str(path).endswith(".building") else make(path, *rest, **named)

    monkeypatch.setattr(os, "mkdir", only_outside)
    assert build.main(arguments(data, target, model)) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith(".index.building: no place for scratch files: Read-only file system")
    nothing_left(tmp_path, "index")


def test_a_missing_column_is_one_line(write_tsv: Write, tmp_path: Path, model: Path, capsys: Told) -> None:
    folder = write_tsv(b"id\ttype\tvisual_id\n1\tanswer\t2\n")
    assert build.main(arguments(folder, tmp_path / "index", model)) == 2
    assert "column 'formula' is missing" in capsys.readouterr().err.splitlines()[-1]
    nothing_left(tmp_path)


def test_a_budget_for_nothing_is_one_line(data: Path, tmp_path: Path, model: Path, capsys: Told) -> None:
    assert build.main(arguments(data, tmp_path / "index", model, budget=plan.RESERVE)) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "build.sh: the collection does not fit: 16,384 bytes are left, the smallest index takes more"
    nothing_left(tmp_path, "index")


def test_a_collection_that_changes_underway_is_noticed(
    write_tsv: Write, data: Path, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Told
) -> None:
    learn = build_coded.learn

    def learn_then_cut(*given: Any) -> Any:
        write_tsv(ROWS[:100])
        return learn(*given)

    monkeypatch.setattr(build_coded, "learn", learn_then_cut)
    assert build.main(arguments(data, tmp_path / "index", model)) == 2
    assert "changed while it was read" in capsys.readouterr().err.splitlines()[-1]
    nothing_left(tmp_path, "index")


@pytest.mark.parametrize("other", [False, True])
def test_scratch_in_another_folder_or_file_system(
    other: bool, data: Path, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = made(data, tmp_path / "index", model)
    memory = Path("/dev/shm")
    if other and (not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev):
        pytest.skip("there is no second file system in memory here")
    with tempfile.TemporaryDirectory(dir=memory if other else tmp_path) as name:
        elsewhere = Path(name) / "deep" / "down"
        cut_at(SAMPLE_CHUNKS + 9, monkeypatch)
        assert build.main([*arguments(data, tmp_path / "two", model), "--scratch", str(elsewhere)]) == 130
        assert [path.name for path in elsewhere.iterdir()] == [".two.building"]
        assert list((tmp_path / "two").iterdir()) == []
        cut_at(-1, monkeypatch)
        assert made(data, tmp_path / "two", model, "--scratch", str(elsewhere)) == content
        assert list(elsewhere.iterdir()) == []
    nothing_left(tmp_path, "index", "two")


@pytest.mark.slow
def test_the_shared_collection_exhaustively(mini: Path, weights: Path, tmp_path: Path) -> None:
    """Every group that the plan keeps comes out once, by an id of it that may be returned."""
    budget = 1 << 20
    options = build.Options(mini, tmp_path / "index", threads=2, model=weights, submission=plan.PREPARED - budget)
    build.build(options)
    index = search.Index.open(tmp_path / "index", weights)
    assert isinstance(index, CodedIndex)
    with (mini / "formulas.tsv").open(newline="", encoding="utf-8") as handle:
        rows = [
            [row["id"], 0, 0, row["type"], "", 0, row["visual_id"], row["issue"]]
            for row in csv.DictReader(handle, delimiter="\t")
        ]
    owner = {number: visual for visual, ids in members(rows).items() for number in ids}
    held = [owner[number] for number in index._ids.tolist()]
    assert len(held) == len(set(held)) == index.size == index.plan["groups"] <= len(members(rows))
    assert set(held) == {owner[int(i)] for i, _ in index.search("x", index.size)}
    for query in ["x^2", r"\frac{a}{b}", "", r"\sum_{n=1}^\infty a_n"]:
        answer = [owner[int(i)] for i, _ in index.search(query)]
        assert len(answer) == len(set(answer)) == 1000
        assert set(answer) <= set(held)
    assert np.isfinite(index._vectors).all()
