"""Write a model as it is shipped: ``model.onnx`` in 8 bits, ``tokenizer.json`` and ``PROVENANCE.json``.

The same weights, tokenizer and formulas give the same bytes. ``check`` verifies a folder against its own record, with
the standard library alone; writing needs the packages of ``requirements/weights.lock``.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import tempfile
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weights.pins import FilePin, PinError, verify

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from weights.calibrate import Ids
    from weights.graph import Shape, Weights

MODEL, TOKENIZER, PROVENANCE = "model.onnx", "tokenizer.json", "PROVENANCE.json"
FILES = (MODEL, TOKENIZER)
TOOLS = ("numpy", "onnx", "onnxruntime", "tokenizers")
INPUTS = ("canonical", "raw")  # what the tokenizer reads: ``encoder.latex.canonical`` of a formula, or it as typed
HELD_OUT = 5  # every fifth formula measures, the others calibrate


def export(
    weights: Weights,
    shape: Shape,
    tokenizer: Tokenizer,
    calibration_ids: Ids,
    folder: Path,
    provenance: dict[str, Any],
    reads: str = "canonical",
    limit: int | None = None,
) -> dict[str, Any]:
    """Quantise, measure and write a model.

    Files are staged beside their places and renamed, the record last; a run that is killed between two renames leaves a
    folder that ``check`` refuses.

    Args:
        weights: as in ``graph.build``.
        shape: the architecture.
        tokenizer: what turns text into the ids of ``weights["tokens"]``.
        calibration_ids: token ids of real formulas, at least five; every fifth is held out and measured.
        folder: where the three files go, made if absent; other files there are left alone.
        provenance: what the weights come from (files with hashes, seeds, command); kept as ``inputs``.
        reads: one of ``INPUTS``; kept in the model as the property ``input``.
        limit: bytes that the model and its tokenizer may have together.

    Returns:
        The record as written.

    Raises:
        ValueError: ``reads`` is unknown, there are fewer than five formulas, or the model is larger than ``limit``.
            Nothing is written then.
        TypeError: ``provenance`` is not made of JSON's types.
    """
    import numpy as np

    from weights.calibrate import RULE, calibrate, cosines, vectors
    from weights.graph import build

    if reads not in INPUTS:
        raise ValueError(f"reads {reads!r}: expected one of {', '.join(INPUTS)}")
    if len(calibration_ids) < HELD_OUT:
        raise ValueError(f"{len(calibration_ids)} calibration formulas: expected at least {HELD_OUT}")
    held = [ids for i, ids in enumerate(calibration_ids) if i % HELD_OUT == HELD_OUT - 1]
    seen = [ids for i, ids in enumerate(calibration_ids) if i % HELD_OUT != HELD_OUT - 1]
    model = build(weights, shape, calibrate(weights, shape, seen))
    model.metadata_props.add(key="input", value=reads)
    cosine = cosines(vectors(build(weights, shape), held), vectors(model, held))
    contents = {
        MODEL: model.SerializeToString(deterministic=True),
        TOKENIZER: tokenizer.to_str(pretty=False).encode(),
    }
    size = sum(map(len, contents.values()))
    if limit is not None and size > limit:
        raise ValueError(f"{folder}: model and tokenizer would have {size} bytes, expected at most {limit}")
    listed = json.dumps([[int(i) for i in ids] for ids in calibration_ids]).encode()
    record = {
        "inputs": provenance,
        "tools": {"python": platform.python_version(), **{name: metadata.version(name) for name in TOOLS}},
        "model": {**asdict(shape), "vocabulary": len(weights["tokens"]), "input": reads},
        "calibration": {"formulas": len(seen), "rule": RULE, "sha256_of_ids": hashlib.sha256(listed).hexdigest()},
        "int8_against_float32": {
            "formulas": len(held),
            # Four digits: the last bits of float32 sums differ from one kind of CPU to another.
            "cosine_mean": round(float(cosine.mean()), 4),
            "cosine_1st_percentile": round(float(np.percentile(cosine, 1)), 4),
        },
        "files": {n: {"size": len(b), "sha256": hashlib.sha256(b).hexdigest()} for n, b in contents.items()},
    }
    contents[PROVENANCE] = (json.dumps(record, indent=2, sort_keys=True) + "\n").encode()
    _write(folder, contents)
    return record


def _write(folder: Path, contents: dict[str, bytes]) -> None:
    """Put files into a folder by renaming whole ones, in the order given."""
    folder.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".export-", dir=folder))
    try:
        for name, content in contents.items():
            with (staging / name).open("wb") as target:
                target.write(content)
                target.flush()
                os.fsync(target.fileno())
        for name in contents:
            os.replace(staging / name, folder / name)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def check(folder: Path) -> dict[str, Any]:
    """Verify a model's files against the record beside them.

    Returns:
        The record.

    Raises:
        PinError: the record is absent or malformed, or a file is absent or not the recorded one; the message names the
            file, and both hashes where there are two.
    """
    path = folder / PROVENANCE
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        pins = [FilePin(name, int(record["files"][name]["size"]), record["files"][name]["sha256"]) for name in FILES]
    except FileNotFoundError:
        raise PinError(f"{path}: no such file, so the model's origin is unknown") from None
    except KeyError as error:
        raise PinError(f"{path}: field {error} is missing") from None
    except (ValueError, TypeError) as error:
        raise PinError(f"{path}: not a provenance record: {error}") from None
    for pin in pins:
        verify(folder / pin.name, pin)
    return record
