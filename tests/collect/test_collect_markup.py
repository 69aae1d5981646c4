r"""Markdown, HTML, reStructuredText, docstrings, notebooks, dumps: the cases that the sample does not hold."""

import io
import json

import pytest

from collect.errors import Unreadable
from collect.formats import docstrings, html, markdown, notebook, posts, rst
from collect.page import Page
from collect.rows import expanded


def in_markdown(text: str) -> list[str]:
    return [found.latex for found in markdown.extract(Page(text))]


def in_html(text: str) -> list[str]:
    return [found.latex for found in html.extract(Page(text))]


def in_rst(text: str) -> list[str]:
    return [found.latex for found in rst.extract(Page(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$a$ and $$b$$ and $ c^2 $", ["a", "b", "c^2"]),
        ("$n$th, $x$s", ["n", "x"]),
        ("it costs $5, and $x$ too", ["x"]),
        ("from $5 to $10 and $20/month", []),
        ("a $5-$10 range", []),
        ("set $HOME/bin:$PATH or ${A}$B", []),
        ("probabilities $0.5$ and $1$", ["0.5", "1"]),
        ("$5 million was paid, $3 million was not", []),
        ("$\\alpha$5", [r"\alpha"]),
        ("`$a$` and ``$b$``", []),
        ("$$\na\n\n- b\n= c\n$$ (label)", ["a - b = c"]),
        ("> $$\n> a\n> $$", ["a"]),
        ("- x\n\n  \\begin{align}\n  a &= b\n  \\end{align}", [r"\begin{align} a &= b \end{align}"]),
        ("\\begin{equation}\na\n\\end{equation}", ["a"]),
        ("\\[\na_1\n\\]\ntext", ["a_1"]),
        ("\\\\[ a \\\\] \\\\(b\\\\)", ["a", "b"]),
        ("a \\[link\\] and \\[1\\], f\\(s\\)", []),
        ("*a $x*y*z$ b*", ["x*y*z"]),
        ("[link $a_1$](http://x.y/$b$)", ["a_1"]),
        ("# Heading $h$\n", ["h"]),
        ("| a | b |\n|---|---|\n| $x$ | $y$ |\n", ["x", "y"]),
        ("```{math}\n:label: l\n\na\n\nb\n```", ["a", "b"]),
        ("```{math} a\n```", ["a"]),
        ("```{eval-rst}\n.. math:: a\n```", ["a"]),
        (":::{note}\n$a$\n:::", ["a"]),
        ("````{note}\n```{tip}\n$a$\n```\n````", ["a"]),
        ("```{code-cell}\n$a$\n```", []),
        ("    $indented$", []),
        ("~~~\n$$a$$\n~~~", []),
        ("<pre>$a$</pre>\n\n<p>$b$</p>", ["b"]),
        ("\\$a\\$", []),
        ("text $\\text{for $x$}$ end", [r"\text{for $x$}"]),
    ],
)
def test_markdown(text: str, expected: list[str]) -> None:
    assert in_markdown(text) == expected


def test_markdown_positions() -> None:
    text = (
        "---\na: b\n---\nx\n\n> two $a$\n> lines **b $c_1$**\n\n1. item\n   $$\n   d\n   $$\n\n| p | $q$ |\n|---|---|\n"
    )
    places = [(found.latex, found.line, found.column) for found in markdown.extract(Page(text))]
    assert places == [("a", 6, 7), ("c_1", 7, 13), ("d", 10, 4), ("q", 14, 7)]


def test_macros_defined_in_formulas_hold_for_what_follows() -> None:
    found = expanded(markdown.extract(Page("$\\newcommand{\\R}{\\mathbb{R}}$ and $x \\in \\R$")))
    assert [one.latex for one in found] == [r"x \in \mathbb{R}"]


MATHJAX = "<script src='mathjax.js'></script>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MATHJAX + r"<p>\(a\) \[b\] $$c$$</p>", ["a", "b", "c"]),
        (MATHJAX + r"<p>\(a &lt; b\) and \(x<br>y\)</p>", ["a < b", "x y"]),
        (MATHJAX + r"<p>\(a <em>b</em>\)</p>", []),
        (MATHJAX + r"<pre>\(a\)</pre><code>\(b\)</code><style>\(c\)</style>", []),
        ("<p>grep '\\(foo\\)' costs $5 or $6</p>", []),
        ("<p>no engine, yet $\\alpha_1$ is clear</p>", [r"\alpha_1"]),
        ('<span class="math-container">x<sub>1</sub></span>', []),
        ('<span class="math-container">a</span><span class="math-container">$$b$$</span>', ["a", "b"]),
        ('<span class="math-container"><span>$a^2$</span></span>', ["a^2"]),
        ('<div class="tex2jax_ignore">$\\alpha$<div>$\\beta$</div></div>$\\gamma$', [r"\gamma"]),
        ('<math><annotation encoding="application/x-tex">a</annotation></math>', ["a"]),
        ('<math alttext="b"><mi>b</mi></math>', ["b"]),
        ("<math><mi>b</mi></math>", []),
        ('<script type="math/tex; mode=display">a < b</script>', ["a < b"]),
        ('<code class="language-math">a^2</code>', ["a^2"]),
        ("<p>unclosed <span class='math-container'>x", []),
    ],
)
def test_html(text: str, expected: list[str]) -> None:
    assert in_html(text) == expected


