"""Tables of LaTeX spellings: which commands look or mean the same, which change nothing, which take arguments.

Data only; ``encoder.walker`` gives them their meaning. A spelling on the left of ``SAME`` becomes the one on the right.
"""

from __future__ import annotations


def _pairs(text: str) -> dict[str, str]:
    """``a b > c`` lines to {a: c, b: c}."""
    table = {}
    for line in text.strip().splitlines():
        left, right = line.split(" > ")
        table.update(dict.fromkeys(left.split(), right.strip()))
    return table


SAME = _pairs(r"""
\leq \leqslant \leqq > \le
\geq \geqslant \geqq > \ge
\neq > \ne
\lt > <
\gt > >
\rightarrow \longrightarrow \rarr > \to
\gets \longleftarrow > \leftarrow
\implies \Longrightarrow > \Rightarrow
\impliedby \Longleftarrow > \Leftarrow
\iff \Longleftrightarrow > \Leftrightarrow
\longleftrightarrow > \leftrightarrow
\longmapsto > \mapsto
\ldots \cdots \dotsc \dotsb \dotsm \dotsi \dotso \hdots \mathellipsis \textellipsis > \dots
\wedge > \land
\vee > \lor
\lnot > \neg
\backslash \smallsetminus > \setminus
\varnothing \O > \emptyset
\varepsilon > \epsilon
\varphi > \phi
\vartheta > \theta
\varrho > \rho
\varsigma > \sigma
\varkappa > \kappa
\vert \lvert \rvert \mid \divides > |
\Vert \lVert \rVert \parallel > \|
\lbrace > \{
\rbrace > \}
\lbrack > [
\rbrack > ]
\lparen > (
\rparen > )
\ast > *
\colon > :
\coloneqq \coloneq \defeq > : =
\owns > \ni
\isin > \in
\dag > \dagger
\restriction > \upharpoonright
\bmod > \mod
\dfrac \tfrac \cfrac > \frac
\dbinom \tbinom \lbinom > \binom
\stackrel > \overset
\Bbb \mathds \bbold > \mathbb
\boldsymbol \bm \pmb \bold \bf > \mathbf
\mathscr \cal \scr > \mathcal
\frak > \mathfrak
\sf > \mathsf
\tt > \mathtt
\overline > \bar
\widehat > \hat
\widetilde > \tilde
\overrightarrow > \vec
\real \reals \R \RR \Reals > \mathbb R
\N \NN \Natural \Naturals \natnums > \mathbb N
\Z \ZZ > \mathbb Z
\Q \QQ > \mathbb Q
\C \CC \Complex > \mathbb C
\cr \newline \tabularnewline > \\
\empty > \emptyset
\infin > \infty
\sub > \subset
\sube > \subseteq
\dotplus > +
\centerdot \cdotp > \cdot
\bullet > \cdot
\lang > \langle
\rang > \rangle
\tg > \tan
\ctg > \cot
\arctg > \arctan
\sh > \sinh
\ch > \cosh
""")

# Commands that change spacing, size or style, not what is said.
NOTHING = frozenset(
    r"""
    \, \; \: \! \> \/ \- \@ \quad \qquad \enspace \thinspace \medspace \thickspace \negthinspace \negmedspace
    \negthickspace \nonumber \notag \noindent \par \limits \nolimits \displaylimits \displaystyle \textstyle
    \scriptstyle \scriptscriptstyle \rm \it \mit \normalfont \tiny \small \normalsize \large \Large \LARGE
    \huge \Huge \mathstrut \strut \hfill \hfil \hline \relax \protect \left \right \middle \big \Big \bigg
    \Bigg \bigl \Bigl \biggl \Biggl \bigr \Bigr \biggr \Biggr \bigm \Bigm \biggm \Biggm \mathop \mathbin
    \mathrel \mathord \mathopen \mathclose \mathpunct \mathinner \ensuremath \mathit \boxed \fbox \smash
    \mathchoice \allowbreak \nobreak \break \unicode \ifmmode \fi \else \operatorname \operatornamewithlimits
    \mathrm \text \mbox \textrm \hbox \textnormal \textit \emph \textup \textbf \begingroup \endgroup \begin
    \end \space \rlap \llap \( \) \[ \]
    """.split()
) | {"\\ ", "$", "~", "\\\n", "\\\t"}

