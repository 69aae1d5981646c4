r"""HTML: MathJax and KaTeX delimiters in text, ``<script type="math/tex">``, MathML with a TeX annotation, containers.

Containers are elements that hold one formula: ``span class="math-container"`` of Math Stack Exchange and ARQMath,
pandoc's ``span class="math inline"``, ``code class="language-math"``; and images whose alternative text is TeX. Code,
scripts and styles are no text. Positions come from the standard library's parser, the one that tells where a tag
stands.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

from collect.delimiters import Trust, Trusted, scan
from collect.page import Found, Page

_IGNORED = frozenset("script style pre code textarea noscript svg template kbd samp tt title".split())
_BLOCKS = frozenset(
    "p div li td th tr h1 h2 h3 h4 h5 h6 dt dd section article table ul ol dl blockquote body figcaption nav header "
    "footer main figure pre aside details summary".split()
)
_CONTAINER = re.compile(
    r"(?:^|\s)(?:math-container|math (?:inline|display)|arithmatex|language-math|math-(?:inline|block))(?:\s|$)"
)
_MATH_IMAGE = re.compile(r"(?:^|\s)(?:math|tex|latex|formulaInl|formulaDsp|mwe-math-fallback-image-\w+)(?:\s|$)")
_OPT_OUT = re.compile(
    r"(?:^|\s)(?:tex2jax_ignore|mathjax_ignore|nomath|no-mathjax|eqno|katex-html|MathJax_Preview)(?:\s|$)"
)
_ENGINE = re.compile(r"mathjax|katex|class=[\"']?math|tex2jax|arithmatex", re.IGNORECASE)
_DOLLAR_ENGINE = re.compile(
    r"inlineMath[\"']?\s*[:=]\s*\[[^;]{0,80}?\[\s*[\"']\$[\"']|left[\"']?\s*:\s*[\"']\$[\"']|class=\"math-container\""
)
_DELIMITED = re.compile(r"\s*(?:\$\$(.+)\$\$|\$(.+)\$|\\\((.+)\\\)|\\\[(.+)\\\])\s*\Z", re.DOTALL)
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())


@dataclass(slots=True)
class _Open:
    """An element that changes how its content is read, while it is open; ``depth`` counts elements of its name."""

    tag: str
    use: str  # ignore, container, math, annotation, script
    start: int = 0
    depth: int = 1
    display: bool = False
    texts: list[str] = field(default_factory=list)
    fallback: str = ""


class _Reader(HTMLParser):
    """Collects the text of a page with places, and the formulas that elements hold."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.lines = [0, *(m.end() for m in re.finditer("\n", text))]
        self.pieces: list[tuple[str, int]] = []
        self.length = 0
        self.held: list[tuple[int, int, str, bool]] = []  # start and end in the collected text, latex, display
        self.open: list[_Open] = []
        self.feed(text)
        self.close()

    def here(self) -> int:
        """Offset of the tag or text that is being handled."""
        line, column = self.getpos()
        return self.lines[line - 1] + column

    def add(self, piece: str, at: int) -> None:
        """Append text that stands at offset ``at`` of the file."""
        self.pieces.append((piece, at))
        self.length += len(piece)

    def hold(self, latex: str, at: int, display: bool) -> None:
        """Append a formula that an element holds as a whole."""
        latex = _undelimited(latex)
        if latex.strip():
            self.add("\x00", at)
            self.held.append((self.length, self.length + len(latex), latex, display))
            self.add(latex, at)
            self.add("\x00", at)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        at, top = self.here(), self.open[-1] if self.open else None
        if top is not None and top.use in ("ignore", "annotation", "math"):
            if tag == top.tag:
                top.depth += 1
            if top.use == "math" and tag == "annotation" and "tex" in (dict(attrs).get("encoding") or "").lower():
                self.open.append(_Open("annotation", "annotation", at))
            return
        levels = len(self.open)
        attributes = {name: value or "" for name, value in attrs}
        classes = attributes.get("class", "")
        if tag == "br":
            self.add("\n", at)
        elif tag == "img":
            self.image(attributes, classes, at)
        elif tag not in _VOID:
            self.element(tag, attributes, classes, at)
        if top is not None and tag == top.tag and len(self.open) == levels:
            top.depth += 1

    def element(self, tag: str, attributes: dict[str, str], classes: str, at: int) -> None:
        """An element that is not void starts."""
        if tag == "script" and attributes.get("type", "").lower().startswith("math/tex"):
            self.open.append(_Open(tag, "script", at, display="display" in attributes["type"].lower()))
        elif tag == "math":
            display = attributes.get("display") == "block" or attributes.get("mode") == "display"
            fallback = attributes.get("alttext", "")
            self.open.append(_Open(tag, "math", at, display=display, fallback=fallback))
        elif _CONTAINER.search(classes):
            self.add("\x00", at)
            display = "display" in classes or "block" in classes or tag == "div"
            self.open.append(_Open(tag, "container", self.length, display=display))
        elif tag in _IGNORED or _OPT_OUT.search(classes):
            self.add("\x00", at)
            self.open.append(_Open(tag, "ignore", at))
        else:
            self.add("\n\x00" if tag in _BLOCKS else "\x00", at)

    def image(self, attributes: dict[str, str], classes: str, at: int) -> None:
        """An image stands for a formula if its class says so; not if it repeats the one before."""
        alt = attributes.get("alt", "")
        if alt and _MATH_IMAGE.search(classes) and not (self.held and self.held[-1][2] == _undelimited(alt)):
            self.hold(alt, at, "Dsp" in classes or "display" in classes)
        else:
            self.add("\x00", at)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            self.handle_starttag(tag, attrs)
        else:
            self.text_at("\x00", self.here())

    def handle_endtag(self, tag: str) -> None:
        top = self.open[-1] if self.open else None
        at = self.here()
        if top is not None and tag == top.tag:
            top.depth -= 1
            if top.depth == 0:
                self.open.pop()
                self.finish(top, at)
                return
        if top is None or top.use == "container":
            self.add("\n\x00" if tag in _BLOCKS else "\x00", at)

    def finish(self, element: _Open, at: int) -> None:
        """An element that changed how its content is read is complete."""
        if element.use == "script":
            self.hold("".join(element.texts), element.start, element.display)
        elif element.use == "annotation" and self.open:
            self.open[-1].fallback = "".join(element.texts)
        elif element.use == "math":
            self.hold(element.fallback, element.start, element.display)
        elif element.use == "container":
            self.contain(element, at)
        else:
            self.add("\x00", at)

    def contain(self, element: _Open, at: int) -> None:
        """A container ends: all its text is one formula, unless other elements or delimiters stand inside."""
        text, size = [], 0
        for piece, _ in reversed(self.pieces):
            if size >= self.length - element.start:
                break
            text.append(piece)
            size += len(piece)
        content = "".join(reversed(text))
        if "\x00" not in content and content.strip():
            whole = _DELIMITED.match(content)
            display = element.display or (whole is not None and (whole.group(1) or whole.group(4)) is not None)
            self.held.append((element.start, self.length, _undelimited(content), display))
        self.add("\n\x00" if element.tag in _BLOCKS else "\x00", at)

    def text_at(self, text: str, at: int) -> None:
        """Text, to where it belongs."""
        top = self.open[-1] if self.open else None
        if top is not None and top.use in ("annotation", "script"):
            top.texts.append(text)
        elif top is None or top.use == "container":
            self.add(text, at)

    def handle_data(self, data: str) -> None:
        self.text_at(data, self.here())

    def handle_entityref(self, name: str) -> None:
        self.text_at(unescape(f"&{name};"), self.here())

    def handle_charref(self, name: str) -> None:
        self.text_at(unescape(f"&#{name};"), self.here())


