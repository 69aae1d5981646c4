"""The student's training on a tiny corpus: deterministic, resumable, and the same computation in torch and in ONNX."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs torch: pip install -r requirements/training.lock")
pytest.importorskip("scipy", reason="training needs scipy: pip install -r requirements/training.lock")
ort = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx", reason="the graph needs onnx: pip install -r requirements/weights.lock")

from encoder import ngrams, vocabulary  # noqa: E402
from encoder.latex import canonical  # noqa: E402
from training import corpus as corpora  # noqa: E402
from training import distil, export, prepare  # noqa: E402
from training.student import Size, Student  # noqa: E402
from weights.graph import build  # noqa: E402

LETTERS = "abcdefghxyz"
SHAPES = (
    "{0}^2+{1}", r"\frac{{{0}}}{{{1}}}", r"\sum_{{{0}=1}}^n {1}_{0}", r"\int_0^1 {0} d{1}", "{0}({1})=0",
    r"{0}\le {1}+1",
)  # fmt: skip


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distil, "BATCH", 128)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    raw = [s.format(a, b) for s in SHAPES for a in LETTERS for b in LETTERS if a != b]
    formulas, forms = corpora.distinct(raw)
    tokenizer = vocabulary.make(vocabulary.learn(forms, 80))
    tokenizer.save(str(folder / "tokenizer.json"))
    size = Size(tokenizer.get_vocab_size(), layers=1, width=16, heads=2, ffn=16, rows=64, hidden=16, positions=32)
    (folder / "size.json").write_text(json.dumps(asdict(size)))
    (folder / "provenance.json").write_text("{}")
    corpus = corpora.build(formulas, forms, tokenizer)
    (folder / "corpus.pickle").write_bytes(pickle.dumps(corpus))
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(len(corpus), 24))
    np.save(folder / "teacher.npy", (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16))
    np.save(folder / "taught.npy", np.arange(len(corpus)))
    return folder


def run(work: Path, target: Path, steps: int, cut: int = 0) -> bytes:
    """Train in ``target``; with ``cut``, stop there once and go on."""
    target.mkdir()
    for name in ("tokenizer.json", "size.json", "corpus.pickle", "teacher.npy", "taught.npy"):
        (target / name).write_bytes((work / name).read_bytes())
    size = Size(**json.loads((target / "size.json").read_text()))
    torch.set_num_threads(1)
    if cut:
        distil.train(target, size, steps, seed=3, stop=cut)
    model = distil.train(target, size, steps, seed=3)
    return b"".join(v.numpy().tobytes() for v in model.state_dict().values())


def test_two_trainings_are_the_same_bytes_and_so_is_one_that_was_cut(work: Path, tmp_path: Path) -> None:
    whole = run(work, tmp_path / "a", 4)
    assert run(work, tmp_path / "b", 4) == whole
    assert run(work, tmp_path / "c", 4, cut=2) == whole


def test_torch_and_onnx_compute_the_same(work: Path) -> None:
    tokenizer = vocabulary.load(work / "tokenizer.json")
    variable = ngrams.is_variable(tokenizer.get_vocab())
    size = Size(**json.loads((work / "size.json").read_text()))
    torch.manual_seed(0)
    model = Student(size).eval()
    graph = build(*export.arrays(model.state_dict(), size, variable)).SerializeToString()
    session = ort.InferenceSession(graph, providers=["CPUExecutionProvider"])
    corpus: corpora.Corpus = pickle.loads((work / "corpus.pickle").read_bytes())
    for member in (0, 200, 400, len(corpus) - 1):
        with torch.no_grad():
            expected = distil.forward(model, corpus, np.array([member]), variable).numpy()
        ids = corpus.ids[corpus.start[member] : corpus.start[member + 1]].astype(np.int64)[None]
        np.testing.assert_allclose(session.run(None, {"ids": ids})[0], expected, atol=2e-6)


def test_rotation_orders_the_axes_and_without_stretch_keeps_every_cosine(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    weights = {"project.weight": rng.normal(size=(20, 8)), "project.bias": rng.normal(size=8)}
    hidden = rng.normal(size=(300, 20))

    def unit(w: dict[str, np.ndarray]) -> np.ndarray:
        x = hidden @ w["project.weight"] + w["project.bias"]
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    before = unit(weights)
    monkeypatch.setattr(export, "STRETCH", 0.0)
    after = unit(export.rotate(weights, before))
    np.testing.assert_allclose(after @ after.T, before @ before.T, atol=1e-5)
    power = np.square(after).mean(axis=0)
    assert (np.diff(power) <= 1e-6).all()
    monkeypatch.setattr(export, "STRETCH", 0.5)
    stretched = np.square(unit(export.rotate(weights, before))).mean(axis=0)
    assert stretched[0] > power[0]


def test_learning_brings_near_what_the_target_calls_near(work: Path, tmp_path: Path) -> None:
    run(work, tmp_path / "d", 40)
    corpus: corpora.Corpus = pickle.loads((work / "corpus.pickle").read_bytes())
    variable = ngrams.is_variable(vocabulary.load(work / "tokenizer.json").get_vocab())
    size = Size(**json.loads((work / "size.json").read_text()))
    members = np.arange(0, len(corpus), 3)
    target = distil.target_of(corpus, members, None, np.empty(0))
    torch.manual_seed(3)
    fresh, trained = Student(size), Student(size)
    trained.load_state_dict(torch.load(tmp_path / "d" / "checkpoint.pt", weights_only=True)["model"])
    with torch.no_grad():
        losses = [distil.loss_of(distil.forward(m, corpus, members, variable), target) for m in (fresh, trained)]
    before, after = map(float, losses)
    assert after < 0.95 * before


def test_lexical_rows_are_unit_and_renamed_formulas_share_features() -> None:
    forms = [canonical(f) for f in ("x^2+y^2", "a^2+b^2", r"\sin \theta", "x^2+y^2+1", "a^2+b^2+1")]
    corpus = corpora.build(forms, forms, vocabulary.make(vocabulary.learn(forms, 60)))
    similarity = (corpus.lexical @ corpus.lexical.T).toarray()
    np.testing.assert_allclose(np.diag(similarity)[[0, 1]], 1, atol=1e-5)
    assert similarity[0, 1] > 0.3 > similarity[0, 2]


def test_the_learning_rate_warms_up_falls_and_ends_near_zero() -> None:
    rates = [distil.rate(s, 900) for s in range(900)]
    assert rates[0] < 0.02 < 0.9 < max(rates) <= 1.001
    assert all(a >= b for a, b in zip(rates[distil.WARM_UP :], rates[distil.WARM_UP + 1 :], strict=False))
    assert rates[-1] < 0.004


def test_a_batch_is_made_of_neighbourhoods_and_the_stream_is_seeded(work: Path) -> None:
    corpus: corpora.Corpus = pickle.loads((work / "corpus.pickle").read_bytes())
    taught, teacher = np.load(work / "taught.npy"), np.load(work / "teacher.npy")
    one, two = (distil.Batches(corpus, taught, teacher, seed=5).stream() for _ in range(2))
    kinds = set()
    for _ in range(4):
        (a, spoken), (b, _) = next(one), next(two)
        kinds.add(spoken)
        assert len(a) == distil.BATCH
        np.testing.assert_array_equal(a, b)
    assert kinds == {True, False}
    members, _ = next(distil.Batches(corpus, taught[:0], teacher[:0], seed=5).stream())
    similarity = (corpus.lexical[members] @ corpus.lexical[members].T).toarray()
    block = np.kron(np.eye(distil.BATCH // distil.NEIGHBOURHOOD), np.ones((distil.NEIGHBOURHOOD,) * 2)).astype(bool)
    np.fill_diagonal(similarity, np.nan)
    assert np.nanmean(similarity[block]) > 1.5 * np.nanmean(similarity[~block])


def test_one_formula_a_group_prefers_posts_over_comments(tmp_path: Path) -> None:
    path = tmp_path / "formulas.tsv"
    rows = ["id type visual_id formula", "5 comment 9 x", "7 answer 9 v", "6 title 9 {x}", "1 title 2 y"]
    path.write_text("".join(row.replace(" ", "\t") + "\n" for row in rows))
    assert prepare.representatives_with_groups(path) == ([2, 9], ["y", "v"])
