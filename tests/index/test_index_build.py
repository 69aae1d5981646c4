from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from index import build, ids, plan, scratch, search, store
from index.errors import BuildError
from tests.index.stand_in import collection

ROOT = Path(__file__).resolve().parents[2]
Write = Callable[..., Path]
Built = Callable[..., Path]


def returnable(rows: list[list[object]]) -> dict[object, set[str]]:
    """Visual group -> ids that may be returned, as strings."""
    found: dict[object, set[str]] = {}
    for row in rows:
        if row[7] not in ("d", "dv"):
            found.setdefault(row[6], set()).add(str(row[0]))
    return found


@pytest.mark.parametrize("groups", [1, 2, 30, 900])
def test_every_group_gives_one_of_its_returnable_ids(groups: int, built: Built, model: Path) -> None:
    rows = collection(groups)
    index = search.Index.open(built(rows), model)
    answer = [i for i, _ in index.search("x", groups + 5)]
    allowed = returnable(rows)
    assert index.size == len(answer) == len(set(answer)) == len(allowed)
    owner = {i: visual for visual, members in allowed.items() for i in members}
    assert sorted(map(str, (owner[i] for i in answer))) == sorted(map(str, allowed))


def test_the_same_collection_gives_the_same_bytes(built: Built) -> None:
    rows = collection(800)
    one = (built(rows, "one") / store.FILE).read_bytes()
    assert (built(rows, "two") / store.FILE).read_bytes() == one
    assert (built(list(reversed(rows)), "reversed") / store.FILE).read_bytes() == one


def test_nothing_but_the_index_is_left(built: Built, tmp_path: Path) -> None:
    folder = built(collection(20))
    assert [p.name for p in folder.iterdir()] == [store.FILE]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data", "index", "model"]


@pytest.mark.parametrize(("spare", "graph", "least"), [(0, False, 0), (8_000, False, 1), (100_000, True, 1)])
def test_the_plan_is_obeyed_and_kept(
    spare: int, graph: bool, least: int, built: Built, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "NEAR", 200)
    words = ["\\" + "".join("abcdefghij"[int(digit)] for digit in str(i)) for i in range(1200)]
    rows = [[i, 1, 1, "answer", "", i, i, "", word] for i, word in enumerate(words)]
    coded = ids.size(np.arange(1200))
    least_bytes = plan.decide(1200, 16, 10**9, coded, dict.fromkeys(plan.LEAST_GROUPS, 0)).bytes
    budget = sum(v for name, v in least_bytes.items() if name not in ("graph", "lexical")) + spare
    folder = built(rows, submission=plan.PREPARED - budget)
    opened = search.Index.open(folder, model)
    assert (opened.plan["graph"], opened.plan["least"]) == (graph, least)
    assert ("graph.links" in store.read(folder)[1]) is graph
    assert ("lexical.keys" in store.read(folder)[1]) is (least > 0)
    assert (folder / store.FILE).stat().st_size <= budget
    assert len(opened.search(words[7])) == 1000


