"""The pinned teacher as a shipped model: a pruned vocabulary, d dimensions, 8 bits.

    python -m weights.shrink --teacher DIR --formulas FILE.gz --out DIR [--layers 6] [--dim 64]

It serves for comparison with our own encoder and reads formulas as typed, not the canonical form. FILE.gz holds one
formula a line. Needs the packages of ``requirements/weights.lock``.

The projection is folded into the graph's ``project``. The graph computes unit(P x) of the pooled vector x, and
unit(P unit(x)) is the same vector as long as P is linear, so P may be fitted on the teacher's own unit vectors. It is
therefore fitted without centring: its rows are the leading eigenvectors of the vectors' second moments, which among all
rank-d maps keep the inner products between them best (Eckart and Young 1936, on the Gram matrix).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weights.pins import PinError, load_pins, verify

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from weights.graph import Shape, Weights

SPECIAL = ("[UNK]", "[CLS]", "[SEP]")  # [UNK] first: it has id 0 in every model of ours
POSITIONS = 128  # tokens; one formula in 50 to 80 is longer and gets cut; each further token takes 1.5 kB of the model
SEED = 20
FITTED = 3000  # formulas behind the projection, about eight a dimension of its 384 x 384 second moments
CALIBRATED = 600
LEAST = 2  # formulas a word piece must occur in: a quarter of the 5,700 pieces of half a million occur in one only
LIMIT = 13_000_000  # bytes the model and its tokenizer may have


def prune(tokenizer_json: str, formulas: Sequence[str], least: int = 1) -> tuple[Tokenizer, list[int]]:
    """Keep the word pieces that occur in the formulas, and ASCII characters so that other words can be spelt.

    WordPiece takes the longest entry that fits. Dropping entries that it never took cannot change what it takes, so
    formulas without a dropped piece get the same pieces as before.

    Args:
        tokenizer_json: a WordPiece tokenizer in the ``tokenizers`` library's format.
        formulas: what the vocabulary must serve.
        least: in how many formulas a piece must occur to stay.

    Returns:
        The smaller tokenizer, which cuts at ``POSITIONS`` tokens, and the old id of every new one.

    Raises:
        ValueError: the tokenizer is not a WordPiece model, or lacks a special token.
    """
    from tokenizers import Tokenizer

    data = json.loads(tokenizer_json)
    if data["model"].get("type") != "WordPiece":
        raise ValueError(f"tokenizer model {data['model'].get('type')!r}: expected WordPiece")
    data["padding"] = data["truncation"] = None
    vocabulary: dict[str, int] = data["model"]["vocab"]
    if missing := [token for token in SPECIAL if token not in vocabulary]:
        raise ValueError(f"tokenizer vocabulary: {', '.join(missing)} is missing")
    whole = Tokenizer.from_str(json.dumps(data))
    counts: Counter[int] = Counter()
    for start in range(0, len(formulas), 8192):
        for encoding in whole.encode_batch_fast(list(formulas[start : start + 8192])):
            counts.update(set(encoding.ids))
    used = {i for i, count in counts.items() if count >= least}
    used |= {vocabulary[p] for c in map(chr, range(33, 127)) for p in (c, f"##{c}") if p in vocabulary}
    special = [vocabulary[token] for token in SPECIAL]
    kept = special + sorted(used - set(special))
    names = {i: piece for piece, i in vocabulary.items()}
    new = {names[old]: i for i, old in enumerate(kept)}
    data["model"]["vocab"] = new
    data["added_tokens"] = [{**t, "id": new[t["content"]]} for t in data["added_tokens"] if t["content"] in SPECIAL]
    data["added_tokens"].sort(key=lambda token: token["id"])
    for name, token in data["post_processor"]["special_tokens"].items():
        token["ids"] = [new[name]]
    small = Tokenizer.from_str(json.dumps(data))
    small.enable_truncation(POSITIONS)
    return small, kept


def principal(vectors: np.ndarray, dim: int) -> np.ndarray:
    """The ``dim`` leading eigenvectors of the vectors' second moments, without centring.

    Args:
        vectors: (n, width), unit rows.
        dim: at most ``width``.

    Returns:
        float32 (width, dim), orthonormal columns by falling eigenvalue, each with its largest entry positive.
    """
    wide = vectors.astype(np.float64)
    _, columns = np.linalg.eigh(wide.T @ wide)
    columns = columns[:, ::-1][:, :dim]
    signs = np.sign(columns[np.abs(columns).argmax(axis=0), np.arange(dim)])
    return (columns * signs).astype(np.float32)


def shrink(
    weights: Weights, shape: Shape, tokenizer_json: str, formulas: Sequence[str], layers: int, dim: int
) -> tuple[Weights, Shape, Tokenizer, list[list[int]]]:
    """Prune, cut and project a teacher.

    Args:
        weights: the teacher's, as in ``graph.build``, its projection an identity.
        shape: the teacher's.
        tokenizer_json: its tokenizer.
        formulas: as typed; they decide the vocabulary, and a seeded sample of them the projection.
        layers: how many of the first layers stay.
        dim: output dimensions.

    Returns:
        Weights, shape, tokenizer and the token ids of the formulas to calibrate with.

    Raises:
        ValueError: more layers or dimensions are asked for than there are, or there is no formula.
    """
    from weights.calibrate import vectors
    from weights.graph import build

    if not (0 < layers <= shape.layers and 0 < dim <= shape.width):
        raise ValueError(f"layers {layers}, dim {dim}: expected 1 to {shape.layers} and 1 to {shape.width}")
    if not formulas:
        raise ValueError("expected at least one formula")
    tokenizer, kept = prune(tokenizer_json, formulas, LEAST)
    sample = random.Random(SEED).sample(list(formulas), min(FITTED, len(formulas)))
    ids = [encoding.ids for encoding in tokenizer.encode_batch(sample)]
    small = {k: v for k, v in weights.items() if not k.startswith("layer") or int(k[5:].split(".")[0]) < layers}
    small["tokens"] = weights["tokens"][kept]
    small["positions"] = weights["positions"][:POSITIONS]
    cut = replace(shape, layers=layers, positions=POSITIONS)
    small["project.weight"] = principal(vectors(build(small, cut), ids), dim)
    small["project.bias"] = np.zeros(dim, np.float32)
    return small, replace(cut, dim=dim), tokenizer, ids[:CALIBRATED]


def _read(path: Path) -> tuple[list[str], str]:
    """The lines of a gzip file that are not blank, and the file's sha256."""
    content = path.read_bytes()
    lines = gzip.decompress(content).decode("utf-8").split("\n")
    return [line for line in lines if line.strip()], hashlib.sha256(content).hexdigest()


