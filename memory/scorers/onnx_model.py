"""ONNX causal models through onnxruntime: a folder with `model.onnx` and `tokenizer.json`.

Inputs by their usual names, as Hugging Face's exporters write them: `input_ids` (batch, length) int64; optionally
`attention_mask` and `position_ids`; optionally a cache `past_key_values.{i}.key` and `.value` of shape
(batch, heads, past, size) with outputs `present.{i}.key` and `.value`. Output `logits` (batch, length, vocabulary).
A model without a cache runs each option from scratch, and its records say so.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memory.errors import MemoryBenchmarkError, Missing
from memory.scorers.base import Scorer, pick

TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
Cache = dict[str, np.ndarray]


def _present(past: str) -> str:
    return past.replace("past_key_values", "present")


class OnnxScorer(Scorer):
    """A causal model in ONNX.

    Args:
        folder: holds `model.onnx` and `tokenizer.json`; `config.json`, where present, gives the window
            (`max_position_embeddings` or `n_positions`) and the ids `bos_token_id` and `eos_token_id`.
        threads: CPU threads.

    Raises:
        Missing: onnxruntime or tokenizers is not installed.
        MemoryBenchmarkError: a file is missing, cannot be loaded, or has other inputs.
    """

    def __init__(self, folder: str | Path, threads: int = 2) -> None:
        try:
            import onnxruntime as ort
            from tokenizers import Tokenizer
        except ImportError as error:
            raise Missing(error.name or "onnxruntime") from None
        self.folder = Path(folder)
        for name in ("model.onnx", "tokenizer.json"):
            if not (self.folder / name).is_file():
                raise MemoryBenchmarkError(f"onnx:{folder}: expected a file {name} in the folder")
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        try:
            self._session = ort.InferenceSession(
                str(self.folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        except Exception as error:  # both libraries raise bare exceptions of their own
            raise MemoryBenchmarkError(f"onnx:{folder}: {str(error).splitlines()[0]}") from None
        self.name = f"onnx:{self.folder.resolve().name}"
        self._inputs = {node.name: node for node in self._session.get_inputs()}
        self._outputs = [node.name for node in self._session.get_outputs()]
        self._past = [name for name in self._inputs if name.startswith("past_key_values.")]
        self._check_names()
        self.caches = bool(self._past)
        self._configure()

    def _check_names(self) -> None:
        known = {"input_ids", "attention_mask", "position_ids", *self._past}
        wanted = {"logits", *map(_present, self._past)}
        if "input_ids" not in self._inputs or set(self._inputs) - known or wanted - set(self._outputs):
            raise MemoryBenchmarkError(
                f"onnx:{self.folder}: expected inputs input_ids [attention_mask, position_ids, past_key_values.*] and "
                f"outputs logits [present.*], not {', '.join(self._inputs)} and {', '.join(self._outputs)}"
            )

    def _configure(self) -> None:
        path = self.folder / "config.json"
        try:
            config = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        except ValueError as error:
            raise MemoryBenchmarkError(f"{path}: {error}") from None
        self.window = config.get("max_position_embeddings") or config.get("n_positions")
        bos, eos = config.get("bos_token_id"), config.get("eos_token_id")
        self.prefix = bos if bos is not None else eos
        if bos is not None and self._tokenizer.encode("a").ids[:1] == [bos]:
            self.begin = (bos,)

    def encode(self, text: str) -> list[int]:
        """Token ids without special tokens."""
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def _empty(self) -> Cache:
        cache = {}
        for name in self._past:
            node = self._inputs[name]
            shape = [size if isinstance(size, int) else 0 for size in node.shape]
            shape[0], shape[2] = 1, 0
            cache[name] = np.zeros(shape, TYPES.get(node.type, np.float32))
        return cache

    def _run(self, tokens: Sequence[int], done: int, cache: Cache) -> tuple[np.ndarray, Cache]:
        """Logits (len(tokens), vocabulary) after `done` cached tokens, and the cache after all of them."""
        feed: dict[str, Any] = {"input_ids": np.array([list(tokens)], np.int64), **cache}
        if "attention_mask" in self._inputs:
            feed["attention_mask"] = np.ones((1, done + len(tokens)), np.int64)
        if "position_ids" in self._inputs:
            feed["position_ids"] = np.arange(done, done + len(tokens), dtype=np.int64)[None]
        names = ["logits", *map(_present, self._past)]
        logits, *present = self._session.run(names, feed)
        return logits[0], dict(zip(self._past, present, strict=True))

    def logprobs(self, context: list[int], options: Sequence[list[int]]) -> list[np.ndarray]:
        """See `Scorer.logprobs`; caches are arrays that a run does not change, so they need no copies."""
        if not self.caches:
            return [self.naive(context, option) for option in options]
        logits, cache = self._run(context, 0, self._empty())
        rows = []
        for option in options:
            parts = [logits[-1:]]
            if len(option) > 1:
                parts.append(self._run(option[:-1], len(context), cache)[0])
            rows.append(pick(np.concatenate(parts), option))
        return rows

    def naive(self, context: list[int], option: list[int]) -> np.ndarray:
        """One run over context and option."""
        logits, _ = self._run([*context, *option[:-1]], 0, self._empty())
        return pick(logits[-len(option) :], option)
