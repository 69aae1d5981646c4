"""Formulas a second of the shipped model on two processes, canonicalisation included; beside a teacher's if given.

Both models encode the same formulas in turns, so that a busy machine slows both. A round starts when both processes
have loaded the model and ends when the slower one is done. CPU seconds tell what a busy clock hides.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import NamedTuple

from bench.formulas import collection, sample
from encoder.model import WEIGHTS, Encoder
from index.embed import CHUNK

PATIENCE_S = 120.0  # for the processes to load a model


class Round(NamedTuple):
    """Formulas a second by the clock, and a CPU second of one process."""

    wall: float
    cpu: float


def _encode(folder: Path, formulas: list[str], barrier: Barrier, answer: Connection) -> None:
    """Body of a process: load, wait for the other, encode, send (seconds, CPU seconds)."""
    encoder = Encoder(folder, threads=1)
    encoder.encode(formulas[:64])  # the first run allocates
    barrier.wait(PATIENCE_S)
    wall, cpu = time.perf_counter(), time.process_time()
    for start in range(0, len(formulas), CHUNK):
        encoder.encode(formulas[start : start + CHUNK])
    answer.send((time.perf_counter() - wall, time.process_time() - cpu))


def measure(folder: Path, formulas: Sequence[str], processes: int = 2) -> Round:
    """Encode once with fresh processes.

    Args:
        folder: the model's folder.
        formulas: what to encode, at least one a process; dealt out in turn.
        processes: how many, one thread each.

    Raises:
        RuntimeError: a process failed; it has written why.
    """
    os.environ["RAYON_NUM_THREADS"] = "1"  # inherited; the tokenizer's own threads
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes)
    running, ends = [], []
    for number in range(processes):
        end, other = context.Pipe(duplex=False)
        part = list(formulas[number::processes])
        process = context.Process(target=_encode, args=(folder, part, barrier, other))
        process.start()
        other.close()  # so that a process that dies ends the pipe
        running.append(process)
        ends.append(end)
    try:
        times = [end.recv() for end in ends]
    except EOFError:
        raise RuntimeError(f"{folder}: an encoding process failed") from None
    finally:
        for process in running:
            process.join()
    walls, cpus = zip(*times, strict=True)
    return Round(len(formulas) / max(walls), len(formulas) / sum(cpus))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0, or 2 with one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m bench.encoder_throughput", description=__doc__)
    parser.add_argument("--model", type=Path, default=WEIGHTS, help="folder of the model (default: the shipped one)")
    parser.add_argument("--teacher", type=Path, help="folder of a model to compare with (weights.shrink makes one)")
    parser.add_argument("--data", type=Path, help="collection (default: arqmath-mini, else what make demo gathered)")
    parser.add_argument("--count", type=int, default=20_000, help="formulas (default: 20000)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds a model, in turns (default: 3)")
    given = parser.parse_args(arguments)
    try:
        data = collection(given.data)
        formulas = sample(data, given.count)
        models = {"model": given.model} | ({"teacher": given.teacher} if given.teacher else {})
        rounds: dict[str, list[Round]] = {name: [] for name in models}
        for number in range(given.rounds):
            for name, folder in models.items():
                rounds[name].append(measure(folder, formulas))
                wall, cpu = rounds[name][-1]
                print(f"round {number + 1}: {name}: {wall:,.0f} formulas/s", file=sys.stderr, flush=True)
    except (FileNotFoundError, RuntimeError) as error:
        print(f"encoder_throughput: {error}", file=sys.stderr)
        return 2
    print(f"{len(formulas):,} distinct formulas of {data.name}, 2 processes, median of {given.rounds} rounds")
    middle = {
        name: Round(*(statistics.median(column) for column in zip(*seen, strict=True))) for name, seen in rounds.items()
    }
    for name, (wall, cpu) in middle.items():
        print(f"{name:8} {wall:10,.0f} formulas/s  {cpu:10,.0f} per CPU second")
    if given.teacher:
        ours, theirs = middle["model"], middle["teacher"]
        print(f"{'ratio':8} {ours.wall / theirs.wall:10.2f}             {ours.cpu / theirs.cpu:10.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
