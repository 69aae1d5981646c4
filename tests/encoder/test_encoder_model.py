from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from encoder.latex import canonical
from encoder.model import LONGEST_TEXT, Encoder
from tests.encoder.conftest import FORMULAS
from tests.encoder.spellings import OTHER_STRUCTURE, RENAMED, SAME_FORMULA


@pytest.fixture(scope="module")
def encoder(tiny: Path) -> Encoder:
    return Encoder(tiny)


def cosine(encoder: Encoder, one: str, other: str) -> float:
    a, b = encoder.encode([one, other]).astype(np.float64)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def check_batches(encoder: Encoder) -> None:
    together = encoder.encode(FORMULAS)
    alone = np.concatenate([encoder.encode([f]) for f in FORMULAS])
    backwards = encoder.encode(FORMULAS[::-1])[::-1]
    crowded = encoder.encode(FORMULAS * 70)[: len(FORMULAS)]
    for other in (alone, backwards, crowded):
        assert together.tobytes() == np.ascontiguousarray(other).tobytes()


def check_unit(vectors: np.ndarray, count: int, dim: int) -> None:
    assert vectors.shape == (count, dim)
    assert vectors.dtype == np.float16
    np.testing.assert_allclose(np.linalg.norm(vectors.astype(np.float64), axis=1), 1, atol=2e-3)


def test_vectors_are_unit_and_half_precision(encoder: Encoder) -> None:
    check_unit(encoder.encode(FORMULAS), len(FORMULAS), encoder.dim)


def test_a_vector_depends_on_its_formula_alone(encoder: Encoder) -> None:
    check_batches(encoder)


def test_no_formulas_are_no_vectors(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, encoder.dim)


def test_an_empty_formula_and_spacing_alone_are_one_unknown_token(encoder: Encoder) -> None:
    assert encoder.ids(["", canonical(r"\, $ $")]) == [[0], [0]]
    empty = encoder.encode(["", r"\,", " "])
    check_unit(empty, 3, encoder.dim)
    assert len({row.tobytes() for row in empty}) == 1


def test_what_lies_behind_the_longest_input_changes_nothing(encoder: Encoder) -> None:
    long = "x+" * encoder.positions
    assert len(encoder.ids([canonical(long)])[0]) == encoder.positions
    vectors = encoder.encode([long, long + "y^2", long + "z" * (2 * LONGEST_TEXT)])
    assert len({row.tobytes() for row in vectors}) == 1


def test_raw_and_canonical_ways_in_agree(encoder: Encoder) -> None:
    np.testing.assert_array_equal(encoder.encode(FORMULAS), encoder.encode_canonical([canonical(f) for f in FORMULAS]))


def test_threads_do_not_change_a_vector(encoder: Encoder, tiny: Path) -> None:
    assert Encoder(tiny, threads=2).encode(FORMULAS).tobytes() == encoder.encode(FORMULAS).tobytes()


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(tiny: Path, tmp_path: Path, missing: str) -> None:
    shutil.copytree(tiny, tmp_path / "model")
    (tmp_path / "model" / missing).unlink()
    with pytest.raises(FileNotFoundError, match=f"{missing}: no such"):
        Encoder(tmp_path / "model")


@pytest.mark.parametrize(("one", "other"), SAME_FORMULA[:5])
def test_spellings_of_one_formula_have_one_vector(encoder: Encoder, one: str, other: str) -> None:
    a, b = encoder.encode([one, other])
    assert a.tobytes() == b.tobytes()


def test_shipped_vectors_are_unit_and_depend_on_their_formula_alone(shipped: Encoder) -> None:
    check_unit(shipped.encode(FORMULAS), len(FORMULAS), shipped.dim)
    check_batches(shipped)


def test_shipped_spellings_of_one_formula_are_as_one(shipped: Encoder) -> None:
    far = {pair: cosine(shipped, *pair) for pair in SAME_FORMULA if cosine(shipped, *pair) < 0.99}
    assert not far


def test_shipped_pairs_of_another_structure_are_told_apart(shipped: Encoder) -> None:
    near = {pair: cosine(shipped, *pair) for pair in OTHER_STRUCTURE if cosine(shipped, *pair) >= 0.995}
    assert not near


def test_shipped_renamed_formulas_rank_above_random_ones_of_their_length(shipped: Encoder, mini: list[str]) -> None:
    pool = sorted({canonical(f) for f in mini})
    lengths = np.array([len(ids) for ids in shipped.ids(pool)])
    rng = np.random.default_rng(11)
    wins = trials = 0
    for pair in RENAMED:
        forms = [canonical(f) for f in pair]
        same = np.flatnonzero(lengths == len(shipped.ids(forms[:1])[0]))
        drawn = rng.choice(same, min(50, len(same)), replace=False)
        others = [pool[i] for i in drawn if pool[i] not in forms]
        vectors = shipped.encode_canonical([*forms, *others]).astype(np.float64)
        scores = vectors[1:] @ vectors[0]
        wins += int((scores[0] > scores[1:]).sum())
        trials += len(others)
    assert trials >= 100
    assert wins >= 0.99 * trials, f"{wins} of {trials}"
