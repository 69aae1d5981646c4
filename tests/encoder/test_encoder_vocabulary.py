from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from encoder import vocabulary
from encoder.latex import canonical
from encoder.model import WEIGHTS

MOST_TOKENS = 16  # a formula on average, the bound


@pytest.fixture(scope="module")
def tokenizer(mini: list[str]) -> Tokenizer:
    """The shipped vocabulary, or one learned from the shared collection until it is there."""
    path = WEIGHTS / "tokenizer.json"
    if path.is_file():
        return vocabulary.load(path)
    return vocabulary.make(vocabulary.learn(map(canonical, mini[::2]), 1500))


def learned(*formulas: str, size: int = 100) -> Tokenizer:
    return vocabulary.make(vocabulary.learn(formulas * 20, size))


def test_frequent_commands_are_whole_and_rare_ones_spelt() -> None:
    tokenizer = learned(r"\gamma + x", "a b m ( \\mgax")
    assert tokenizer.encode(r"\gamma x").tokens == [r"\gamma", "x"]
    assert tokenizer.encode(r"\mag").tokens == ["\\", "##m", "##a", "##g"]


def test_a_character_never_seen_is_unknown_and_the_rest_is_kept() -> None:
    assert learned("x + y").encode("x é y").tokens == ["x", vocabulary.UNKNOWN, "y"]


def test_a_word_too_long_is_one_unknown_token() -> None:
    tokenizer = learned("x word")
    assert tokenizer.encode("w" * vocabulary.LONGEST_WORD).tokens == ["w"] + ["##w"] * (vocabulary.LONGEST_WORD - 1)
    assert tokenizer.encode("w" * (vocabulary.LONGEST_WORD + 1)).tokens == [vocabulary.UNKNOWN]


def test_entries_are_distinct_ordered_by_count_and_no_more_than_asked() -> None:
    entries = vocabulary.learn([r"\a x x x y y"] * 20, 12)
    assert entries == ["[UNK]", "\\", "a", "##\\", "##a", "x", "y", r"\a"]
    assert vocabulary.learn([r"\a x x x y y"] * 20, 6) == entries[:6]


def test_nothing_to_learn_from_leaves_the_unknown_token() -> None:
    assert vocabulary.learn([], 10) == [vocabulary.UNKNOWN]
    assert vocabulary.make([vocabulary.UNKNOWN]).encode("x").ids == [0]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"tokenizer\.json: no such tokenizer file"):
        vocabulary.load(tmp_path / "tokenizer.json")


def test_a_saved_vocabulary_loads_as_it_was(tmp_path: Path) -> None:
    tokenizer = learned(r"\frac 1 2")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert vocabulary.load(tmp_path / "tokenizer.json").encode(r"\frac 2 1").ids == tokenizer.encode(r"\frac 2 1").ids


def test_common_commands_letters_and_digits_are_single_tokens(tokenizer: Tokenizer) -> None:
    commands = [r"\gamma", r"\frac", r"\sqrt", r"\sum", r"\int", r"\infty", r"\mathbb", r"\le"]
    single = [*"abcxyzABC0123456789+-=(){}^_", *commands]
    assert tokenizer.encode(" ".join(single)).tokens == single


def test_a_rare_command_is_decomposed_and_not_lost(tokenizer: Tokenizer) -> None:
    tokens = tokenizer.encode(r"\zqxwvk").tokens
    assert len(tokens) > 1
    assert "".join(t.removeprefix("##") for t in tokens) == r"\zqxwvk"


def test_real_formulas_take_few_tokens_and_hardly_any_is_unknown(tokenizer: Tokenizer, mini: list[str]) -> None:
    encodings = tokenizer.encode_batch([canonical(f) for f in mini[::5]])
    counts = [len(e.tokens) for e in encodings]
    assert sum(counts) / len(counts) <= MOST_TOKENS
    assert sum(e.tokens.count(vocabulary.UNKNOWN) for e in encodings) <= sum(counts) / 1000
