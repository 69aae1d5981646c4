import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.lines import LIMIT
from service.protocol import MESSAGE_CHARS
from service.session import MAX_TRACES, WARM_UP, WARM_UP_ROUNDS, Session

GOOD = b'{"query_id":"q","latex":"x"}'
RESULTS = [{"formula_id": "12", "score": 0.5}, {"formula_id": "7", "score": 0.25}]


class Fake:
    """An index whose name is that of its folder; formulas that are exception names raise them."""

    def __init__(self, name: str) -> None:
        self.name, self.searched = name, list[str]()

    def search(self, latex: str, k: int = 1000) -> Sequence[tuple[str, float]]:
        latex.encode()
        self.searched.append(latex)
        if latex == "raise":
            raise KeyError("one\n  two")
        if latex.startswith("long"):
            raise ValueError(latex)
        if latex == "panic":
            raise BaseException("panic")
        if latex == "nan":
            return [("1", float("nan"))]
        return [("12", 0.5), ("7", 0.25)]


class Shelf:
    """Opens folders; a folder `bad` cannot be opened and one called `dumb` cannot be searched."""

    def __init__(self) -> None:
        self.opened = list[Fake]()

    def __call__(self, folder: Path) -> Fake:
        if folder.name == "bad":
            raise ValueError(f"{folder / 'header'}: expected a magic")
        self.opened.append(Fake(folder.name))
        if folder.name == "dumb":
            self.opened[-1].search = lambda latex, k=1000: [("x", 1.0)]  # type: ignore[method-assign]
        return self.opened[-1]


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def ask(session: Session, line: bytes) -> Any:
    reply = session.reply(line)
    assert reply is not None
    assert reply.endswith(b"\n")
    assert reply.count(b"\n") == 1
    return json.loads(reply.decode("ascii"))


def folder(parent: Path, name: str) -> Path:
    made = parent / name
    made.mkdir()
    (made / "data").write_bytes(b"1")
    return made


def load(path: Path) -> bytes:
    return json.dumps({"op": "load", "index_dir": str(path)}).encode()


def test_query_before_load_is_an_error(shelf: Shelf) -> None:
    assert ask(Session(opener=shelf), GOOD) == {
        "query_id": "q",
        "ok": False,
        "error": "query: expected a load first, no index is open",
    }


@pytest.mark.parametrize("flag", [None, ""])
def test_load_without_any_path_is_an_error(shelf: Shelf, flag: str | None) -> None:
    assert ask(Session(flag, opener=shelf), b"{}") == {
        "ok": False,
        "error": "index_dir: expected a path in the message or as the flag --index-dir",
    }


def test_load_warms_up_and_query_answers(shelf: Shelf, tmp_path: Path) -> None:
    session = Session(opener=shelf)
    assert ask(session, load(folder(tmp_path, "a"))) == {"ok": True}
    assert shelf.opened[0].searched == list(WARM_UP * WARM_UP_ROUNDS)
    assert ask(session, GOOD) == {"query_id": "q", "results": RESULTS}


def test_path_of_the_message_wins_over_the_flag(shelf: Shelf, tmp_path: Path) -> None:
    session = Session(str(folder(tmp_path, "flag")), opener=shelf)
    assert ask(session, b'{"op":"load"}') == {"ok": True}
    assert ask(session, load(folder(tmp_path, "message"))) == {"ok": True}
    assert [index.name for index in shelf.opened] == ["flag", "message"]


def test_relative_path_is_of_the_current_folder(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path, "a")
    monkeypatch.chdir(tmp_path)
    assert ask(Session("a", opener=shelf), b"{}") == {"ok": True}


def test_same_folder_is_opened_once_until_it_changes(shelf: Shelf, tmp_path: Path) -> None:
    session, path = Session(opener=shelf), folder(tmp_path, "a")
    for _ in range(3):
        assert ask(session, load(path)) == {"ok": True}
    assert len(shelf.opened) == 1
    (path / "data").write_bytes(b"22")
    assert ask(session, load(path)) == {"ok": True}
    assert len(shelf.opened) == 2


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("bad", "ValueError: {path}/header: expected a magic"),
        ("dumb", "ValueError: expected formula ids of digits alone from the index"),
        ("missing", "index_dir: expected a folder, got {path}: No such file or directory"),
        ("file", "index_dir: expected a folder, got {path}: Not a directory"),
    ],
)
def test_failed_load_keeps_the_index(shelf: Shelf, tmp_path: Path, name: str, error: str) -> None:
    session = Session(opener=shelf)
    assert ask(session, load(folder(tmp_path, "a"))) == {"ok": True}
    if name == "file":
        (tmp_path / name).write_bytes(b"")
    elif name != "missing":
        folder(tmp_path, name)
    for _ in range(2):  # a failed load is not remembered as done
        reply = ask(session, load(tmp_path / name))
        assert reply == {"ok": False, "error": error.format(path=tmp_path / name)}
    assert ask(session, GOOD) == {"query_id": "q", "results": RESULTS}
    assert session.index is shelf.opened[0]


