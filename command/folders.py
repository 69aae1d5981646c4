"""Where things lie: a collected folder, the index within it, and what a repeated build keeps beside that.

- ``FOLDER/formulas.tsv``, ``posts.sqlite``: written by collect
- ``FOLDER/index/formdex.index``: written by build, unless told another place
- ``FOLDER/index-vectors.sqlite``, ``index-built.json``: kept by build for the next one (``vectors``, ``built``)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from command import built
from command.errors import CommandError
from command.grammar import PROGRAM
from index.corpus import FILE as FORMULAS
from index.store import FILE as INDEX


@dataclass(frozen=True, slots=True)
class Place:
    """An index and the collection that it was built from.

    Attributes:
        index: the folder that holds ``formdex.index``.
        collection: the folder that holds ``formulas.tsv``; None where it is not known.
    """

    index: Path
    collection: Path | None


def default_index(collection: Path) -> Path:
    """The index folder of a collection."""
    return collection / "index"


def is_collection(folder: Path) -> bool:
    """Does it hold formulas?"""
    return (folder / FORMULAS).is_file()


def find(folder: Path, collection: Path | None = None) -> Place:
    """The index that a person means by a folder.

    Args:
        folder: an index folder, or a collection with an index inside.
        collection: the collection, where it lies elsewhere.

    Raises:
        CommandError: there is no index, no collection where one was named, or one that changed since the index was
            built; the message says what to do.
    """
    if collection is not None and not is_collection(collection):
        raise CommandError(f"{collection}: holds no {FORMULAS}; expected a folder written by collect")
    for index, near in ((folder, folder.absolute().parent), (default_index(folder), folder)):
        if (index / INDEX).is_file():
            return _place(index, collection, [folder, near])
    if is_collection(folder):
        raise CommandError(f"{folder}: has no index yet; make it: {PROGRAM} build {folder}")
    if not folder.is_dir():
        raise CommandError(f"{folder}: no such folder; make it: {PROGRAM} collect PATH --out {folder}")
    raise CommandError(f"{folder}: holds neither {INDEX} nor {FORMULAS}; expected a folder written by collect or build")


def _place(index: Path, collection: Path | None, near: list[Path]) -> Place:
    """The index, with its collection: the one that was named, else the one nearby, else the one it was built from."""
    known = built.recall(index)
    if known is not None:
        near.append(Path(known["collection"]))
    found = collection or next(filter(is_collection, near), None)
    if found is not None:
        built.check(index, found)
    return Place(index, found)
