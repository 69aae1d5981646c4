"""Fixtures of this folder: data folders, a stand-in model, built indexes, the shared data where it is."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from index import build, embed, search
from tests.index.stand_in import HEADER, HashEmbedder, collection


def write_model(folder: Path) -> Path:
    """Files that pass for a model's."""
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"not a graph")
    (folder / "tokenizer.json").write_bytes(b"{}")
    return folder


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that passes for a model, and an encoder that passes for its session."""
    monkeypatch.setattr(embed, "Embedder", HashEmbedder)
    monkeypatch.setattr(search, "Embedder", HashEmbedder)
    return write_model(tmp_path / "model")


def write_rows(folder: Path, rows: Iterable[Sequence[object]] | bytes, header: Sequence[str] = HEADER) -> Path:
    """A data folder with a formulas.tsv from rows of cells, or from raw bytes."""
    folder.mkdir(exist_ok=True)
    path = folder / "formulas.tsv"
    if isinstance(rows, bytes):
        path.write_bytes(rows)
        return folder
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle, delimiter="\t", lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    return folder


@pytest.fixture
def write_tsv(tmp_path: Path) -> Callable[..., Path]:
    """Writes a data folder; see ``write_rows``."""

    def write(rows: Iterable[Sequence[object]] | bytes, header: Sequence[str] = HEADER, name: str = "data") -> Path:
        return write_rows(tmp_path / name, rows, header)

    return write


@pytest.fixture
def built(write_tsv: Callable[..., Path], model: Path, tmp_path: Path) -> Callable[..., Path]:
    """Builds an index of rows with the stand-in model; returns its folder."""

    def make(rows: Iterable[Sequence[object]], name: str = "index", submission: int = 0) -> Path:
        target = tmp_path / name
        build.build(build.Options(write_tsv(rows), target, threads=1, model=model, submission=submission))
        return target

    return make


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> search.Index:
    """3,000 groups with the stand-in model, enough for the graph to be used. Not to be changed."""
    folder = tmp_path_factory.mktemp("index")
    model, data = write_model(folder / "model"), write_rows(folder / "data", collection(3000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embed, "Embedder", HashEmbedder)
        patch.setattr(search, "Embedder", HashEmbedder)
        build.build(build.Options(data, folder / "index", threads=1, model=model, submission=0))
        opened = search.Index.open(folder / "index", model)
        assert isinstance(opened, search.Index)
        return opened


@pytest.fixture(scope="session")
def mini() -> Path:
    """The shared small collection."""
    folder = Path(__file__).resolve().parents[3] / "shared" / "arqmath-mini"
    if not (folder / "formulas.tsv").is_file():
        pytest.skip("../shared/arqmath-mini is not here")
    return folder


@pytest.fixture(scope="session")
def weights() -> Path:
    """The shipped model."""
    folder = Path(__file__).resolve().parents[2] / "weights"
    if not (folder / "model.onnx").is_file():
        pytest.skip("weights/model.onnx is not here")
    return folder
