"""Many clients at once against the HTTP service: wrong answers, errors, refusals and latency.

    python -m bench.http_load --index-dir INDEX --collection COLLECTION --clients 50 --seconds 60

The service runs in a process of its own, on loopback. Each query is asked alone first; under load the same formulas
with the same scores must come back. Then twice as many clients as the service lets wait ask for a few seconds: they
must be refused or answered rightly, and none may wait long. The status is 1 if an answer was wrong or missing.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import numpy as np

from index.corpus import Corpus
from service.api import LONGEST_QUERY
from service.http_limits import INSIDE

SEED = 6
RESULTS = 10
OVERLOAD_S = 5.0

Ranking = list[tuple[str, float]]


@dataclass
class Tally:
    """What the clients of one run saw; latencies in milliseconds."""

    took: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    wrong: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    def line(self, clients: int, seconds: float) -> dict[str, object]:
        """The figures as JSON values."""
        return {
            "clients": clients,
            "seconds": round(seconds, 1),
            "answered": len(self.took),
            "per_second": round(len(self.took) / seconds, 1),
            "wrong": self.wrong,
            "errors": dict(self.errors),
            "refused_503": len(self.refused),
            "answer_ms": _percentiles(self.took),
            "refusal_ms": _percentiles(self.refused),
        }


def _percentiles(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    p50, p99, largest = np.percentile(values, [50, 99, 100])
    return {"p50": round(float(p50), 1), "p99": round(float(p99), 1), "max": round(float(largest), 1)}


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, query: str) -> tuple[int, bytes]:
    """Status and body of a search on an open connection."""
    target = f"/api/search?n={RESULTS}&q={quote(query, safe='')}"
    writer.write(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    return int(head[9:12]), await reader.readexactly(length)


def ranking(body: bytes, query: str) -> Ranking | None:
    """The ids and scores of an answer; None where it answers another query."""
    answer = json.loads(body)
    return [(r["formula_id"], r["score"]) for r in answer["results"]] if answer["query"] == query else None


async def client(port: int, right: dict[str, Ranking], end: float, seed: int, tally: Tally) -> None:
    """Ask one query after another until the end, over one connection as long as it stays open."""
    choose, queries = random.Random(seed), list(right)
    connection = None
    while time.monotonic() < end:
        query, started = choose.choice(queries), time.monotonic()
        try:
            connection = connection or await asyncio.open_connection("127.0.0.1", port)
            status, body = await ask(*connection, query)
        except (OSError, asyncio.IncompleteReadError) as error:
            tally.errors[type(error).__name__] += 1
            connection = None
            continue
        took = 1000 * (time.monotonic() - started)
        if status == 200:
            tally.took.append(took)
            tally.wrong += ranking(body, query) != right[query]
        elif status == 503:
            tally.refused.append(took)
            await asyncio.sleep(0.2)  # impolite: Retry-After says a second
        else:
            tally.errors[f"status {status}"] += 1
    if connection is not None:
        connection[1].close()


async def load(port: int, right: dict[str, Ranking], clients: int, seconds: float) -> Tally:
    """Let many clients ask for a while."""
    tally, end = Tally(), time.monotonic() + seconds
    await asyncio.gather(*(client(port, right, end, SEED + number, tally) for number in range(clients)))
    return tally


async def alone(port: int, queries: Sequence[str]) -> dict[str, Ranking]:
    """The right answers: each query asked while nothing else is."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    right = {}
    for query in queries:
        status, body = await ask(reader, writer, query)
        found = ranking(body, query)
        if status != 200 or found is None:
            raise RuntimeError(f"{query!r}: expected an answer, got status {status}")
        right[query] = found
    writer.close()
    return right


def sample(collection: Path, count: int) -> list[str]:
    """Formulas of a collection, the same every time."""
    found = sorted(
        {f for chunk in Corpus(collection).chunks() for f in chunk.formulas if f.strip() and len(f) <= LONGEST_QUERY}
    )
    return random.Random(SEED).sample(found, min(count, len(found)))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; one JSON line a run on stdout."""
    parser = argparse.ArgumentParser(prog="python -m bench.http_load", description=__doc__.split("\n")[0])
    parser.add_argument("--index-dir", type=Path, required=True)
    parser.add_argument("--collection", type=Path, required=True, help="what the index was built from")
    parser.add_argument("--model", type=Path, help="the model (default: the shipped weights)")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--queries", type=int, default=200, help="distinct queries, formulas of the collection")
    flags = parser.parse_args(argv)
    command = [sys.executable, "-m", "service.http", "--port", "0", "--index-dir", str(flags.index_dir)]
    command += ["--collection", str(flags.collection)]
    command += ["--model", str(flags.model)] if flags.model else []
    service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).resolve().parent.parent)
    try:
        assert service.stdout is not None
        address = service.stdout.readline().strip()
        if not address:
            return 2  # it has said why
        port = int(address.rstrip("/").rpartition(":")[2])
        right = asyncio.run(alone(port, sample(flags.collection, flags.queries)))
        failed = 0
        for clients, seconds in ((flags.clients, flags.seconds), (2 * INSIDE, OVERLOAD_S)):
            tally = asyncio.run(load(port, right, clients, seconds))
            print(json.dumps(tally.line(clients, seconds)), flush=True)
            failed += tally.wrong + tally.errors.total() + (clients < INSIDE and len(tally.refused))
        return int(failed > 0)
    finally:
        service.terminate()
        service.wait(20)


if __name__ == "__main__":
    sys.exit(main())
