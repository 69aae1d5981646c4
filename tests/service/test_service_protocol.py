import itertools
import json
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.protocol import DEPTH, MESSAGE_CHARS, Load, Query, RequestError, answer, decode, failure

DEEP = 100_000

BAD_ID = "query_id: expected a string or a finite number, got "
DIFFER = "expected one value, got several that differ"
NO_PATH = "index_dir: expected a path, got a string that cannot be one"
TOO_DEEP = "line: expected JSON with brackets nested less deeply"

MALFORMED: dict[str, tuple[bytes, str, str | None]] = {
    # name: (line, message, query_id of the error as JSON text or None)
    "word": (b"not json", "line: expected JSON, got an error at character 0", None),
    "unfinished object": (b'{"op":"query"', "line: expected JSON, got an error at character 13", None),
    "unfinished string": (b'{"latex":"x', "line: expected JSON, got an error at character 9", None),
    "two values": (b'{"op":"load"} {}', "line: expected JSON, got an error at character 14", None),
    "single quotes": (b"{'latex':'x'}", "line: expected JSON, got an error at character 1", None),
    "no colon": (b'{"latex"}', "line: expected JSON, got an error at character 8", None),
    "lone backslash": (b'{"latex":"\\alpha"}', "line: expected JSON, got an error at character 10", None),
    "raw tab": (b'{"latex":"a\tb"}', "line: expected JSON, got an error at character 11", None),
    "raw NUL": (b'{"latex":"a\0b"}', "line: expected JSON, got an error at character 11", None),
    "NUL alone": (b"\0", "line: expected JSON, got an error at character 0", None),
    "byte order mark alone": (b"\xef\xbb\xbf", "line: expected JSON, got an error at character 0", None),
    "array": (b"[]", "line: expected a JSON object, got a list", None),
    "null": (b"null", "line: expected a JSON object, got null", None),
    "number": (b"42", "line: expected a JSON object, got a number", None),
    "string": (b'"x"', "line: expected a JSON object, got a string", None),
    "true": (b"true", "line: expected a JSON object, got true", None),
    "infinite number": (b"1e999", "line: expected a JSON object, got a number", None),
    "long integer": (b"9" * DEEP, "line: expected a JSON object, got a number", None),
    "NaN": (b'{"query_id":NaN,"latex":"x"}', "line: expected JSON, which has no NaN", None),
    "-Infinity": (b'{"query_id":"a","latex":-Infinity}', "line: expected JSON, which has no -Infinity", None),
    "bytes that start no character": (b"\xff\xfe\x00", "line: expected UTF-8, got byte 0xff at 0", None),
    "Latin-1": (b'{"latex":"\xe9"}', "line: expected UTF-8, got byte 0xe9 at 10", None),
    "surrogate in UTF-8": (b'{"latex":"\xed\xa0\x80"}', "line: expected UTF-8, got byte 0xed at 10", None),
    "UTF-16": ('{"latex":"x"}'.encode("utf-16"), "line: expected UTF-8, got byte 0xff at 0", None),
    "cut character": (b'{"latex":"\xe2\x88', "line: expected UTF-8, got byte 0xe2 at 10", None),
    "open brackets": (b"[" * DEEP, TOO_DEEP, None),
    "nested arrays": (b"[" * DEEP + b"]" * DEEP, TOO_DEEP, None),
    "nested objects": (b'{"a":' * DEEP, TOO_DEEP, None),
    "unknown verb": (b'{"op":"fly"}', 'verb: expected load or query, got "fly"', None),
    "unknown verb with latex": (
        b'{"op":"fly","query_id":3,"latex":"x"}',
        'verb: expected load or query, got "fly"',
        "3",
    ),
    "verb is a number": (b'{"op":1,"query_id":"a"}', "verb: expected load or query, got a number", '"a"'),
    "verb is null": (b'{"cmd":null,"latex":"x"}', "verb: expected load or query, got null", None),
    "verb is a list": (b'{"type":["query"],"latex":"x"}', "verb: expected load or query, got a list", None),
    "empty verb": (b'{"method":"","query_id":"a","latex":"x"}', 'verb: expected load or query, got ""', '"a"'),
    "two verbs": (
        b'{"op":"load","type":"query","query_id":"a"}',
        "verb: expected one of load and query, got both",
        '"a"',
    ),
    "no latex": (b'{"op":"query","query_id":"h1"}', "latex: expected a string, got no such field", '"h1"'),
    "no latex and no verb": (b'{"query_id":"h1"}', "latex: expected a string, got no such field", '"h1"'),
    "no latex and no id": (b'{"op":"query"}', "latex: expected a string, got no such field", None),
    "latex is null": (b'{"op":"query","query_id":"h2","latex":null}', "latex: expected a string, got null", '"h2"'),
    "latex is a number": (
        b'{"op":"query","query_id":"h3","latex":7}',
        "latex: expected a string, got a number",
        '"h3"',
    ),
    "latex is a list": (b'{"query_id":"h4","latex":["x"]}', "latex: expected a string, got a list", '"h4"'),
    "latex is an object": (b'{"query_id":"h4","latex":{}}', "latex: expected a string, got an object", '"h4"'),
    "latex is false": (b'{"query_id":"h4","latex":false}', "latex: expected a string, got false", '"h4"'),
    "two latex": (b'{"query_id":"h4","latex":"x","latex":"y"}', "latex: " + DIFFER, '"h4"'),
    "id is an object": (b'{"query_id":{"a":1},"latex":"x"}', BAD_ID + "an object", "null"),
    "id is a list": (b'{"query_id":[],"latex":"x"}', BAD_ID + "a list", "null"),
    "id is true": (b'{"query_id":true,"latex":"x"}', BAD_ID + "true", "null"),
    "id is infinite": (b'{"query_id":1e999,"latex":"x"}', BAD_ID + "a number", "null"),
    "id is minus infinite": (b'{"query_id":-1e999,"latex":"x"}', BAD_ID + "a number", "null"),
    "id is a long integer": (b'{"query_id":' + b"9" * 5000 + b',"latex":"x"}', BAD_ID + "a number", "null"),
    "two ids": (b'{"query_id":1,"query_id":2,"latex":"x"}', "query_id: " + DIFFER, "null"),
    "ids of two kinds": (b'{"query_id":"1","query_id":1,"latex":"x"}', "query_id: " + DIFFER, "null"),
    "path is a number": (b'{"op":"load","index_dir":7}', "index_dir: expected a path, got a number", None),
    "path is null": (b'{"op":"load","index_dir":null}', "index_dir: expected a path, got null", None),
    "path is empty": (b'{"op":"load","index_dir":" "}', NO_PATH, None),
    "path with NUL": (b'{"op":"load","index_dir":"a\\u0000"}', NO_PATH, None),
    "path with a surrogate": (b'{"op":"load","index_dir":"\\udc80"}', NO_PATH, None),
    "path without end": (b'{"op":"load","index_dir":"' + b"a/" * DEEP + b'"}', NO_PATH, None),
    "work path is a list": (b'{"op":"load","work_dir":[]}', "work_dir: expected a path, got a list", None),
    "two paths": (b'{"op":"load","index_dir":"a","index-dir":"b"}', "index_dir: " + DIFFER, None),
    "two paths and an id": (b'{"query_id":1,"op":"load","index":"a","indexDir":"b"}', "index_dir: " + DIFFER, "1"),
}