def _undelimited(latex: str) -> str:
    """Without the delimiters around all of it."""
    whole = _DELIMITED.match(latex)
    return next(g for g in whole.groups() if g is not None) if whole else latex


def trusted_in(text: str) -> Trusted:
    """How far the delimiters of a page are trusted, by what it says about its engine."""
    dollars = Trust.LENIENT if _DOLLAR_ENGINE.search(text) else Trust.STRICT
    return Trusted(dollars, Trust.LENIENT if _ENGINE.search(text) else Trust.STRICT)


def extract(page: Page, trusted: Trusted | None = None) -> Iterator[Found]:
    """The formulas of an HTML page or a piece of one.

    Args:
        page: the markup.
        trusted: how far to trust delimiters in text; by default, by what the page says about its engine.
    """
    trusted = trusted_in(page.text) if trusted is None else trusted
    reader = _Reader(page.text)
    text = page.part(reader.pieces)
    held_ends = [end for _, end, _, _ in reader.held]
    spans = list(reader.held)
    for match in scan(text.text, trusted):
        i = bisect_right(held_ends, match.start)
        if i == len(reader.held) or reader.held[i][0] >= match.end:
            spans.append((match.start, match.end, match.latex, match.display))
    for start, end, latex, display in sorted(spans):
        yield text.found(start, end, latex, display)
