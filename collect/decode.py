"""From bytes to text: by the byte order mark, by what the file declares, as UTF-8, and else by its statistics."""

from __future__ import annotations

import codecs
import re

from collect.errors import Unreadable

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]+)            # HTML
    | <\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)                    # XML
    | \A(?:[^\n]*\n)?[^\n]*?\#.*?coding[:=][ \t]*([\w.-]+)         # Python, PEP 263
    | \\usepackage\s*\[([\w-]+)(?:,[^\]]*)?\]\s*\{inputenc\}       # LaTeX
    | %\s*!\s*TEX\s+encoding\s*=\s*([\w.-]+)                       # TeX editors
    """,
    re.VERBOSE | re.IGNORECASE,
)
_INPUTENC = {
    "latin1": "iso-8859-1", "latin2": "iso-8859-2", "latin9": "iso-8859-15", "ansinew": "cp1252", "cp1252": "cp1252",
    "applemac": "mac-roman", "utf8": "utf-8", "utf8x": "utf-8", "koi8-r": "koi8-r",
}  # fmt: skip
HEAD = 4096
SAMPLE = 1 << 18  # bytes that the statistics look at
_BINARY = bytes(range(9)) + bytes(range(14, 27))


def decode(data: bytes) -> tuple[str, str]:
    r"""The text of a file, its line ends made ``\n``, and the name of its encoding.

    Raises:
        Unreadable: it is binary.
    """
    text, encoding = _decode(data)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, encoding


def _decode(data: bytes) -> tuple[str, str]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace"), encoding
    if b"\0" in data[:SAMPLE]:
        raise Unreadable("binary file")
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    if sum(data[:HEAD].count(byte) for byte in _BINARY) > len(data[:HEAD]) // 20:
        raise Unreadable("binary file")
    declared = _DECLARED.search(data[:HEAD])
    if declared:
        name = next(g for g in declared.groups() if g).decode("ascii").lower()
        name = _INPUTENC.get(name, name)
        try:
            codec = codecs.lookup(name).name
            return data.decode(codec, "replace"), codec
        except (LookupError, ValueError):  # unknown, or not a text encoding
            pass
    guess = _guess(data[:SAMPLE])
    return data.decode(guess, "replace"), guess


def _guess(sample: bytes) -> str:
    """The likeliest encoding by character statistics; Western if nothing can tell."""
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return "cp1252"
    best = from_bytes(sample).best()
    return best.encoding if best is not None else "cp1252"
