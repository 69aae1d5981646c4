"""The measures of structure: trees, their paths and distances, overlaps, thread mates."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

for module in ("torch", "scipy", "onnx"):
    pytest.importorskip(module, reason=f"bench.signals needs {module}: pip install -r requirements/training.lock")

import scipy.sparse as sp  # noqa: E402

from bench import _similarities as similarities  # noqa: E402
from bench import _trees as trees  # noqa: E402
from bench._evidence import order_pairs  # noqa: E402
from bench.signals import teacher_vectors, without_largest  # noqa: E402
from encoder.latex import tokenize  # noqa: E402
from training import corpus as corpora  # noqa: E402

TOKENS = st.lists(
    st.sampled_from(r"a b x 1 2 + - = , ^ _ { } ( ) \frac \sqrt \sum \sin / & \begin{matrix}".split()), max_size=15
)


def operators(latex: str) -> str:
    return trees.show(trees.operator_tree(tokenize(latex)))


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        (r"a+\frac{b}{2}=x^2", r"=(+(a \frac(b 2)) ^(x 2))"),
        ("x^{y}z", "times(^(x y) z)"),
        ("xy^z", "times(x ^(y z))"),
        (r"\sum_{n=1}^9 n-1", r"+(\sum(^(_(\sum =(n 1)) 9) n) -(1))"),
        ("f(x+1)/12", r"\frac(apply(f ((+(x 1))) 12)"),
        (r"\sin x\cdot 2", r"times(apply(\sin x) 2)"),
        (r"10^{20}", "^(10 20)"),
    ],
)
def test_operator_trees_follow_precedence(latex: str, tree: str) -> None:
    assert operators(latex) == tree


@settings(max_examples=80, deadline=None)
@given(TOKENS)
def test_any_tokens_give_trees_and_paths(tokens: list[str]) -> None:
    for tree in (trees.operator_tree(tokens), trees.layout_tree(tokens)):
        assert list(trees.paths(tree, 4, True))
        assert all(2 <= len(path) <= 4 for path in trees.paths(tree, 4, False))
        assert trees.distance(trees.flatten(tree), trees.flatten(tree)) == 0


def test_renamed_formulas_share_renamed_paths_and_no_typed_leaf() -> None:
    one, other = (trees.operator_tree(tokenize(f)) for f in ("x^2+y", "a^2+b"))
    same = [set(trees.paths(trees.renamed_tree(t), 4, True)) for t in (one, other)]
    assert same[0] == same[1]
    assert set(trees.paths(one, 4, False)) & set(trees.paths(other, 4, False)) == {
        ("2", "^#1"), ("2", "^#1", "+"), ("2", "^#1", "+", "$")
    }  # fmt: skip
    assert set(trees.subtrees(one)) == set(trees.subtrees(other))


@cache
def recursive(a: tuple[trees.Tree, ...], b: tuple[trees.Tree, ...]) -> float:
    """Edit distance of forests straight from its definition."""
    if not a or not b:
        return sum(len(trees.flatten(t).labels) for t in a + b)
    x, y = a[-1], b[-1]
    return min(
        recursive((*a[:-1], *x.below), b) + 1,
        recursive(a, (*b[:-1], *y.below)) + 1,
        recursive(a[:-1], b[:-1]) + recursive(x.below, y.below) + (x.label != y.label),
    )


def grown(nodes: list[tuple[str, int]], number: int = 0) -> trees.Tree:
    """The tree in which node i hangs below one of those before it."""
    below = (i for i in range(number + 1, len(nodes)) if nodes[i][1] % i == number)
    return trees.Tree(nodes[number][0], tuple(grown(nodes, i) for i in below))


SMALL = st.lists(st.tuples(st.sampled_from("123"), st.integers(0, 59)), min_size=1, max_size=6).map(grown)


@settings(max_examples=60, deadline=None)
@given(SMALL, SMALL)
def test_tree_distance_is_the_definitions(a: trees.Tree, b: trees.Tree) -> None:
    assert trees.distance(trees.flatten(a), trees.flatten(b)) == recursive((a,), (b,))


def test_another_variable_costs_what_is_asked() -> None:
    a, b = (trees.flatten(trees.operator_tree(tokenize(f))) for f in ("x^2", "y^3"))
    assert trees.distance(a, b) == 2
    assert trees.distance(a, b, 0.5) == 1.5


def test_default_weights_are_the_training_signals() -> None:
    rng = np.random.default_rng(0)
    rows, start = rng.integers(0, 40, 300).astype(np.int32), np.arange(0, 301, 10)
    ours, theirs = similarities.weigh(rows, start), corpora.weigh(rows, start)
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), rtol=1e-6)
    itself = similarities.cosines(sp.vstack([ours, ours[-2:]]).tocsr(), 2)
    np.testing.assert_allclose([itself[0, -2], itself[1, -1]], 1, rtol=1e-5)


def test_mates_are_the_other_formulas_of_the_threads() -> None:
    member = sp.csr_matrix(np.array([[1, 0], [1, 1], [1, 0], [0, 1], [0, 0]], np.float32))
    scores = np.array([[0.9, 0.3, 0.6, 0.1, 0.5]], np.float32)
    mean = [(0.3 + 0.6) / 2, ((0.9 + 0.6) / 2 + 0.1) / 2, (0.9 + 0.3) / 2, 0.3, 0]
    np.testing.assert_allclose(similarities.mates_mean(scores, member)[0], mean, rtol=1e-5)
    np.testing.assert_allclose(similarities.mates_best(scores, member)[0], [0.6, 0.9, 0.9, 0.3, 0], rtol=1e-5)


def test_reranking_moves_only_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarities, "RERANKED", 2)
    base = np.array([[0.9, 0.8, 0.7, 0.1]], np.float32)
    result = similarities.reranked(base, np.array([[0, 1, 0, 0]], np.float32), 0.5)
    assert np.argsort(-result[0]).tolist() == [1, 0, 2, 3]


def test_one_query_cannot_carry_a_year() -> None:
    assert without_largest(np.array([0.01, -0.5, 0.03])) == pytest.approx(0.02)


def test_same_tokens_in_another_order_are_counted() -> None:
    forms = [tokenize(f) for f in ("x^{y}+z", "x+y^{z}", "a^{b}+c", "x+1")]
    lines = order_pairs(forms, lambda i, j: float({i, j} == {0, 1}))
    assert "1 pairs of groups; base similarity of 2 formulas" in lines[0]
    assert lines[1].startswith("- of 1 formulas that have both, 1 lie nearer")


def test_vectors_are_kept_and_checked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="expected the teacher's vectors, or --teacher"):
        teacher_vectors(tmp_path, None, "v.npy", ["x"])
    np.save(tmp_path / "v.npy", np.ones((2, 3), np.float16))
    assert teacher_vectors(tmp_path, None, "v.npy", ["x", "y"]).dtype == np.float32
    with pytest.raises(ValueError, match="expected 1 vectors, found 2"):
        teacher_vectors(tmp_path, None, "v.npy", ["x"])
