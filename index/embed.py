"""Formulas to vectors and n-gram features, over worker processes. The one place that calls the encoder.

Vector and features come from one canonicalisation and one tokenisation, which cost as much as the model itself on short
formulas. What a formula gives depends on it alone, so neither the chunks nor the number of processes shows in an index.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from encoder import ngrams, vocabulary
from encoder.latex import canonical
from encoder.model import LONGEST_TEXT, Encoder
from index.errors import BuildError

CHUNK = 4096  # formulas a unit of work


@dataclass
class Embedded:
    """What the index knows of some formulas.

    Attributes:
        vectors: float16 (n, d), rows of unit length, all finite.
        features: uint32 (f,), hashed n-grams of all formulas one after another; repeated ones are repeated n-grams.
        counts: int64 (n,), how many features each formula has; their sum is f.
    """

    vectors: np.ndarray
    features: np.ndarray
    counts: np.ndarray


class Embedder:
    """The encoder with its n-gram features.

    Args:
        folder: the model's folder.
        threads: CPU threads of the session.

    Raises:
        FileNotFoundError: a file of the model is missing.
    """

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self.encoder = Encoder(folder, threads)
        self.dim = self.encoder.dim
        self._variable = ngrams.is_variable(vocabulary.load(folder / "tokenizer.json").get_vocab())

    def embed(self, formulas: Sequence[str]) -> Embedded:
        """Vectors and features of formulas as people typed them; the same for a formula in any company."""
        forms = [canonical(formula[:LONGEST_TEXT]) for formula in formulas]
        vectors = self.encoder.encode_canonical(forms)
        bad = ~np.isfinite(vectors).all(axis=1)
        if bad.any():  # a zero sum before normalisation; such a formula is as good as any other answer
            vectors[bad] = 0
        features, counts = self._features(self.encoder.ids(forms))
        return Embedded(vectors, features, counts)

    def _features(self, ids: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
        """Features of all formulas, computed a length at a time and put back in order."""
        by_length: dict[int, list[int]] = {}
        for place, row in enumerate(ids):
            by_length.setdefault(len(row), []).append(place)
        blocks = {
            length: ngrams.features(np.array([ids[i] for i in places], np.int64), self._variable)
            for length, places in by_length.items()
        }
        counts = np.zeros(len(ids), np.int64)
        for length, places in by_length.items():
            counts[places] = blocks[length].shape[1]
        starts = np.concatenate(([0], np.cumsum(counts)))
        features = np.empty(int(starts[-1]), np.uint32)
        for length, places in by_length.items():
            block = blocks[length]
            features[starts[places][:, None] + np.arange(block.shape[1])] = block
        return features, counts


def model_hash(folder: Path) -> str:
    """sha256 over a model's two files; an index serves only the model that built it.

    Raises:
        BuildError: a file is missing.
    """
    digest = hashlib.sha256()
    for name in ("model.onnx", "tokenizer.json"):
        try:
            digest.update((folder / name).read_bytes())
        except OSError as error:
            raise BuildError(f"{folder / name}: the model cannot be read: {error.strerror or error}") from None
    return digest.hexdigest()


_worker: Callable[[list[str]], Any] | None = None


def _chain(folder: Path, then: Callable[[Embedded], Any] | None) -> Callable[[list[str]], Any]:
    embedder = Embedder(folder)
    return embedder.embed if then is None else lambda formulas: then(embedder.embed(formulas))


def _start(folder: Path, then: Callable[[Embedded], Any] | None) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    os.environ["RAYON_NUM_THREADS"] = "1"
    _worker = _chain(folder, then)


def _work(formulas: list[str]) -> Any:
    assert _worker is not None
    return _worker(formulas)


def stream(
    chunks: Iterable[tuple[np.ndarray, list[str]]],
    folder: Path,
    processes: int,
    then: Callable[[Embedded], Any] | None = None,
) -> Iterator[tuple[np.ndarray, Any]]:
    """Embed chunk after chunk, results in order.

    Args:
        chunks: places and formulas, as ``groups.representatives`` yields them; read a little ahead of the results.
        folder: the model's folder.
        processes: workers of one thread each; one works in this process.
        then: what the workers make of an ``Embedded``; can be pickled. By default nothing.

    Yields:
        The places of a chunk and what its formulas gave.
    """
    if processes <= 1:
        work = _chain(folder, then)
        for places, formulas in chunks:
            yield places, work(formulas)
        return
    with multiprocessing.get_context("spawn").Pool(processes, _start, (folder, then)) as pool:
        waiting = []
        for places, formulas in chunks:
            waiting.append((places, pool.apply_async(_work, (formulas,))))
            if len(waiting) > 2 * processes:  # bounded, so memory does not grow with the collection
                places, result = waiting.pop(0)
                yield places, result.get()
        for places, result in waiting:
            yield places, result.get()
