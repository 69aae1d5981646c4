"""GGUF models through llama-cpp-python's low-level interface.

The high-level one keeps the logits of every token (for 4,000 tokens of a vocabulary of 262,144 that is 4 GB) and cannot
take a cache back to where the options part; the C functions can do both.
"""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memory.errors import MemoryBenchmarkError, Missing
from memory.scorers.base import Scorer, pick

BATCH = 512  # tokens a call
OUTPUTS = 64  # tokens a call whose logits are kept
LONGEST_WINDOW = 8192  # tokens; the cache is allocated in full, so a model's 128,000 would not fit


class GgufScorer(Scorer):
    """A llama.cpp model on the CPU.

    Args:
        path: the `.gguf` file.
        threads: CPU threads.
        window: tokens of cache to allocate; the model's own length, at most 8,192, by default.

    Raises:
        Missing: llama-cpp-python is not installed.
        MemoryBenchmarkError: the file is missing or cannot be loaded.
    """

    def __init__(self, path: str | Path, threads: int = 2, window: int | None = None) -> None:
        try:
            import llama_cpp.llama_cpp as api
        except ImportError:
            raise Missing("llama-cpp-python") from None
        path = Path(path)
        if not path.is_file():
            raise MemoryBenchmarkError(f"gguf:{path}: no such file")
        self._api: Any = api
        # Kept as an attribute: C code calls it for as long as the model lives.
        self._quiet = api.llama_log_callback(lambda level, text, data: None)
        api.llama_log_set(self._quiet, ctypes.c_void_p(0))
        api.llama_backend_init()
        self._model = api.llama_model_load_from_file(str(path).encode(), api.llama_model_default_params())
        if not self._model:
            raise MemoryBenchmarkError(f"gguf:{path}: not a GGUF model that llama.cpp can load")
        self._vocab = api.llama_model_get_vocab(self._model)
        self._size = api.llama_vocab_n_tokens(self._vocab)
        self.window = window or min(api.llama_model_n_ctx_train(self._model), LONGEST_WINDOW)
        self._context = self._open(threads)
        self._memory = api.llama_get_memory(self._context)
        self._batch = api.llama_batch_init(BATCH, 0, 1)
        self.name = f"gguf:{path.stem}"
        bos, eos = api.llama_vocab_bos(self._vocab), api.llama_vocab_eos(self._vocab)
        self.prefix = bos if bos >= 0 else eos if eos >= 0 else None
        if bos >= 0 and api.llama_vocab_get_add_bos(self._vocab):
            self.begin = (bos,)

    def _open(self, threads: int) -> Any:
        api = self._api
        params = api.llama_context_default_params()
        params.n_ctx = self.window
        params.n_batch = params.n_ubatch = BATCH
        params.n_threads = params.n_threads_batch = threads
        params.no_perf = True
        params.swa_full = True  # else a sliding-window cache forgets what the next option still needs
        params.type_k = params.type_v = api.GGML_TYPE_F32
        context = api.llama_init_from_model(self._model, params)
        if not context:
            raise MemoryBenchmarkError(f"gguf: llama.cpp cannot allocate a window of {self.window} tokens")
        return context

    def close(self) -> None:
        """Free the model; the scorer cannot be used after."""
        self._api.llama_batch_free(self._batch)
        self._api.llama_free(self._context)
        self._api.llama_model_free(self._model)

    def encode(self, text: str) -> list[int]:
        """Token ids; text that looks like a special token stays text."""
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        ids = (self._api.llama_token * room)()
        n = self._api.llama_tokenize(self._vocab, data, len(data), ids, room, False, False)
        if n < 0:
            raise MemoryBenchmarkError(f"{self.name}: llama.cpp cannot tokenise a text of {len(data)} bytes")
        return list(ids[:n])

    def _read(self, context: Sequence[int]) -> None:
        """Put all tokens of the context but the last into an empty cache; none of their logits are needed.

        What the cache holds from before stays in memory, but no token attends to it.
        """
        self._api.llama_memory_clear(self._memory, False)
        for start in range(0, len(context) - 1, BATCH):
            self._decode(context[:-1][start : start + BATCH], start, False)

    def _predict(self, context: Sequence[int], option: Sequence[int]) -> np.ndarray:
        """Log-probabilities of the option's tokens, from the context's last token and the option's but the last."""
        tokens, place = [context[-1], *option[:-1]], len(context) - 1
        rows = []
        for i in range(0, len(tokens), OUTPUTS):
            part = tokens[i : i + OUTPUTS]
            self._decode(part, place + i, True)
            rows += [self._logits(j) for j in range(len(part))]
        return pick(np.array(rows, np.float32), option)

    def _decode(self, tokens: Sequence[int], start: int, outputs: bool) -> None:
        batch = self._batch
        batch.n_tokens = len(tokens)
        for j, token in enumerate(tokens):
            batch.token[j], batch.pos[j] = token, start + j
            batch.n_seq_id[j], batch.seq_id[j][0] = 1, 0
            batch.logits[j] = outputs
        code = self._api.llama_decode(self._context, batch)
        if code:
            raise MemoryBenchmarkError(f"{self.name}: llama_decode returned {code} at token {start}")

    def _logits(self, place: int) -> np.ndarray:
        pointer = self._api.llama_get_logits_ith(self._context, place)
        return np.ctypeslib.as_array(pointer, shape=(self._size,)).copy()

    def logprobs(self, context: list[int], options: Sequence[list[int]]) -> list[np.ndarray]:
        """See `Scorer.logprobs`; after each option the cache is cut back to before the context's last token.

        That token is read again with every option, so that all tokens stand in the same batches as when the option is
        scored alone. With quantised weights llama.cpp rounds activations to 8 bits, which lets the order of summation
        (another for a batch of another size) change an option's sum by up to 0.5.
        """
        self._read(context)
        rows = []
        for option in options:
            rows.append(self._predict(context, option))
            self._api.llama_memory_seq_rm(self._memory, 0, len(context) - 1, -1)
        return rows

    def naive(self, context: list[int], option: list[int]) -> np.ndarray:
        """Context and option read from scratch."""
        self._read(context)
        return self._predict(context, option)
