"""A small collection, an index that ranks it by shared tokens, and a running server over both."""

import csv
import http.client
import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn

from collect.store import _SCHEMA, HEADER
from encoder.latex import tokenize
from service.api import Api
from service.collection import Collection
from service.http import application, listen, server
from service.http_limits import Gate, TimedProtocol
from service.http_pages import load

EVIL = r"\text{<script>window.stolen=1</script><img src=x onerror=window.stolen=1>}"
FORMULAS: tuple[tuple[int, str, int], ...] = (
    # id, formula, visual group
    (1, r"\int_0^\infty e^{-x^2}\,dx=\frac{\sqrt{\pi}}{2}", 1),
    (2, r"a^2+b^2=c^2", 2),
    (3, r"a^{2}+b^{2}=c^{2}", 2),
    (4, EVIL, 4),
    (5, r"\href{javascript:window.stolen=1}{x^2}", 5),
    (6, r"\frac{1}{x^2", 6),
    (7, r"\htmlClass{hit}{x}+\includegraphics{/theme.js}", 7),
    (8, r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", 8),
    (9, r"\def\x{\x\x}\x^2", 9),
    (10, r"\boxed{x_{12}}\ne\cancel{y}\overbrace{a+b}^{n}\textcolor{red}{z}", 10),
    *((20 + i, rf"x^{{2}}+{i}", 20 + i) for i in range(30)),
)
TEXT = "A line.\nThe formula <b>stands</b> here.\n" * 60


class StandInIndex:
    """Ranks by the share of common tokens; like an index, it keeps one formula a group."""

    size = len(FORMULAS) - 1

    def __init__(self, delay_s: float = 0.0) -> None:
        self.delay_s, self.running, self.most = delay_s, 0, 0

    def search(self, latex: str, k: int = 1000) -> Sequence[tuple[str, float]]:
        """At most k ids and scores; notes how many searches run at once."""
        self.running += 1
        self.most = max(self.most, self.running)
        time.sleep(self.delay_s)
        query = set(tokenize(latex))
        scored = []
        for number, formula, group in FORMULAS:
            if number == min(n for n, _, g in FORMULAS if g == group):
                tokens = set(tokenize(formula))
                scored.append((-len(query & tokens) / max(1, len(query | tokens)), number))
        self.running -= 1
        return [(str(number), -score) for score, number in sorted(scored)][:k]


def write_collection(folder: Path) -> Path:
    """A collection with places, as `collect` writes it, and the files it came from."""
    documents = folder / "papers"
    documents.mkdir()
    (documents / "paper.md").write_text(TEXT, "utf-8")
    with (folder / "formulas.tsv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(HEADER)
        for number, formula, group in FORMULAS:
            writer.writerow((number, 1, 1, "question", "", group, group, "", formula))
    db = sqlite3.connect(folder / "posts.sqlite")
    db.executescript(_SCHEMA)
    db.execute(
        "INSERT INTO documents VALUES (1, 1, 'question', ?, 'paper.md', 1, 'markdown', 'utf-8', NULL, ?)",
        (str(documents), "<b>javascript:alert(1)</b>"),
    )
    db.execute(
        "INSERT INTO documents VALUES (2, 1, 'question', ?, '../posts.sqlite', 1, 'markdown', 'utf-8', NULL, '')",
        (str(documents),),
    )
    for number, _, _ in FORMULAS:
        place = (number, 2 if number == 8 else 1, 50, 3, 0, "before <script>window.stolen=1</script>", "& after")
        db.execute("INSERT INTO contexts VALUES (?, ?, ?, ?, ?, ?, ?)", place)
    db.commit()
    db.close()
    return folder


class Client:
    """Requests to a server of the tests, each on a connection of its own."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.root = f"http://127.0.0.1:{port}"

    def get(self, target: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers (lower case) and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(method, target, headers={k.replace("_", "-"): v for k, v in headers.items()})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def json(self, path: str, expect: int = 200, **parameters: Any) -> Any:
        """The JSON of an answer, whose status is checked."""
        status, headers, body = self.get(f"{path}?{urlencode(parameters)}")
        assert (status, headers["content-type"]) == (expect, "application/json"), body
        return json.loads(body)


@contextmanager
def running(
    folder: Path,
    index: Any = None,
    gate: Gate | None = None,
    protocol: type[TimedProtocol] = TimedProtocol,
    **options: Any,
) -> Iterator[Client]:
    """A server in a thread of its own on a free port."""
    files, rendering = load()
    api = Api(index or StandInIndex(), Collection(folder), rendering)
    listening = listen("127.0.0.1", 0, False)
    instance: uvicorn.Server = server(application(api, files, gate, **options), protocol)
    thread = threading.Thread(target=instance.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield Client(listening.getsockname()[1])
    finally:
        instance.should_exit = True
        thread.join(10)
        listening.close()
    assert not thread.is_alive()
