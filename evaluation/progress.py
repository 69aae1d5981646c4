"""Progress of long work on stderr: rate, share done and time left. Does not know what the work is."""

import sys
import time
from typing import TextIO


class Progress:
    """Reports at most every `every_s` seconds, so that short work stays silent.

    On a terminal the line is rewritten in place; elsewhere each report is a plain line.
    """

    def __init__(
        self, what: str, total: float, unit: str, every_s: float = 3.0, scale: float = 1.0, stream: TextIO | None = None
    ) -> None:
        """Start the clock.

        Args:
            what: What is being done, for the head of the line.
            total: The amount of work, in the unit that `update` counts in; 0 where it is unknown.
            unit: Name of the unit shown.
            every_s: Seconds between reports.
            scale: Units counted per unit shown (for example 2**20 to count bytes and show MiB).
            stream: Where to report; stderr by default.
        """
        self.what, self.total, self.unit, self.every_s, self.scale = what, total, unit, every_s, scale
        self.stream = sys.stderr if stream is None else stream
        self.started = self.last = time.monotonic()
        self.shown = False

    def update(self, done: float) -> None:
        """Report that `done` units in all are finished, if the last report is old enough."""
        now = time.monotonic()
        if now - self.last < self.every_s:
            return
        self.last, self.shown = now, True
        rate = done / (now - self.started)
        line = f"{self.what}: {done / self.scale:.0f} {self.unit}, {rate / self.scale:.1f} {self.unit}/s"
        if self.total > 0 and rate > 0:
            line += f", {done / self.total:.0%} done, {max(0.0, self.total - done) / rate:.0f} s left"
        terminal = self.stream.isatty()
        print(f"\r{line}\x1b[K" if terminal else line, end="" if terminal else "\n", file=self.stream, flush=True)

    def close(self) -> None:
        """End the line that a terminal shows."""
        if self.shown and self.stream.isatty():
            print(file=self.stream)