@pytest.mark.parametrize(
    ("latex", "error"),
    [
        ("raise", "KeyError: 'one\\n two'"),
        ("panic", "BaseException: panic"),
        ("nan", "ValueError: expected finite scores from the index"),
    ],
)
def test_whatever_the_index_raises_is_an_error_reply(
    shelf: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str], latex: str, error: str
) -> None:
    session = Session(str(folder(tmp_path, "a")), opener=shelf)
    ask(session, b"{}")
    assert ask(session, json.dumps({"query_id": 3, "latex": latex}).encode()) == {
        "query_id": 3,
        "ok": False,
        "error": error,
    }
    captured = capsys.readouterr()
    assert "Traceback" in captured.err
    assert captured.out == ""
    assert ask(session, GOOD) == {"query_id": "q", "results": RESULTS}


def test_tracebacks_end_before_they_fill_a_pipe(
    shelf: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session(str(folder(tmp_path, "a")), opener=shelf)
    ask(session, b"{}")
    for _ in range(3 * MAX_TRACES):
        reply = ask(session, b'{"latex":"long' + b"x" * 100_000 + b'"}')
        assert reply == {"ok": False, "error": "ValueError: long" + "x" * (MESSAGE_CHARS - 19) + "..."}
    written = capsys.readouterr().err
    assert written.count("Traceback") == MAX_TRACES
    assert len(written) < 1 << 16


def test_closed_stderr_harms_nothing(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    session = Session(str(folder(tmp_path, "a")), opener=shelf)
    assert ask(session, b"{}") == {"ok": True}
    assert ask(session, b'{"latex":"raise"}')["ok"] is False


def test_work_dir_stays_empty(shelf: Shelf, tmp_path: Path) -> None:
    index, work = folder(tmp_path, "a"), tmp_path / "work"
    work.mkdir()
    session = Session(opener=shelf)
    message = {"op": "load", "index_dir": str(index), "work_dir": str(work)}
    assert ask(session, json.dumps(message).encode()) == {"ok": True}
    ask(session, GOOD)
    assert os.listdir(work) == []
    assert os.listdir(index) == ["data"]


@pytest.mark.parametrize("line", [b"", b" ", b"\r", b"\t \r\x0b\x0c"])
def test_blank_line_gets_no_reply(shelf: Shelf, line: bytes) -> None:
    assert Session(opener=shelf).reply(line) is None


def test_too_long_line_is_refused(shelf: Shelf) -> None:
    reply = Session(opener=shelf).reply(None)
    assert reply == b'{"ok":false,"error":"line: expected at most %d bytes"}\n' % LIMIT


@pytest.mark.parametrize(
    "line",
    [
        b'{"op":"load",' * 600_000,
        b'{"a":' + b"0." + b"1" * 7_000_000 + b"}",
        b'{"query_id":' + b"1" * 8_000_000 + b"}",
        b"[" + b"1," * 300_000 + b"1]",
        b"{" + b'"op":"load",' * 100_000 + b'"op":"load"}',
        b'{"op":"load","index_dir":"' + b"/a" * 4_000_000 + b'"}',
        b'{"query_id":"' + b"\\ud800" * 1_000_000 + b'","op":"fly"}',
        b"\xff" * 8_000_000,
    ],
    ids=["open objects", "long fraction", "long id", "long list", "many verbs", "long path", "surrogates", "no UTF-8"],
)
def test_abusive_line_is_answered_in_time(shelf: Shelf, line: bytes) -> None:
    assert len(line) <= LIMIT
    started = time.monotonic()
    assert ask(Session(opener=shelf), line)["ok"] is False
    assert time.monotonic() - started < 10  # a quadratic pass would take hours


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
FIELDS = st.sampled_from(["op", "type", "query_id", "latex", "index_dir", "index-dir", "work_dir", "x"])
MESSAGES = st.dictionaries(FIELDS, JSON | st.sampled_from(["load", "query", "raise", "panic", "nan", "/", "."]))


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """Any bytes, any JSON, messages near the protocol, and good messages with a few bytes changed."""
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return draw(st.binary())
    if kind == 1:
        return json.dumps(draw(JSON)).encode()
    if kind == 2:
        return json.dumps(draw(MESSAGES)).encode()
    line = bytearray(GOOD)
    for at, byte in draw(st.lists(st.tuples(st.integers(0, len(line) - 1), st.integers(0, 255)), max_size=3)):
        line[at] = byte
    return bytes(line[: draw(st.integers(0, len(line)))])


def refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@settings(max_examples=100, deadline=None)
@given(st.lists(lines(), max_size=4))
def test_any_bytes_get_one_valid_reply_and_the_service_goes_on(sent: list[bytes]) -> None:
    session = Session(opener=lambda folder: Fake("a"))
    assert session.reply(b'{"op":"load","index_dir":"."}') == b'{"ok":true}\n'
    for line in sent:
        reply = session.reply(line)
        if not line.strip():
            assert reply is None
            continue
        assert reply is not None
        assert reply.endswith(b"\n")
        assert b"\n" not in reply[:-1]
        value = json.loads(reply.decode("utf-8"), parse_constant=refuse)
        assert set(value) in ({"ok"}, {"ok", "error"}, {"query_id", "ok", "error"}, {"query_id", "results"})
        assert value.get("ok", True) is ("error" not in value)
    assert ask(session, GOOD) == {"query_id": "q", "results": RESULTS}
