r"""The JSON-lines protocol: bytes of a line to a message, results to bytes of a line. Pure functions, no I/O, no index.

A request is a JSON object. Field names are compared without case, hyphens, underscores and spaces, so `index_dir`,
`index-dir` and `indexDir` are one field; given more than once, its values must be equal.

    verb        under op, type, cmd, method or action: one of LOAD_VERBS or QUERY_VERBS, in any case. Without a verb a
                message with latex is a query and any other a load (but one that has a query_id and no path is refused
                as a query without latex).
    load        index_dir, work_dir: optional paths. Answered {"ok":true}.
    query       latex: a string; lone surrogates in it are read as U+FFFD. Answered
                {"query_id":...,"results":[{"formula_id":"12","score":0.9}]}, best first.
    query_id    a string or a finite number is echoed, a number digit by digit as it was written; null or absent: the
                results come with query_id null; true, false, lists, objects and numbers like 1e999 are refused.
    error       {"ok":false,"error":"one line"}, preceded by "query_id" where the request has one (null where that is
                not a string or a finite number).

Replies are ASCII: everything else is escaped, so they are valid UTF-8 whatever was asked.
"""

import json
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, NoReturn

DEPTH = 1000
"""Most results in an answer (the contract's limit)."""

VERB_NAMES = ("op", "type", "cmd", "method", "action")
LOAD_VERBS = ("load", "loadindex", "open", "openindex", "init", "initialize", "initialise", "start", "setup")
QUERY_VERBS = ("query", "search", "find", "retrieve", "lookup", "ask")
INDEX_NAMES = ("indexdir", "index", "indexpath", "indexfolder", "indexdirectory")
WORK_NAMES = ("workdir", "work", "workpath", "workfolder", "workdirectory", "workingdir", "workingdirectory")

FIELD_OF = {
    **dict.fromkeys(VERB_NAMES, "verb"),
    **dict.fromkeys(INDEX_NAMES, "index_dir"),
    **dict.fromkeys(WORK_NAMES, "work_dir"),
    "latex": "latex",
    "queryid": "query_id",
}
"""Plain spelling of a field name -> the field it means; names that are not here are ignored."""

LOADED = b'{"ok":true}\n'
"""The reply to a load that worked."""

PATH_CHARS = 4096
"""A longer string is no path (PATH_MAX of Linux); resolving one of millions of parts would take hours."""

MESSAGE_CHARS = 300
"""An error message is cut to this length."""

_IGNORED_IN_NAMES = str.maketrans("", "", "_- ")
_RESULT = '{"formula_id":"%s","score":%.8e}'


class RequestError(Exception):
    """A request that cannot be served; the message is one line naming the field and what was expected.

    Attributes:
        query_id: The request's query_id as JSON text, or None where it has none.
    """

    def __init__(self, message: str, query_id: str | None = None) -> None:
        super().__init__(message)
        self.query_id = query_id


class Load(NamedTuple):
    """Open an index. Paths as they were given, None where the message leaves them to the flags."""

    index_dir: str | None
    work_dir: str | None
    query_id: str | None = None


class Query(NamedTuple):
    """Rank formulas for one LaTeX string; query_id is JSON text ready to print, None where the message has none."""

    latex: str
    query_id: str | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A JSON number as it was written, so that an id comes back digit by digit and no integer is too long to read."""

    text: str


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its (name, value) pairs, repeated names included."""

    __slots__ = ()


def decode(line: bytes) -> Load | Query:
    """The message in one line (a newline, spaces and a byte order mark around it are allowed).

    Raises:
        RequestError: The line is not UTF-8 or not JSON, or the message breaks the rules above.
    """
    fields = _fields(_parse(line))
    query_id = _query_id(fields)
    try:
        return _message(fields, query_id)
    except RequestError as error:
        raise RequestError(str(error), query_id) from None


def failure(message: str, query_id: str | None = None) -> bytes:
    """The line of an error reply: the message on one line and cut to MESSAGE_CHARS, after the id (JSON text) if any."""
    text = " ".join(message.split())
    if len(text) > MESSAGE_CHARS:
        text = text[: MESSAGE_CHARS - 3] + "..."
    start = "{" if query_id is None else f'{{"query_id":{query_id},'
    return f'{start}"ok":false,"error":{json.dumps(text)}}}\n'.encode("ascii")


