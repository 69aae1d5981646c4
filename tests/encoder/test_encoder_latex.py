from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoder import latex, macros, spelling
from encoder.latex import canonical, lex, tokenize
from encoder.lexer import arrange, clean
from tests.encoder.malformed import MALFORMED
from tests.encoder.spellings import DIFFERENT, OTHER_STRUCTURE, SAME_FORMULA

PIECES = [
    *"xyn0123+-=<>(){}[]^_&'.,*#%~$ \n", r"\frac", r"\sqrt", r"\over", r"\choose", r"\left", r"\right", r"\abs",
    r"\mathbb", r"\R", r"\not", r"\\", r"\begin{pmatrix}", r"\end{pmatrix}", r"\begin{array}{cc}", r"\root", r"\of",
    r"\pmod", r"\text{if }", r"\pmatrix", r"\,", r"\alpha", "sin", r"\def", r"\newcommand", r"\a", "&lt;", "é", "²",
]  # fmt: skip


def depths(tokens: list[str]) -> list[int]:
    """Open braces after each token."""
    depth, out = 0, []
    for token in tokens:
        depth += (token == "{") - (token == "}")
        out.append(depth)
    return out


def check_form(text: str) -> None:
    tokens = tokenize(text)
    assert all(token and token.split() == [token] for token in tokens)
    assert min(depths(tokens), default=0) >= 0
    assert sum(depths(tokens)[-1:]) == 0
    assert canonical(text) == " ".join(tokens)
    assert "".join(tokens).encode("utf-8").decode("utf-8") == "".join(tokens)


@pytest.mark.parametrize(("one", "other"), SAME_FORMULA)
def test_spellings_of_one_formula_become_one(one: str, other: str) -> None:
    assert canonical(one) == canonical(other) != ""


@pytest.mark.parametrize(("one", "other"), OTHER_STRUCTURE + DIFFERENT)
def test_different_formulas_stay_different(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize(("typed", "expected"), MALFORMED)
def test_broken_input_has_the_canonical_form_that_is_written_down(typed: str, expected: str) -> None:
    assert canonical(typed) == expected
    check_form(typed)


def test_the_tables_are_as_long_as_the_issues_ask() -> None:
    assert len({tuple(sorted(pair)) for pair in SAME_FORMULA}) >= 60
    assert len(dict(MALFORMED)) == len(MALFORMED) >= 60


@pytest.mark.parametrize("same", sorted(set(spelling.SAME.values())))
def test_a_canonical_command_is_its_own_canonical_form(same: str) -> None:
    assert canonical(same) == same


def test_every_synonym_of_the_table_is_undone() -> None:
    # The blank ends the command's name; \cr and its kin would be cut at the end of a formula as punctuation.
    wrong = {k for k, v in spelling.SAME.items() if canonical(f"u {k} v") != canonical(f"u {v} v")}
    assert not wrong


def test_every_character_of_the_unicode_table_is_gone() -> None:
    assert all(canonical(f"u{character}v").isascii() for character in spelling.UNICODE)


@settings(deadline=None)
@given(st.text(st.characters()))
def test_any_text_has_a_well_formed_canonical_form(text: str) -> None:
    check_form(text)


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_heap_of_latex_has_a_well_formed_canonical_form(text: str) -> None:
    check_form(text)


@settings(deadline=None)
@given(st.text(st.sampled_from("a{}\\\ud800\udfff\x00\x85\u2028\u0301\ufffe&#;%'"), max_size=20))
def test_surrogates_and_controls_leave_nothing_that_cannot_be_written(text: str) -> None:
    check_form(text)
    assert not any(c in canonical(text) for c in "\x00\x85\u2028")


def _wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map(lambda t: rf"\frac{{{t[0]}}}{{{t[1]}}}"),
        st.tuples(inner, inner).map(lambda t: rf"{{{t[0]} \over {t[1]}}}"),
        st.tuples(inner, inner).map(lambda t: rf"\left({t[0]} \choose {t[1]}\right)"),
        st.tuples(inner, inner).map(lambda t: f"{t[0]}_{{{t[1]}}}"),
        st.tuples(inner, inner).map(lambda t: f"{{{t[0]}}}^{{{t[1]}}}"),
        st.tuples(inner, inner).map(lambda t: rf"\sqrt[{{{t[0]}}}]{{{t[1]}}}"),
        st.tuples(inner, inner).map(lambda t: rf"\begin{{pmatrix}}{t[0]}&{t[1]}\end{{pmatrix}}"),
        st.tuples(inner, inner).map(lambda t: f"{t[0]} {t[1]}"),
        inner.map(lambda s: rf"\abs{{{s}}}'"),
        inner.map(lambda s: rf"\hat{{{s}}}"),
        inner.map(lambda s: rf"x^\sqrt{{{s}}}"),
    )


ATOMS = ["x", "y", "12", r"\alpha", "a+b", r"\R", "f'", "...", r"\sin x", r"a\ne b"]
FORMULAS = st.recursive(st.sampled_from(ATOMS), _wider, max_leaves=12)


@settings(max_examples=40, deadline=None)
@given(FORMULAS)
def test_the_canonical_form_of_a_canonical_form_is_itself(formula: str) -> None:
    once = canonical(formula)
    assert canonical(once) == once


