r"""LaTeX documents of several files: which macros hold in each, and which files ``\input`` brings in.

A document's files are walked in the order TeX would read them, from those that no other file asks for. The macros of a
file are those defined before it was asked for and those of the files that it asks for itself; its own are read by the
extractor, in place. A file that asks for itself, directly or through others, is read once. Files outside the folders
that the user named are not opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from collect.formats.latex import Include, outline
from collect.texmacros import Macro, Macros

DEEPEST = 40
_ASKS = re.compile(r"\\(?:input|include|subfile|import|subimport|usepackage|RequirePackage|documentclass)")
_SUFFIXES = {"usepackage": ".sty", "RequirePackage": ".sty", "documentclass": ".cls"}
Known = dict[str, Macro]


class Project:
    """The macros at the start of every LaTeX file, and the files found on the way."""

    def __init__(self, read: Callable[[Path], str | None], allowed: Callable[[Path], bool]) -> None:
        """Prepare.

        Args:
            read: the text of a file, None if it cannot be read.
            allowed: may this real path be opened?
        """
        self._read, self._allowed = read, allowed
        self._given: dict[Path, Known] = {}  # macros of a file, gained by it and the files it asks for
        self._active: list[Path] = []
        self.entry: dict[Path, Known] = {}
        self.included: list[Path] = []

    def add(self, files: Iterable[Path]) -> None:
        """Walk the documents among the files (real paths, in order)."""
        files = list(files)
        asks: dict[Path, list[Path]] = {}
        for file in files:
            text = self._read(file) or ""
            if _ASKS.search(text):
                targets = [t for i in outline(text, Macros()) for t in self._targets(i, file.parent, file.parent)]
                if targets:
                    asks[file] = targets
        asked = {target for file, targets in asks.items() for target in targets if target != file}
        for file in sorted(asks, key=lambda f: (f in asked, f)):  # the tops first, then what only cycles reach
            if file not in self._given:
                self._visit(file, file.parent, Macros())

    def _visit(self, file: Path, main: Path, macros: Macros) -> None:
        """Read a file as TeX would, and those that it asks for."""
        before = dict(macros.known)
        gained: Known = {}
        self._active.append(file)
        for include in outline(self._read(file) or "", macros):
            for target in self._targets(include, main, file.parent):
                if target in self._active or len(self._active) >= DEEPEST:
                    continue
                held = dict(macros.known)
                if target in self._given:
                    macros.known.update(self._given[target])
                else:
                    self._visit(target, main, macros)
                gained.update({k: v for k, v in macros.known.items() if held.get(k) != v})
        self._active.pop()
        self.entry[file] = before | gained
        self._given[file] = {k: v for k, v in macros.known.items() if before.get(k) != v}
        self.included.append(file)

    def _targets(self, include: Include, main: Path, here: Path) -> list[Path]:
        """The files that a command names, as far as they exist and may be opened."""
        suffix = _SUFFIXES.get(include.command)
        names = include.name.split(",") if suffix else [include.name]
        targets = []
        for name in (n.strip().strip('"') for n in names):
            for base in dict.fromkeys((main / include.folder, here / include.folder)):
                candidates = (base / (name + (suffix or ".tex")), base / name) if name else ()
                place = next(filter(_is_file, candidates), None)
                if place is not None:
                    real = Path(os.path.realpath(place))
                    if self._allowed(real):
                        targets.append(real)
                    break
        return targets


def _is_file(place: Path) -> bool:
    try:
        return place.is_file()
    except (OSError, ValueError):  # a name too long, or with a NUL
        return False
