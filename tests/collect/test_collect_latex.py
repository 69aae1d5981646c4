r"""LaTeX: what is a formula and what only looks like one; macros; positions."""

import pytest

from collect.formats import latex
from collect.page import Page
from collect.texmacros import Macros


def formulas(text: str) -> list[str]:
    return [found.latex for found in latex.extract(Page(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"$a$ $$b$$ \(c\) \[d\]", ["a", "b", "c", "d"]),
        (r"\begin{equation}\label{eq:1} a \end{equation}", ["a"]),
        (r"\begin{align*} a &= b \\ &= c \end{align*}", [r"\begin{align*} a &= b \\ &= c \end{align*}"]),
        (r"\[ a \\[2pt] b \]", [r"a \\[2pt] b"]),
        (r"$\text{if $x$} > 0$", [r"\text{if $x$} > 0"]),
        (r"costs \$5 and \$6, \\$a$", ["a"]),
        ("$a % $ not the end\n+ b$", ["a + b"]),
        (r"\ensuremath{\alpha}", [r"\alpha"]),
        ("broken $ here\n\nand $k$", ["k"]),
        (r"\begin{document}$a$\end{document}$b$", ["a"]),
        (r"\newenvironment{x}{$}{$} $a$", ["a"]),
        (r"\catcode`$=3 $a$", ["a"]),
        (r"\begin{subequations}\begin{gather} a \end{gather}\end{subequations}", [r"\begin{gather} a \end{gather}"]),
    ],
)
def test_delimiters(text: str, expected: list[str]) -> None:
    assert formulas(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        r"\verb|$x$| \verb*+$y$+ \lstinline!$z$!",
        "% $x$\n",
        r"\begin{verbatim}$x$\end{verbatim}",
        r"\begin{lstlisting}[language=sh] $x$ \end{lstlisting}",
        r"\begin{comment}\[x\]\end{comment}",
        r"\iffalse $x$ \fi",
        r"\url{a/$b$c} \href{$x$}{text}",
        "<<chunk>>=\nx$a; y$b\n@\n",
        r"\newcommand{\foo}{$x$}",
        "$ $ $$ $$",
    ],
)
def test_what_is_no_formula(text: str) -> None:
    assert formulas(text) == []


def test_macros_that_open_displays() -> None:
    text = r"\newcommand{\be}{\begin{equation}}\def\ee{\end{equation}} \be a^2 \ee then $b$"
    assert formulas(text) == ["a^2", "b"]
    assert formulas(r"\def\bea{\begin{align}}\def\eea{\end{align}} \bea a &= b \eea") == [
        r"\begin{align} a &= b \end{align}"
    ]


def test_positions_context_and_kind() -> None:
    (one, two) = latex.extract(Page("Let us see\n  that $a$ holds:\n\\[ b \\]\n"))
    assert (one.line, one.column, one.display) == (2, 8, False)
    assert (one.before, one.after) == ("Let us see that", r"holds: \[ b \]")
    assert (two.line, two.column, two.display) == (3, 1, True)


@pytest.mark.parametrize(
    ("definition", "use", "expected"),
    [
        (r"\newcommand{\R}{\mathbb{R}}", r"\R^n", r"\mathbb{R}^n"),
        (r"\newcommand\R{\mathbb R}", r"x\in\R", r"x\in\mathbb R"),
        (r"\newcommand*{\abs}[1]{|#1|}", r"\abs{x}\abs y", r"|{x}||{y}|"),
        (r"\newcommand{\norm}[2][2]{\|#2\|_{#1}}", r"\norm{x}+\norm[1]{y}", r"\|{x}\|_{2}+\|{y}\|_{1}"),
        (r"\def\pair#1#2{\langle #1,#2\rangle}", r"\pair ab", r"\langle {a},{b}\rangle"),
        (r"\DeclareMathOperator{\tr}{tr}", r"\tr A", r"\operatorname{tr} A"),
        (r"\DeclareMathOperator*{\argmin}{arg\,min}", r"\argmin_x", r"\operatorname*{arg\,min}_x"),
        (r"\let\eps=\varepsilon", r"\eps x", r"\varepsilon x"),
        (r"\let\old\phi\let\phi\varphi\let\varphi\old", r"\phi\varphi", r"\varphi\phi"),
        (r"\newcommand{\vec}[1]{\mathbf{#1}}", r"\vec{v}", r"\mathbf{v}"),
        (r"\NewDocumentCommand{\f}{m}{f(#1)}", r"\f{x}", "f({x})"),
        (r"\DeclarePairedDelimiter{\ceil}{\lceil}{\rceil}", r"\ceil{x}", r"\left\lceil {x} \right\rceil"),
        (r"\def\a{\b x}\def\b{\c}", r"\a", r"\c x"),
        (r"\def\F{F}", r"\mathbb\F", r"\mathbb F"),
        (r"\def\x{\alpha}", r"\x y \x1", r"\alpha y \alpha1"),
        (r"\def\foo{\@ifnextchar[\a\b}", r"\foo", r"\foo"),
        (r"\newcommand{\a}[1][\right]{\ifx#1\right\fi}", r"\a", r"\a"),
        (r"\def\until#1.{#1}", r"\until x.", r"\until x."),
    ],
)
def test_document_macros(definition: str, use: str, expected: str) -> None:
    macros = Macros()
    assert macros.take(definition).strip() == ""
    assert macros.expand(use) == expected
    assert formulas(f"{definition} ${use}$") == [expected]


def test_macros_hold_from_where_they_stand() -> None:
    assert formulas(r"$\x$ \def\x{a} $\x$ \renewcommand{\x}{b} $\x$ \providecommand{\x}{c} $\x$") == [
        r"\x", "a", "b", "b",
    ]  # fmt: skip


def test_endless_macros_end() -> None:
    (one,) = formulas(r"\def\a{\a\a x} $\a$")
    assert len(one) < 50_000
