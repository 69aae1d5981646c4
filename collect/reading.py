"""Reading the files of a listing into the cache, each only if it or something it depends on has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from collect.cache import Cache, Row, Summary, code_version
from collect.decode import decode
from collect.errors import Unreadable
from collect.formats import BY_NAME, HEAD, Format, format_of, latex, posts
from collect.page import Found, Page
from collect.project import Project
from collect.rows import expanded, rows_of
from collect.texmacros import Macros
from collect.walk import Entry, Listing

Typed = tuple[Entry, Format]
Skip = Callable[[Path, str], None]


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that goes into the output: its key in the cache and what is known of it. ``fresh``: read this time."""

    entry: Entry
    format: str
    key: str
    summary: Summary
    fresh: bool


class Reader:
    """Reads files into a cache."""

    def __init__(self, listing: Listing, cache: Cache, largest: int, skip: Skip, tick: Callable[[int], None]) -> None:
        """Prepare.

        Args:
            listing: what there is.
            cache: where rows go.
            largest: bytes; larger files are skipped, dumps apart.
            skip: called with the place and the reason of every file that cannot be read.
            tick: called now and then while a dump is read, with the number of its formulas so far.
        """
        self.listing, self.cache, self.largest, self.skip, self.tick = listing, cache, largest, skip, tick
        self.version = code_version()
        self.project = Project(self._text, lambda place: self.listing.inside(place) is not None)

    def typed(self) -> list[Typed]:
        """The files whose format we know, in order, with those that LaTeX files ask for."""
        files: list[Typed] = []
        for entry in self.listing.files:
            try:
                with entry.place.open("rb") as stream:
                    format_ = format_of(entry.path, stream.read(HEAD))
            except OSError as error:
                self.skip(entry.place, f"cannot be read: {error.strerror}")
                continue
            if format_ is not None:
                files.append((entry, format_))
        self.project.add(entry.place for entry, format_ in files if format_.name == "latex")
        known = {entry.place for entry in self.listing.files}
        for place in self.project.included:
            root = self.listing.inside(place)
            if root is not None and place not in known and place.suffix not in (".sty", ".cls"):
                files.append((Entry(str(root), place.relative_to(root).as_posix()), BY_NAME["latex"]))
        return sorted(files, key=lambda pair: pair[0])

    def _text(self, place: Path) -> str | None:
        """The text of a LaTeX file, None if it cannot be read."""
        try:
            return decode(place.read_bytes())[0] if place.stat().st_size <= self.largest else None
        except (OSError, Unreadable):
            return None

    def keep(self, entry: Entry, format_: Format) -> Kept | None:
        """Read a file, or find it in the cache; None, and ``skip`` called, if it cannot be read."""
        try:
            return self._dump(entry) if format_.name == "posts" else self._file(entry, format_)
        except OSError as error:
            self.skip(entry.place, f"cannot be read: {error.strerror}")
        except Unreadable as error:
            self.skip(entry.place, str(error))
        except RecursionError:
            self.skip(entry.place, "nested too deeply")
        return None

    def _file(self, entry: Entry, format_: Format) -> Kept:
        if entry.place.stat().st_size > self.largest:
            raise Unreadable(f"larger than {self.largest >> 20} MiB")
        data = entry.place.read_bytes()
        macros = Macros(self.project.entry.get(entry.place)) if format_.name == "latex" else Macros()
        key = self._key(format_.name, hashlib.sha256(data).hexdigest(), macros)

        def read() -> tuple[str, Iterator[Row]]:
            text, encoding = decode(data)
            return encoding, rows_of(_extract(format_, Page(text), macros))

        return self._kept(entry, format_.name, key, read)

    def _dump(self, entry: Entry) -> Kept:
        with entry.place.open("rb") as stream:
            key = self._key("posts", hashlib.file_digest(stream, "sha256").hexdigest(), Macros())
            stream.seek(0)
            return self._kept(
                entry, "posts", key, lambda: ("utf-8", rows_of(self._ticking(expanded(posts.extract(stream)))))
            )

    def _kept(self, entry: Entry, name: str, key: str, read: Callable[[], tuple[str, Iterator[Row]]]) -> Kept:
        summary = self.cache.get(key)
        if summary is not None:
            return Kept(entry, name, key, summary, fresh=False)
        return Kept(entry, name, key, self.cache.put(key, *read()), fresh=True)

    def _ticking(self, found: Iterator[Found]) -> Iterator[Found]:
        for number, one in enumerate(found):
            if number % 1024 == 0:
                self.tick(number)
            yield one

    def _key(self, format_: str, content: str, macros: Macros) -> str:
        parts = (self.version, format_, content, repr(sorted(macros.known.items())))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def _extract(format_: Format, page: Page, macros: Macros) -> Iterator[Found]:
    if format_.name == "latex":
        return latex.extract(page, macros)
    assert format_.extract is not None  # dumps took another way
    return expanded(format_.extract(page))
