"""Where a build keeps its temporary files: locked while in use, gone afterwards, kept where a cut build can go on."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from index.errors import BuildError

_STATE = "state.json"


@contextmanager
def folder_for(index: Path, wanted: Path | None, key: str = "") -> Iterator[Path]:
    """A folder for the build's files, gone afterwards.

    What a killed build left there goes first, unless that build had marked it (``mark``) with the same key. An
    interrupted build (a signal, no error) leaves a marked folder.

    Args:
        index: the index's folder, which exists. The scratch lies beside it, or inside where there is no place beside.
        wanted: the folder to make it in instead.
        key: what the build depends on, in one text.

    Raises:
        BuildError: another build of the same index is running, or the place is not writable.
    """
    folder, lock = _locked([wanted] if wanted else [index.parent, index], index)
    try:
        if not key or (marked(folder) or {}).get("key") != key:
            for path in folder.iterdir():
                if path.name != "lock":
                    path.unlink()
        yield folder
    except (KeyboardInterrupt, SystemExit):
        if not (folder / _STATE).exists():
            shutil.rmtree(folder, ignore_errors=True)
        lock.close()
        raise
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()
        raise
    shutil.rmtree(folder, ignore_errors=True)
    lock.close()


def mark(folder: Path, state: dict[str, Any]) -> None:
    """Keep what a later run of the same build needs to go on; replaces what was kept before, at once.

    Args:
        folder: of ``folder_for``.
        state: what JSON can hold; ``state["key"]`` is the key given to ``folder_for``.
    """
    part = folder / f"{_STATE}.part"
    part.write_text(json.dumps(state))
    part.replace(folder / _STATE)


def marked(folder: Path) -> dict[str, Any] | None:
    """The last state of ``mark``, or None."""
    try:
        return json.loads((folder / _STATE).read_text())
    except (OSError, ValueError):
        return None


def _locked(places: list[Path], index: Path) -> tuple[Path, TextIO]:
    """Make the scratch folder in the first place that allows it, and hold its lock."""
    for place in places:
        folder = place / f".{index.name}.building"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = (folder / "lock").open("w")
        except OSError as error:
            refusal = f"{folder}: no place for scratch files: {error.strerror or error}"
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise BuildError(f"{index}: another build of this index is running (it holds {folder})") from None
        return folder, lock
    raise BuildError(refusal)


def mapped(path: Path, shape: tuple[int, int], dtype: type[np.generic]) -> np.memmap:
    """The array of a file that is there."""
    return np.memmap(path, dtype, "r+", shape=shape)


def allocate(path: Path, shape: tuple[int, int], dtype: type[np.generic] = np.float16) -> np.memmap:
    """An array in a file whose blocks are there: on a full disk this fails, not some later write to memory."""
    size = np.dtype(dtype).itemsize * shape[0] * shape[1]
    # Asked first: the file system would hand out all it has, to the harm of others, before it refuses.
    if shutil.disk_usage(path.parent).free < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    try:
        with path.open("wb") as handle:
            os.posix_fallocate(handle.fileno(), 0, size)
    except OSError:  # the blocks it did get would keep the disk full
        path.unlink(missing_ok=True)
        raise
    return mapped(path, shape, dtype)
