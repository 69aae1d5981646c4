r"""From typed text to raw tokens: what the formula's carriers added is undone, then one regular expression cuts.

Everything here is linear in the length of the text and takes any string, lone surrogates included. What the tokens
mean is the business of ``encoder.walker``.
"""

from __future__ import annotations

import html
import re
import unicodedata

from encoder import macros
from encoder.spelling import INFIX, SCRIPT_CHARACTERS, TYPED_FUNCTIONS, UNICODE_TABLE

# LaTeXML, which normalised part of the collection, breaks lines at 78 columns with "%" and a newline; where the newline
# was lost, a "% " this far from the start of its line is such a break and not the start of a comment.
WRAP_COLUMN = 60
LONGEST_COLUMNS = 100  # tokens of a column specification; a longer group is no specification

TEXT = (
    "text|mbox|textrm|textbf|textit|textsf|texttt|textup|textnormal|hbox|mathrm|operatorname|operatornamewithlimits"
    "|emph"
)
_LEX = re.compile(
    rf"""
    \\(?=\\(?:[dtc]?frac|sqrt|sum|int|lim|left|right|begin|end|mathbb|infty)(?![A-Za-z]))   # a doubled backslash
    | \\\\(?:\s*\[\s*-?[\d.]+\s*[a-z]{{2}}\s*\])?                                 # end of a row, with extra space
    | \\(?:{TEXT})\*?\s*\{{[^{{}}]{{0,400}}\}}                                    # running text
    | \\(?:begin|end)\s*\{{[^{{}}]{{0,40}}\}}
    | \\(?:tag|label|color|hspace|vspace|ref|eqref|phantom|vphantom|hphantom|cline|mspace|style|class|cssId)\*?
      \s*\{{[^{{}}]{{0,200}}\}}                                                   # with their argument, nothing
    | \\textcolor\s*\{{[^{{}}]{{0,60}}\}}
    | \\(?:hskip|kern|mkern|mskip|hspace|vskip|raise|lower)\s*-?[\d.]*\s*(?:em|ex|pt|mu|cm|mm|in)?(?![A-Za-z])
    | \\(?:left|right|middle)\s*\.
    | \\not\s*(?:\\[A-Za-z]+|[=<>|]|\{{\s*(?:\\[A-Za-z]+|[=<>|])\s*\}})
    | \\(?:{TEXT}|tag|hspace|vspace|newcommand|renewcommand|providecommand|DeclareMathOperator)\*
    | \\[A-Za-z]+
    | \\.
    | \.(?:(?:\s|\\[,;:!\ ])*\.){{2,}}
    | (?<![A-Za-z])(?:{"|".join(TYPED_FUNCTIONS)})(?=[A-Za-z]?(?![a-z]))
    | '+
    | \s+
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_RESIDUE = re.compile(r"&\s*(?:\\displaystyle\s*)?(amp|lt|gt);")
_BREAK = re.compile(r"<br\s*/?>")
_PERCENT = re.compile(r"(?<!\\)((?:\\\\)*)%")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Characters with the one before, which they may combine with. The bound keeps Unicode's sorting of marks linear.
_FOREIGN = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]{1,64}")
_SCRIPTS = re.compile("|".join(f"[{''.join(characters)}]{{2,}}" for characters in SCRIPT_CHARACTERS.values()))
_COLUMNED = re.compile(r"\\begin\s*\{\s*(?:d?array|subarray|tabular|longtable|alignat|alignedat|IEEEeqnarray)\b")


def clean(text: str) -> str:
    """Undo what the formula's carriers added: HTML, Unicode spellings, comments, control characters.

    Args:
        text: any string.

    Returns:
        The text, without lone surrogates and without control characters but newline, tab and carriage return.
    """
    if "&" in text:
        for _ in range(2):  # some sources escape twice
            text = _ENTITY.sub(_unescape, text)
        text = _RESIDUE.sub(lambda m: {"amp": "&", "lt": "<", "gt": ">"}[m.group(1)], text)
    if not text.isascii():
        text = _to_ascii(text)
    if "<br" in text:
        text = _BREAK.sub(" ", text)
    if "%" in text:
        text = _uncomment(text)
    return _CONTROL.sub(" ", text)


def _unescape(match: re.Match[str]) -> str:
    """The character of an HTML entity; a percent sign is one, not the start of a comment."""
    character = html.unescape(match.group())
    return r"\%" if character == "%" else character


def _to_ascii(text: str) -> str:
    """LaTeX for the characters that have one, compatibility forms for the others."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = _SCRIPTS.sub(_merge_scripts, text).translate(UNICODE_TABLE)
    if not text.isascii():
        text = _FOREIGN.sub(lambda m: unicodedata.normalize("NFKC", m.group()), text)
    return text


def _merge_scripts(match: re.Match[str]) -> str:
    """One script for a run of raised or lowered characters: x²³ is x^{23}."""
    run = match.group()
    kind, characters = next((k, c) for k, c in SCRIPT_CHARACTERS.items() if run[0] in c)
    return f"{kind}{{{''.join(map(characters.__getitem__, run))}}}"


def _uncomment(text: str) -> str:
    """Take out comments, and the line breaks of LaTeXML that look like comments."""
    out, start, line = [], 0, 0
    for match in _PERCENT.finditer(text):
        at = match.end() - 1
        if at < start:
            continue
        newline = text.rfind("\n", line, at)
        line = newline + 1 if newline >= 0 else line
        out.append(text[start:at])
        if text[at + 1 : at + 2] == " " and at - line >= WRAP_COLUMN:
            start = line = at + 2
            continue
        end = text.find("\n", at)
        start = len(text) if end < 0 else end + 1
        line = start
    out.append(text[start:])
    return "".join(out)


def lex(text: str) -> list[str]:
    """Raw tokens of a cleaned formula: commands, groups of running text, single characters, blanks.

    Macros that the formula defines are expanded.
    """
    tokens = _LEX.findall(text)
    if any(name in text for name in macros.DEFINERS):
        # A definition's own tokens must stay single, so texts are left whole and everything else is as lexed.
        tokens = [t for token in macros.expand(tokens) for t in (_LEX.findall(token) if len(token) > 2 else (token,))]
    return tokens


def arrange(tokens: list[str]) -> list[str]:
    r"""Blank column specifications, and put braces where LaTeX has groups without them.

    The groups between ``\left`` and ``\right`` and the cells of a grid only matter to the infix operators of plain
    TeX, which split the group that they stand in; where there are none, the tokens stay as they are.
    """
    for i, token in enumerate(tokens):
        if token.startswith(r"\begin") and _COLUMNED.match(token):
            _blank_columns(tokens, i + 1)
    return tokens if INFIX.keys().isdisjoint(tokens) else _isolate(tokens)


def _blank_columns(tokens: list[str], i: int) -> None:
    r"""Blank the group after ``\begin{array}``, and the option before it."""
    for opening, closing in (("[", "]"), ("{", "}")):
        while i < len(tokens) and tokens[i].isspace():
            i += 1
        if i >= len(tokens) or tokens[i] != opening:
            continue
        depth, start = 0, i
        while i < min(len(tokens), start + LONGEST_COLUMNS) and not tokens[i].startswith(r"\begin"):
            depth += (tokens[i] == opening) - (tokens[i] == closing)
            i += 1
            if depth == 0:
                tokens[start:i] = [" "] * (i - start)
                break


_EDGE = re.compile(r"\\(left|right|begin|end)(?![A-Za-z])")


def _isolate(tokens: list[str]) -> list[str]:
    r"""Braces around what ``\left`` and ``\right`` enclose, and around the cells of a grid."""
    out: list[str] = []
    ends: list[str] = []  # what ends each open group: } or right or end
    waiting = False  # a \left before its delimiter
    for token in tokens:
        edge = _EDGE.match(token)
        name = edge.group(1) if edge else token
        if ends and ends[-1] == name and name != "}":
            ends.pop()
            out += ("}", token)
        elif ends and ends[-1] == "end" and name in ("&", r"\\", r"\cr"):
            out += ("}", token, "{")
        elif name == "}":
            while ends and ends.pop() != "}":
                out.append("}")
            out.append(token)
        else:
            out.append(token)
            if name == "{":
                ends.append("}")
            elif name == "begin" or (name == "left" and token[-1] == ".") or (waiting and not token.isspace()):
                ends.append("end" if name == "begin" else "right")
                out.append("{")
            waiting = token == r"\left" or (waiting and token.isspace())
    return out
