"""Tiny seeded models for the tests: an encoder, and one causal model as numpy and as ONNX."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

from encoder import vocabulary
from encoder.latex import canonical
from encoder.model import WEIGHTS

CHARACTERS = [chr(code) for code in range(32, 127)] + ["\n"]
WIDTH, WINDOW = 16, 400


def _info(name: str, kind: int, shape: list[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def encoder_folder(folder: Path) -> Path:
    """The shipped weights where they are, else a seeded bag of tokens in `folder`."""
    if (WEIGHTS / "model.onnx").is_file():
        return WEIGHTS
    texts = [
        canonical(f"{c}{v}^{n}{r}\\sqrt{{{v}}}") for c in range(10) for v in "xyzabc" for n in range(10) for r in "=<>"
    ]
    tokenizer = vocabulary.make(vocabulary.learn(texts, 64))
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(5).normal(size=(tokenizer.get_vocab_size(), 32)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("ReduceMean", ["rows"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("LpNormalization", ["mean"], ["unit"], axis=1, p=2),
        helper.make_node("Cast", ["unit"], ["vectors"], to=TensorProto.FLOAT16),
    ]
    graph = helper.make_graph(
        nodes, "bag", [_info("ids", TensorProto.INT64, ["batch", "length"])],
        [_info("vectors", TensorProto.FLOAT16, ["batch", 32])], [numpy_helper.from_array(table, "table")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, {"dim": "32", "positions": "128"})
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return folder


def character_tokenizer() -> Tokenizer:
    """One token a character, and one pair that merges over a word's start, so that boundaries matter."""
    tokens = {"<s>": 0, **{character: i for i, character in enumerate(CHARACTERS, 1)}}
    tokens[" a"] = len(tokens)
    tokenizer = Tokenizer(models.BPE(tokens, [(" ", "a")]))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("\n", "isolated")
    return tokenizer


def causal_weights() -> dict[str, np.ndarray]:
    """A seeded causal model: one attention layer with a residual connection, float32."""
    rng = np.random.default_rng(7)
    size = len(CHARACTERS) + 2
    shapes = {"embed": (size, WIDTH), "places": (WINDOW, WIDTH), "head": (WIDTH, size)}
    shapes |= {name: (WIDTH, WIDTH) for name in ("q", "k", "v", "o")}
    return {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def causal_logprobs(tokens: list[int]) -> np.ndarray:
    """Log-probabilities float64 (len(tokens), vocabulary) of the next token after each prefix, straight from numpy."""
    w = {name: table.astype(np.float64) for name, table in causal_weights().items()}
    x = w["embed"][tokens] + w["places"][: len(tokens)]
    scores = (x @ w["q"]) @ (x @ w["k"]).T / 4
    scores[np.triu_indices(len(tokens), 1)] = -np.inf
    share = np.exp(scores - scores.max(1, keepdims=True))
    share /= share.sum(1, keepdims=True)
    logits = (x + share @ (x @ w["v"]) @ w["o"]) @ w["head"]
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


def causal_folder(folder: Path, cache: bool) -> Path:
    """The same model as ONNX, with or without a cache, and its tokenizer."""
    weights = [numpy_helper.from_array(table, name) for name, table in causal_weights().items()]
    weights += [
        numpy_helper.from_array(np.array([-1], np.int64), "last"),
        numpy_helper.from_array(np.array([0], np.int64), "zero"),
        numpy_helper.from_array(np.array([1], np.int64), "one"),
        numpy_helper.from_array(np.array(0.25, np.float32), "scale"),
        numpy_helper.from_array(np.array(-1e9, np.float32), "never"),
    ]  # fmt: skip
    n = helper.make_node
    nodes = [
        n("Gather", ["embed", "input_ids"], ["e"]), n("Gather", ["places", "position_ids"], ["p"]),
        n("Add", ["e", "p"], ["x"]),
        n("MatMul", ["x", "q"], ["xq"]), n("MatMul", ["x", "k"], ["xk"]), n("MatMul", ["x", "v"], ["xv"]),
    ]  # fmt: skip
    for name in ("k", "v"):
        if cache:
            past = "past_key_values.0." + {"k": "key", "v": "value"}[name]
            nodes += [n("Unsqueeze", [f"x{name}", "one"], [f"h{name}"]),
                      n("Concat", [past, f"h{name}"], [past.replace("past_key_values", "present")], axis=2),
                      n("Squeeze", [past.replace("past_key_values", "present"), "one"], [f"all{name}"])]  # fmt: skip
        else:
            nodes.append(n("Identity", [f"x{name}"], [f"all{name}"]))
    nodes += [
        n("Transpose", ["allk"], ["kt"], perm=[0, 2, 1]), n("MatMul", ["xq", "kt"], ["raw"]),
        n("Mul", ["raw", "scale"], ["s"]),
        # Key j is visible to the query at position i exactly if j <= i.
        n("Shape", ["allk"], ["shape"]), n("Slice", ["shape", "one", "two"], ["keys"]),
        n("Squeeze", ["keys", "zero"], ["count"]), n("Range", ["start", "count", "step"], ["j"]),
        n("Unsqueeze", ["position_ids", "last"], ["i"]), n("Greater", ["j", "i"], ["hidden"]),
        n("Where", ["hidden", "never", "s"], ["masked"]), n("Softmax", ["masked"], ["share"], axis=-1),
        n("MatMul", ["share", "allv"], ["mixed"]), n("MatMul", ["mixed", "o"], ["out"]), n("Add", ["x", "out"], ["y"]),
        n("MatMul", ["y", "head"], ["logits"]),
    ]  # fmt: skip
    weights += [numpy_helper.from_array(np.array([2], np.int64), "two"),
                numpy_helper.from_array(np.array(0, np.int64), "start"),
                numpy_helper.from_array(np.array(1, np.int64), "step")]  # fmt: skip
    inputs = [_info(name, TensorProto.INT64, ["batch", "length"]) for name in ("input_ids", "position_ids")]
    outputs = [_info("logits", TensorProto.FLOAT, ["batch", "length", len(CHARACTERS) + 2])]
    if cache:
        for name in ("key", "value"):
            inputs.append(_info(f"past_key_values.0.{name}", TensorProto.FLOAT, ["batch", 1, "past", WIDTH]))
            outputs.append(_info(f"present.0.{name}", TensorProto.FLOAT, ["batch", 1, "total", WIDTH]))
    model = helper.make_model(
        helper.make_graph(nodes, "causal", inputs, outputs, weights),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    character_tokenizer().save(str(folder / "tokenizer.json"))
    config = {"max_position_embeddings": WINDOW, "bos_token_id": 0}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder
