import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from tokenizers import Tokenizer
from tokenizers.models import BPE, WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from encoder.model import Encoder
from tests.weights.weights_models import SHAPE, random_ids, random_weights, tokenizer
from weights import shrink as shrink_module
from weights.export import FILES, PROVENANCE, check, export
from weights.graph import Shape, Weights, build
from weights.pins import PinError
from weights.shrink import POSITIONS, main, principal, prune, shrink

ROOT = Path(__file__).resolve().parents[2]
PIECES = ["[PAD]", "[unused0]", "the", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "fra", "##c", "frac", "\\", "{", "}", "x",
          "a", "b", "##a", "##b", "alpha", "al", "##pha", "2", "##2", "^", "+", "é", "hedgehog"]  # fmt: skip
FORMULAS = [r"\frac{x}{2}", r"\alpha^2+x", r"X^{22}", "a+b", "ab", r"\fraca", "x", "the x"]
TEACHER = Shape(layers=3, width=32, heads=2, ffn=48, dim=32, positions=160, activation="Gelu")


def write(folder: Path, **changes: Any) -> dict[str, Any]:
    arguments = {"weights": random_weights(), "provenance": {"seed": 0}, "calibration_ids": random_ids(100), **changes}
    return export(shape=SHAPE, tokenizer=tokenizer(), folder=folder, **arguments)


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    write(tmp_path)
    return tmp_path


def teacher_tokenizer() -> str:
    """A tokenizer of the teacher's kind, padding and cutting as the teacher's file does."""
    ids = {piece: i for i, piece in enumerate(PIECES)}
    made = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = BertNormalizer(lowercase=True), BertPreTokenizer()
    made.add_special_tokens([p for p in PIECES if p.isupper() and p.startswith("[")])
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(t, ids[t]) for t in ("[CLS]", "[SEP]")]
    )
    made.enable_padding(length=8, pad_id=0, pad_token="[PAD]")
    made.enable_truncation(8)
    return made.to_str()


def teacher_weights() -> Weights:
    return {**random_weights(TEACHER, len(PIECES)), "project.weight": np.eye(32, dtype=np.float32),
            "project.bias": np.zeros(32, np.float32)}  # fmt: skip


def test_export_twice_gives_identical_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write(tmp_path / folder)
    for name in (*FILES, PROVENANCE):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert sorted(p.name for p in (tmp_path / "one").iterdir()) == sorted((*FILES, PROVENANCE))


def test_export_leaves_other_files_alone_and_replaces_its_own(shipped: Path) -> None:
    (shipped / "pins.json").write_text("{}")
    before = (shipped / "model.onnx").read_bytes()
    write(shipped, weights=random_weights(seed=5))
    assert (shipped / "pins.json").read_text() == "{}"
    assert (shipped / "model.onnx").read_bytes() != before
    check(shipped)


def test_record_says_what_was_measured(tmp_path: Path) -> None:
    record = write(tmp_path, provenance={"formulas": {"sha256": "ab" * 32}})
    assert record == json.loads((tmp_path / PROVENANCE).read_text()) == check(tmp_path)
    assert record["inputs"] == {"formulas": {"sha256": "ab" * 32}}
    assert record["calibration"]["formulas"] == 80
    assert record["int8_against_float32"]["formulas"] == 20
    assert 0.99 < record["int8_against_float32"]["cosine_1st_percentile"] <= 1
    assert record["files"]["model.onnx"]["size"] == (tmp_path / "model.onnx").stat().st_size


def test_exported_model_loads_in_the_encoder(shipped: Path) -> None:
    encoder = Encoder(shipped)
    vectors = encoder.encode([r"\frac{x}{2}", r"\frac x2", "", "a+b"])
    assert vectors.shape == (4, SHAPE.dim)
    assert (vectors[0] == vectors[1]).all()
    np.testing.assert_allclose(np.linalg.norm(vectors.astype(float), axis=1), 1, atol=2e-3)


def test_failure_while_writing_leaves_the_old_model(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("weights.export.os.fsync", full)
    before = {p.name: p.read_bytes() for p in shipped.iterdir()}
    with pytest.raises(OSError, match="No space left"):
        write(shipped, weights=random_weights(seed=5))
    assert {p.name: p.read_bytes() for p in shipped.iterdir()} == before


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
def test_check_refuses_a_file_that_is_not_the_recorded_one(shipped: Path, name: str, damage: str) -> None:
    path = shipped / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    if damage == "remove":
        path.unlink()
    else:
        path.write_bytes(content if damage == "flip" else content[:-1])
    with pytest.raises(PinError, match=f"{name}: expected .*sha256 [0-9a-f]{{64}}"):
        check(shipped)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, "no such file"), ("{", "not a provenance"), ("[]", "not a provenance"), ("{}", "'files' is missing"),
     ('{"files": {"model.onnx": {"size": "x"}}}', "not a provenance"), ('{"files": {}}', "'model.onnx' is missing")],
)  # fmt: skip
def test_check_refuses_a_bad_record(shipped: Path, text: str | None, expected: str) -> None:
    (shipped / PROVENANCE).unlink()
    if text is not None:
        (shipped / PROVENANCE).write_text(text)
    with pytest.raises(PinError, match=expected):
        check(shipped)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"reads": "html"}, "reads 'html': expected one of canonical, raw"),
        ({"calibration_ids": [[1]] * 4}, "4 calib"),
        ({"limit": 5000}, "would have [0-9]{5} bytes, expected at most 5000"),
    ],
)
def test_what_cannot_be_exported_leaves_nothing_behind(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        write(tmp_path / "out", **changes)
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not (ROOT / "weights" / "model.onnx").exists(), reason="weights/model.onnx is not shipped yet")
def test_shipped_model_is_the_recorded_one() -> None:
    record = check(ROOT / "weights")
    assert sum(entry["size"] for entry in record["files"].values()) <= 13_000_000


def test_pruned_vocabulary_cuts_the_formulas_as_before() -> None:
    whole = Tokenizer.from_str(teacher_tokenizer())
    whole.no_padding()
    whole.no_truncation()
    small, kept = prune(teacher_tokenizer(), FORMULAS)
    assert [small.id_to_token(i) for i in range(3)] == ["[UNK]", "[CLS]", "[SEP]"]
    assert kept[3:] == sorted(kept[3:])
    assert small.get_vocab_size() == len(kept)
    for formula in FORMULAS:
        old, new = whole.encode(formula), small.encode(formula)
        assert new.tokens == old.tokens
        assert [kept[i] for i in new.ids] == old.ids
    assert {"hedgehog", "[unused0]", "[PAD]", "[MASK]", "é"}.isdisjoint(small.get_vocab())
    assert small.encode("^").tokens == ["[CLS]", "^", "[SEP]"]
    assert small.encode("2ba").tokens == ["[CLS]", "2", "##b", "##a", "[SEP]"], "ASCII stays even where unseen"


def test_pruning_drops_pieces_of_too_few_formulas() -> None:
    small, _ = prune(teacher_tokenizer(), [*FORMULAS, "hedgehog hedgehog", r"\frac"], least=2)
    assert {"frac", "x", "[UNK]", "[CLS]", "[SEP]"} <= set(small.get_vocab())
    assert {"hedgehog", "the"}.isdisjoint(small.get_vocab())


def test_pruned_tokenizer_cuts_long_input_and_keeps_the_end_token() -> None:
    small, _ = prune(teacher_tokenizer(), FORMULAS)
    tokens = small.encode("x+" * 500).tokens
    assert len(tokens) == POSITIONS
    assert tokens[-1] == "[SEP]"


