"""Printing: JSON lines for programs, lines for people. Text of documents never steers a terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def wants_json(form: str | None) -> bool:
    """JSON lines? As asked for by ``--json`` and ``--table``, else where stdout is no terminal."""
    return form == "json" if form else not sys.stdout.isatty()


def emit(record: Mapping[str, Any]) -> None:
    """One record as a line of JSON, in ASCII and so valid in every locale; there at once for a waiting reader."""
    print(json.dumps(record), flush=True)


def say(line: str = "") -> None:
    """One line for people; what stdout's encoding lacks is shown as escapes."""
    encoding = sys.stdout.encoding or "ascii"
    print(line.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def plain(text: str) -> str:
    """Text on one line without control characters: blanks for spaces of any kind, U+FFFD for the rest."""
    return "".join(char if char.isprintable() else "\ufffd" for char in " ".join(text.split()))


def fit(text: str, width: int) -> str:
    """Cut to a width, the cut marked."""
    return text if len(text) <= width else text[: max(0, width - 3)] + "..."


def columns() -> int:
    """Width of the terminal; 100 where there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def nearby(path: str | Path) -> str:
    """A path as seen from the current folder if it lies below, else as it is."""
    here = f"{os.getcwd().rstrip(os.sep)}{os.sep}"
    return str(path).removeprefix(here)


def pairs(record: Mapping[str, Any], indent: str = "") -> None:
    """A record for people: a line a value, nested ones indented."""
    width = max((len(name) for name in record), default=0)
    for name, value in record.items():
        if isinstance(value, Mapping):
            say(f"{indent}{name}")
            pairs(value, indent + "  ")
        elif isinstance(value, list | tuple):
            say(f"{indent}{name}")
            for item in value:
                say(f"{indent}  {plain(str(item))}")
        else:
            shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else plain(str(value))
            say(f"{indent}{name:<{width}}  {shown}")
