"""A far side that says back whatever credential it was given, in every form it knows, and the forms
themselves.
"""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, quote_plus

from aiohttp import web
from aiohttp.test_utils import TestServer

HEADERS = ("Authorization", "X-Api-Key")
TOO_LONG = 300 * 1024


def forms(secret: str) -> Iterator[str]:
    """What gives a secret away: it in clear, in JSON, in hex, URL-encoded, and in base64 at each
    place of three.
    """
    yield from _plain(secret)
    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):
            digits = encode(b"\0" * before + secret.encode()).decode().rstrip("=")
            # The first digit or two hold bits of what stands before, the last one may hold bits of
            # what comes after.
            yield digits[before + 1 if before else 0 : -1]


def _whole(secret: str) -> Iterator[str]:
    """A secret as a far side may write it: in each of these ways, in base64 among other bytes
    too.
    """
    yield from _plain(secret)
    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):
            for after in range(3):
                yield encode(b"-" * before + secret.encode() + b"-" * after).decode()


def _plain(secret: str) -> Iterator[str]:
    raw = secret.encode()
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield raw.hex()
    yield raw.hex().upper()
    for safe in ("", "/"):
        yield quote(secret, safe=safe)
    yield quote_plus(secret)
    yield re.sub("%..", lambda code: code[0].lower(), quote(secret, safe=""))


class Parrot:
    """The server, and every credential that it has got."""

    def __init__(self) -> None:
        self.heard: set[str] = set()
        app = web.Application()
        app.router.add_route("*", "/json/{status}", self._as_json)
        app.router.add_route("*", "/text/{status}", self._as_text)
        app.router.add_route("*", "/charset", self._as_charset)
        app.router.add_route("*", "/away", self._elsewhere)
        app.router.add_route("*", "/long", self._at_length)
        app.router.add_route("*", "/hang", self._never)
        app.router.add_route("*", "/reset", self._cut_off)
        self.server = TestServer(app, host="127.0.0.1")

    @property
    def url(self) -> str:
        return str(self.server.make_url("")).rstrip("/")

    def _repeated(self, request: web.Request) -> list[str]:
        said = [request.headers[name] for name in HEADERS if name in request.headers]
        said += [value.partition(" ")[2] for value in said if " " in value]
        said += [b64decode(value.partition(" ")[2]).decode() for value in said if value.startswith("Basic ")]
        said += [value.partition(":")[2] for value in said if ":" in value]
        self.heard.update(said)
        return [form for value in said for form in _whole(value)]

    async def _as_json(self, request: web.Request) -> web.Response:
        said = self._repeated(request)
        body: dict[str, Any] = {"list": said, "names": dict.fromkeys(said, 1), "one": " ".join(said)}
        return web.json_response(body, status=int(request.match_info["status"]))

    async def _as_text(self, request: web.Request) -> web.Response:
        text = "You said: " + ", ".join(self._repeated(request))
        return web.Response(text=text, status=int(request.match_info["status"]))

    async def _as_charset(self, request: web.Request) -> web.Response:
        said = self._repeated(request)
        name = next((form for form in said if form.isalnum()), "none")
        return web.Response(body=" ".join(said).encode(), headers={"Content-Type": f"application/json; charset={name}"})

    async def _elsewhere(self, request: web.Request) -> web.Response:
        said = "&".join(quote(form, safe="") for form in self._repeated(request))
        return web.Response(status=302, headers={"Location": f"/json/200?{said}"})

    async def _at_length(self, request: web.Request) -> web.Response:
        return web.Response(text=" ".join(self._repeated(request)) + "x" * TOO_LONG)

    async def _never(self, request: web.Request) -> web.Response:
        self._repeated(request)
        await asyncio.Event().wait()
        raise AssertionError

    async def _cut_off(self, request: web.Request) -> web.Response:
        self._repeated(request)
        assert request.transport is not None
        request.transport.abort()
        return web.Response()