def test_pruning_refuses_another_kind_of_tokenizer() -> None:
    with pytest.raises(ValueError, match="expected WordPiece"):
        prune(Tokenizer(BPE()).to_str(), FORMULAS)
    with pytest.raises(ValueError, match=r"\[CLS\], \[SEP\] is missing"):
        prune(Tokenizer(WordPiece({"[UNK]": 0}, unk_token="[UNK]")).to_str(), FORMULAS)


def test_principal_directions_keep_the_inner_products_of_a_plane() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(0, 1, (50, 3)) @ rng.normal(0, 1, (3, 20))
    basis = principal(vectors, 3)
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-6)
    np.testing.assert_allclose(vectors @ basis @ (vectors @ basis).T, vectors @ vectors.T, atol=1e-4)
    assert (basis[np.abs(basis).argmax(axis=0), range(3)] > 0).all()


def test_projection_of_the_pooled_vector_is_that_of_the_unit_vector() -> None:
    from weights.calibrate import vectors

    small, shape, _, ids = shrink(teacher_weights(), TEACHER, teacher_tokenizer(), FORMULAS, 3, 8)
    whole = {**small, "project.weight": np.eye(32, dtype=np.float32), "project.bias": np.zeros(32, np.float32)}
    projected = vectors(build(whole, Shape(**{**vars(shape), "dim": 32})), ids) @ small["project.weight"]
    projected /= np.linalg.norm(projected, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors(build(small, shape), ids), projected, atol=1e-5)


def test_shrunk_teacher_loads_in_the_encoder_and_reads_raw_formulas(tmp_path: Path) -> None:
    small, shape, cut, ids = shrink(teacher_weights(), TEACHER, teacher_tokenizer(), FORMULAS, 2, 8)
    assert (shape.layers, shape.dim) == (2, 8)
    assert not any(name.startswith("layer2.") for name in small)
    export(small, shape, cut, ids, tmp_path, {}, reads="raw")
    assert {p.key: p.value for p in onnx.load(tmp_path / "model.onnx").metadata_props}["input"] == "raw"
    encoder = Encoder(tmp_path)
    assert encoder.ids([r"\frac{x}{2}", ""]) == [cut.encode(r"\frac{x}{2}").ids, cut.encode("").ids]
    assert encoder.ids([""]) == [[1, 2]]
    vectors = encoder.encode([r"\frac{x}{2}", r"\frac x2", "x+" * 500])
    assert (vectors[0] != vectors[1]).any(), "a canonical form would be the same"


@pytest.mark.parametrize(("layers", "dim"), [(0, 8), (4, 8), (2, 0), (2, 33)])
def test_shrinking_refuses_what_the_teacher_has_not(layers: int, dim: int) -> None:
    with pytest.raises(ValueError, match=f"layers {layers}, dim {dim}: expected 1 to 3 and 1 to 32"):
        shrink(teacher_weights(), TEACHER, teacher_tokenizer(), FORMULAS, layers, dim)


def test_command_refuses_a_teacher_that_is_not_the_pinned_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "f.gz").write_bytes(gzip.compress(b"x\n"))
    arguments = ["--teacher", str(tmp_path), "--formulas", str(tmp_path / "f.gz"), "--out", str(tmp_path / "out")]
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"shrink: error: {tmp_path / 'config.json'}: expected 612 bytes sha256 ")
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_checking_needs_the_standard_library_only(shipped: Path) -> None:
    blocked = "import sys; sys.modules.update(dict.fromkeys(['numpy', 'onnx', 'onnxruntime', 'tokenizers']))\n"
    code = f"{blocked}from pathlib import Path\nfrom weights.export import check\ncheck(Path(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, str(shipped)], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_missing_package_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: object) -> None:
        raise ModuleNotFoundError("No module named 'onnx'", name="onnx")

    monkeypatch.setattr(shrink_module, "run", run)
    assert main(["--teacher", "t", "--formulas", "f", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "shrink: error: onnx is missing: pip install --require-hashes -r requirements/weights.lock\n"
    )
