import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from encoder.latex import tokenize
from service import highlight
from service.http import main
from service.http_limits import Busy, Gate
from service.openapi import document
from tests.http.http_stand import EVIL, FORMULAS, Client, StandInIndex, running

LATEX = {str(number): formula for number, formula, _ in FORMULAS}


def test_a_search_answers_the_index_with_formulas_and_places(client: Client) -> None:
    answer = client.json("/api/search", q="a^2+b^2=c^2", n=3)
    ranking = StandInIndex().search("a^2+b^2=c^2")
    assert [(r["formula_id"], r["score"]) for r in answer["results"]] == list(ranking[:3])
    assert [r["rank"] for r in answer["results"]] == [1, 2, 3]
    assert answer["total"] == len(ranking)
    best = answer["results"][0]
    assert (best["latex"], best["group_size"], best["score"]) == (LATEX["2"], 2, 1.0)
    assert (best["place"]["path"], best["place"]["line"]) == ("papers/paper.md", 50)
    assert "root" not in best["place"]


def test_pages_are_parts_of_one_ranking(client: Client) -> None:
    whole = client.json("/api/search", q="x^2", n=50)["results"]
    parts = [client.json("/api/search", q="x^2", n=7, offset=at)["results"] for at in range(0, 56, 7)]
    assert [r for part in parts for r in part] == whole
    assert client.json("/api/search", q="x^2", offset=1000)["results"] == []


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({}, "q"),
        ({"q": " \n"}, "q"),
        ({"q": "x" * 2001}, "q"),
        ({"q": "x", "n": "0"}, "n"),
        ({"q": "x", "n": "51"}, "n"),
        ({"q": "x", "n": "1e1"}, "n"),
        ({"q": "x", "n": "٣"}, "n"),
        ({"q": "x", "offset": "-1"}, "offset"),
        ({"q": "x", "offset": "1" * 5000}, "offset"),
    ],
)
def test_a_parameter_that_cannot_be_used_is_named(client: Client, parameters: dict[str, str], named: str) -> None:
    message = client.json("/api/search", expect=400, **parameters)["error"]
    assert message.startswith(f"{named}: expected")
    assert len(message) < 150


@pytest.mark.parametrize("query", ["\\", "\0", "%", "𝔸" * 2000, "{" * 2000, EVIL, "\\frac" * 400, "&lt;", "\ud800"])
def test_any_text_can_be_searched(client: Client, query: str) -> None:
    encoded = query.encode("utf-8", "surrogatepass").decode("latin-1")
    status, _, body = client.get("/api/search?q=" + "".join(f"%{ord(c):02x}" for c in encoded))
    assert status == 200
    assert json.loads(body)["query"] == query.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def test_every_place_of_a_group_is_found(client: Client) -> None:
    answer = client.json("/api/formula/2")
    assert [(p["formula_id"], p["latex"]) for p in answer["places"]] == [("2", LATEX["2"]), ("3", LATEX["3"])]
    assert answer["total"] == 2
    assert "999" in client.json("/api/formula/999", expect=404)["error"]
    assert client.json("/api/formula/1x", expect=400)["error"].startswith("id: expected")


def test_the_source_shows_the_lines_around_as_plain_text(client: Client) -> None:
    status, headers, body = client.get("/source/2")
    assert (status, headers["content-type"]) == (200, "text/plain; charset=utf-8")
    lines = body.decode().splitlines()
    assert lines[0] == "papers/paper.md:50:3"
    assert [line for line in lines if line.startswith(">")] == [">     50  The formula <b>stands</b> here."]
    assert len(lines) == 2 + 81


def test_marks_keep_the_text_and_name_shared_tokens(client: Client) -> None:
    results = client.json("/api/search", q=r"\sqrt{x}^2", n=50)["results"]
    for result in results:
        assert "".join(piece for piece, _ in result["source"]) == result["latex"]
        assert set(result["shared"]) == set(tokenize(result["latex"])) & {"\\sqrt", "x", "2"}
    assert any(hit for result in results for _, hit in result["source"])


def test_spellings_of_one_token_match() -> None:
    query = highlight.meaning(r"a\leq b")
    assert highlight.source(query, r"x \le a") == [("x ", False), (r"\le", True), (" ", False), ("a", True)]


def test_a_collection_is_optional(collection: Path) -> None:
    from service.api import Api

    result = Api(StandInIndex(), None).search("x^2", 1)["results"][0]
    assert (result["latex"], result["place"], result["group_size"]) == (None, None, None)


def test_the_description_is_openapi_and_answers_obey_it(client: Client) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="requirements/browser.lock is not installed")
    described = client.json("/api/openapi.json")
    assert described == json.loads(json.dumps(document()))
    assert described["openapi"].startswith("3.1")

    def check(name: str, answer: Any) -> None:
        schema = {"$ref": f"#/components/schemas/{name}", "components": described["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer)

    check("Results", client.json("/api/search", q="x^2", n=50))
    check("Formula", client.json("/api/formula/2"))
    check("Health", client.json("/api/health"))
    check("Error", client.json("/api/search", expect=400))
    for path in described["paths"]:
        assert client.get(path.replace("{id}", "1") + "?q=x")[0] == 200


def test_many_at_once_get_each_its_own_answer(collection: Path) -> None:
    queries = [formula for _, formula, _ in FORMULAS if len(formula) > 3]
    alone = {query: StandInIndex().search(query)[:5] for query in queries}
    right: list[bool] = []
    index = StandInIndex()
    with running(collection, index, Gate(wait_s=300)) as client:

        def ask(start: int) -> None:
            for step in range(6):
                query = queries[(start + step) % len(queries)]
                answer = client.json("/api/search", q=query, n=5)
                found = [(r["formula_id"], r["score"]) for r in answer["results"]]
                right.append(answer["query"] == query and found == alone[query])

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert right == [True] * (24 * 6)
    assert index.most == 1


def test_overload_is_refused_and_passes(collection: Path) -> None:
    index = StandInIndex(delay_s=0.3)
    with running(collection, index, Gate(inside=3)) as client:
        seen: list[tuple[int, str | None]] = []

        def ask() -> None:
            status, headers, _ = client.get("/api/search?q=x")
            seen.append((status, headers.get("retry-after")))

        threads = [threading.Thread(target=ask) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {status for status, _ in seen} == {200, 503}
        assert all(after == "1" for status, after in seen if status == 503)
        assert client.json("/api/search", q="x")["total"] > 0
        for _ in range(4):  # every place that was taken was given back
            assert client.json("/api/formula/2")["total"] == 2
    assert index.most == 1


def test_a_wait_that_is_too_long_is_refused() -> None:
    async def both() -> list[object]:
        gate = Gate(wait_s=0.1)
        waits = (gate.run(time.sleep, 0.4), gate.run(time.sleep, 0.0))
        results = await asyncio.gather(*waits, return_exceptions=True)
        await asyncio.sleep(0.05)
        assert gate.inside == 0
        return list(results)

    slept, refused = asyncio.run(both())
    assert slept is None
    assert isinstance(refused, Busy)


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--index-dir", "nowhere", "--port", "0"], "nowhere"),
        (["--index-dir", "nowhere", "--host", "0.0.0.0", "--port", "0"], "--allow-remote"),
        (["--index-dir", "nowhere", "--host", "no.such.name.invalid", "--allow-remote"], "cannot listen"),
    ],
)
def test_a_start_that_fails_says_why_in_one_line(
    flags: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(flags) == 2
    printed = capsys.readouterr().err.strip()
    assert named in printed
    assert "\n" not in printed
