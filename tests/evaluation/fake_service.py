"""A search service with the behaviour that a query's LaTeX asks for; test_evaluation_produce.py starts it."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def results(count: int = 3, first: int = 1) -> list[dict[str, Any]]:
    return [{"formula_id": str(first + place), "score": 1.0 - place / 1000} for place in range(count)]


def rows(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"formula_id": formula_id, "score": score} for formula_id, score in pairs]


def reply(query_id: str, latex: str) -> str:
    special: dict[str, Any] = {
        "wrong id": {"query_id": "other", "results": results()},
        "error": {"ok": False, "error": "no such thing", "query_id": query_id},
        "too many": {"query_id": query_id, "results": results(1001)},
        "thousand": {"query_id": query_id, "results": results(1000)},
        "nothing": {"query_id": query_id, "results": []},
        "ascending": {"query_id": query_id, "results": rows(("1", 0.5), ("2", 0.75))},
        "nan": {"query_id": query_id, "results": rows(("1", float("nan")))},
        "boolean": {"query_id": query_id, "results": rows(("1", True))},
        "number id": {"query_id": query_id, "results": rows((1, 0.5))},
        "word id": {"query_id": query_id, "results": rows(("one", 0.5))},
        "no list": {"query_id": query_id, "results": "12"},
        "repeats": {"query_id": query_id, "results": rows(("7", 1.0), ("8", 0.5), ("7", 0.25))},
        "list": [1, 2],
    }
    return json.dumps(special.get(latex, {"query_id": query_id, "results": results()}))


def main() -> None:
    log = Path(sys.argv[sys.argv.index("--work-dir") + 1]) / "log"
    mode = (Path(sys.argv[sys.argv.index("--index-dir") + 1]) / "mode").read_text()
    for line in sys.stdin:
        message = json.loads(line)
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {message['op']} {message.get('latex', '')}\n")
        if message["op"] == "load":
            if mode == "die":
                sys.exit("first line\nthe index is damaged")
            print('{"ok": false, "error": "foreign"}' if mode == "refuse" else '{"ok": true}', flush=True)
            continue
        latex = message["latex"]
        if latex == "die":
            sys.exit("killed by a formula")
        if latex == "hang":
            time.sleep(60)
        if latex == "slow":
            time.sleep(0.2)
        print("not json" if latex == "garbage" else reply(message["query_id"], latex), flush=True)


main()
