"""The local page and its JSON interface over HTTP.

    python -m service.http --index-dir INDEX --collection COLLECTION
    curl 'http://127.0.0.1:8080/api/search?q=x%5E2&n=3'

Listens on a loopback address unless told otherwise twice (`--host` and `--allow-remote`). There is no login and no
encryption: whoever reaches the port can search, and read the lines around every formula of the collection.
"""

import argparse
import gc
import ipaddress
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from service.api import Api, ParameterError, UnknownError, id_of, page_of, query_of
from service.collection import Collection
from service.openapi import document
from service.session import THREADS

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError as error:
    raise SystemExit(
        f"service.http: {error.name} is missing; run: pip install --require-hashes -r requirements/http.lock"
    ) from None

from service.http_limits import HEAD_BYTES, SAFE_METHODS, Busy, Gate, Guard, TimedProtocol, retry_headers
from service.http_pages import INSTALL, PAGE, SECURITY, Static, load, respond

PORT = 8080
SHUTDOWN_S = 5


def application(
    api: Api, files: Mapping[str, Static], gate: Gate | None = None, names: Sequence[str] = (), remote: bool = False
) -> ASGIApp:
    """The whole service as one ASGI application.

    Args:
        api: what answers.
        files: the page, by URL path.
        gate: what bounds the work; a new one by default.
        names: host names that are answered besides `localhost`.
        remote: are addresses other than loopback ones answered?
    """
    gate = gate or Gate()
    description = document()

    async def search(request: Request) -> Response:
        values = request.query_params
        return JSONResponse(await gate.run(api.search, query_of(values), *page_of(values)))

    async def formula(request: Request) -> Response:
        number = id_of(request.path_params["id"])
        return JSONResponse(await gate.run(api.formula, number, *page_of(request.query_params)))

    async def source(request: Request) -> Response:
        return PlainTextResponse(await gate.run(api.excerpt, id_of(request.path_params["id"])))

    async def health(request: Request) -> Response:
        return JSONResponse(api.health())

    async def openapi(request: Request) -> Response:
        return JSONResponse(description)

    async def page(request: Request) -> Response:
        found = respond(files, request)
        if found is None:
            raise HTTPException(404, "there is nothing at this address")
        return found

    handlers: dict[str, Callable[[Request], Any]] = {
        "/api/search": search,
        "/api/formula/{id}": formula,
        "/api/health": health,
        "/api/openapi.json": openapi,
        "/source/{id}": source,
        "/{path:path}": page,
    }
    app = Starlette(
        routes=[Route(path, handler, methods=list(SAFE_METHODS)) for path, handler in handlers.items()],
        exception_handlers={
            ParameterError: lambda _, error: _failure(400, error),
            UnknownError: lambda _, error: _failure(404, error),
            Busy: lambda _, error: _failure(503, "overloaded: try again in a second", retry_headers()),
            HTTPException: lambda _, error: _failure(error.status_code, error.detail),
            Exception: lambda _, error: _failure(500, "the service failed; its log says how"),
        },
    )
    app.router.redirect_slashes = False
    return _with_headers(Guard(app, names, remote), SECURITY)


def _failure(status: int, error: object, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": str(error)}, status, headers)


def _with_headers(app: ASGIApp, headers: Mapping[str, str]) -> ASGIApp:
    """The application, with the same headers on every answer."""
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *encoded]}
            await send(message)

        await app(scope, receive, send_more)

    return wrapped


def server(app: ASGIApp, protocol: type[TimedProtocol] = TimedProtocol) -> uvicorn.Server:
    """uvicorn, set up for this service. It logs errors to stderr, and never what was searched."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=HEAD_BYTES,
            timeout_keep_alive=int(protocol.head_s),
            timeout_graceful_shutdown=SHUTDOWN_S,
        )
    )


def listen(host: str, port: int, remote: bool) -> socket.socket:
    """A socket that listens.

    Args:
        host: an address or `localhost`.
        port: 0 for any that is free.
        remote: may the address be other than a loopback one?

    Raises:
        ValueError: the address is not a loopback one, or cannot be listened on.
    """
    if not remote and not _is_loopback(host):
        raise ValueError(f"--host: expected a loopback address, got {host!a}; --allow-remote lets others search")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=512)
    except (OSError, UnicodeError, OverflowError) as error:
        raise ValueError(f"--host {host} --port {port}: cannot listen: {error}") from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def open_api(index_dir: Path, collection: Path | None, model: Path | None, rendering: bool) -> Api:
    """Open an index and its collection.

    Raises:
        FormdexError: one of them cannot be read, or they do not belong together.
    """
    from index.errors import StoreError
    from index.search import Index

    index = Index.open(index_dir, model, THREADS)
    rows = None if collection is None else Collection(collection)
    known = index.header.get("corpus", {})
    if rows is not None and "rows" in known and known["rows"] - known.get("withheld", 0) != len(rows):
        raise StoreError(f"{collection}: has other formulas than {index_dir} was built from; build the index again")
    api = Api(index, rows, rendering)
    api.search(r"\int_0^\infty e^{-x^2}\,dx")  # the first search pays for what later ones find ready
    return api


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(
        prog="python -m service.http",
        description="Serve the search page and its JSON interface.",
        epilog="example: python -m service.http --index-dir build/index --collection build/collection",
        allow_abbrev=False,
    )
    found.add_argument("--index-dir", type=Path, required=True, metavar="DIR", help="the index")
    found.add_argument("--collection", type=Path, metavar="DIR", help="what it was built from: formulas and places")
    found.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    found.add_argument("--port", type=int, default=PORT, help="port; 0 for a free one (default: %(default)s)")
    found.add_argument("--allow-remote", action="store_true", help="let other machines search and read excerpts")
    found.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="answer to this host name too (repeatable)"
    )
    found.add_argument("--model", type=Path, metavar="DIR", help="the model (default: the shipped weights)")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit status: 2 where it cannot start."""
    flags = parser().parse_args(argv)
    try:
        listening = listen(flags.host, flags.port, flags.allow_remote)
        files, rendering = load(PAGE)
        api = open_api(flags.index_dir, flags.collection, flags.model, rendering)
    except (ValueError, OSError) as error:
        print(f"service.http: {error}", file=sys.stderr)
        return 2
    if not rendering:
        print(f"service.http: KaTeX is missing, formulas are shown as text; run: {INSTALL}", file=sys.stderr)
    gc.collect()
    gc.freeze()  # the index lives as long as the process: later collections need not walk over it
    host, port = listening.getsockname()[:2]
    print(f"http://{f'[{host}]' if ':' in host else host}:{port}/", flush=True)
    server(application(api, files, names=flags.allow_host, remote=flags.allow_remote)).run([listening])
    return 0


if __name__ == "__main__":
    sys.exit(main())
