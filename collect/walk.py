"""Which files are there: folders walked in sorted order, ``.gitignore`` respected, links not followed, none twice."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from collect.errors import CollectError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

LINK = "symbolic link, not followed"
Rule = tuple[Path, "GitIgnoreSpec"]  # the folder of an ignore file, and its patterns


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A file: the folder that the user named (real path) and the path below it, with slashes."""

    root: str
    path: str

    @property
    def place(self) -> Path:
        """Where the file lies."""
        return Path(self.root, self.path)


@dataclass(slots=True)
class Listing:
    """What a walk saw: the files in order, what was passed over and why, and what an ignore file names."""

    files: list[Entry] = field(default_factory=list)
    passed_over: list[tuple[str, str]] = field(default_factory=list)
    ignored: set[Path] = field(default_factory=set)
    roots: list[Path] = field(default_factory=list)

    def inside(self, place: Path) -> Path | None:
        """The root that a real path lies under, if it does and nothing ignores it."""
        if any(p in self.ignored for p in (place, *place.parents)):
            return None
        return next((root for root in self.roots if place.is_relative_to(root)), None)


def walk(paths: Sequence[Path], without: Path | None = None) -> Listing:
    """All files under the paths.

    Named files are always taken. In folders, hidden ones, links and what ``.gitignore`` names are passed over.

    Args:
        paths: files and folders.
        without: a folder to leave out (where the output goes).

    Raises:
        CollectError: a path does not exist, or pathspec is missing and needed.
    """
    listing = Listing()
    seen: set[Path] = set()
    for path in sorted({p.resolve() for p in paths}):
        if not path.exists():
            raise CollectError(f"{path}: no such file or folder")
        root = path if path.is_dir() else path.parent
        listing.roots.append(root)
        found = _folder(path, _outer_rules(path), listing, without) if path.is_dir() else iter((path,))
        for file in found:
            if file not in seen:
                seen.add(file)
                listing.files.append(Entry(str(root), file.relative_to(root).as_posix()))
    listing.files.sort()
    return listing


def _folder(folder: Path, rules: list[Rule], listing: Listing, without: Path | None) -> Iterator[Path]:
    """The files under a folder, depth first, without recursion so that no depth is too deep."""
    stack = [(folder, rules)]
    while stack:
        current, rules = stack.pop()
        try:
            entries = sorted(os.scandir(current), key=lambda e: e.name)
        except OSError as error:
            listing.passed_over.append((str(current), f"cannot be listed: {error.strerror}"))
            continue
        rules = rules + _rules(current)
        deeper = []
        for entry in entries:
            place = current / entry.name
            if entry.is_symlink():
                listing.passed_over.append((str(place), LINK))
            elif entry.name.startswith(".") or place == without or entry.name == "__pycache__":
                continue
            elif _ignored(place, entry.is_dir(), rules):
                listing.ignored.add(place)
            elif entry.is_dir():
                deeper.append((place, rules))
            elif entry.is_file():
                yield place
            else:
                listing.passed_over.append((str(place), "neither a file nor a folder"))
        stack.extend(reversed(deeper))


def _rules(folder: Path) -> list[Rule]:
    """The ignore rules that a folder brings."""
    rules = []
    for name in (".git/info/exclude", ".gitignore"):
        file = folder / name
        if file.is_file():
            rules.append((folder, _spec(file.read_text("utf-8", "replace").splitlines())))
    return rules


def _spec(lines: list[str]) -> GitIgnoreSpec:
    try:
        from pathspec import GitIgnoreSpec
    except ImportError as error:
        raise CollectError("a .gitignore needs pathspec: pip install -r requirements/collect.lock") from error
    return GitIgnoreSpec.from_lines(lines)


def _outer_rules(folder: Path) -> list[Rule]:
    """The rules of the folders above, up to the top of the repository; none outside of one."""
    above = list(folder.parents)
    top = next((i for i, parent in enumerate(above) if (parent / ".git").exists()), None)
    if (folder / ".git").exists() or top is None:
        return []
    return [rule for parent in reversed(above[: top + 1]) for rule in _rules(parent)]


def _ignored(place: Path, is_folder: bool, rules: list[Rule]) -> bool:
    """Does the last rule that speaks of a place exclude it?"""
    for base, spec in reversed(rules):
        verdict = spec.check_file(place.relative_to(base).as_posix() + ("/" if is_folder else "")).include
        if verdict is not None:
            return verdict
    return False
