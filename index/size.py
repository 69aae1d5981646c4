"""What the submission itself weighs, since submission and index share one limit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LEFT_OUT = frozenset(
    ".git .venv .demo .formdex node_modules __pycache__ .mypy_cache .ruff_cache .hypothesis .pytest_cache".split()
)


def submission(root: Path = ROOT) -> int:
    """Bytes of the submission: of a checkout what git would hand over, elsewhere everything but caches.

    Args:
        root: the submission's folder.
    """
    return sum(path.lstat().st_size for path in _tracked(root) or _walk(root) if path.is_file())


def _tracked(root: Path) -> list[Path]:
    """The files of a git checkout, new ones included; none if it is not one or git is absent."""
    if not (root / ".git").exists():
        return []
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return [root / os.fsdecode(name) for name in listed.split(b"\0") if name]


def _walk(root: Path) -> list[Path]:
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        found += [Path(folder) / name for name in files]
    return found