def answer(query_id: str | None, results: Sequence[tuple[str, float]]) -> bytes:
    """The line that answers a query with its ranking, best first; results after the first DEPTH are left out.

    Scores are printed with 9 significant digits, which tells any two float32 apart, so that rounding neither adds ties
    nor changes the order; with an exponent, so that no reader takes 1.0 for an integer. One format of the whole list
    takes a quarter of the time of json.dumps for 1,000 results.

    Raises:
        ValueError: The ranking breaks the contract: a formula id that is not a decimal string, a score that is not
            finite, or one above the score before it.
    """
    results = results[:DEPTH]
    scores = [score for _, score in results]
    digits = "".join([formula_id for formula_id, _ in results])
    if results and not (digits.isascii() and digits.isdigit() and all(formula_id for formula_id, _ in results)):
        raise ValueError("expected formula ids of digits alone from the index")
    if not all(map(math.isfinite, scores)):
        raise ValueError("expected finite scores from the index")
    if not all(map(operator.ge, scores, scores[1:])):
        raise ValueError("expected descending scores from the index")
    listed = ",".join([_RESULT] * len(results)) % tuple(chain.from_iterable(results))
    return f'{{"query_id":{query_id or "null"},"results":[{listed}]}}\n'.encode("ascii")


def _parse(line: bytes) -> Any:
    """The JSON value of a line, objects as Pairs and numbers as Number."""
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"line: expected UTF-8, got byte 0x{line[error.start]:02x} at {error.start}") from None
    try:
        return json.loads(
            text, object_pairs_hook=Pairs, parse_int=Number, parse_float=Number, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as error:
        raise RequestError(f"line: expected JSON, got an error at character {error.pos}") from None
    except RecursionError:
        raise RequestError("line: expected JSON with brackets nested less deeply") from None


def _refuse_constant(name: str) -> NoReturn:
    raise RequestError(f"line: expected JSON, which has no {name}")


def _fields(value: Any) -> dict[str, list[Any]]:
    """The known fields of a message: field -> its values in order, so none of them is empty."""
    if not isinstance(value, Pairs):
        raise RequestError(f"line: expected a JSON object, got {_kind(value)}")
    fields: dict[str, list[Any]] = {}
    for name, item in value:
        field = FIELD_OF.get(_plain(name))
        if field is not None:
            fields.setdefault(field, []).append(item)
    return fields


def _query_id(fields: dict[str, list[Any]]) -> str | None:
    """The JSON text of the query_id, None where there is none."""
    try:
        value = _one(fields, "query_id")
    except RequestError as error:
        raise RequestError(str(error), "null") from None
    if value is None:
        return "null" if "query_id" in fields else None
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Number) and math.isfinite(float(value.text)):
        return value.text
    raise RequestError(f"query_id: expected a string or a finite number, got {_kind(value)}", "null")


def _message(fields: dict[str, list[Any]], query_id: str | None) -> Load | Query:
    verb = _verb(fields)
    if verb is None:
        broken_query = "query_id" in fields and "index_dir" not in fields and "work_dir" not in fields
        verb = "query" if "latex" in fields or broken_query else "load"
    if verb == "load":
        return Load(_path(fields, "index_dir"), _path(fields, "work_dir"), query_id)
    if "latex" not in fields:
        raise RequestError("latex: expected a string, got no such field")
    latex = _one(fields, "latex")
    if not isinstance(latex, str):
        raise RequestError(f"latex: expected a string, got {_kind(latex)}")
    return Query(_without_lone_surrogates(latex), query_id)


def _verb(fields: dict[str, list[Any]]) -> str | None:
    """`load`, `query`, or None where no field holds a verb.

    A field that holds something else is passed over when another holds a verb, as in {"op":"query","type":"formula"}.
    """
    values = fields.get("verb", [])
    words = [_plain(value) for value in values if isinstance(value, str)]
    verbs = {"load" if word in LOAD_VERBS else "query" for word in words if word in LOAD_VERBS or word in QUERY_VERBS}
    if len(verbs) == 1:
        return verbs.pop()
    if verbs:
        raise RequestError("verb: expected one of load and query, got both")
    if values:
        got = json.dumps(values[0][:40]) if isinstance(values[0], str) else _kind(values[0])
        raise RequestError(f"verb: expected load or query, got {got}")
    return None


def _path(fields: dict[str, list[Any]], field: str) -> str | None:
    """A path as given, None where the message has none."""
    if field not in fields:
        return None
    value = _one(fields, field)
    if not isinstance(value, str):
        raise RequestError(f"{field}: expected a path, got {_kind(value)}")
    if not value.strip() or len(value) > PATH_CHARS or "\0" in value or _without_lone_surrogates(value) != value:
        raise RequestError(f"{field}: expected a path, got a string that cannot be one")
    return value


def _one(fields: dict[str, list[Any]], field: str) -> Any:
    """The value of a field, None where it is absent; refuses values that differ."""
    values = fields.get(field, [None])
    if any(type(value) is not type(values[0]) or value != values[0] for value in values[1:]):
        raise RequestError(f"{field}: expected one value, got several that differ")
    return values[0]


def _plain(name: str) -> str:
    return name.strip().casefold().translate(_IGNORED_IN_NAMES)


def _without_lone_surrogates(text: str) -> str:
    """The text with every half of a surrogate pair, which UTF-8 cannot hold, as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _kind(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return {Number: "a number", str: "a string", Pairs: "an object", list: "a list"}[type(value)]
