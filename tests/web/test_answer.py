"""Our answers are on the wire what aiohttp's own would be, to the byte."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from itertools import product

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from daemon.web.answer import Answer

HEADERS = {"Content-Type": "application/json; charset=utf-8", "ETag": '"1"', "Server": "penstock"}
BODIES = (b'{"a": "\xc3\xa4"}', b"", b"x" * 300_000)
DATE = re.compile(rb"Date: [A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT\r\n")


async def handle(request: web.Request) -> web.Response:
    """An answer of the kind and of the form that the path names."""
    kind, status, body, how = request.path.strip("/").split("/")
    made: web.Response = (Answer if kind == "ours" else web.Response)(
        status=int(status), body=BODIES[int(body)], headers=HEADERS
    )
    if how == "cookie":
        made.set_cookie("a", "b")
    elif how == "closed":
        made.force_close()
    elif how == "small":
        made.enable_compression()
    return made


@pytest.fixture
async def port() -> AsyncIterator[int]:
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handle)
    async with TestServer(app) as server:
        assert server.port is not None
        yield server.port


LAST = "GET /theirs/200/1/closed HTTP/1.1\r\nHost: a\r\n\r\n"


async def said(port: int, *requests: str) -> bytes:
    """All that comes back on one connection, until it is closed, but for the time of day."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("".join(requests).encode())
    found, dates = DATE.subn(b"", await reader.read())
    writer.close()
    assert dates == found.count(b"HTTP/1.")
    return found


@pytest.mark.parametrize("how", ["plain", "cookie", "closed", "small"])
@pytest.mark.parametrize("body", range(len(BODIES)))
@pytest.mark.parametrize("status", [200, 404])
async def test_an_answer_is_what_aiohttp_would_send(port: int, status: int, body: int, how: str) -> None:
    for method, version, more in product(
        ("GET", "POST", "HEAD"), ("1.1", "1.0"), ("", "Connection: close\r\n", "Connection: keep-alive\r\n")
    ):
        end = f"{status}/{body}/{how} HTTP/{version}\r\nHost: a\r\nAccept-Encoding: gzip\r\n{more}\r\n"
        lasting = "keep-alive" in more or (version == "1.1" and not more)
        rest = (LAST,) if lasting else ()
        ours = await said(port, f"{method} /ours/{end}", *rest)
        assert ours == await said(port, f"{method} /theirs/{end}", *rest)
        assert ours.startswith(f"HTTP/{version} {status} ".encode())


async def test_several_answers_follow_each_other_on_one_connection(port: int) -> None:
    ends = [
        f"200/{body}/{how} HTTP/1.1\r\nHost: a\r\n\r\n" for body in range(len(BODIES)) for how in ("plain", "cookie")
    ]
    ours = await said(port, *(f"GET /ours/{end}" for end in ends), LAST)
    assert ours == await said(port, *(f"GET /theirs/{end}" for end in ends), LAST)
    assert ours.count(b"HTTP/1.1 200 OK\r\n") == len(ends) + 1
