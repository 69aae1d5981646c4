"""``python -m demo.gather WHEELS OUT``: docstrings of wheels become ``OUT/formulas.tsv`` and ``OUT/posts.sqlite``.

The packages are read as text; nothing of them is installed or imported.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from collect import CollectError, collect
from collect.progress import Progress

ENOUGH = 2000  # formulas; with fewer the demo would show nothing
MARKS = (b":math:", b".. math::", b"$")  # a file without any of them has no formula that ``collect`` would find


class DemoError(Exception):
    """The demo cannot go on; the message is one line for people."""


def unpack(wheel: Path, target: Path) -> list[Path]:
    """Extract the Python files that may hold formulas; those of the package's tests stay behind.

    Args:
        wheel: a wheel, which is a zip archive.
        target: folder that the files are written below, under their names in the wheel.

    Returns:
        The files written, in the order of their names.

    Raises:
        DemoError: it is no wheel.
    """
    files = []
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in sorted(archive.namelist()):
                inside = PurePosixPath(name)
                if inside.suffix != ".py" or "tests" in inside.parts or ".." in inside.parts or inside.is_absolute():
                    continue
                text = archive.read(name)
                if any(mark in text for mark in MARKS):
                    place = target / inside
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(text)
                    files.append(place)
    except zipfile.BadZipFile as error:
        raise DemoError(f"{wheel}: expected a wheel ({error}); remove it and run again") from None
    return files


def gather(wheels: Path, out: Path, enough: int = ENOUGH) -> int:
    """Collect the formulas of all wheels in a folder.

    Args:
        wheels: folder of ``.whl`` files.
        out: folder for the collection; ``out/source`` is replaced by the files that were read.
        enough: formulas that must be found at least.

    Returns:
        How many formulas there are.

    Raises:
        DemoError: no wheel is there, one cannot be read, or too few formulas were found.
        CollectError: ``out`` cannot be written.
    """
    found = sorted(wheels.glob("*.whl"))
    if not found:
        raise DemoError(f"{wheels}: holds no wheel; expected those of requirements/demo.lock")
    source = out / "source"
    shutil.rmtree(source, ignore_errors=True)
    files = []
    for wheel in found:
        part = unpack(wheel, source)
        print(f"demo: {wheel.name}: {len(part)} files that may hold formulas", file=sys.stderr)
        files += part
    # Named one by one: a folder would be walked by the rules of .gitignore, and those leave out the demo's own.
    report = collect(files, out, progress=Progress(sys.stderr))
    if report.formulas < enough:
        raise DemoError(f"{wheels}: {report.formulas} formulas found, expected at least {enough}")
    return report.formulas


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0, or 2 with one line on stderr."""
    parser = argparse.ArgumentParser(prog="python -m demo.gather", description="Formulas from wheels' docstrings.")
    parser.add_argument("wheels", type=Path, help="folder of wheels")
    parser.add_argument("out", type=Path, help="folder for formulas.tsv and posts.sqlite")
    given = parser.parse_args(arguments)
    try:
        formulas = gather(given.wheels, given.out)
    except (DemoError, CollectError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    print(f"demo: gathered {formulas:,} formulas in {given.out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
