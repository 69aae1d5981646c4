from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from index import build, embed, nodes, search, store
from index.errors import StoreError
from index.search import Index
from tests.index.stand_in import HashEmbedder, collection

Built = Callable[..., Path]
BROKEN = ["", " ", "{", "}", "\\", "\\frac{", "x^{" * 400, "\x00\x01", "\ud800", "$$", "&amp;&lt;", "∑🙂", "a" * 5_000]


def check(answer: list[tuple[str, float]], count: int) -> None:
    """What every answer must be."""
    assert len(answer) == len({i for i, _ in answer}) == count
    assert all(isinstance(i, str) and i.isdigit() and math.isfinite(s) for i, s in answer)
    assert answer == sorted(answer, key=lambda pair: (-pair[1], int(pair[0])))


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("latex", BROKEN)
def test_any_query_gets_a_full_answer(latex: str, weight: float, index: Index) -> None:
    check(index.search(latex, weight=weight), 1000)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=40), st.integers(-3, 3500))
def test_any_number_of_answers(index: Index, latex: str, k: int) -> None:
    check(index.search(latex, k), max(0, min(k, index.size)))


def test_a_small_collection_is_answered_whole(built: Built, model: Path) -> None:
    index = Index.open(built(collection(7)), model)
    check(index.search("x + 1"), 7)
    assert index.size == 7


def exact(index: Index, latex: str, weight: float) -> list[tuple[str, float]]:
    """The ranking by brute force over everything."""
    query = HashEmbedder(Path()).embed([latex])
    dense = index._vectors[index._node_of] @ query.vectors[0].astype(np.float32)
    assert index._lexical is not None
    lexical = index._lexical.score(query.features)
    fused = np.round((1 - weight) * dense.astype(np.float64) + weight * lexical / max(lexical.max(), 1e-9), 6)
    order = np.lexsort((np.arange(index.size), -fused))[:1000]
    return [(str(index._ids[i]), float(fused[i])) for i in order]


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_answers_agree_with_brute_force(weight: float, index: Index) -> None:
    for latex in (r"\frac x y + 1", r"\sum a = b", "( 2 + 3 ) - n", r"\alpha"):
        got, want = index.search(latex, weight=weight), exact(index, latex, weight)
        assert [s for _, s in got[:100]] == pytest.approx([s for _, s in want[:100]], abs=2e-6)
        assert len({i for i, _ in got} & {i for i, _ in want}) >= 980


def test_dense_and_lexical_alone(index: Index) -> None:
    query = r"\frac x y"
    dense, lexical = dict(index.search(query, weight=0.0)), dict(index.search(query, weight=1.0))
    both = dict(index.search(query, weight=0.25))
    for i in both.keys() & dense.keys() & lexical.keys():
        assert both[i] == pytest.approx(0.75 * dense[i] + 0.25 * lexical[i], abs=2e-6)
    assert max(lexical.values()) == 1.0


def test_equal_scores_are_ordered_by_id(built: Built, model: Path) -> None:
    rows = [[i, 1, 1, "answer", "", i, i, "", "x"] for i in (2**63 - 1, 100, 99, 9, 1000)]
    answer = Index.open(built(rows), model).search("x")
    assert [i for i, _ in answer] == ["9", "99", "100", "1000", str(2**63 - 1)]
    assert len({s for _, s in answer}) == 1


def test_without_shared_n_grams_the_vectors_rank(index: Index) -> None:
    assert index.search("µ", weight=0.3)[0][1] > 0
    assert {s for _, s in index.search("µ", weight=1.0)} == {0.0}


def test_a_graph_with_parts_out_of_reach_costs_time_only(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    want = index.search("x + y")
    monkeypatch.setattr(nodes, "nearest", lambda *_: None)
    got = index.search("x + y")
    check(got, 1000)
    assert got[:200] == want[:200]


def test_without_kept_links_all_are_compared(built: Built, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = built(collection(600))
    meta, sections = store.read(folder)
    assert "graph.links" in sections
    store.write(folder, meta, {name: part for name, part in sections.items() if not name.startswith("graph")})
    monkeypatch.setattr(nodes, "build", None)  # loading would take a minute where links do not fit
    monkeypatch.setattr(search, "NEAR", 50)
    index = Index.open(folder, model)
    assert isinstance(index, Index)
    near = index._vectors @ index._embedder.embed(["x + y"]).vectors[0].astype(np.float32)
    best = np.sort(near[index._node_of])[::-1][:50]
    assert np.allclose([score for _, score in index.search("x + y", 50, weight=0.0)], best, atol=1e-6)


def test_many_groups_of_one_vector(built: Built, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[i, 1, 1, "answer", "", i, i, "", "x" if i % 2 else f"x {i}"] for i in range(1, 6001)]
    index = Index.open(built(rows), model)
    answer = index.search("x", 3500, weight=0.0)
    check(answer, 3500)
    assert {int(i) for i, _ in answer[:3000]} == set(range(1, 6001, 2))


def test_another_model_is_refused(built: Built, model: Path) -> None:
    folder = built(collection(5))
    (model / "tokenizer.json").write_bytes(b"[]")
    with pytest.raises(StoreError, match=r"formdex.index: built by model [0-9a-f]{12}, but .* build the index again"):
        Index.open(folder, model)


def test_sections_that_contradict_are_refused(built: Built, model: Path) -> None:
    folder = built(collection(5))
    meta, sections = store.read(folder)
    for name in sections:
        store.write(folder, meta, {k: v for k, v in sections.items() if k != name})
        if not name.startswith(("lexical", "graph")) or name == "lexical.hashes":
            with pytest.raises(StoreError, match="sections contradict each other"):
                Index.open(folder, model)
    store.write(folder, {**meta, "groups": 6}, sections)
    with pytest.raises(StoreError, match="sections contradict each other"):
        Index.open(folder, model)


def test_the_header_is_there(index: Index) -> None:
    assert index.header["groups"] == index.size == index.plan["groups"] == 3000
    assert index.header["corpus"]["bad"] == 0


@pytest.mark.slow
def test_mini_meets_its_figures(mini: Path, weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started = time.monotonic()
    build.build(build.Options(mini, tmp_path / "index"))
    build_s = time.monotonic() - started
    started = time.monotonic()
    index = Index.open(tmp_path / "index")
    assert isinstance(index, Index)
    load_s = time.monotonic() - started
    rng = np.random.default_rng(1)
    shares = []
    assert index._graph is not None
    for place in rng.choice(len(index._vectors), 200, replace=False):
        query = index._vectors[place]
        best = np.argpartition(-(index._vectors @ query), 1000)[:1000]
        found = nodes.nearest(index._graph, query, search.NEAR)
        assert found is not None
        shares.append(len(np.intersect1d(best, found)) / 1000)
    recall = float(np.mean(shares))
    with capsys.disabled():
        print(f"\narqmath-mini: build {build_s:.0f} s, load {load_s:.1f} s, recall of the exact top 1,000 {recall:.4f}")
    assert recall >= 0.98
    assert build_s <= 240
    assert load_s <= 15


def test_vectors_do_not_depend_on_company(weights: Path) -> None:
    embedder = embed.Embedder(weights)
    formulas = ["x^2", r"\frac12", "", "x", "{", r"\sum_{i=1}^n i"]
    together = embedder.embed(formulas)
    alone = [embedder.embed([f]) for f in formulas]
    assert np.array_equal(together.vectors, np.concatenate([a.vectors for a in alone]))
    assert np.array_equal(together.features, np.concatenate([a.features for a in alone]))
    assert np.array_equal(together.counts, np.concatenate([a.counts for a in alone]))
