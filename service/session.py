"""The open index and the answer to one line: whatever the line holds, whatever the index does, there is a reply."""

import contextlib
import gc
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from service.lines import LIMIT
from service.protocol import DEPTH, LOADED, Load, Query, RequestError, answer, decode, failure

THREADS = 2
"""Threads the contract allows."""

WARM_UP = (
    "x^2+y^2=z^2",
    r"\int_0^\infty e^{-x^2}\,dx=\frac{\sqrt{\pi}}{2}",
    r"\sum_{i=1}^{n}\left(\alpha_i\cdot\frac{\partial f}{\partial x_i}\right)"
    + "".join(f"+a_{{{i}}}" for i in range(200)),
)
"""Searched after a load: a short, a common and a very long formula, so that memory for each length is in place."""

WARM_UP_ROUNDS = 2

MAX_TRACES = 20
"""Tracebacks written to stderr. A consumer that never reads its end of that pipe must not make the service wait."""

NOTE_CHARS = 2000
"""Longest note on stderr: MAX_TRACES of them fit into a pipe of 64 KiB. Longer ones lose their middle."""


class SearchIndex(Protocol):
    """What the service needs of an index."""

    def search(self, latex: str, k: int = DEPTH) -> Sequence[tuple[str, float]]:
        """At most k (formula id as a decimal string, finite score), scores descending."""


Opener = Callable[[Path], SearchIndex]
"""Opens the index in a folder; raises any exception where there is none."""


def open_index(folder: Path) -> SearchIndex:
    """The index built in a folder. Imported here: a broken installation then is an error reply, not a dead service.

    Raises:
        Exception: Whatever `index.search` raises for a folder that holds no sound index.
    """
    from index.search import Index

    return Index.open(folder, threads=THREADS)


class Session:
    """Answers lines one at a time. An index stays in use until another one has been opened in full."""

    def __init__(self, index_dir: str | None = None, work_dir: str | None = None, opener: Opener = open_index) -> None:
        """Start without an index.

        Args:
            index_dir: Used by a load that names no folder; relative to the current folder.
            work_dir: Accepted for the contract's sake. Nothing is ever written there or anywhere else.
            opener: Opens the index in a folder.
        """
        self.index_dir, self.work_dir, self.opener = index_dir, work_dir, opener
        self.index: SearchIndex | None = None
        self.opened: tuple[object, ...] = ()
        self.traces = 0

    def reply(self, line: bytes | None) -> bytes | None:
        """The reply to a line (None stands for one over the length limit), or None where the line is blank."""
        if line is None:
            return failure(f"line: expected at most {LIMIT} bytes")
        if not line.strip():
            return None
        query_id = None
        try:
            message = decode(line)
            query_id = message.query_id
            if isinstance(message, Query):
                return self._search(message)
            self._load(message)
            return LOADED
        except RequestError as error:
            return failure(str(error), error.query_id or query_id)
        # BaseException: a panic in the tokeniser's Rust code is no Exception. Signals never raise here (see jsonl).
        except BaseException as error:
            self._trace()
            return failure(f"{type(error).__name__}: {error}", query_id)

    def _search(self, query: Query) -> bytes:
        if self.index is None:
            raise RequestError("query: expected a load first, no index is open")
        return answer(query.query_id, self.index.search(query.latex, DEPTH))

    def _load(self, message: Load) -> None:
        """Open the folder of a message or of the flags; leaves everything as it was unless all goes well."""
        # Not `or`: a path in the message is never blank, a flag may be.
        path = self.index_dir if message.index_dir is None else message.index_dir
        if not path:
            raise RequestError("index_dir: expected a path in the message or as the flag --index-dir")
        folder = Path(path).resolve()
        seen = fingerprint(folder)
        if self.index is not None and seen == self.opened:
            return
        started = time.monotonic()
        index = self.opener(folder)
        for latex in WARM_UP * WARM_UP_ROUNDS:
            answer(None, index.search(latex, DEPTH))
        self.index, self.opened = index, seen
        # What a loaded index consists of lives until the next load: out of the collector's sight, so that later
        # collections (jsonl runs them between replies) walk over a few new objects instead of all of them.
        gc.collect()
        gc.freeze()
        self._say(f"loaded {folder} in {time.monotonic() - started:.2f} s")

    def _trace(self) -> None:
        self.traces += 1
        if self.traces <= MAX_TRACES:
            self._say(traceback.format_exc().rstrip())
        if self.traces == MAX_TRACES:
            self._say(f"{MAX_TRACES} errors traced; later ones are only told in replies")

    def _say(self, text: str) -> None:
        if len(text) > NOTE_CHARS:
            text = f"{text[: NOTE_CHARS // 2]} [...] {text[-NOTE_CHARS // 2 :]}"
        with contextlib.suppress(OSError, ValueError, AttributeError):  # stderr may be full, closed or absent (None)
            sys.stderr.write(text.encode("ascii", "backslashreplace").decode() + "\n")
            sys.stderr.flush()


def fingerprint(folder: Path) -> tuple[object, ...]:
    """What tells a folder of this moment from another: its path and the name, inode, size and time of each entry.

    Raises:
        RequestError: There is no such folder, or it cannot be listed.
    """
    try:
        with os.scandir(folder) as entries:
            stats = sorted((entry.name, entry.stat()) for entry in entries)
    except OSError as error:
        raise RequestError(f"index_dir: expected a folder, got {folder}: {error.strerror}") from None
    return (folder, *((name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats))
