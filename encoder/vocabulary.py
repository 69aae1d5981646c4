r"""The vocabulary: a ``tokenizers`` WordPiece model over canonical tokens.

Frequent canonical tokens are entries of their own; a rare command or word is spelt from pieces, down to single
characters, so that nothing is lost (``\foo`` is ``\``, ``##f``, ``##o``, ``##o``). Only characters that were never
seen become ``[UNK]``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import WhitespaceSplit

UNKNOWN = "[UNK]"
LONGEST_WORD = 40  # characters; a longer "word" is noise


def learn(formulas: Iterable[str], size: int) -> list[str]:
    """Choose the entries from canonical formulas.

    Args:
        formulas: canonical forms (``encoder.latex.canonical``).
        size: entries wanted, the unknown token and the single characters included.

    Returns:
        Entries in order of their ids: ``[UNK]``, the characters, then whole tokens by falling count.
    """
    counts = Counter(token for formula in formulas for token in formula.split())
    characters: Counter[str] = Counter()
    for token, count in counts.items():
        for character in token if len(token) > 1 else ():
            characters[character] += count
    printable = sorted(c for c, n in characters.items() if n >= 20)
    pieces = [UNKNOWN, *printable, *("##" + c for c in printable)]
    taken = set(pieces)
    whole = [t for t, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if t not in taken]
    return pieces + whole[: max(0, size - len(pieces))]


def make(entries: list[str]) -> Tokenizer:
    """A tokenizer over the entries; ids are their places."""
    model = WordPiece({e: i for i, e in enumerate(entries)}, unk_token=UNKNOWN, max_input_chars_per_word=LONGEST_WORD)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = WhitespaceSplit()
    return tokenizer


def load(path: Path) -> Tokenizer:
    """Load a tokenizer file.

    Raises:
        FileNotFoundError: there is none, with its path.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such tokenizer file")
    return Tokenizer.from_file(str(path))
