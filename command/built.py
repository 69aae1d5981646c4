"""What an index was built from, kept in a small JSON file beside it.

So a build with nothing to do does nothing, and a search never shows the formulas of another state of the collection.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from command.errors import CommandError
from command.grammar import PROGRAM
from command.vectors import code_version
from index.corpus import FILE as FORMULAS
from index.embed import model_hash
from index.store import FILE as INDEX

_CODE = ("encoder/*.py", "index/*.py")  # what the bytes of an index depend on


def beside(index: Path, name: str) -> Path:
    """A file of ours beside an index folder: not inside, since that is the contract's."""
    index = index.absolute()
    return index.parent / f"{index.name}-{name}"


def text_hash(collection: Path) -> str:
    """sha256 of a collection's formulas."""
    with (collection / FORMULAS).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def source(collection: Path, model: Path, limit: int) -> dict[str, Any]:
    """Everything that the bytes of an index depend on, and where the collection is."""
    return {
        "collection": str(collection.absolute()),
        "formulas": text_hash(collection),
        "model": model_hash(model),
        "code": code_version(_CODE),
        "limit": limit,
    }


def recall(index: Path) -> dict[str, Any] | None:
    """The source of the index in a folder; None if it is not known, or if the index is not the one that it is of."""
    try:
        kept = json.loads(beside(index, "built.json").read_text(encoding="utf-8"))
        return dict(kept["source"]) if kept["stamp"] == _stamp(index) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(index: Path, made_from: dict[str, Any]) -> None:
    """Keep the source of an index that is there."""
    path = beside(index, "built.json")
    new = path.with_name(f".{path.name}.new")
    new.write_text(json.dumps({"source": made_from, "stamp": _stamp(index)}, indent=1) + "\n", encoding="utf-8")
    os.replace(new, path)


def check(index: Path, collection: Path) -> None:
    """Make sure that ids of an index mean formulas of a collection, as far as that is known.

    Raises:
        CommandError: the collection has changed since the build.
    """
    known = recall(index)
    if known is not None and known["formulas"] != text_hash(collection):
        raise CommandError(f"{collection}: changed since the index was built; run: {PROGRAM} build {collection}")


def _stamp(index: Path) -> str:
    """Checksum of the head of an index file: it covers a checksum of every section, and survives copying."""
    with (index / INDEX).open("rb") as stream:
        return hashlib.blake2b(stream.read(32), digest_size=16).hexdigest()