ERRORS: dict[str, tuple[list[list[object]] | bytes, list[str], str]] = {
    "no such column": (b"id\ttype\n1\tanswer\n", [], "column 'formula' is missing"),
    "nothing returnable": ([[1, 1, 1, "answer", "", 1, 1, "d", "x"]], [], "holds no formula that may be returned"),
    "header alone": ([], [], "holds no formula that may be returned"),
    "no model": ([], ["--model", "nowhere"], "the model cannot be read: No such file"),
    "too large": (
        [[1, 1, 1, "answer", "", 1, 1, "", "x"]],
        ["--submission-bytes", str(plan.PREPARED)],
        "the collection does not fit: 0 bytes are left",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_one_line_and_status_2(
    name: str, write_tsv: Write, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, extra, message = ERRORS[name]
    data, target = write_tsv(rows), tmp_path / "index"
    arguments = ["--data-dir", str(data), "--index-dir", str(target), "--threads", "1", "--model", str(model), *extra]
    assert build.main(arguments) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("build.sh: ")
    assert message in last
    assert not (target / store.FILE).exists()
    assert not list(tmp_path.glob(".*building"))


def test_a_missing_collection_is_one_line(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--data-dir", str(tmp_path / "no"), "--index-dir", str(tmp_path / "index"), "--model", str(model)]
    assert build.main(arguments) == 2
    assert (
        capsys.readouterr().err == f"build.sh: {tmp_path}/no/formulas.tsv: cannot be read: No such file or directory\n"
    )


def test_a_target_that_is_a_file_is_one_line(
    write_tsv: Write, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "index").write_bytes(b"")
    arguments = [
        "--data-dir",
        str(write_tsv(collection(3))),
        "--index-dir",
        str(tmp_path / "index"),
        "--model",
        str(model),
    ]
    assert build.main(arguments) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"build.sh: {tmp_path}/index: File exists"


def test_planning_builds_nothing(
    write_tsv: Write, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--data-dir", str(write_tsv(collection(50))), "--index-dir", str(tmp_path / "index"), "--plan-only"]
    assert build.main([*arguments, "--model", str(model)]) == 0
    assert "plan: exact form, 50 groups, 16-d" in capsys.readouterr().err
    assert not (tmp_path / "index").exists()


def test_a_collection_that_changes_underway_is_noticed(
    write_tsv: Write, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_tsv(collection(50))
    grouped = build.read

    def read_then_cut(corpus: build.Corpus) -> tuple[build.Groups, build.Sample]:
        groups = grouped(corpus)
        lines = corpus.path.read_bytes().splitlines(keepends=True)
        corpus.path.write_bytes(b"".join(lines[:20]))
        return groups

    monkeypatch.setattr(build, "read", read_then_cut)
    with pytest.raises(BuildError, match="changed while it was read"):
        build.build(build.Options(data, tmp_path / "index", threads=1, model=model))
    assert list((tmp_path / "index").iterdir()) == []


def test_two_builds_of_one_index_do_not_meet(built: Built, tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    with scratch.folder_for(tmp_path / "index", None), pytest.raises(BuildError, match="another build of this index"):
        built(collection(5))
    built(collection(5))


def test_what_a_killed_build_left_is_swept(built: Built, tmp_path: Path) -> None:
    left = tmp_path / ".index.building"
    left.mkdir()
    (left / "vectors.f16").write_bytes(b"old")
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / f".{store.FILE}.part").write_bytes(b"old")
    folder = built(collection(5))
    assert not left.exists()
    assert [p.name for p in folder.iterdir()] == [store.FILE]


def test_scratch_goes_where_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, elsewhere = tmp_path / "a" / "index", tmp_path / "elsewhere"
    index.mkdir(parents=True)
    with scratch.folder_for(index, elsewhere) as folder:
        assert folder.parent == elsewhere
    (tmp_path / "a" / ".index.building").write_bytes(b"in the way")
    with scratch.folder_for(index, None) as folder:
        assert folder.parent == index
    assert list(index.iterdir()) == []
    (index / ".index.building").write_bytes(b"in the way")
    with pytest.raises(BuildError, match="no place for scratch files"), scratch.folder_for(index, None):
        pass


def test_a_full_disk_shows_before_anything_is_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int, _offset: int, _length: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    # Never by asking for more than there is: the file system hands out all it has before it refuses.
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space"):
        scratch.allocate(tmp_path / "vectors", (1000, 64))
    assert list(tmp_path.iterdir()) == []


def test_more_than_is_free_is_not_even_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: int) -> None:
        raise AssertionError("blocks were asked for")

    monkeypatch.setattr(os, "posix_fallocate", never)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(OSError, match="No space"):
        scratch.allocate(tmp_path / "vectors", (1000, 64))
    assert list(tmp_path.iterdir()) == []


def run_build(data: Path, target: Path, threads: int = 2) -> subprocess.Popen[bytes]:
    """build.sh as a stranger runs it: from another folder, with a relative target."""
    command = ["bash", str(ROOT / "build.sh"), "--data-dir", str(data), "--index-dir", target.name]
    environment = {**os.environ, "PYTHON": sys.executable}
    return subprocess.Popen(
        [*command, "--threads", str(threads)], cwd=target.parent, env=environment, stderr=subprocess.PIPE
    )


def test_one_process_or_two_give_the_same_bytes(write_tsv: Write, weights: Path, tmp_path: Path) -> None:
    data = write_tsv(collection(300))
    contents = []
    for threads in (1, 2):
        process = run_build(data, tmp_path / f"with-{threads}", threads)
        assert process.stderr is not None
        errors = process.stderr.read().decode()
        assert process.wait(60) == 0, errors
        contents.append((tmp_path / f"with-{threads}" / store.FILE).read_bytes())
    assert contents[0] == contents[1]
    assert store.read(tmp_path / "with-2")[1]["vectors"].dtype == np.float16


@pytest.mark.slow
def test_a_killed_build_leaves_nothing_that_loads_and_runs_again(
    write_tsv: Write, weights: Path, tmp_path: Path
) -> None:
    data, target = write_tsv(collection(9000)), tmp_path / "killed"
    for number in range(6):
        process = run_build(data, target)
        time.sleep(0.4 * number + 0.3)
        process.send_signal(signal.SIGKILL if number % 2 else signal.SIGTERM)
        process.wait(30)
        assert not (target / store.FILE).exists()
    process = run_build(data, target)
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    assert process.wait(120) == 0, errors
    assert [p.name for p in target.iterdir()] == [store.FILE]
    assert not list(tmp_path.glob(".*building"))
