"""``python -m bench``: lists the benchmarks with what each measures."""

import ast
import sys
from pathlib import Path


def listing(folder: Path) -> list[str]:
    """One line a benchmark: its name and the first line of its docstring.

    Args:
        folder: where the benchmarks lie.
    """
    scripts = [path for path in sorted(folder.glob("*.py")) if not path.name.startswith("_")]
    width = max((len(path.stem) for path in scripts), default=0)
    docs = [ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "" for path in scripts]
    return [f"{path.stem:{width}}  {doc.partition(chr(10))[0]}" for path, doc in zip(scripts, docs, strict=True)]


if __name__ == "__main__":
    print("make bench NAME=... ARGS='--help' runs one of", *listing(Path(__file__).parent), sep="\n")
    sys.exit(0)