# Commands whose arguments belong to them: how many.
ARGUMENTS = {
    **dict.fromkeys([r"\frac", r"\binom", r"\overset", r"\underset", r"\atop", r"\brack", r"\genfrac"], 2),
    **dict.fromkeys(
        r"""\sqrt \mathbb \mathbf \mathcal \mathfrak \mathsf \mathtt \bar \hat \tilde \vec \dot \ddot \dddot \acute
            \grave \check \breve \mathring \underline \underbrace \overbrace \overleftarrow \xrightarrow \xleftarrow
            \cancel \bcancel \xcancel \substack \underleftarrow \overleftrightarrow""".split(),
        1,
    ),
    r"\root": 2,
}

# Infix operators of plain TeX, which split the group that they stand in.
INFIX = {r"\over": r"\frac", r"\choose": r"\binom", r"\atop": r"\atop", r"\brack": r"\brack", r"\above": r"\frac"}

# Commands with one argument that stand for delimiters around it.
_MATRIX, _END = r"\begin{matrix}", r"\end{matrix}"
FENCES = {
    r"\pmod": (r"( \mod", ")"),
    r"\abs": ("|", "|"),
    r"\norm": (r"\|", r"\|"),
    r"\set": (r"\{", r"\}"),
    r"\braces": (r"\{", r"\}"),
    r"\floor": (r"\lfloor", r"\rfloor"),
    r"\ceil": (r"\lceil", r"\rceil"),
    **dict.fromkeys((r"\pars", r"\paren", r"\parens"), ("(", ")")),
    r"\bracks": ("[", "]"),
    r"\verts": ("|", "|"),
    r"\angles": (r"\langle", r"\rangle"),
    r"\matrix": (_MATRIX, _END),
    r"\pmatrix": (f"( {_MATRIX}", f"{_END} )"),
    r"\bmatrix": (f"[ {_MATRIX}", f"{_END} ]"),
    r"\vmatrix": (f"| {_MATRIX}", f"{_END} |"),
    r"\cases": (rf"\{{ {_MATRIX}", _END),
}

# Environments set as a grid: what opens and what closes them. All others only align, and vanish.
GRIDS = {
    **dict.fromkeys(("matrix", "array", "smallmatrix", "subarray", "tabular"), (_MATRIX, _END)),
    **dict.fromkeys(("pmatrix", "psmallmatrix"), (f"( {_MATRIX}", f"{_END} )")),
    **dict.fromkeys(("bmatrix", "bsmallmatrix"), (f"[ {_MATRIX}", f"{_END} ]")),
    "Bmatrix": (rf"\{{ {_MATRIX}", rf"{_END} \}}"),
    "vmatrix": (f"| {_MATRIX}", f"{_END} |"),
    "Vmatrix": (rf"\| {_MATRIX}", rf"{_END} \|"),
    **dict.fromkeys(("cases", "dcases"), (rf"\{{ {_MATRIX}", _END)),
    "rcases": (_MATRIX, rf"{_END} \}}"),
}

NEGATED = {
    "=": r"\ne", r"\in": r"\notin", r"\exists": r"\nexists", "|": r"\nmid", r"\mid": r"\nmid", "<": r"\nless",
    ">": r"\ngtr", r"\le": r"\nleq", r"\leq": r"\nleq", r"\ge": r"\ngeq", r"\geq": r"\ngeq", r"\sim": r"\nsim",
    r"\subseteq": r"\nsubseteq", r"\supseteq": r"\nsupseteq", r"\cong": r"\ncong", r"\to": r"\nrightarrow",
    r"\parallel": r"\nparallel", r"\ni": r"\not \ni",
}  # fmt: skip

# Names of functions that people also type as plain letters, or as \operatorname{...} or \mathrm{...}.
FUNCTIONS = frozenset(
    """arcsin arccos arctan sinh cosh tanh coth sin cos tan cot sec csc log ln lim limsup liminf exp max min sup inf
        gcd det dim ker deg arg hom Pr lcm mod""".split()
)
TYPED_FUNCTIONS = """arcsin arccos arctan sinh cosh tanh sin cos tan cot sec csc log ln lim exp max min gcd det
    mod""".split()

