"""From formulas found to rows kept: document macros expanded, visual groups named, what is no formula dropped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from collect.cache import Row
from collect.page import Found
from collect.texmacros import Macros
from encoder.latex import canonical

LONGEST_FORMULA = 10_000  # characters; longer ones are tables and programs


@lru_cache(maxsize=1 << 16)
def visual_id(formula: str) -> int | None:
    """The visual group of a formula: 63 bits of a hash of its canonical form; None where nothing is left of it.

    A hash, not a running number: it needs no table of all groups and stays the same whatever else is collected. Among
    10 million groups two share one with a probability of 5e-6.
    """
    form = canonical(formula)
    return int.from_bytes(hashlib.blake2b(form.encode(), digest_size=8).digest(), "big") >> 1 if form else None


def expanded(found: Iterator[Found]) -> Iterator[Found]:
    r"""Formulas with the macros that earlier ones of the same post or file define, as MathJax and KaTeX do it."""
    macros, post = Macros(), None
    for one in found:
        if one.post is not None and one.post.number != post:
            macros, post = Macros(), one.post.number
        text = macros.expand(macros.take(one.latex)).strip()
        if text:
            yield one if text == one.latex else replace(one, latex=text)


def rows_of(found: Iterator[Found]) -> Iterator[Row]:
    """What is kept of the formulas of a file; those without content or far too long are dropped."""
    for one in found:
        if len(one.latex) > LONGEST_FORMULA:
            continue
        group = visual_id(one.latex)
        if group is None:
            continue
        post, place = one.post, (one.line, one.column, int(one.display), one.before, one.after)
        if post is None:  # of the contract's four types, a document itself is nearest to a question
            yield Row(1, 1, "question", 1, "", group, one.latex, *place)
        else:
            yield Row(post.number, post.thread, post.kind, post.line, post.title, group, one.latex, *place)