def test_html_positions() -> None:
    text = MATHJAX + "\n<p>a &amp; b\n <b>c</b> \\(x\\)</p><math alttext='y'></math>"
    assert [(f.line, f.column, f.before) for f in html.extract(Page(text))] == [
        (3, 11, "a & b c"),
        (3, 20, "a & b c \\(x\\)"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":math:`a` and :math:`b\nc`", ["a", "b c"]),
        ("`a`:math:", ["a"]),
        ("``:math:`a```", []),
        (".. math:: a\n\n   b\n\ntext", ["a", "b"]),
        (".. math::\n   :label: x\n\n   a\n   + b\n", ["a + b"]),
        (".. math::\n\n   \\begin{aligned}\n   a\n\n   b\n   \\end{aligned}\n", [r"\begin{aligned} a b \end{aligned}"]),
        (".. note:: :math:`a`\n\n   .. math:: b\n", ["b", "a"]),
        (".. code-block:: sh\n\n   $a$ :math:`b`\n\n:math:`c`", ["c"]),
        ("Example::\n\n   :math:`a`\n\n:math:`b`", ["b"]),
        (">>> x = '$a$'\n$b$\n\n$c$", ["c"]),
        (".. a comment $a$\n   :math:`b`\n\n$c$", ["c"]),
        ("(`#1 <http://a.b>`_), $S^1$ (`#2 <http://a.b>`_)", ["S^1"]),
        (".. default-role:: math\n\nthe `x` there", ["x"]),
        ("cost $5 and $6; $HOME/$USER; '^a$|^b$'", []),
        ("where $x > 0$, $n$, $f(x)$ and $\\alpha$-stable", ["x > 0", "n", "f(x)", r"\alpha"]),
        ("| $a$\n* item :math:`b`", ["a", "b"]),
    ],
)
def test_rst(text: str, expected: list[str]) -> None:
    assert sorted(in_rst(text)) == sorted(expected)


def test_docstrings_and_their_positions() -> None:
    text = (
        "class A:\n    '''One :math:`\\\\alpha`.\n\n    .. math::\n\n        b\n    '''\n"
        '    x: int = 1\n    r"""Attribute é :math:`\\beta`."""\n\n# :math:`c`\ny = ":math:`d`"\n'
    )
    places = [(found.latex, found.line, found.column) for found in docstrings.extract(Page(text))]
    assert places == [(r"\alpha", 2, 12), ("b", 4, 5), (r"\beta", 9, 21)]
    with pytest.raises(Unreadable, match="not Python 3"):
        list(docstrings.extract(Page("print 'a'")))


def test_notebooks() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["é $a$\n", "and \\\\(b\\\\) \ud83d\ude00 $c$"]},
        {"cell_type": "code", "source": "x = '$d$'", "outputs": [{"data": {"text/latex": "$\\displaystyle e$"}}]},
        {"cell_type": "markdown", "source": "$f$"},
    ]
    text = json.dumps({"cells": cells, "nbformat": 4}, indent=1)
    places = [(found.latex, found.line) for found in notebook.extract(Page(text))]
    lines = text.splitlines()
    assert [latex for latex, _ in places] == ["a", "b", "c", r"\displaystyle e", "f"]
    for latex, line in places:
        assert latex[-1] in lines[line - 1]
    old = json.dumps({"worksheets": [{"cells": [{"cell_type": "markdown", "source": "$g$"}]}], "nbformat": 3})
    assert [found.latex for found in notebook.extract(Page(old))] == ["g"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 1}', '{"cells": [}', '{"a" 1', "{}}", "[" * 200, "{1: 2}"])
def test_broken_notebooks(text: str) -> None:
    with pytest.raises(Unreadable, match="not a notebook"):
        list(notebook.extract(Page(text)))


def test_dumps() -> None:
    dump = (
        '<posts>\n<row Id="1" PostTypeId="1" Title="$a$" Body="&lt;p&gt;$b &amp;lt; c$&lt;/p&gt;"/>\n'
        '<row Id="2" PostTypeId="2" ParentId="1" Body="no $5 formula"/>\n'
        '<row Id="3" PostTypeId="2" ParentId="1" Body="$\\newcommand{\\x}{y}\\x$ $\\x$"/>\n'
        '<row Id="4" PostTypeId="2" ParentId="1" Body="$\\x$"/><row Id="5" PostTypeId="4" Body="$d$"/></posts>'
    )
    found = list(expanded(posts.extract(io.BytesIO(dump.encode()))))
    kept = [(one.latex, one.line, one.post and (one.post.number, one.post.thread, one.post.kind)) for one in found]
    assert kept == [
        ("a", 2, (1, 1, "title")),
        ("b < c", 2, (1, 1, "question")),
        ("y", 4, (3, 1, "answer")),
        ("y", 4, (3, 1, "answer")),
        (r"\x", 5, (4, 1, "answer")),
    ]
    with pytest.raises(Unreadable, match="not well-formed XML"):
        list(posts.extract(io.BytesIO(b"<posts><row Id='1'")))
