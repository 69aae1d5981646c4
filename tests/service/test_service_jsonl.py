"""The service as its consumer runs it: serve.sh of a copied tree with a fake index, in a folder elsewhere."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 30.0
IDS = [str(number) for number in range(1000)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a submission (app), an index, a work folder, and decoys for a sloppy module path."""
    app = tmp_path / "an app"
    shutil.copytree(ROOT / "service", app / "service", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "serve.sh", app)
    (app / "index").mkdir()
    (app / "index" / "__init__.py").touch()
    shutil.copy(Path(__file__).with_name("fake_search.py"), app / "index" / "search.py")
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "ids.txt").write_text(" ".join(IDS))
    (tmp_path / "work").mkdir()
    for decoy in ("json.py", "service.py", "index.py"):
        (tmp_path / decoy).write_text("raise SystemExit(9)")
    return tmp_path


Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(place: Path) -> Iterator[Start]:
    """Starts a service in `place` with the flags given; kills what is left of it."""
    started = list[subprocess.Popen[bytes]]()

    def run(*flags: str, script: str = "an app/serve.sh") -> "subprocess.Popen[bytes]":
        pipe = subprocess.PIPE
        env = {**os.environ, "PYTHON": sys.executable}
        process = subprocess.Popen([f"./{script}", *flags], cwd=place, env=env, stdin=pipe, stdout=pipe, stderr=pipe)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def ask(process: "subprocess.Popen[bytes]", message: dict[str, Any] | bytes) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
    process.stdin.flush()
    assert select.select([process.stdout], [], [], TIMEOUT_S)[0], "no reply"
    return json.loads(process.stdout.readline())


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def ids(reply: dict[str, Any]) -> list[str]:
    return [result["formula_id"] for result in reply["results"]]


def test_conversation_with_paths_in_flags(place: Path, start: Start) -> None:
    before = tree(place)
    process = start("--index-dir", "built", "--work-dir", "work")
    assert ask(process, {"op": "query", "query_id": "early", "latex": "x"})["ok"] is False
    assert ask(process, {"op": "load"}) == {"ok": True}
    reply = ask(process, {"op": "query", "query_id": "B.1", "latex": "x"})
    assert list(reply) == ["query_id", "results"]
    assert reply["query_id"] == "B.1"
    assert ids(reply) == IDS
    rest, _ = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, rest) == (0, b"")
    assert tree(place) == before


@pytest.mark.parametrize("key", ["op", "type", "cmd", "method", "action", None])
def test_dialects_with_paths_in_the_message(place: Path, start: Start, key: str | None) -> None:
    process = start()
    paths = {"index_dir": str(place / "built"), "work_dir": str(place / "work")}
    assert ask(process, {key: "load", **paths} if key else paths) == {"ok": True}
    query = {"query_id": "B.1", "latex": "x"}
    assert ids(ask(process, {key: "query", **query} if key else query)) == IDS


def test_link_to_the_script_finds_its_own_place(place: Path, start: Start) -> None:
    (place / "link").symlink_to("an app/serve.sh")
    assert ask(start("--index-dir=built", "--later-flag", "1", script="link"), {}) == {"ok": True}


def test_stdout_carries_replies_alone(start: Start) -> None:
    sent = [{"op": "load", "index_dir": "built"}, *({"query_id": name, "latex": name} for name in ("!print", "x"))]
    process = start()
    output, errors = process.communicate(b"\n\n".join(json.dumps(line).encode() for line in sent), TIMEOUT_S)
    assert process.returncode == 0
    assert [json.loads(line).get("query_id") for line in output.splitlines()] == [None, "!print", "x"]
    for noise in (b"opening, says", b"and again", b"noise on stdout", b"more noise", b"noise of a child"):
        assert noise not in output
        assert noise in errors


def test_two_threads(start: Start) -> None:
    process = start("--index-dir", "built")
    ask(process, {})
    error = ask(process, {"latex": "!threads"})["error"]
    for name in ("OMP", "OPENBLAS", "MKL", "RAYON"):
        assert f"'{name}_NUM_THREADS': '2'" in error


def test_errors_leave_it_running(start: Start) -> None:
    process = start("--index-dir", "built")
    assert ask(process, {}) == {"ok": True}
    assert ask(process, {"query_id": 1, "latex": "!raise"}) == {
        "query_id": 1,
        "ok": False,
        "error": "KeyError: 'first\\nsecond'",
    }
    assert ask(process, {"query_id": 2, "latex": "!panic"})["error"] == "BaseException: panic"
    assert ask(process, b"[" * 100_000)["ok"] is False
    assert ask(process, b"x" * (9 << 20)) == {"ok": False, "error": "line: expected at most 8388608 bytes"}
    assert ids(ask(process, {"query_id": 3, "latex": "a" * (4 << 20)})) == IDS
    assert ask(process, {"op": "load", "index_dir": "nowhere"})["ok"] is False
    assert ids(ask(process, {"query_id": 4, "latex": "x"})) == IDS
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0


def test_missing_library_is_an_error_reply(place: Path, start: Start) -> None:
    (place / "an app" / "index" / "search.py").write_text("import no_such_library\n")
    process = start("--index-dir", "built")
    for _ in range(2):
        reply = ask(process, {"op": "load"})
        assert reply == {"ok": False, "error": "ModuleNotFoundError: No module named 'no_such_library'"}


def test_pipelined_requests_are_answered_in_order(start: Start) -> None:
    process = start("--index-dir", "built")
    sent = b'{"op":"load"}\n' + b"".join(b'{"query_id":%d,"latex":"x"}\n' % number for number in range(250))
    output, _ = process.communicate(sent, TIMEOUT_S)
    assert [json.loads(line).get("query_id") for line in output.splitlines()] == [None, *range(250)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_while_it_waits(start: Start, number: signal.Signals) -> None:
    process = start("--index-dir", "built")
    ask(process, {})
    process.send_signal(number)
    output, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, output) == (0, b"")
    assert b"Traceback" not in errors


def test_signal_within_a_query_drops_it(start: Start) -> None:
    process = start("--index-dir", "built")
    ask(process, {})
    output, _ = process.communicate(b'{"query_id":1,"latex":"!term"}\n', 10)  # the query takes a minute
    assert (process.returncode, output) == (0, b"")


def test_signal_within_a_reply_waits_for_a_reader(start: Start) -> None:
    process = start("--index-dir", "built")
    ask(process, {})
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"".join(b'{"query_id":%d,"latex":"x"}\n' % number for number in range(50)))
    process.stdin.flush()
    assert select.select([process.stdout], [], [], TIMEOUT_S)[0]
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    assert output.endswith(b"\n")
    assert [json.loads(line)["query_id"] for line in output.splitlines()] == list(range(output.count(b"\n")))


def test_signal_ends_it_though_nobody_reads(start: Start) -> None:
    process = start("--index-dir", "built")
    ask(process, {})
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"query_id":1,"latex":"x"}\n' * 50)
    process.stdin.flush()
    assert select.select([process.stdout], [], [], TIMEOUT_S)[0]
    time.sleep(0.3)  # the pipe holds one reply: by now it is stuck within the second
    process.send_signal(signal.SIGTERM)
    assert process.wait(TIMEOUT_S) == 0


def test_reader_that_leaves_ends_it(start: Start) -> None:
    process = start("--index-dir", "built")
    ask(process, {})
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    process.stdin.write(b'{"query_id":1,"latex":"x"}\n')
    process.stdin.flush()
    assert process.wait(TIMEOUT_S) == 0
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()
