"""The description of the HTTP interface (OpenAPI 3.1), from the limits the code itself uses."""

from typing import Any

from service.api import DEFAULT_PAGE, LARGEST_PAGE, LONGEST_QUERY
from service.protocol import DEPTH

Schema = dict[str, Any]


def _object(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties, "additionalProperties": False}


def _nullable(kind: str, **more: Any) -> Schema:
    return {"type": [kind, "null"], **more}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _answer(schema: str, text: str) -> Schema:
    return {"description": text, "content": {"application/json": {"schema": _reference(schema)}}}


def _parameter(name: str, text: str, schema: Schema, place: str = "query", required: bool = False) -> Schema:
    return {"name": name, "in": place, "required": required, "description": text, "schema": schema}


_WHOLE = {"type": "integer", "minimum": 0}
_TEXT = {"type": "string"}
_ID = {"type": "string", "pattern": "^[0-9]{1,19}$"}
_PLACE = {"anyOf": [_reference("Place"), {"type": "null"}]}

SCHEMAS: dict[str, Schema] = {
    "Error": _object({"error": {"type": "string", "description": "one line: the parameter and what was expected"}}),
    "Health": _object(
        {
            "ok": {"const": True},
            "groups": _nullable("integer", description="formulas that look different"),
            "formulas": _nullable("integer", description="formulas in the collection; null without one"),
            "places": {"type": "boolean", "description": "it is known where formulas stand"},
            "rendering": {"type": "boolean", "description": "KaTeX is installed"},
        }
    ),
    "Place": _object(
        {
            "path": {**_TEXT, "description": "the file, below the name of the folder that was collected"},
            "line": _WHOLE,
            "column": _WHOLE,
            "display": {"type": "boolean"},
            "before": {**_TEXT, "description": "plain text before the formula"},
            "after": {**_TEXT, "description": "plain text after it"},
            "title": _TEXT,
            "format": _TEXT,
            "kind": {**_TEXT, "description": "question, answer or comment"},
            "external_id": _nullable("integer", description="a dump's own id of the post"),
        }
    ),
    "Result": _object(
        {
            "rank": {"type": "integer", "minimum": 1},
            "formula_id": _ID,
            "score": {"type": "number"},
            "latex": _nullable("string"),
            "source": {
                "type": "array",
                "description": "the pieces of latex, each with whether the query has what it means",
                "items": {
                    "type": "array",
                    "prefixItems": [_TEXT, {"type": "boolean"}],
                    "minItems": 2,
                    "maxItems": 2,
                },
            },
            "shared": {"type": "array", "items": _TEXT, "description": "canonical tokens that the query has too"},
            "group_size": _nullable("integer", description="formulas in the collection that look like this one"),
            "place": _PLACE,
        }
    ),
    "Results": _object(
        {
            "query": _TEXT,
            "canonical": {**_TEXT, "description": "the query's canonical tokens"},
            "total": {**_WHOLE, "maximum": DEPTH},
            "offset": _WHOLE,
            "results": {"type": "array", "items": _reference("Result")},
            "took_ms": {"type": "number", "description": "milliseconds of work, without waiting"},
        }
    ),
    "Formula": _object(
        {
            "formula_id": _ID,
            "latex": _TEXT,
            "total": {**_WHOLE, "description": "formulas that look like this one, itself included"},
            "offset": _WHOLE,
            "places": {
                "type": "array",
                "items": _object({"formula_id": _ID, "latex": _TEXT, "place": _PLACE}),
            },
        }
    ),
}

_PAGE = [
    _parameter("n", "how many", {"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE, "default": DEFAULT_PAGE}),
    _parameter("offset", "how many to skip", {"type": "integer", "minimum": 0, "maximum": DEPTH, "default": 0}),
]
_BAD = _answer("Error", "a parameter cannot be used")
_BUSY = {
    **_answer("Error", "too many searches wait already"),
    "headers": {"Retry-After": {"description": "seconds", "schema": {"type": "integer"}}},
}
_UNKNOWN = _answer("Error", "no such formula")
_FORMULA_ID = _parameter("id", "a formula id", _ID, "path", required=True)


def document() -> Schema:
    """The description as JSON values."""
    query = {"type": "string", "minLength": 1, "maxLength": LONGEST_QUERY}
    operations = {
        "/api/search": {
            "operationId": "search",
            "summary": "Formulas like this one, best first",
            "parameters": [_parameter("q", "LaTeX, without delimiters", query, required=True), *_PAGE],
            "responses": {"200": _answer("Results", "a page of the ranking"), "400": _BAD, "503": _BUSY},
        },
        "/api/formula/{id}": {
            "operationId": "formula",
            "summary": "Every place of the formulas that look like this one",
            "parameters": [_FORMULA_ID, *_PAGE],
            "responses": {"200": _answer("Formula", "places"), "400": _BAD, "404": _UNKNOWN, "503": _BUSY},
        },
        "/source/{id}": {
            "operationId": "source",
            "summary": "The lines around a formula in its file, as plain text",
            "parameters": [_FORMULA_ID],
            "responses": {
                "200": {"description": "numbered lines", "content": {"text/plain": {"schema": _TEXT}}},
                "400": _BAD,
                "404": _UNKNOWN,
                "503": _BUSY,
            },
        },
        "/api/health": {
            "operationId": "health",
            "summary": "What is loaded",
            "responses": {"200": _answer("Health", "it is up")},
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Formdex",
            "version": "1",
            "summary": "Formula search in your own documents",
            "description": "GET and HEAD alone. Requests for another host are answered 421, those with a body 413.",
        },
        "paths": {path: {"get": operation} for path, operation in operations.items()},
        "components": {"schemas": SCHEMAS},
    }