def run(teacher: Path, formulas: Path, out: Path, layers: int, dim: int) -> dict[str, Any]:
    """Verify the teacher's files, shrink it and export it; returns the provenance record.

    Raises:
        PinError: a teacher's file is not the pinned one.
        OSError: a file cannot be read or written.
        ValueError: see ``shrink``; or FILE.gz is not UTF-8; or the result is larger than ``LIMIT``.
    """
    from weights import export
    from weights.teacher import load

    pins = load_pins()
    for pin in pins.files:
        verify(teacher / pin.name, pin)
    lines, digest = _read(formulas)
    weights, shape = load(teacher)
    tokenizer_json = (teacher / "tokenizer.json").read_text(encoding="utf-8")
    small, cut, tokenizer, ids = shrink(weights, shape, tokenizer_json, lines, layers, dim)
    inputs = {
        "teacher": {"repo": pins.repo, "revision": pins.revision, "licence": pins.licence,
                    "files": {pin.name: pin.sha256 for pin in pins.files}},
        "formulas": {"file": formulas.name, "sha256": digest, "lines": len(lines)},
        "method": {"script": "weights.shrink", "layers": layers, "dim": dim, "seed": SEED, "fitted": FITTED,
                   "least": LEAST},
    }  # fmt: skip
    record = export.export(small, cut, tokenizer, ids, out, inputs, reads="raw", limit=LIMIT)
    size = sum(entry["size"] for entry in record["files"].values())
    print(f"shrink: {out}: {size} bytes, {record['int8_against_float32']}", file=sys.stderr)
    return record


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns 0, or 1 with one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m weights.shrink", description="Make the pinned teacher small.")
    parser.add_argument("--teacher", type=Path, required=True, help="folder filled by python -m weights.pin")
    parser.add_argument("--formulas", type=Path, required=True, metavar="FILE.gz", help="formulas, one a line")
    parser.add_argument("--out", type=Path, required=True, help="folder for the model")
    parser.add_argument("--layers", type=int, default=6, help="first layers to keep (default 6)")
    parser.add_argument("--dim", type=int, default=64, help="dimensions of a vector (default 64)")
    args = parser.parse_args(argv)
    try:
        run(args.teacher, args.formulas, args.out, args.layers, args.dim)
    except ImportError as error:
        message = f"{error.name} is missing: pip install --require-hashes -r requirements/weights.lock"
    except (PinError, OSError, ValueError) as error:
        message = str(error)
    else:
        return 0
    print(f"shrink: error: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
