"""Scorers by what the command line calls them."""

from memory.errors import MemoryBenchmarkError
from memory.scorers.base import Scorer

FORMS = "ngram[:ORDER], hf:FOLDER, hf:ID@COMMIT, gguf:FILE or onnx:FOLDER"


def open_scorer(spec: str, threads: int = 2) -> Scorer:
    """Load the model that a text such as `gguf:model.gguf` names; optional packages are imported only here.

    Raises:
        MemoryBenchmarkError: the text has another form, or the model cannot be loaded.
    """
    kind, _, rest = spec.partition(":")
    if kind == "ngram":
        from memory.scorers.ngram import ORDER, NgramScorer

        if rest and not (rest.isdigit() and int(rest) > 0):
            raise MemoryBenchmarkError(f"model {spec!r}: expected an order of at least 1, as in ngram:{ORDER}")
        return NgramScorer(int(rest or ORDER))
    if kind == "hf" and rest:
        from memory.scorers.hf import HuggingFaceScorer

        source, _, revision = rest.partition("@")
        return HuggingFaceScorer(source, revision or None, threads)
    if kind == "gguf" and rest:
        from memory.scorers.gguf import GgufScorer

        return GgufScorer(rest, threads)
    if kind == "onnx" and rest:
        from memory.scorers.onnx_model import OnnxScorer

        return OnnxScorer(rest, threads)
    raise MemoryBenchmarkError(f"model {spec!r}: expected {FORMS}")
