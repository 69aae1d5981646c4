"""Hugging Face causal models, from a local folder or from the hub at a pinned revision."""

import copy
import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memory.errors import MemoryBenchmarkError, Missing
from memory.scorers.base import Scorer, pick


class HuggingFaceScorer(Scorer):
    """An `AutoModelForCausalLM` in float32 on the CPU.

    Args:
        source: a folder, or a hub id.
        revision: the full commit of a hub id; not allowed for a folder.
        threads: CPU threads.

    Raises:
        Missing: torch or transformers is not installed.
        MemoryBenchmarkError: a hub id without a full commit, or files that cannot be loaded.
    """

    def __init__(self, source: str, revision: str | None = None, threads: int = 2) -> None:
        local = Path(source).is_dir()
        if not local and not re.fullmatch(r"[0-9a-f]{40}", revision or ""):
            raise MemoryBenchmarkError(
                f"hf:{source}: no such folder, and a hub id needs a pinned revision, hf:{source}@ and 40 hex digits"
            )
        try:
            import torch
            import transformers
        except ImportError as error:
            raise Missing(error.name or "torch") from None
        torch.set_num_threads(threads)
        self._torch = torch
        pin: dict[str, Any] = {"local_files_only": True} if local else {"revision": revision}
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(source, **pin)
            self._model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32, **pin).eval()
        except (OSError, ValueError) as error:
            raise MemoryBenchmarkError(f"hf:{source}: {str(error).splitlines()[0]}") from None
        self.name = f"hf:{Path(source).resolve().name}" if local else f"hf:{source}@{(revision or '')[:8]}"
        config = self._model.config.get_text_config()
        self.window = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        bos, eos = self._tokenizer.bos_token_id, self._tokenizer.eos_token_id
        self.prefix = bos if bos is not None else eos
        if bos is not None and self._tokenizer("a").input_ids[:1] == [bos]:
            self.begin = (bos,)
        # Logits of a long context would take its length times the vocabulary in memory; only the last are needed.
        self._keeps = "logits_to_keep" in inspect.signature(self._model.forward).parameters

    def encode(self, text: str) -> list[int]:
        """Token ids without special tokens."""
        return self._tokenizer(text, add_special_tokens=False).input_ids

    def _run(self, tokens: Sequence[int], keep: int, cache: Any = None) -> tuple[np.ndarray, Any]:
        """Logits float32 (keep, vocabulary) at the last places, and the cache after all tokens."""
        arguments: dict[str, Any] = {"logits_to_keep": keep} if self._keeps else {}
        ids = self._torch.tensor([list(tokens)], dtype=self._torch.long)
        with self._torch.inference_mode():
            out = self._model(input_ids=ids, past_key_values=cache, use_cache=True, **arguments)
        return out.logits[0, -keep:].float().numpy(), out.past_key_values

    def logprobs(self, context: list[int], options: Sequence[list[int]]) -> list[np.ndarray]:
        """See `Scorer.logprobs`; each option continues a copy of the context's cache."""
        last, cache = self._run(context, 1)
        rows = []
        for option in options:
            logits = last
            if len(option) > 1:
                more, _ = self._run(option[:-1], len(option) - 1, copy.deepcopy(cache))
                logits = np.concatenate([last, more])
            rows.append(pick(logits, option))
        return rows

    def naive(self, context: list[int], option: list[int]) -> np.ndarray:
        """One forward pass over context and option."""
        logits, _ = self._run([*context, *option[:-1]], len(option))
        return pick(logits, option)
