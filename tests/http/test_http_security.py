import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from service.collection import Collection, ExcerptError, excerpt
from service.http import listen
from service.http_limits import Guard, TimedProtocol
from service.http_pages import PAGE
from tests.http.http_stand import EVIL, Client, running


class Impatient(TimedProtocol):
    head_s = 0.5
    answer_s = 0.5
    connection_limit = 8


@pytest.fixture(scope="module")
def impatient(collection: Path) -> Iterator[Client]:
    with running(collection, protocol=Impatient) as client:
        yield client


@contextmanager
def connected(client: Client, data: bytes = b"") -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        connection.sendall(data)
        yield connection


def read_all(connection: socket.socket) -> bytes:
    """Everything until the server hangs up, however it does so."""
    received = b""
    try:
        while chunk := connection.recv(1 << 16):
            received += chunk
    except ConnectionResetError:
        pass
    return received


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8080", "LOCALHOST.", "[::1]:1", "127.9.9.9"])
def test_our_own_names_are_answered(client: Client, host: str) -> None:
    assert client.get("/api/health", Host=host)[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "localhost.evil.example", "8.8.8.8", "", "127.0.0.1:x", "[::1", "a@localhost"],
)
def test_a_foreign_host_is_refused_everywhere(client: Client, host: str) -> None:
    for target in ("/", "/api/search?q=x", "/source/1", "/page.js"):
        status, headers, body = client.get(target, Host=host)
        assert status == 421
        assert b"host: expected" in body
        assert headers["connection"] == "close"


def test_remote_service_answers_addresses_and_named_hosts_alone() -> None:
    guard = Guard(None, ["Box.Local"], remote=True)  # type: ignore[arg-type]
    assert all(map(guard.is_ours, ("10.0.0.7:8080", "[2001:db8::1]", "box.local:80", "localhost")))
    assert not any(map(guard.is_ours, ("evil.example", "box.local.evil.example", "10.0.0.7.evil.example")))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com", ""])
def test_other_than_loopback_needs_the_flag(host: str) -> None:
    with pytest.raises(ValueError, match="--allow-remote"):
        listen(host, 0, remote=False)


def test_the_flag_allows_it() -> None:
    with listen("0.0.0.0", 0, remote=True) as listening:
        assert listening.getsockname()[0] == "0.0.0.0"
    with listen("localhost", 0, remote=False) as listening:
        assert listening.getsockname()[0] in ("127.0.0.1", "::1")


@pytest.mark.parametrize("target", ["/", "/api/search?q=x", "/source/1", "/none", "/api/search", "/page.js"])
def test_every_answer_has_the_policy(client: Client, target: str) -> None:
    _, headers, _ = client.get(target, Origin="http://evil.example")
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert not [name for name in headers if name.startswith("access-control")]


def test_another_site_cannot_ask_through_the_browser(client: Client) -> None:
    for target in ("/api/search?q=x", "/source/1", "/page.js"):
        assert client.get(target, Sec_Fetch_Site="cross-site")[0] == 403
    assert client.get("/?q=x", Sec_Fetch_Site="cross-site")[0] == 200  # a shared link


@pytest.mark.parametrize(
    "target",
    [
        "/../service/http.py",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/katex/../../../package.json",
        "/katex/fonts/..%5c..%5cpackage.json",
        "//etc/passwd",
        "/page.js%00.css",
        "/node_modules/katex/package.json",
        "/package.json",
        "/.gitignore",
        "/page.js/",
        "http://evil.example/page.js",
        "/source/../../etc/passwd",
        "/source/1%2f..%2f..",
    ],
)
def test_only_listed_files_are_served(client: Client, target: str) -> None:
    status, headers, body = client.get(target, Host="localhost")
    assert status in (400, 404)
    assert headers["content-type"] == "application/json"
    assert b"root:" not in body


def test_a_source_outside_its_folder_is_not_opened(client: Client, collection: Path, tmp_path: Path) -> None:
    assert "inside the folder" in client.json("/source/8", expect=404)["error"]
    place = Collection(collection).place(1)
    assert place is not None
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(ExcerptError, match="inside the folder"):
        excerpt(replace(place, root=str(tmp_path), path="link"))
    with pytest.raises(ExcerptError, match="cannot be read"):
        excerpt(replace(place, root=str(tmp_path), path="gone"))
    for path in (".", "a\0b"):
        with pytest.raises(ExcerptError):
            excerpt(replace(place, root=str(tmp_path), path=path))


