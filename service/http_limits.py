"""What keeps the HTTP service standing: bounded work, bounded time and size of requests, and whom it answers at all."""

import asyncio
import contextlib
import ipaddress
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

P = ParamSpec("P")
R = TypeVar("R")

INSIDE = 64
"""Searches at work or waiting; one more is answered 503. At some 10 ms each the last one waits under a second."""

WAIT_S = 15.0
"""A search that has waited so long is answered 503 when its turn comes: on a machine too busy to serve that many."""

CONNECTIONS = 256
"""Open connections; the next is answered 503 and closed."""

HEAD_BYTES = 32 << 10
"""Longest request line with headers: a query of `api.LONGEST_QUERY` characters, percent-encoded, fits."""

HEAD_S = 10.0
"""Time for a request's head to arrive in full, and for an idle connection to stay open."""

ANSWER_S = 30.0
"""Time from a request's head to the end of its answer."""

RETRY_S = 1
"""What a refused client is told to wait."""

OVERLOADED = b'{"error":"overloaded: try again in a second"}'

SAFE_METHODS = ("GET", "HEAD")


class Busy(Exception):
    """Too many are waiting already."""


class Gate:
    """Runs functions one at a time on a thread of its own, and refuses when too many wait.

    One thread, not several: the encoder already uses the cores, so two searches at once would each take twice as long,
    and what the index, the tokeniser or sqlite share between calls needs no lock.
    """

    def __init__(self, inside: int = INSIDE, wait_s: float = WAIT_S) -> None:
        self.limit, self.wait_s, self.inside = inside, wait_s, 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="search")

    async def run(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """The function's result. Called from the event loop alone, so that the count needs no lock.

        Raises:
            Busy: the limit is reached, or the wait was too long; the function was not called.
        """
        if self.inside >= self.limit:
            raise Busy
        self.inside += 1
        loop = asyncio.get_running_loop()
        latest = loop.time() + self.wait_s

        def turn() -> R:
            if loop.time() > latest:
                raise Busy
            return work(*args, **kwargs)

        future = self._thread.submit(turn)
        # Counted until the work is done, not until the client stops waiting for it.
        future.add_done_callback(lambda _: self._leave(loop))
        return await asyncio.wrap_future(future)

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        def count() -> None:
            self.inside -= 1

        with contextlib.suppress(RuntimeError):  # the loop is closed: the service ends
            loop.call_soon_threadsafe(count)


class Guard:
    """Answers only requests that are addressed to this service and ask for something small.

    A page elsewhere whose name is made to resolve to this machine (DNS rebinding) reaches the port but still sends its
    own name as Host, so names are compared; addresses cannot be rebound. Requests that the browser says come from
    another site are refused too, but for links to the page itself. Bodies are refused, since nothing here takes one.

    Args:
        app: what is guarded.
        names: host names that are answered, besides `localhost`.
        remote: are addresses other than loopback ones answered?
    """

    def __init__(self, app: ASGIApp, names: Iterable[str] = (), remote: bool = False) -> None:
        self.app, self.remote = app, remote
        self.names = {"localhost", *(name.lower().rstrip(".") for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI entry."""
        if scope["type"] == "http" and (refusal := self._refusal(scope)) is not None:
            status, message = refusal
            headers = {"Connection": "close"} | ({"Allow": ", ".join(SAFE_METHODS)} if status == 405 else {})
            await JSONResponse({"error": message}, status, headers)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and message for a request that is not let through."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if not self.is_ours(headers.get(b"host", "")):
            return 421, "host: expected the address this service listens on; see --allow-host"
        if scope["method"] not in SAFE_METHODS:
            return 405, "method: expected GET or HEAD"
        if headers.get(b"content-length", "0") != "0" or b"transfer-encoding" in headers:
            return 413, "body: expected none"
        if headers.get(b"sec-fetch-site") == "cross-site" and scope["path"] != "/":
            return 403, "origin: expected a request from this service's own page"
        return None

    def is_ours(self, host: str) -> bool:
        """Is a Host header's name or address one of ours? The port does not matter: the connection already has one."""
        name, _, port = host.rpartition(":") if not host.endswith("]") and ":" in host else (host, "", "")
        if port and not (port.isascii() and port.isdigit()):
            return False
        try:
            address = ipaddress.ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
        except ValueError:
            return name.lower().rstrip(".") in self.names
        return self.remote or address.is_loopback


class TimedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with deadlines: it has none for a head that never ends or an answer that is never read."""

    connection_limit = CONNECTIONS
    head_s = HEAD_S
    answer_s = ANSWER_S

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time for the first head, or turn the connection away."""
        super().connection_made(transport)
        self._allow(self.head_s)
        if len(self.connections) > self.connection_limit:
            transport.write(
                b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n"
                b"Retry-After: %d\r\nContent-Length: %d\r\n\r\n%s" % (RETRY_S, len(OVERLOADED), OVERLOADED)
            )
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Read on; once a head is complete, the time for its answer starts."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before and not self.cycle.response_complete:
            self._allow(self.answer_s)

    def on_response_complete(self) -> None:
        """The time for the next head starts, or for the answer of one that has already come."""
        before = self.cycle
        super().on_response_complete()
        self._allow(self.head_s if self.cycle is before else self.answer_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _allow(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        # abort, not close: close waits for a peer that does not read.
        self._deadline = self.loop.call_later(seconds, lambda: self.transport.abort())


def retry_headers(extra: dict[str, Any] | None = None) -> dict[str, str]:
    """Headers of an answer that refuses for now."""
    return {"Retry-After": str(RETRY_S), **(extra or {})}
