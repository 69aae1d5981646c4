"""The encoder session: LaTeX in, float16 unit vectors out.

A batch holds formulas of one length (in tokens), so there is no padding, and a vector depends on its formula alone:
not on its batch, nor on the number of threads or processes. Documents and queries go through the same code.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime as ort

from encoder import vocabulary
from encoder.latex import canonical

WEIGHTS = Path(__file__).resolve().parent.parent / "weights"
LONGEST_TEXT = 3000  # characters; what follows lies beyond the longest token sequence and only costs time
BATCH = 64


class Encoder:
    """A loaded model.

    Args:
        folder: where ``model.onnx`` and ``tokenizer.json`` are; the shipped weights by default.
        threads: CPU threads of the session.

    Raises:
        FileNotFoundError: a file is missing.
    """

    def __init__(self, folder: Path = WEIGHTS, threads: int = 1) -> None:
        self.folder, self.threads = folder, threads
        path = folder / "model.onnx"
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such model file")
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        meta = self._session.get_modelmeta().custom_metadata_map
        self.dim = int(meta["dim"])
        self.positions = int(meta["positions"])
        self._raw = meta.get("input", "canonical") == "raw"  # a teacher reads formulas as they were typed
        self._tokenizer = vocabulary.load(folder / "tokenizer.json")

    def ids(self, canonical_formulas: Sequence[str]) -> list[list[int]]:
        """Token ids of canonical formulas, cut to the model's longest input; an empty formula is one unknown token.

        A tokenizer with special tokens ([CLS], [SEP]) has them in its file, and its own cut that keeps them.
        """
        encodings = self._tokenizer.encode_batch_fast(list(canonical_formulas))
        return [e.ids[: self.positions] or [0] for e in encodings]

    def encode_canonical(self, formulas: Sequence[str]) -> np.ndarray:
        """Vectors of formulas that are canonical already.

        Returns:
            float16 (len(formulas), dim), rows of unit length.
        """
        ids = self.ids(formulas)
        out = np.empty((len(ids), self.dim), np.float16)
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        start = 0
        while start < len(order):
            length = len(ids[order[start]])
            end = start
            while end < len(order) and end - start < BATCH and len(ids[order[end]]) == length:
                end += 1
            rows = order[start:end]
            batch = np.array([ids[i] for i in rows], np.int64)
            out[rows] = self._session.run(None, {"ids": batch})[0]
            start = end
        return out

    def encode(self, formulas: Sequence[str]) -> np.ndarray:
        """Vectors of formulas as people typed them.

        Returns:
            float16 (len(formulas), dim), rows of unit length.
        """
        cut = [f[:LONGEST_TEXT] for f in formulas]
        return self.encode_canonical(cut if self._raw else [canonical(f) for f in cut])
