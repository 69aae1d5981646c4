"""Where a build keeps its temporary files: locked while in use, gone afterwards."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np

from index.errors import BuildError


@contextmanager
def folder_for(index: Path, wanted: Path | None) -> Iterator[Path]:
    """A folder for the build's files, gone afterwards; what a killed build left there goes first.

    Args:
        index: the index's folder, which exists. The scratch lies beside it, or inside where there is no place beside.
        wanted: the folder to make it in instead.

    Raises:
        BuildError: another build of the same index is running, or the place is not writable.
    """
    folder, lock = _locked([wanted] if wanted else [index.parent, index], index)
    try:
        for path in folder.iterdir():
            if path.name != "lock":
                path.unlink()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()


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


def allocate(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """A float16 array in a file whose blocks are there: on a full disk this fails, not some later write to memory."""
    size = 2 * shape[0] * shape[1]
    # Asked first: the file system would hand out all it has, to the harm of others, before it refuses.
    if shutil.disk_usage(path.parent).free < size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    try:
        with path.open("wb") as handle:
            os.posix_fallocate(handle.fileno(), 0, size)
    except OSError:  # the blocks it did get would keep the disk full
        path.unlink(missing_ok=True)
        raise
    return np.memmap(path, np.float16, "r+", shape=shape)
