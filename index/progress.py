"""Progress of the build on stderr: stage, rate, share done and time left. Does not know what the work is."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

EVERY_S = 3.0  # seconds between reports where there is no terminal
EVERY_S_TERMINAL = 0.5


class Stage:
    """One stage of the build, as a context: reports while it runs, and its time when it ends.

    Args:
        name: what is done.
        unit: what ``update`` counts.
        total: how much there is to do, in the unit that ``share`` of ``update`` refers to; 0 where unknown.
        before: what a run that was cut had done, in the unit of ``update``; neither rate nor time left counts it.
        stream: stderr by default.
    """

    def __init__(self, name: str, unit: str, total: float = 0, before: int = 0, stream: TextIO | None = None) -> None:
        self.name, self.unit, self.total, self.before = name, unit, total, before
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._every = EVERY_S_TERMINAL if self._terminal else EVERY_S
        self._done = 0
        self.started = self._last = time.monotonic()

    def update(self, done: int, share: float | None = None) -> None:
        """Report if the last report is old enough.

        Args:
            done: units finished so far.
            share: fraction of the stage finished, where it is not ``done / total``.
        """
        self._done = done
        now = time.monotonic()
        if now - self._last < self._every:
            return
        self._last = now
        seconds = now - self.started
        line = f"{self.name}: {done:,} {self.unit}, {max(0, done - self.before) / seconds:,.0f} {self.unit}/s"
        if share is None and self.total:
            share = done / self.total
        if share:
            line += f", {min(share, 1.0):.0%} done"
            now_done = share - (self.before / self.total if self.total else 0)
            if now_done > 0:
                line += f", {max(0.0, seconds * (1 - share) / now_done):,.0f} s left"
        print(f"\r{line}\x1b[K" if self._terminal else line, end="" if self._terminal else "\n", file=self._stream)
        self._stream.flush()

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say what the stage did and took; a failed one leaves the word to its error."""
        head = "\r" if self._terminal else ""
        tail = "\x1b[K" if self._terminal else ""
        if kind is None:
            count = f"{self._done:,} {self.unit}, " if self._done else ""
            print(f"{head}{self.name}: {count}{time.monotonic() - self.started:.1f} s{tail}", file=self._stream)
        elif self._terminal:
            print(file=self._stream)
        self._stream.flush()
