"""The build's command line with the stand-in model and small constants, so that 600 groups take every path.

Run as a program it is ``build.sh`` for collections of a few hundred groups; its worker processes import it as well, so
they have the same stand-ins. ``SLOW`` in the environment is seconds that the encoder waits before each chunk.
"""

from __future__ import annotations

import os
import sys
import time
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from index import build, build_coded, coded, embed, grams, plan, plan_coded, search
from index.sample import Sample
from tests.index.stand_in import HashEmbedder

CHUNK, SAMPLED = 16, 200


class GramEmbedder(HashEmbedder):
    """The stand-in encoder with n-grams of 1 to 3 tokens, so that some are rare; as slow as ``SLOW`` says."""

    def embed(self, formulas: Sequence[str]) -> embed.Embedded:
        time.sleep(float(os.environ.get("SLOW", "0")))
        features, counts = [], []
        for formula in formulas:
            tokens = formula.split() or [""]
            found = [tokens[i : i + n] for n in (1, 2, 3) for i in range(len(tokens) - n + 1)]
            features += [zlib.crc32(" ".join(gram).encode("utf-8", "replace")) for gram in found]
            counts.append(len(found))
        vectors = super().embed(formulas).vectors
        return embed.Embedded(vectors, np.array(features, np.uint32), np.array(counts, np.int64))


def small_sample() -> Sample:
    return Sample(SAMPLED)


CONSTANTS: list[tuple[Any, str, Any]] = [
    (embed, "Embedder", GramEmbedder),
    (search, "Embedder", GramEmbedder),
    (embed, "CHUNK", CHUNK),
    (build, "Sample", small_sample),
    (grams, "SIZE", 400),  # only the plan's estimate; the sample has fewer n-grams that occur twice
    (plan_coded, "LEAST_NODES", 8),
    (plan_coded, "MOST_NODES", 32),
    (plan_coded, "NAME_BITS", (6, 7)),
    (plan_coded, "PARTED_NAME", 7),
    (plan_coded, "PARTS", ((1, 4), (4, 5))),
    (coded, "MEMBERS", 60),
    (coded, "NAMED", 40),
    (coded, "LEAST_NODES", 4),
    (build_coded, "KEPT_EVERY", 3),
]
# Of 600 groups the exact form takes 600 * (2 * 16 + about 2) bytes besides the head.
BUDGET = plan.RESERVE + 12_000


def replace(patch: Any) -> None:
    """Put the constants in place by ``patch.setattr``."""
    for owner, name, value in CONSTANTS:
        patch.setattr(owner, name, value)


def arguments(data: object, target: object, model: object, budget: int = BUDGET, threads: int = 1) -> list[str]:
    """Of a build that leaves so many bytes to the index."""
    given = ["--data-dir", data, "--index-dir", target, "--model", model, "--threads", threads]
    return [str(part) for part in [*given, "--submission-bytes", plan.PREPARED - budget]]


if __name__ in ("__main__", "__mp_main__"):
    for module, constant, value in CONSTANTS:
        setattr(module, constant, value)
if __name__ == "__main__":
    sys.exit(build.main())
