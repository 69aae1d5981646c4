"""Produces a run: asks a service, or an index in this process, every query of a file and keeps the latencies."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from evaluation.client import Answer, QueryError
from evaluation.collection import Query
from evaluation.metrics import DEPTH
from evaluation.progress import Progress

WARMUP_LIMIT_S = 30.0
"""Time the contract allows for warm-up queries."""

CONTRACT_MS = 50.0
"""Time the contract allows for an answer; the summary counts the later ones."""


class Searcher(Protocol):
    """An index in this process."""

    def search(self, latex: str, k: int) -> list[tuple[str, float]]:
        """At most `k` formula ids with their scores, best first."""
        ...


class Source(Protocol):
    """Whatever answers a query and says how long that took: `ServiceClient`, or `InProcess` around a `Searcher`."""

    def answer(self, query_id: str, latex: str, k: int) -> Answer:
        """At most `k` results.

        Raises:
            QueryError: This query failed; others may go on.
        """
        ...


class InProcess:
    """Makes a `Searcher` a `Source`. Its exceptions pass through: in this process they are mistakes to be seen."""

    def __init__(self, searcher: Searcher) -> None:
        """Wrap `searcher`."""
        self.searcher = searcher

    def answer(self, query_id: str, latex: str, k: int) -> Answer:
        """Time one search; of results with one formula id the first is kept."""
        started = time.perf_counter()
        results = self.searcher.search(latex, k)
        seconds = time.perf_counter() - started
        ranking: dict[str, float] = {}
        for formula_id, score in results:
            ranking.setdefault(formula_id, float(score))
        return Answer(list(ranking.items()), seconds)


@dataclass
class Production:
    """What came of a query file.

    Attributes:
        run: Rankings by topic; failed topics are absent, so they score 0.
        latencies_ms: Milliseconds by topic, of every answer that came, dropped or not.
        failures: Why a topic has no ranking.
    """

    run: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    latencies_ms: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """Counts, and latencies in milliseconds (median, 99th percentile, largest; None without any answer)."""
        values = np.array(list(self.latencies_ms.values()))
        p50, p99, largest = np.percentile(values, [50, 99, 100]).round(2).tolist() if len(values) else [None] * 3
        return {
            "queries": len(self.run) + len(self.failures),
            "answered": len(self.run),
            "results": sum(map(len, self.run.values())),
            "latency_ms": {"p50": p50, "p99": p99, "max": largest},
            f"over_{CONTRACT_MS:.0f}_ms": int(np.sum(values > CONTRACT_MS)),
            "failures": self.failures,
        }


def warm_up(source: Source, queries: Sequence[Query], count: int) -> None:
    """Ask `count` queries, repeating the file if need be, for at most `WARMUP_LIMIT_S`; failures do not matter yet."""
    started = time.monotonic()
    for number in range(count):
        if time.monotonic() - started > WARMUP_LIMIT_S:
            return
        try:
            source.answer("warm-up", queries[number % len(queries)].latex, DEPTH)
        except QueryError:
            continue


def produce(
    source: Source, queries: Sequence[Query], k: int = DEPTH, warmup: int = 20, deadline_ms: float | None = None
) -> Production:
    """Ask every query once, in order.

    Args:
        source: `ServiceClient`, or `InProcess(index)`.
        queries: At least one topic.
        k: Results wanted for each, at most.
        warmup: Queries asked before anything counts.
        deadline_ms: If given, a later answer is a failure, as the consumer has it. By default it is kept, because on a
            busy machine quality would otherwise depend on the load.
    """
    warm_up(source, queries, warmup)
    production, progress = Production(), Progress("asking", len(queries), "queries")
    for number, query in enumerate(queries, start=1):
        try:
            ranking, seconds = source.answer(query.query_id, query.latex, k)
        except QueryError as error:
            production.failures[query.query_id] = str(error)
            continue
        milliseconds = seconds * 1000
        production.latencies_ms[query.query_id] = round(milliseconds, 3)
        if deadline_ms is not None and milliseconds > deadline_ms:
            production.failures[query.query_id] = f"late, {milliseconds:.1f} ms"
        else:
            production.run[query.query_id] = ranking
        progress.update(number)
    progress.close()
    return production
