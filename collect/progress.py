"""Progress of a run on a stream: files done, formulas found, time left."""

from __future__ import annotations

import time
from typing import TextIO

EVERY_S = 2.0


class Progress:
    """Counts, and says them at most every ``EVERY_S`` seconds; on a terminal in one line, elsewhere a line each."""

    def __init__(self, stream: TextIO | None) -> None:
        """Start the clock; without a stream, stay silent."""
        self.stream = stream
        self.total = self.done = self.formulas = 0
        self._started = self._last = time.monotonic()
        self._shown = False

    def update(self, more: int = 0) -> None:
        """Say the counts, ``more`` formulas of the file being read added, if the last time is long enough ago."""
        now = time.monotonic()
        if self.stream is None or now - self._last < EVERY_S:
            return
        self._last, self._shown = now, True
        line = f"collect: {self.done} of {self.total} files, {self.formulas + more} formulas"
        if 0 < self.done < self.total:
            line += f", {(now - self._started) / self.done * (self.total - self.done):.0f} s left"
        terminal = self.stream.isatty()
        print(f"\r{line}\x1b[K" if terminal else line, end="" if terminal else "\n", file=self.stream, flush=True)

    def close(self) -> None:
        """End the line that a terminal shows."""
        if self._shown and self.stream is not None and self.stream.isatty():
            print(file=self.stream)