def test_a_fifo_does_not_hang_a_source(collection: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    place = Collection(collection).place(1)
    assert place is not None
    with pytest.raises(ExcerptError, match="regular file"):
        excerpt(replace(place, root=str(tmp_path), path="pipe"))


def test_markup_in_documents_stays_text(client: Client) -> None:
    status, headers, body = client.get("/api/search?q=script&n=50")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert EVIL.encode().replace(b"\\", b"\\\\") in body  # as JSON text, which nosniff keeps from being read as a page


def test_the_page_has_no_way_from_text_to_markup() -> None:
    for path in (*PAGE.glob("*.js"), PAGE / "index.html"):
        text = path.read_text("utf-8")
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|\son\w+=|style=|https?:", text
        )
        assert found == [], path.name
        assert re.findall(r"<script(?! src=)", text) == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_only_reading_is_allowed(client: Client, method: str) -> None:
    status, headers, _ = client.get("/api/search?q=x", method=method)
    assert (status, headers["allow"]) == (405, "GET, HEAD")


def test_a_body_is_refused_before_it_is_read(client: Client) -> None:
    head = b"GET /api/search?q=x HTTP/1.1\r\nHost: localhost\r\n"
    for more in (b"Content-Length: 1000000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"):
        with connected(client, head + more) as connection:
            assert read_all(connection).startswith(b"HTTP/1.1 413 ")


def test_an_oversized_head_is_refused(client: Client) -> None:
    with connected(client) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(b"GET /?q=" + b"x" * (1 << 20))
        assert b" 200 " not in read_all(connection)[:20]


def test_a_head_that_never_ends_is_cut_off(impatient: Client) -> None:
    with connected(impatient, b"GET /?q=") as connection:
        started = time.monotonic()
        with suppress(BrokenPipeError, ConnectionResetError):
            while time.monotonic() - started < 60:
                connection.sendall(b"x")
                time.sleep(0.1)
        assert time.monotonic() - started < 30


@pytest.mark.parametrize("first", [b"", b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_a_silent_connection_is_closed(impatient: Client, first: bytes) -> None:
    with connected(impatient, first) as connection:
        started = time.monotonic()
        received = read_all(connection)
        assert received.startswith(b"HTTP/1.1 200") == bool(first)
        assert time.monotonic() - started < 30


def test_a_client_that_never_reads_is_cut_off(impatient: Client) -> None:
    request = b"GET /katex/katex.min.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    if impatient.get("/katex/katex.min.js")[0] != 200:
        request = b"GET /api/search?q=x&n=50 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connected(impatient) as connection:
        connection.settimeout(60)  # a server that waits for ever ends this with a TimeoutError

        def flood() -> None:
            while True:
                connection.sendall(request * 100)

        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            flood()
    assert impatient.get("/api/health")[0] == 200


def test_too_many_connections_are_turned_away(impatient: Client) -> None:
    held = [socket.create_connection(("127.0.0.1", impatient.port)) for _ in range(8)]
    try:
        time.sleep(0.1)
        with connected(impatient) as connection:
            answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 1" in answer
    finally:
        for connection in held:
            connection.close()
    time.sleep(0.2)
    assert impatient.get("/api/health")[0] == 200


def test_garbage_is_answered_and_survived(client: Client) -> None:
    for data in (b"\0" * 100 + b"\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"):
        with connected(client, data) as connection:
            assert read_all(connection).startswith(b"HTTP/1.1 4")
    with connected(client, b"GET / HTTP/1.0\r\n\r\n") as connection:
        assert read_all(connection).startswith(b"HTTP/1.1 421")
    assert client.get("/api/health")[0] == 200


def test_a_damaged_database_leaves_the_search(collection: Path, tmp_path: Path) -> None:
    (tmp_path / "formulas.tsv").write_bytes((collection / "formulas.tsv").read_bytes())
    (tmp_path / "posts.sqlite").write_bytes(b"no database" * 100)
    assert not Collection(tmp_path).has_places
    with running(tmp_path) as client:
        assert client.json("/api/search", q="x^2")["results"][0]["place"] is None