# Raised and lowered characters.
SCRIPT_CHARACTERS = {
    "^": dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ", "0123456789+-=()ni", strict=True)),
    "_": dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ᵢⱼₖₙₘ", "0123456789+-=()ijknm", strict=True)),
}
# Characters and the LaTeX they stand for. Mathematical alphabets beyond these fall to Unicode compatibility forms.
UNICODE = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "×": r"\times ", "÷": r"\div ", "·": r"\cdot ", "⋅": r"\cdot ",
    "∙": r"\cdot ",
    "•": r"\cdot ", "±": r"\pm ", "∓": r"\mp ", "≤": r"\le ", "⩽": r"\le ", "≥": r"\ge ", "⩾": r"\ge ", "≠": r"\ne ",
    "≈": r"\approx ", "≡": r"\equiv ",
    "≅": r"\cong ", "∼": r"\sim ", "≃": r"\simeq ", "∝": r"\propto ", "≪": r"\ll ", "≫": r"\gg ", "∈": r"\in ",
    "∉": r"\notin ", "∋": r"\ni ",
    "⊂": r"\subset ", "⊆": r"\subseteq ", "⊃": r"\supset ", "⊇": r"\supseteq ", "∪": r"\cup ", "∩": r"\cap ",
    "∅": r"\emptyset ", "∖": r"\setminus ",
    "∧": r"\land ", "∨": r"\lor ", "¬": r"\neg ", "∀": r"\forall ", "∃": r"\exists ", "∄": r"\nexists ",
    "⊢": r"\vdash ", "⊨": r"\vDash ", "⊥": r"\bot ",
    "⊤": r"\top ", "→": r"\to ", "⟶": r"\to ", "←": r"\leftarrow ", "↔": r"\leftrightarrow ", "⇒": r"\Rightarrow ",
    "⟹": r"\Rightarrow ",
    "⇐": r"\Leftarrow ", "⇔": r"\Leftrightarrow ", "⟺": r"\Leftrightarrow ", "↦": r"\mapsto ", "↑": r"\uparrow ",
    "↓": r"\downarrow ",
    "∞": r"\infty ", "∂": r"\partial ", "∇": r"\nabla ", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "∬": r"\iint ",
    "∮": r"\oint ", "√": r"\sqrt ",
    "∠": r"\angle ", "°": r"^\circ ", "∘": r"\circ ", "⊕": r"\oplus ", "⊗": r"\otimes ", "⊙": r"\odot ",
    "⋃": r"\bigcup ", "⋂": r"\bigcap ", "★": r"\star ",
    "⋆": r"\star ", "∗": "*", "…": r"\dots ", "⋯": r"\dots ", "⋮": r"\vdots ", "⋱": r"\ddots ", "′": "'", "″": "''",
    "’": "'", "‘": "'", "ℓ": r"\ell ",
    "ℏ": r"\hbar ", "ℵ": r"\aleph ", "ℜ": r"\Re ", "ℑ": r"\Im ", "℘": r"\wp ", "⟨": r"\langle ", "〈": r"\langle ",
    "⟩": r"\rangle ", "〉": r"\rangle ",
    "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ", "⌉": r"\rceil ", "∣": "|", "∥": r"\|", "‖": r"\|",
    "△": r"\triangle ", "□": r"\square ",
    "ϵ": r"\epsilon ", "ϕ": r"\phi ", "ϑ": r"\theta ", "µ": r"\mu ", "∆": r"\Delta ", "∴": r"\therefore ",
    "⊊": r"\subsetneq ", "≺": r"\prec ", "⪯": r"\preceq ",
    "ℕ": r"{\mathbb N}", "ℤ": r"{\mathbb Z}", "ℚ": r"{\mathbb Q}", "ℝ": r"{\mathbb R}", "ℂ": r"{\mathbb C}",
    "ℙ": r"{\mathbb P}", "ℍ": r"{\mathbb H}",
    "½": r"\frac12 ", "¼": r"\frac14 ", "¾": r"\frac34 ", "⅓": r"\frac13 ", "⅔": r"\frac23 ", "\u00a0": " ",
    "％": r"\%", "﹪": r"\%", "≢": r"\not\equiv ", "⊄": r"\not\subset ", "∤": r"\nmid ",
    "\u200b": " ", "\u2061": " ", "\u2062": " ", "\ufeff": " ",
    **{c: f"{kind}{{{d}}}" for kind, characters in SCRIPT_CHARACTERS.items() for c, d in characters.items()},
    **{c: f"\\{n} " for c, n in zip("αβγδεζηθικλμνξπρσςτυφχψωΓΔΘΛΞΠΣΥΦΨΩ",
        """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma sigma tau upsilon phi
            chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega""".split(), strict=True)},
}  # fmt: skip
UNICODE_TABLE = {ord(c): s for c, s in UNICODE.items()}

VARIABLES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") | frozenset(
    "\\" + name
    for name in """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi
    chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega""".split()
)
