"""Lexical features of formulas: hashed n-grams of their tokens, as typed and with variables renamed.

The renamed stream replaces the k-th distinct variable (a letter or a Greek letter) by a place-holder k, so that
consistently renamed formulas share it. The same hash is computed inside the student's graph (``weights.graph``), by
the index's lexical sketch and by the training signal, always over vocabulary ids; it stays below 2**47 in every
intermediate step, so int64 arithmetic is exact in numpy, torch and ONNX alike.
"""

from __future__ import annotations

import numpy as np

from encoder.spelling import VARIABLES

PLACES = 16  # distinct variables that keep a place-holder of their own; later ones share the last
MULTIPLIER, MODULUS = 69069, 2147483647
KIND = 8192  # keeps the hashes of the two streams apart; above any vocabulary id
TYPED, RENAMED = (1, 2, 3), (2, 3, 4, 5)


def is_variable(vocabulary: dict[str, int]) -> np.ndarray:
    """Which vocabulary ids are letters or Greek letters, bool (V,)."""
    flags = np.zeros(max(vocabulary.values()) + 1, bool)
    flags[[i for token, i in vocabulary.items() if token in VARIABLES]] = True
    return flags


def rename(ids: np.ndarray, variable: np.ndarray) -> np.ndarray:
    """Replace variables by place-holders in order of first occurrence.

    Args:
        ids: int64 (B, T) vocabulary ids of formulas of one length.
        variable: bool (V,), see ``is_variable``.

    Returns:
        int64 (B, T); place-holder k is ``V + k``.
    """
    first = (ids[:, :, None] == ids[:, None, :]).argmax(axis=2)
    flags = variable[ids]
    opens = flags & (first == np.arange(ids.shape[1]))
    place = np.take_along_axis(opens.cumsum(axis=1), first, axis=1) - 1
    return np.where(flags, len(variable) + np.minimum(place, PLACES - 1), ids)


def features(ids: np.ndarray, variable: np.ndarray) -> np.ndarray:
    """Hashed n-grams of formulas of one length: 1 to 3 tokens as typed, 2 to 5 renamed, with both ends marked.

    Args:
        ids: int64 (B, T) vocabulary ids, T >= 1.
        variable: bool (V,).

    Returns:
        uint32 (B, F), F depending on T alone; repeated values are repeated n-grams.
    """
    size = len(variable)
    typed = _hashes(_marked(ids, size), 0, TYPED[-1])
    renamed = _hashes(_marked(rename(ids, variable), size), 1, RENAMED[-1])
    # The marks are no n-grams by themselves.
    parts = [typed[0][:, 1:-1], *typed[1:], *renamed[RENAMED[0] - 1 :]]
    return np.concatenate(parts, axis=1).astype(np.uint32)


def _marked(ids: np.ndarray, size: int) -> np.ndarray:
    """Ids with a mark before and after, (B, T + 2)."""
    edge = np.full((len(ids), 1), size + PLACES, ids.dtype)
    return np.concatenate([edge, ids, edge + 1], axis=1)


def _hashes(stream: np.ndarray, kind: int, longest: int) -> list[np.ndarray]:
    """Polynomial hashes of all n-grams of every row, n = 1 to ``longest``: int64 (B, max(0, L - n + 1)) each."""
    value = stream + 1 + kind * KIND
    hashes = [value]
    for n in range(2, longest + 1):
        value = (value[:, :-1] * MULTIPLIER + stream[:, n - 1 :] + 1) % MODULUS
        hashes.append(value)
    return hashes
