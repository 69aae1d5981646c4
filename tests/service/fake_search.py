"""Stands in for index/search.py: a folder holding `ids.txt` is an index that returns those ids, best first.

Formulas of the form `!name` make it misbehave as a library may.
"""

import os
import signal
import time
from pathlib import Path


class Index:
    def __init__(self, ids: list[str]) -> None:
        self.ids = ids

    @classmethod
    def open(cls, folder: Path, model: Path | None = None, threads: int = 2) -> "Index":
        print("opening, says a library on stdout")
        os.write(1, b"and again, unbuffered\n")
        return cls((folder / "ids.txt").read_text().split())

    def search(self, latex: str, k: int = 1000) -> list[tuple[str, float]]:
        if latex == "!print":
            print("noise on stdout", flush=True)
            os.write(1, b"more noise\n")
            os.system("echo noise of a child")
        if latex == "!raise":
            raise KeyError("first\nsecond")
        if latex == "!panic":
            raise BaseException("panic")
        if latex == "!term":
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        if latex == "!threads":
            raise RuntimeError({name: value for name, value in sorted(os.environ.items()) if "_NUM_THREADS" in name})
        return [(formula_id, 1 - rank / 1024) for rank, formula_id in enumerate(self.ids[:k])]
