from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import vectors as kept
from command.vectors import Chunk, Vectors
from index import embed
from tests.command.conftest import SUMS, Run

DIM = 4


def encode(formulas: list[str]) -> embed.Embedded:
    """A stand-in: what a formula gives depends on it alone, also how many features."""
    vectors = [[float(ord(c) % 7) for c in f"{f:<{DIM}}"[:DIM]] for f in formulas]
    features = [ord(c) for f in formulas for c in f]
    counts = np.array([len(f) for f in formulas], np.int64)
    return embed.Embedded(np.array(vectors, np.float16), np.array(features, np.uint32), counts)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What reached the stand-in encoder."""
    seen: list[str] = []

    def stream(chunks: Iterable[Chunk], folder: Path, processes: int) -> Iterator[tuple[np.ndarray, embed.Embedded]]:
        for places, formulas in chunks:
            seen.extend(formulas)
            yield places, encode(formulas)

    monkeypatch.setattr(embed, "stream", stream)
    monkeypatch.setattr(embed, "model_hash", str)
    return seen


def streamed(path: Path, formulas: list[str], size: int, model: str = "m") -> dict[int, tuple[bytes, bytes]]:
    """Vector and features by place, through the kept ones."""
    places = np.arange(len(formulas))
    chunks = [(places[i : i + size], formulas[i : i + size]) for i in range(0, len(formulas), size)]
    found = {}
    store = Vectors(path, Path(model), DIM)
    for at, result in store.stream(iter(chunks), Path(model), 2):
        ends = np.cumsum(result.counts)
        for place, vector, start, end in zip(at.tolist(), result.vectors, ends - result.counts, ends, strict=True):
            found[place] = (vector.tobytes(), result.features[start:end].tobytes())
    store.drop_unused()
    store.close()
    return found


def expected(formulas: list[str]) -> dict[int, tuple[bytes, bytes]]:
    each = [encode([formula]) for formula in formulas]
    return {place: (one.vectors.tobytes(), one.features.tobytes()) for place, one in enumerate(each)}


TEXTS = st.lists(st.text(st.characters(exclude_categories=[]), max_size=6), max_size=12)


@settings(max_examples=8, deadline=None)
@given(rounds=st.lists(TEXTS, min_size=2, max_size=4), size=st.integers(1, 5))
def test_every_round_gives_what_encoding_gives(
    rounds: list[list[str]], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("kept") / "v.sqlite"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embed, "stream", lambda chunks, folder, n: ((at, encode(texts)) for at, texts in chunks))
        patch.setattr(embed, "model_hash", str)
        for formulas in rounds:
            assert streamed(path, formulas, size) == expected(formulas)


def test_only_new_formulas_are_encoded_and_unused_ones_forgotten(tmp_path: Path, encoded: list[str]) -> None:
    path = tmp_path / "v.sqlite"
    streamed(path, ["a", "b"], 2)
    streamed(path, ["b", "c"], 2)
    assert encoded == ["a", "b", "c"]
    streamed(path, ["a", "c"], 2)
    assert encoded == ["a", "b", "c", "a"]


def test_other_model_or_code_forgets_everything(
    tmp_path: Path, encoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "v.sqlite"
    for model in ("m", "other"):
        streamed(path, ["a"], 1, model)
    monkeypatch.setattr(kept, "code_version", lambda: "another")
    streamed(path, ["a"], 1, "other")
    assert encoded == ["a", "a", "a"]


@pytest.mark.parametrize("change", ["data = x''", "data = data || x'00'", "data = zeroblob(12)", "data = 'text'"])
def test_damaged_entry_is_encoded_again(tmp_path: Path, encoded: list[str], change: str) -> None:
    path = tmp_path / "v.sqlite"
    streamed(path, ["a", "b"], 2)
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE entries SET {change}")
    db.close()
    assert streamed(path, ["a", "b"], 2) == expected(["a", "b"])
    assert encoded == ["a", "b", "a", "b"]


@pytest.mark.parametrize("content", [b"no database at all, but long enough", None])
def test_foreign_file_is_replaced(tmp_path: Path, encoded: list[str], content: bytes | None) -> None:
    path = tmp_path / "v.sqlite"
    if content is None:
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE entries (other)")
        db.close()
    else:
        path.write_bytes(content)
    assert streamed(path, ["a"], 1) == expected(["a"])


def test_repeated_build_encodes_what_is_new_and_ends_as_a_fresh_one(papers: Path, tmp_path: Path, run: Run) -> None:
    old, fresh = tmp_path / "old", tmp_path / "fresh"
    assert run("collect", papers, "--out", old).status == 0
    (first,) = run("build", old, "--threads", "1").records
    assert (first["encoded"], first["reused"], first["written"]) == (3, 0, True)
    (again,) = run("build", old).records
    assert (again["encoded"], again["written"]) == (0, False)

    (papers / "circle.tex").unlink()
    (papers / "new.tex").write_text(SUMS)
    for out in (old, fresh):
        assert run("collect", papers, "--out", out).status == 0
    (second,) = run("build", old, "--threads", "1").records
    # The circle's text was spelled otherwise in the file that is left, so it counts as new beside the sum.
    assert (second["encoded"], second["reused"], second["written"]) == (2, 1, True)
    assert run("build", fresh, "--threads", "1").records[0]["encoded"] == 3
    name = "index/formdex.index"
    assert (old / name).read_bytes() == (fresh / name).read_bytes()


def test_index_that_was_changed_or_lost_is_built_again(built: Path, run: Run) -> None:
    index = built / "index" / "formdex.index"
    whole = index.read_bytes()
    index.unlink()
    (done,) = run("build", built, "--threads", "1").records
    assert (done["written"], done["encoded"]) == (True, 0)
    assert index.read_bytes() == whole
    (done,) = run("build", built, "--threads", "1", "--fresh").records
    assert (done["written"], done["reused"]) == (True, 0)
    assert index.read_bytes() == whole


def test_limit_is_kept(built: Path, run: Run) -> None:
    (shown,) = run("inspect", built).records
    assert shown["plan"]["budget"] == 2048 << 20
    assert run("build", built, "--limit", "3", "--threads", "1").status == 0
    (shown,) = run("inspect", built).records
    assert shown["plan"]["budget"] == 3 << 20
    assert shown["bytes"] == (built / "index" / "formdex.index").stat().st_size < 3 << 20
