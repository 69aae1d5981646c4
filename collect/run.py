"""The whole way from files and folders to ``formulas.tsv`` and ``posts.sqlite``; again and again, only what changed.

Every file is hashed. One whose content, format, macros and extractor are as before is taken from the cache; the others
are read. The output is then numbered and written from the cache in the order of the paths, so that a run over changed
files ends with the same bytes as a fresh one; if nothing changed, it is left alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from collect.cache import Cache
from collect.errors import CollectError
from collect.formats import format_of
from collect.progress import Progress
from collect.reading import Kept, Reader
from collect.store import SQLITE, TSV, Document, write
from collect.walk import LINK, walk

CACHE = "collect-cache.sqlite"
LARGEST = 64 << 20  # bytes of a file that is read whole; dumps are streamed and have no limit


@dataclass(slots=True)
class Report:
    """What a run did.

    Attributes:
        formulas: formulas in the output.
        documents: files of a known format in the output, those without formulas included.
        by_format: formulas per format.
        read: files that were read this time.
        reused: files taken from the cache.
        other: files of no known format, passed over silently.
        skipped: path and reason of everything that could not be read or was not followed.
        written: was the output written? False where nothing changed.
    """

    formulas: int = 0
    documents: int = 0
    by_format: dict[str, int] = field(default_factory=dict)
    read: int = 0
    reused: int = 0
    other: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    written: bool = False

    def as_dict(self) -> dict[str, object]:
        """The report as JSON values."""
        return asdict(self)


def collect(
    paths: Iterable[Path | str], out: Path | str, *, progress: Progress | None = None, largest: int = LARGEST
) -> Report:
    """Collect the formulas of files and folders.

    Args:
        paths: files, always taken, and folders, walked (``collect.walk`` says what is passed over).
        out: folder for ``formulas.tsv``, ``posts.sqlite`` and the cache; made if it is missing.
        progress: told of every file; silent by default.
        largest: bytes; larger files are skipped, dumps apart.

    Returns:
        What was done. The same tree gives the same output, whatever was cached.

    Raises:
        CollectError: a path does not exist, ``out`` cannot be written, or an optional parser is missing.
    """
    out = Path(out).resolve()
    try:
        out.mkdir(parents=True, exist_ok=True)
        cache = Cache(out / CACHE)
    except OSError as error:
        raise CollectError(f"{out}: cannot be written: {error.strerror}") from error
    try:
        return _collect([Path(p) for p in paths], out, cache, progress or Progress(None), largest)
    finally:
        cache.close()


def _collect(paths: Sequence[Path], out: Path, cache: Cache, progress: Progress, largest: int) -> Report:
    listing = walk(paths, without=out)
    report = Report(skipped=[(place, why) for place, why in listing.passed_over if _matters(Path(place), why)])
    reader = Reader(
        listing, cache, largest, lambda place, why: report.skipped.append((str(place), why)), progress.update
    )
    files = reader.typed()
    report.other = max(0, len(listing.files) - len(files))
    progress.total = len(files)
    kept: list[Kept] = []
    for entry, format_ in files:
        file = reader.keep(entry, format_)
        if file is not None:
            kept.append(file)
            report.by_format[file.format] = report.by_format.get(file.format, 0) + file.summary.rows
            report.read += file.fresh
            report.reused += not file.fresh
            report.formulas += file.summary.rows
        progress.done += 1
        progress.formulas = report.formulas
        progress.update()
    report.documents = len(kept)
    report.written = _write(out, cache, kept)
    cache.drop_unused()
    progress.close()
    return report


def _matters(place: Path, why: str) -> bool:
    """Is this worth telling? A link is, if formulas might be behind it."""
    return why != LINK or place.is_dir() or format_of(place.name, b"") is not None


def _write(out: Path, cache: Cache, kept: Sequence[Kept]) -> bool:
    """Write the output unless what lies there was made from the same entries."""
    manifest = hashlib.sha256(
        json.dumps([(k.entry.root, k.entry.path, k.format, k.key) for k in kept]).encode()
    ).hexdigest()
    if cache.state("output") == [manifest, *_stamps(out)]:
        return False
    cache.remember("output", None)
    write(
        out,
        (
            Document(k.entry.root, k.entry.path, k.format, k.summary.encoding, k.summary.span, cache.rows(k.key))
            for k in kept
        ),
    )
    cache.remember("output", [manifest, *_stamps(out)])
    return True


def _stamps(out: Path) -> list[list[int]]:
    """Size and time of the output files; empty where one is missing."""
    files = [out / TSV, out / SQLITE]
    if not all(file.is_file() for file in files):
        return []
    return [[file.stat().st_size, file.stat().st_mtime_ns] for file in files]
