"""Speaks JSON lines with a search service run as its consumer runs it: `serve.sh` as a child process.

Messages (the `op` dialect; every reply is one line):
    {"op": "load", "index_dir": ..., "work_dir": ...} -> {"ok": true}
    {"op": "query", "query_id": "B.1", "latex": "x^2"}
        -> {"query_id": "B.1", "results": [{"formula_id": "12", "score": 0.9}]}
"""

import contextlib
import json
import math
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from evaluation.collection import parse_id
from evaluation.errors import EvaluationError
from evaluation.metrics import DEPTH

LOAD_TIMEOUT_S = 120.0
"""Time the contract allows for loading."""

CLOSE_TIMEOUT_S = 5.0
"""Time a service has to end after its input does, before it is killed."""


class Answer(NamedTuple):
    """A ranking of (formula id, score), best first, without repeats, and the seconds it took to come."""

    ranking: list[tuple[str, float]]
    seconds: float


class QueryError(Exception):
    """A query got no usable answer; the message says why. The topic counts 0, other topics go on."""


def parse_answer(reply: Any, query_id: str) -> list[tuple[str, float]]:
    """The ranking in a decoded reply; of results with one formula id the first is kept, as the judge does.

    Raises:
        QueryError: The reply breaks the contract: another id, no list of at most 1,000 results, a formula id that is no
            unsigned decimal string, or scores that are not finite and descending.
    """
    if not isinstance(reply, dict) or reply.get("query_id") != query_id:
        raise QueryError(f"expected a reply with query_id {query_id}, got {str(reply)[:120]}")
    results = reply.get("results")
    if not isinstance(results, list):
        raise QueryError(f"expected a list of results, got {str(reply)[:120]}")
    if len(results) > DEPTH:
        raise QueryError(f"expected at most {DEPTH} results, got {len(results)}")
    ranking: dict[str, float] = {}
    last = math.inf
    for result in results:
        formula_id, score = (
            (result.get("formula_id"), result.get("score")) if isinstance(result, dict) else (None, None)
        )
        if not isinstance(formula_id, str) or parse_id(formula_id) is None:
            raise QueryError(f"expected an unsigned decimal string as formula_id, got {str(result)[:120]}")
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score) or score > last:
            raise QueryError(f"expected finite scores in descending order, got {str(result)[:120]}")
        last = score
        ranking.setdefault(formula_id, float(score))
    return list(ranking.items())


class ServiceClient:
    """One service process, started and loaded on entering and ended on leaving a `with` block.

    After a failed query the process is replaced before the next one, as the consumer replaces it.
    """

    def __init__(self, serve: Path, index_dir: Path, work_dir: Path | None = None, timeout_s: float = 5.0) -> None:
        """Describe the service; nothing is started yet.

        Args:
            serve: The script, run as `bash serve --index-dir ... --work-dir ...`. Unless PYTHON is set it is told to
                use this interpreter.
            index_dir: A built index.
            work_dir: A folder the service may write to; a temporary one by default.
            timeout_s: Time to wait for an answer before the query fails.
        """
        self.serve, self.index_dir, self.timeout_s = serve.resolve(), index_dir.resolve(), timeout_s
        self.given_work_dir = None if work_dir is None else work_dir.resolve()
        self.load_seconds: list[float] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.lines: queue.Queue[tuple[float, bytes]] = queue.Queue()

    def __enter__(self) -> Self:
        """Start and load.

        Raises:
            EvaluationError: A path is missing, or the service does not load.
        """
        if not self.serve.is_file():
            raise EvaluationError(f"{self.serve}: expected the script that starts the service")
        if not self.index_dir.is_dir():
            raise EvaluationError(f"{self.index_dir}: expected a folder with a built index")
        with contextlib.ExitStack() as stack:
            self.stderr = stack.enter_context(tempfile.TemporaryFile())
            temporary = stack.enter_context(tempfile.TemporaryDirectory(prefix="evaluation-"))
            self.work_dir = self.given_work_dir or Path(temporary)
            stack.callback(self.stop)
            self.start()
            self.resources = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the service and remove the temporary folder."""
        self.resources.close()

    def start(self) -> None:
        """Start a process and load the index."""
        command = ["bash", str(self.serve), "--index-dir", str(self.index_dir), "--work-dir", str(self.work_dir)]
        self.process = subprocess.Popen(
            command,
            cwd=self.work_dir,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            env={"PYTHON": sys.executable, **os.environ},
            start_new_session=True,
        )
        # A queue of its own for each process: a late line of a killed one must not answer the next one's question.
        self.lines = queue.Queue()
        threading.Thread(target=read_lines, args=(self.process, self.lines), daemon=True).start()
        paths = {"index_dir": str(self.index_dir), "work_dir": str(self.work_dir)}
        try:
            reply, seconds = self.ask({"op": "load", **paths}, LOAD_TIMEOUT_S)
        except QueryError as error:
            raise EvaluationError(f"{self.serve}: load failed: {error}") from None
        if not isinstance(reply, dict) or reply.get("ok") is not True:
            raise EvaluationError(f'{self.serve}: load failed: expected {{"ok":true}}, got {str(reply)[:200]}')
        self.load_seconds.append(seconds)

    def stop(self) -> None:
        """End the process: close its input, wait, then kill it and what it started."""
        process, self.process = self.process, None
        if process is None or process.stdin is None or process.stdout is None:
            return
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(CLOSE_TIMEOUT_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def ask(self, message: dict[str, Any], timeout_s: float) -> tuple[Any, float]:
        """Send one message; return the decoded reply and the seconds until its line came.

        Raises:
            QueryError: The service ended, did not answer in time, or answered something that is not JSON.
        """
        if self.process is None or self.process.stdin is None:
            raise QueryError("the service is not running")
        raw = json.dumps(message).encode() + b"\n"
        started = time.perf_counter()
        try:
            self.process.stdin.write(raw)
            self.process.stdin.flush()
            came, line = self.lines.get(timeout=timeout_s)
        except BrokenPipeError:
            came, line = started, b""
        except queue.Empty:
            raise QueryError(f"no answer within {timeout_s:g} s") from None
        if not line:
            raise QueryError(f"the service ended: {self.last_words()}")
        try:
            return json.loads(line), came - started
        except (ValueError, RecursionError):
            raise QueryError(f"expected a line of JSON, got {line[:120]!r}") from None

    def last_words(self) -> str:
        """The last line that the service wrote to stderr."""
        size = self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, size - 4096))
        lines = [line for line in self.stderr.read().decode(errors="replace").splitlines() if line.strip()]
        return lines[-1].strip()[:300] if lines else "it said nothing on stderr"

    def answer(self, query_id: str, latex: str, k: int = DEPTH) -> Answer:
        """Ask for one ranking, and keep its first `k` results.

        Raises:
            QueryError: No usable answer; the process is gone.
            EvaluationError: The process had to be replaced, and the new one did not load.
        """
        if self.process is None:
            self.start()
        try:
            reply, seconds = self.ask({"op": "query", "query_id": query_id, "latex": latex}, self.timeout_s)
            return Answer(parse_answer(reply, query_id)[:k], seconds)
        except QueryError:
            self.stop()
            raise


def read_lines(process: subprocess.Popen[bytes], lines: "queue.Queue[tuple[float, bytes]]") -> None:
    """Queue each line of a process with the time it came, then an empty one at its end (body of a thread)."""
    if process.stdout is None:
        return
    with process.stdout as stdout:
        for line in stdout:
            lines.put((time.perf_counter(), line))
    lines.put((time.perf_counter(), b""))