LOADS = [
    b'{"op":"load","index_dir":"a","work_dir":"b"}',
    b'{"type":"LOAD","index-dir":"a","work-dir":"b"}',
    b'{"cmd":"Open","indexDir":"a","workDir":"b"}',
    b'{"method":"init","index":"a","work":"b"}',
    b'{"action":" load_index ","INDEX_DIR":"a","Work_Dir":"b"}',
    b'{"index_dir":"a","work_dir":"b"}',
    b'{"index_dir":"a","index":"a","work_dir":"b","version":[1]}',
    b'\xef\xbb\xbf {"op":"load","type":"load","index_path":"a","work_path":"b"}\r',
    b'{"op":"load","type":"index","index_dir":"a","work_dir":"b"}',
]

QUERIES = [
    b'{"op":"query","query_id":"B.1","latex":"x^2"}',
    b'{"type":"Search","query_id":"B.1","latex":"x^2"}',
    b'{"cmd":"FIND","query_id":"B.1","latex":"x^2"}',
    b'{"method":"query","query_id":"B.1","latex":"x^2"}',
    b'{"action":"lookup","query_id":"B.1","latex":"x^2"}',
    b'{"query_id":"B.1","latex":"x^2"}',
    b'{"queryId":"B.1","LaTeX":"x^2"}',
    b' {"latex" : "x\\u005e2" , "query_id" : "B.1", "k": 1e999} \r',
    b'{"op":"query","type":"formula","query_id":"B.1","latex":"x^2","latex":"x^2"}',
]


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_request_is_refused_with_its_id(name: str) -> None:
    line, message, query_id = MALFORMED[name]
    with pytest.raises(RequestError) as caught:
        decode(line)
    assert str(caught.value) == message
    assert caught.value.query_id == query_id


@pytest.mark.parametrize("line", LOADS)
def test_load_in_every_dialect(line: bytes) -> None:
    assert decode(line) == Load("a", "b")


