"""Distinct formulas of a collection, for the benchmarks that need some (prints a few; not a measurement)."""

from __future__ import annotations

import argparse
import csv
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLLECTIONS = (ROOT.parent / "shared" / "arqmath-mini", ROOT / ".demo")
"""Where a collection may lie: the judged one, else what ``make demo`` gathers."""


def collection(given: Path | None = None) -> Path:
    """The collection to measure on: the one given, or the first of ``COLLECTIONS`` that is there.

    Raises:
        FileNotFoundError: none is there.
    """
    for folder in (given,) if given else COLLECTIONS:
        if (folder / "formulas.tsv").is_file():
            return folder
    raise FileNotFoundError(f"{given or COLLECTIONS[0]}: no formulas.tsv; name a collection, or run make demo first")


def sample(folder: Path, count: int, seed: int = 0) -> list[str]:
    """Distinct formulas in random order.

    Args:
        folder: a collection.
        count: how many at most.
        seed: of the order.
    """
    csv.field_size_limit(sys.maxsize)
    with (folder / "formulas.tsv").open(encoding="utf-8", newline="") as stream:
        distinct = sorted({row["formula"] for row in csv.DictReader(stream, delimiter="\t") if row["formula"]})
    random.Random(seed).shuffle(distinct)
    return distinct[:count]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.formulas", description=__doc__)
    parser.add_argument("--data", type=Path, help="a collection")
    parser.add_argument("--count", type=int, default=10, help="formulas to print (default: 10)")
    given = parser.parse_args()
    print(*sample(collection(given.data), given.count), sep="\n")
