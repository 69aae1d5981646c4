"""The page's files: read once into a fixed table, so no request ever names a path on disk."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

PAGE = Path(__file__).resolve().parent.parent / "page"
"""The page's own files; KaTeX is below it in `node_modules`."""

KATEX = Path("node_modules", "katex", "dist")

INSTALL = "npm ci --ignore-scripts --prefix page"
"""What installs KaTeX."""

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        # KaTeX sets its styles through the object model (katex.render), which this allows; no inline style is needed.
        "style-src 'self'",
        "font-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        # Nothing may turn text into markup, not even by mistake: assignments to innerHTML and the like throw.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)

SECURITY = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
"""On every answer. No Access-Control header: other sites' scripts may not read anything."""


class Static(NamedTuple):
    """A file as it is sent."""

    body: bytes
    type: str
    tag: str


def load(folder: Path = PAGE) -> tuple[dict[str, Static], bool]:
    """The page's files by URL path.

    Args:
        folder: where `index.html` is.

    Returns:
        The table, and whether KaTeX is in it.

    Raises:
        OSError: a file of the page cannot be read.
    """
    files = {"/": folder / "index.html"}
    files |= {f"/{path.name}": path for path in sorted(folder.glob("*.*")) if path.suffix in (".js", ".css", ".svg")}
    katex = folder / KATEX
    wanted = {"/katex/katex.min.js": katex / "katex.min.js", "/katex/katex.min.css": katex / "katex.min.css"}
    installed = all(path.is_file() for path in wanted.values())
    if installed:
        files |= wanted | {f"/katex/fonts/{path.name}": path for path in sorted((katex / "fonts").glob("*.woff2"))}
    return {url: _static(path) for url, path in files.items()}, installed


def _static(path: Path) -> Static:
    body = path.read_bytes()
    return Static(body, TYPES[path.suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def respond(files: Mapping[str, Static], request: Request) -> Response | None:
    """The file at a request's path, or that the client's copy is current; None where there is no such file."""
    file = files.get(request.scope["path"])  # not request.url, which a full URL as target misleads
    if file is None:
        return None
    headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.body, headers=headers | {"Content-Type": file.type})
