"""The page as it is served: the files built from daemon/ui, each compressed once."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import PurePosixPath

from aiohttp import web

from daemon.web.problems import existing

INDEX = "index.html"
FOREVER = "public, max-age=31536000, immutable"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
GUARDS = {
    "Content-Security-Policy": CSP,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_GZIP = re.compile(r"(?:^|,)\s*gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class File:
    plain: bytes
    small: bytes | None
    """Compressed; None where that saves less than a tenth."""
    type: str
    tag: str


async def index(request: web.Request) -> web.Response:
    return await _serve(request, INDEX, "no-cache")


async def asset(request: web.Request) -> web.Response:
    """GET /assets/{name}: the name holds a hash of the content, so it never changes."""
    return await _serve(request, f"assets/{request.match_info['name']}", FOREVER)


async def _serve(request: web.Request, name: str, keep: str) -> web.Response:
    file = existing((await asyncio.to_thread(_files)).get(name))
    headers = {**GUARDS, "Cache-Control": keep, "ETag": file.tag, "Vary": "Accept-Encoding"}
    if file.tag in request.headers.get("If-None-Match", ""):
        return web.Response(status=304, headers=headers)
    headers["Content-Type"] = file.type
    if file.small is not None and _GZIP.search(request.headers.get("Accept-Encoding", "")):
        return web.Response(body=file.small, headers={**headers, "Content-Encoding": "gzip"})
    return web.Response(body=file.plain, headers=headers)


@cache
def _files() -> dict[str, File]:
    with resources.as_file(resources.files("daemon.web") / "static") as root:
        found = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
        return {name: _file(name, path.read_bytes()) for name, path in found.items()}


def _file(name: str, plain: bytes) -> File:
    tag = f'W/"{hashlib.sha256(plain).hexdigest()[:32]}"'
    kind = TYPES.get(PurePosixPath(name).suffix, "application/octet-stream")
    small = gzip.compress(plain, mtime=0)
    return File(plain, small if 10 * len(small) <= 9 * len(plain) else None, kind, tag)