@pytest.mark.parametrize("line", [b'{"op":"load"}', b"{}", b'{"what":1}', b'{"query-ids":1}'])
def test_load_without_paths(line: bytes) -> None:
    assert decode(line) == Load(None, None)


def test_load_keeps_its_id_for_errors() -> None:
    assert decode(b'{"query_id":"l","index_dir":"a"}') == Load("a", None, '"l"')


@pytest.mark.parametrize("line", QUERIES)
def test_query_in_every_dialect(line: bytes) -> None:
    assert decode(line) == Query("x^2", '"B.1"')


@pytest.mark.parametrize(
    ("given_id", "echo"),
    [
        ('"B.1"', '"B.1"'),
        ('""', '""'),
        ('"\u00e9\\u0000\\ud800"', '"\\u00e9\\u0000\\ud800"'),
        ("7", "7"),
        ("-0", "-0"),
        ("1.50", "1.50"),
        ("1E2", "1E2"),
        ("12345678901234567890123", "12345678901234567890123"),
        ("null", "null"),
    ],
)
def test_id_is_echoed_as_given(given_id: str, echo: str) -> None:
    message = decode(f'{{"query_id":{given_id},"latex":"x"}}'.encode())
    assert message.query_id == echo
    assert answer(message.query_id, []) == f'{{"query_id":{echo},"results":[]}}\n'.encode()


def test_query_without_id_is_answered_with_null() -> None:
    message = decode(b'{"op":"query","latex":"x"}')
    assert message == Query("x", None)
    assert (
        answer(message.query_id, [("1", 0.5)])
        == b'{"query_id":null,"results":[{"formula_id":"1","score":5.00000000e-01}]}\n'
    )


@pytest.mark.parametrize(
    ("escaped", "latex"),
    [
        (b"", ""),
        (b"  ", "  "),
        (b"\\ud800x\\udc00", "\ufffdx\ufffd"),
        (b"\\ud83d\\ude42", "\U0001f642"),
        (b"\\u0000\\u0001x", "\0\1x"),
        ("∑_{j≤m} β_j".encode(), "∑_{j≤m} β_j"),
    ],
)
def test_latex_arrives_as_text_that_utf8_can_hold(escaped: bytes, latex: str) -> None:
    assert decode(b'{"latex":"' + escaped + b'"}') == Query(latex)


def test_failure_is_one_short_line_of_ascii() -> None:
    assert failure("a\n b\tc\u2028\u00e9\ud800") == b'{"ok":false,"error":"a b c \\u00e9\\ud800"}\n'
    assert failure("no", '"q"') == b'{"query_id":"q","ok":false,"error":"no"}\n'
    assert len(json.loads(failure("x" * 10_000))["error"]) == MESSAGE_CHARS


def test_answer_keeps_order_and_cuts_at_depth() -> None:
    reply = json.loads(answer('"q"', [(str(number), -number) for number in range(DEPTH + 5)]))
    assert reply["query_id"] == "q"
    assert [result["formula_id"] for result in reply["results"]] == [str(number) for number in range(DEPTH)]
    assert [result["score"] for result in reply["results"]] == [-number for number in range(DEPTH)]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_rounded_scores_never_ascend(scores: list[float]) -> None:
    scores.sort(reverse=True)
    printed = [result["score"] for result in json.loads(answer("1", [("1", score) for score in scores]))["results"]]
    assert all(later <= former for former, later in itertools.pairwise(printed))
    assert all(math.isclose(a, b, rel_tol=1e-8) for a, b in zip(printed, scores, strict=True) if abs(b) > 1e-300)


@pytest.mark.parametrize("score", [0.0, -0.0, 1.0, 1, 123456789.0, 5e-324, 1.7976931348623157e308])
def test_score_is_printed_as_a_float(score: float) -> None:
    printed = json.loads(answer("1", [("1", score)]))["results"][0]["score"]
    assert isinstance(printed, float)
    assert math.isfinite(printed)


def test_neighbouring_float32_stay_apart() -> None:
    rng = random.Random(0)
    for _ in range(200):
        upper = np.float32(rng.uniform(0.001, 2))
        lower = np.nextafter(upper, np.float32(0))
        first, second = json.loads(answer("1", [("1", float(upper)), ("2", float(lower))]))["results"]
        assert first["score"] > second["score"]


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([("1", math.nan)], "finite"),
        ([("1", math.inf)], "finite"),
        ([("1", -math.inf)], "finite"),
        ([("1", 0.1), ("2", 0.2)], "descending"),
        ([("", 1.0), ("2", 0.5)], "digits"),
        ([("-1", 1.0)], "digits"),
        ([("\u0661", 1.0)], "digits"),
        ([('1"', 1.0)], "digits"),
    ],
)
def test_answer_refuses_what_the_contract_forbids(results: list[tuple[str, float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        answer("1", results)