@settings(max_examples=30, deadline=None)
@given(FORMULAS, st.sampled_from([r"\,", " ", "{}", r"\displaystyle ", "\n"]))
def test_what_has_no_look_before_or_after_a_formula_changes_nothing(formula: str, nothing: str) -> None:
    assert canonical(nothing + formula + nothing) == canonical(f"{{{formula}}}") == canonical(f"${formula}$")


def test_real_formulas_are_their_own_canonical_form(mini: list[str]) -> None:
    forms = [canonical(formula) for formula in mini[::10]]
    # Words of running text read as letters when typed, see encoder.latex.
    plain = [f for f in forms if not any(len(t) > 1 and t[0] != "\\" for t in f.split()) and r"\atop" not in f]
    changed = [f for f in plain if canonical(f) != f]
    assert len(plain) > 1000
    assert len(changed) <= len(plain) // 200, changed[:5]


@pytest.mark.parametrize(
    "unit",
    [
        "{", "}", "x^{", r"\frac{", r"\frac", r"\sqrt", r"\sqrt[", r"{\over ", r"\left(a\over ", "^a", "_b", "x^a_b",
        "'^", "' ", r"\abs{", r"\abs", r"\text{a", r"\begin{array}{", r"\begin{pmatrix}", "&amp;", "& ", "\\", "%",
        ". ", "e\u0301", r"\root\of", r"\not", "[", "]", r"\hskip ", "²", r"\pmatrix{", r"\R^",
    ],
)  # fmt: skip
def test_twenty_thousand_deep_or_long_input_ends_in_a_form_of_its_size(unit: str) -> None:
    tokens = tokenize(unit * 20_000)
    assert len(tokens) <= 20 * 20_000
    assert depths(tokens)[-1:] in ([], [0])


def test_tokens_grow_in_proportion_to_the_text() -> None:
    formula = r"\left(\dfrac12\right)^{2} \le {n \choose k} + \sqrt[3]{x'_1}"
    short, long = (len(tokenize((formula + " ") * n)) for n in (10, 1000))
    assert long <= 100 * short


def test_marks_of_descending_class_are_not_sorted_as_one_run() -> None:
    # Unicode's canonical ordering sorts by insertion: a run of 40,000 unsorted marks would take minutes.
    assert len(tokenize("a" + "\u0301\u0323" * 20_000)) > 20_000


@pytest.mark.slow
@pytest.mark.parametrize("unit", [r"\frac{x_1^2}{y'} ", "{", "\\", "x^{", "&lt;", "%", " ", r"\text{"])
def test_four_megabytes_are_read_to_their_end(unit: str) -> None:
    tokens = tokenize(unit * (4_000_000 // len(unit)))
    assert depths(tokens)[-1:] in ([], [0])


def test_macros_that_call_themselves_end() -> None:
    assert set(tokenize(r"\def\a{x\a}\a")) == {"x", r"\a"}
    assert tokenize(r"\def\a{x\a}\a").count("x") == macros.MOST_EXPANSIONS
    assert set(tokenize(r"\def\a{\b}\def\b{\a}\a")) <= {r"\a", r"\b"}


def test_what_macros_expand_to_is_bounded() -> None:
    fill = r"\def\a#1{" + "#1" * 250 + "}" + (r"\a{" + "x" * 500 + "}") * 100
    tokens = lex(fill)
    assert len(tokens) < len(fill) + macros.MOST_TOKENS + 250 * macros.LONGEST_BODY + 250 * 2


def test_macros_hold_from_where_they_stand_and_the_last_definition_counts() -> None:
    assert canonical(r"\a\def\a{x}\a\def\a{y}\a") == r"\a x y"
    assert canonical(r"\def\a#1#2{#2#1}\a x y") == "y x"
    assert canonical(r"\def\a#1{\sqrt#1}\a{x+1}") == r"\sqrt { x + 1 }"


def test_a_line_break_of_latexml_is_no_comment() -> None:
    assert canonical("x" * 70 + "% yz") == " ".join("x" * 70 + "yz")
    assert canonical("x" * 70 + "%\nyz") == " ".join("x" * 70 + "yz")
    assert canonical("x% yz") == "x"


def test_cleaning_keeps_the_line_ends_that_comments_need() -> None:
    assert clean("a%b\nc\td") == "ac\td"
    assert clean("x\x00\x7fy") == "x  y"


def test_groups_of_latex_get_braces_only_where_an_infix_operator_stands() -> None:
    tokens = lex(r"\left(a\right)")
    assert arrange(list(tokens)) == tokens
    assert "".join(arrange(lex(r"\left(a\over b\right)"))) == r"\left({a\over b}\right)"
    assert "".join(arrange(lex(r"\begin{matrix}a\over b&c\end{matrix}"))) == r"\begin{matrix}{a\over b}&{c}\end{matrix}"


def test_the_worked_example_is_what_the_docstring_says() -> None:
    assert latex.__doc__ is not None
    shown = canonical(r"\left( \dfrac12 \right)^{2} &le; {n \choose k}.")
    assert repr(shown) in latex.__doc__


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.integers(1, 3))
def test_a_subscript_moves_before_its_superscript_unless_that_is_very_long(length: int, below: int) -> None:
    up, down = "a" * length, "b" * below
    ordered = canonical(f"x_{{{down}}}^{{{up}}}")
    swapped = canonical(f"x^{{{up}}}_{{{down}}}")
    assert sorted(swapped.split()) == sorted(ordered.split())
    assert swapped == ordered or length > 200
