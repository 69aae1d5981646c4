"""What the page and other programs ask: search results with places and marks, as JSON values. No HTTP in here.

One `Api` is used by one thread at a time (`http_limits.Gate`). Every answer is computed from its own arguments and the
loaded index and collection, none of which change, so answers cannot mix.
"""

import html
import re
import time
from collections.abc import Mapping
from typing import Any

from encoder.latex import canonical
from service.collection import Collection, ExcerptError, Place, excerpt
from service.highlight import meaning, shared, source
from service.protocol import DEPTH
from service.session import SearchIndex

LONGEST_QUERY = 2000
"""Characters of a query."""

LARGEST_PAGE = 50
"""Results, or places, in one answer."""

DEFAULT_PAGE = 10

LARGEST_ID = 2**63 - 1

_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|#0?39);")


class ParameterError(ValueError):
    """A parameter that cannot be used; the message names it and what was expected."""


class UnknownError(LookupError):
    """There is no such formula, or its place is not known; the message says which."""


def typed(latex: str) -> str:
    """LaTeX without the HTML escapes that parts of ARQMath's collection have; some are escaped twice."""
    for _ in range(2):
        latex = _ENTITY.sub(lambda match: html.unescape(match.group()), latex)
    return latex


class Api:
    """Answers over one index and, where there is one, the collection it was built from."""

    def __init__(self, index: SearchIndex, collection: Collection | None, rendering: bool = True) -> None:
        """Take what is open already.

        Args:
            index: the index.
            collection: its collection; without one, results have an id and a score and no more.
            rendering: is KaTeX there? Only told on.
        """
        self.index, self.collection, self.rendering = index, collection, rendering

    def health(self) -> dict[str, Any]:
        """What is loaded."""
        return {
            "ok": True,
            "groups": getattr(self.index, "size", None),
            "formulas": None if self.collection is None else len(self.collection),
            "places": self.collection is not None and self.collection.has_places,
            "rendering": self.rendering,
        }

    def search(self, query: str, count: int = DEFAULT_PAGE, offset: int = 0) -> dict[str, Any]:
        """A page of results for a formula; `openapi` describes them.

        Args:
            query: LaTeX as typed, checked by `parameters`.
            count: results wanted.
            offset: results before them.
        """
        started = time.perf_counter()
        ranking = self.index.search(query, DEPTH)
        symbols = meaning(query)
        page = ranking[offset : offset + count]
        return {
            "query": query,
            "canonical": canonical(query),
            "total": len(ranking),
            "offset": offset,
            "results": [
                {"rank": rank, "formula_id": formula_id, "score": score, **self._formula(int(formula_id), symbols)}
                for rank, (formula_id, score) in enumerate(page, offset + 1)
            ],
            "took_ms": round(1000 * (time.perf_counter() - started), 3),
        }

    def formula(self, formula_id: int, count: int = DEFAULT_PAGE, offset: int = 0) -> dict[str, Any]:
        """Every place where a formula stands that looks the same as this one.

        Raises:
            UnknownError: no such formula.
        """
        members = [] if self.collection is None else self.collection.group(formula_id)
        if self.collection is None or not members:
            raise UnknownError(f"formula {formula_id}: not in the collection")
        page = members[offset : offset + count]
        return {
            "formula_id": str(formula_id),
            "latex": typed(self.collection.latex(formula_id) or ""),
            "total": len(members),
            "offset": offset,
            "places": [
                {
                    "formula_id": str(member),
                    "latex": typed(self.collection.latex(member) or ""),
                    "place": _public(self.collection.place(member)),
                }
                for member in page
            ],
        }

    def excerpt(self, formula_id: int) -> str:
        """The text around a formula in its file: a line that names the place, then numbered lines.

        Raises:
            UnknownError: no such formula, or its file cannot be shown.
        """
        place = None if self.collection is None else self.collection.place(formula_id)
        if place is None:
            raise UnknownError(f"formula {formula_id}: its place is not known")
        try:
            first, lines = excerpt(place)
        except ExcerptError as error:
            raise UnknownError(str(error)) from None
        numbered = [
            f"{'>' if number == place.line else ' '} {number:6}  {line}" for number, line in enumerate(lines, first)
        ]
        return "\n".join([f"{place.name}:{place.line}:{place.column}", "", *numbered, ""])

    def _formula(self, formula_id: int, symbols: frozenset[str]) -> dict[str, Any]:
        """What the collection knows of a result; null where it knows nothing."""
        latex = None if self.collection is None else self.collection.latex(formula_id)
        if self.collection is None or latex is None:
            return {"latex": None, "source": [], "shared": [], "group_size": None, "place": None}
        latex = typed(latex)
        return {
            "latex": latex,
            "source": source(symbols, latex),
            "shared": shared(symbols, latex),
            "group_size": self.collection.group_size(formula_id),
            "place": _public(self.collection.place(formula_id)),
        }


def _public(place: Place | None) -> dict[str, Any] | None:
    return None if place is None else place.public()


def query_of(values: Mapping[str, str]) -> str:
    """The parameter `q`.

    Raises:
        ParameterError: missing, blank or too long.
    """
    query = values.get("q", "").encode("utf-8", "replace").decode()
    if not query.strip():
        raise ParameterError("q: expected LaTeX, got nothing")
    if len(query) > LONGEST_QUERY:
        raise ParameterError(f"q: expected at most {LONGEST_QUERY} characters, got {len(query)}")
    return query


def page_of(values: Mapping[str, str]) -> tuple[int, int]:
    """The parameters `n` and `offset`.

    Raises:
        ParameterError: not a number in its range.
    """
    return _number(values, "n", DEFAULT_PAGE, 1, LARGEST_PAGE), _number(values, "offset", 0, 0, DEPTH)


def id_of(text: str) -> int:
    """A formula id.

    Raises:
        ParameterError: not an unsigned decimal below 2^63.
    """
    return _number({"id": text}, "id", 0, 0, LARGEST_ID)


def _number(values: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = values.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 19 and low <= int(text) <= high):
        raise ParameterError(f"{name}: expected a number from {low} to {high}, got {text[:20]!a}")
    return int(text)
