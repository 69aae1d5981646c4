"""Training formulas as arrays: canonical, as vocabulary ids, as weighted n-gram features.

Formulas only: no judgment of any year is read anywhere in ``training``.
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from tokenizers import Tokenizer

from encoder import ngrams
from encoder.latex import canonical

LONGEST = 96  # tokens; the 99th percentile is 88, and cost grows with the longest formula of a batch
SATURATION = 0.6  # of repeated n-grams, BM25's k1
COMMON = 2  # an n-gram must occur in as many formulas to say anything about pairs


@dataclass
class Corpus:
    """Distinct canonical formulas.

    Attributes:
        formulas: their raw spellings (the first seen of each canonical form).
        ids: int16 flat vocabulary ids; formula i holds ``ids[start[i]:start[i + 1]]``.
        start: int64 (n + 1,).
        rows: int32 flat hashed n-grams (see ``encoder.ngrams``), laid out by ``row_start``.
        row_start: int64 (n + 1,).
        lexical: float32 CSR (n, features), unit rows: saturated counts times squared-root-free idf.
    """

    formulas: list[str]
    ids: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    row_start: np.ndarray
    lexical: sp.csr_matrix

    def __len__(self) -> int:
        return len(self.formulas)


def read(path: Path) -> list[str]:
    """Formulas of a ``.txt.gz`` (one a line) or of a ``formulas.tsv`` (the ``formula`` column).

    Raises:
        ValueError: another kind of file.
    """
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [line.rstrip("\n") for line in lines]
    if path.suffix == ".tsv":
        csv.field_size_limit(1 << 30)
        with path.open(newline="", encoding="utf-8") as file:
            return [row["formula"] for row in csv.DictReader(file, delimiter="\t")]
    raise ValueError(f"{path}: expected a .txt.gz or .tsv file of formulas")


def distinct(formulas: list[str]) -> tuple[list[str], list[str]]:
    """The first spelling of each canonical form, and the canonical forms, in order of appearance."""
    seen: dict[str, str] = {}
    for formula in formulas:
        seen.setdefault(canonical(formula), formula)
    seen.pop("", None)
    return list(seen.values()), list(seen)


def build(formulas: list[str], canonicals: list[str], tokenizer: Tokenizer) -> Corpus:
    """Turn formulas into arrays; see ``Corpus``."""
    encodings = tokenizer.encode_batch_fast(canonicals, add_special_tokens=False)
    lists = [np.array(e.ids[:LONGEST] or [0], np.int16) for e in encodings]
    lengths = np.array([len(i) for i in lists])
    variable = ngrams.is_variable(tokenizer.get_vocab())
    features: list[np.ndarray] = [np.empty(0, np.uint32)] * len(lists)
    for length in np.unique(lengths):
        members = np.flatnonzero(lengths == length)
        for part in np.array_split(members, max(1, len(members) * int(length) // 60_000)):
            batch = ngrams.features(np.stack([lists[i] for i in part]).astype(np.int64), variable)
            for i, row in zip(part, batch, strict=True):
                features[i] = row
    rows = np.concatenate(features)
    row_start = np.concatenate([[0], np.cumsum([len(f) for f in features])])
    start = np.concatenate([[0], np.cumsum(lengths)])
    return Corpus(formulas, np.concatenate(lists), start, rows.view(np.int32), row_start, weigh(rows, row_start))


def weigh(rows: np.ndarray, row_start: np.ndarray) -> sp.csr_matrix:
    """Unit TF-IDF rows: tf (k1 + 1) / (tf + k1) times log(1 + n / df), the cosine counterpart of BM25."""
    unique, columns = np.unique(rows, return_inverse=True)
    n = len(row_start) - 1
    matrix = sp.csr_matrix((np.ones(len(columns), np.float32), columns, row_start), shape=(n, len(unique)))
    matrix.sum_duplicates()
    df = np.bincount(matrix.indices, minlength=len(unique))
    idf = np.where(df >= COMMON, np.log1p(n / np.maximum(df, 1)), 0).astype(np.float32)
    matrix.data = matrix.data * (SATURATION + 1) / (matrix.data + SATURATION) * idf[matrix.indices]
    matrix.eliminate_zeros()
    norm = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags(1 / np.maximum(norm, 1e-6).astype(np.float32)) @ matrix)
