"""Whatever the text: extractors end, raise nothing but Unreadable, and name places that exist."""

import contextlib
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collect.delimiters import Trust, Trusted, scan
from collect.errors import Unreadable
from collect.formats import BY_NAME, posts
from collect.page import Page
from collect.texmacros import Macros

PIECES = (
    "$", "$$",
    r"\(", r"\)", r"\[", r"\]", r"\begin{align}", r"\end{align}", "{", "}", "a", " ", "\n", "\n\n", "`", "```",
    "```{math}\n", ":math:`", ".. math::", "::\n", "<p>", "</p>", '<span class="math-container">', "</span>", "<math>",
    "</math>",
    "<pre>", "&lt;", "%", r"\def\x#1{", r"\x", r"\newcommand", "[1]", '"""', "'", "\\", "|", "> ", "- ", "\t",
    "é", "\x00", "5", ",", r"\verb|", "^", "_",
)  # fmt: skip
soup = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "posts"])
def test_any_text(name: str) -> None:
    extract = BY_NAME[name].extract
    assert extract is not None

    @settings(max_examples=60, deadline=None)
    @given(soup | st.text(max_size=60))
    def check(text: str) -> None:
        lines = text.split("\n")
        try:
            found = list(extract(Page(text)))
        except Unreadable:
            return
        for one in found:
            assert one.latex.strip()
            assert 1 <= one.line <= len(lines)
            assert 1 <= one.column <= len(lines[one.line - 1]) + 1

    check()


@settings(max_examples=60, deadline=None)
@given(soup)
def test_formulas_in_running_text_start_with_their_delimiter(text: str) -> None:
    for match in scan(text, Trusted(Trust.LENIENT)):
        assert text[match.start] in "$\\"
        assert match.latex in text[match.start : match.end]


@settings(max_examples=60, deadline=None)
@given(soup)
def test_macros_end(text: str) -> None:
    macros = Macros()
    macros.take(text)
    assert len(macros.expand(text)) < 100_000


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=80) | soup.map(str.encode))
def test_any_dump(data: bytes) -> None:
    whole = b"<posts>" + data + b"</posts>"
    for dump in (data, whole):
        with contextlib.suppress(Unreadable):
            assert all(one.post is not None for one in posts.extract(io.BytesIO(dump)))
