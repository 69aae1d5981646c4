"""Producing runs from a service process and from an index in this process."""

import os
import time
from pathlib import Path

import pytest

from evaluation.client import ServiceClient
from evaluation.collection import Query
from evaluation.errors import EvaluationError
from evaluation.produce import InProcess, produce

FAKE = Path(__file__).parent / "fake_service.py"


@pytest.fixture
def client(tmp_path: Path) -> ServiceClient:
    return make_client(tmp_path, "good")


def make_client(folder: Path, mode: str) -> ServiceClient:
    (folder / "ix").mkdir()
    (folder / "ix" / "mode").write_text(mode)
    (folder / "work").mkdir()
    serve = folder / "serve.sh"
    serve.write_text(f'exec "$PYTHON" "{FAKE}" "$@"\n')
    return ServiceClient(serve, folder / "ix", folder / "work", timeout_s=1.5)


def log(folder: Path) -> list[list[str]]:
    return [line.split(" ", 2) for line in (folder / "work" / "log").read_text().splitlines()]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_answers_in_order_with_latencies(tmp_path: Path, client: ServiceClient) -> None:
    queries = [Query("B.1", "x"), Query("B.2", "thousand"), Query("B.3", "nothing"), Query("B.4", "slow")]
    with client:
        production = produce(client, queries, warmup=3)
    assert list(production.run) == ["B.1", "B.2", "B.3", "B.4"]
    assert production.run["B.1"] == [("1", 1.0), ("2", 0.999), ("3", 0.998)]
    assert (len(production.run["B.2"]), production.run["B.3"], production.failures) == (1000, [], {})
    assert production.latencies_ms["B.4"] > 200
    assert [latex for _, _, latex in log(tmp_path)] == [
        "",
        "x",
        "thousand",
        "nothing",
        "x",
        "thousand",
        "nothing",
        "slow",
    ]
    summary = production.summary()
    assert (summary["queries"], summary["answered"], summary["results"]) == (4, 4, 1006)
    assert summary["latency_ms"]["max"] > 200
    assert summary["over_50_ms"] >= 1


def test_process_is_loaded_once_and_gone_afterwards(tmp_path: Path, client: ServiceClient) -> None:
    with client:
        produce(client, [Query("a", "x"), Query("b", "y")], warmup=0)
    pids = {int(pid) for pid, _, _ in log(tmp_path)}
    assert len(pids) == 1
    assert not alive(pids.pop())
    assert len(client.load_seconds) == 1


@pytest.mark.parametrize(
    ("latex", "why"),
    [
        ("wrong id", "expected a reply with query_id bad"),
        ("list", "expected a reply with query_id bad"),
        ("error", "expected a list of results, got {'ok': False, 'error': 'no such thing'"),
        ("no list", "expected a list of results"),
        ("too many", "expected at most 1000 results, got 1001"),
        ("ascending", "expected finite scores in descending order"),
        ("nan", "expected finite scores in descending order"),
        ("boolean", "expected finite scores in descending order"),
        ("number id", "expected an unsigned decimal string as formula_id"),
        ("word id", "expected an unsigned decimal string as formula_id"),
        ("garbage", "expected a line of JSON, got b'not json"),
        ("die", "the service ended: killed by a formula"),
    ],
)
def test_failed_query_is_reported_and_the_process_replaced(
    tmp_path: Path, client: ServiceClient, latex: str, why: str
) -> None:
    with client:
        production = produce(client, [Query("bad", latex), Query("good", "x")], warmup=0)
    assert list(production.run) == ["good"]
    assert production.failures["bad"].startswith(why)
    assert len({pid for pid, _, _ in log(tmp_path)}) == 2
    assert len(client.load_seconds) == 2


def test_hanging_query_times_out_and_its_process_is_killed(
    tmp_path: Path, client: ServiceClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluation.client.CLOSE_TIMEOUT_S", 0.1)
    started = time.monotonic()
    with client:
        production = produce(client, [Query("bad", "hang"), Query("good", "x")], warmup=0)
    assert time.monotonic() - started < 20
    assert production.failures == {"bad": "no answer within 1.5 s"}
    assert list(production.run) == ["good"]
    assert not any(alive(int(pid)) for pid, _, _ in log(tmp_path))


def test_failures_of_the_warm_up_do_not_count(client: ServiceClient) -> None:
    with client:
        production = produce(client, [Query("bad", "die")], warmup=1)
        assert (list(production.failures), production.run) == (["bad"], {})
    assert production.summary()["latency_ms"] == {"p50": None, "p99": None, "max": None}


def test_repeated_formula_keeps_its_first_rank(client: ServiceClient) -> None:
    with client:
        production = produce(client, [Query("a", "repeats")], warmup=0)
    assert production.run["a"] == [("7", 1.0), ("8", 0.5)]


def test_late_answer_counts_as_none_if_there_is_a_deadline(client: ServiceClient) -> None:
    with client:
        production = produce(client, [Query("late", "slow")], warmup=0, deadline_ms=100)
    assert production.run == {}
    assert production.failures["late"].startswith("late, ")
    assert production.latencies_ms["late"] > 200


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("refuse", "load failed: expected {\"ok\":true}, got {'ok': False, 'error': 'foreign'}"),
        ("die", "load failed: the service ended: the index is damaged"),
    ],
)
def test_service_that_does_not_load(tmp_path: Path, mode: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught, make_client(tmp_path, mode):
        pass
    assert message in str(caught.value)
    assert not any(alive(int(pid)) for pid, _, _ in log(tmp_path))


def test_missing_paths(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="expected the script"), ServiceClient(tmp_path / "none.sh", tmp_path):
        pass
    with (
        pytest.raises(EvaluationError, match="expected a folder with a built index"),
        ServiceClient(FAKE, tmp_path / "no"),
    ):
        pass


def test_index_in_this_process() -> None:
    asked: list[tuple[str, int]] = []

    class Index:
        def search(self, latex: str, k: int) -> list[tuple[str, float]]:
            asked.append((latex, k))
            return [("5", 1.0), ("6", 0.5), ("5", 0.25)][:k]

    production = produce(InProcess(Index()), [Query("a", "x"), Query("b", "y")], k=3, warmup=3)
    assert production.run == {"a": [("5", 1.0), ("6", 0.5)], "b": [("5", 1.0), ("6", 0.5)]}
    assert asked == [("x", 1000), ("y", 1000), ("x", 1000), ("x", 3), ("y", 3)]
    assert set(production.latencies_ms) == {"a", "b"}


def test_mistakes_of_an_index_in_this_process_are_seen() -> None:
    class Broken:
        def search(self, latex: str, k: int) -> list[tuple[str, float]]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        produce(InProcess(Broken()), [Query("a", "x")], warmup=0)
