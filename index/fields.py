"""Single cells of ``formulas.tsv``: unsigned decimals and valid text."""

from __future__ import annotations

import numpy as np

_LARGEST = 2**63 - 1
_POWERS = 10 ** np.arange(1, 19, dtype=np.int64)


def number(text: str) -> int | None:
    """An unsigned decimal up to 2**63 - 1 in its shortest spelling, or None."""
    if text.isascii() and text.isdigit() and len(text) <= 19 and (text[0] != "0" or text == "0"):
        value = int(text)
        return value if value <= _LARGEST else None
    return None


def numbers(column: tuple[str, ...]) -> np.ndarray | None:
    """All of a column's decimals at once, or None if any is not one (a slower path then says which)."""
    text = "".join(column)
    if not (text.isascii() and text.isdigit()):
        return None
    try:
        values = np.array(list(map(int, column)), np.int64)
    except (ValueError, OverflowError):
        return None
    digits = 1 + np.searchsorted(_POWERS, values, "right")
    return values if int(digits.sum()) == len(text) else None  # a leading zero would name another id


def is_text(text: str) -> bool:
    """Is it free of lone surrogates, which stand for invalid bytes?"""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
