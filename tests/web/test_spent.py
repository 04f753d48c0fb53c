"""What is refused leaves nothing behind: its memory is free without the garbage collector, which may come very late."""

from __future__ import annotations

import gc
import logging
import zlib
from collections.abc import Iterator

import pytest
from aiohttp import web

from daemon.settings import Settings
from daemon.web.bodies import ARRIVING
from daemon.web.connections import Connection
from daemon.web.spent import untangle
from tests.load.pump import wire
from tests.web.test_connections import HEALTH, entrance, register, until

TIMES = 5
PART = b"[" * 300_000
KINDS = (web.Request, Connection)
NO_HTTP = b"\x00\x01\x02 what\r\n\r\n"
HEAD = b"POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def packed(body: bytes, name: bytes) -> bytes:
    return HEAD + b"Content-Encoding: %b\r\nContent-Length: %d\r\n\r\n%b" % (name, len(body), body)


@pytest.fixture
def alone(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing is found by the garbage collector until the test is over, and pytest keeps no error that is logged."""
    caplog.set_level(logging.CRITICAL, "aiohttp.server")
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def left() -> int:
    """How many requests and connections there are, whoever holds them."""
    return sum(type(one) in KINDS for one in gc.get_objects())


def large() -> int:
    """How many bytes there are in pieces that only a large body can have made."""
    held = (it for one in gc.get_objects() for it in gc.get_referents(one) if type(it) in {bytes, bytearray})
    return sum(len(it) for it in {id(it): it for it in held if len(it) > len(PART) // 3}.values())


REFUSED = {
    "no HTTP": NO_HTTP,
    "a header that is none": b"GET /health HTTP/1.1\r\nHost: x\r\nwhat\r\n\r\n",
    "no such address": wire("GET", "/nowhere"),
    "no such method": wire("DELETE", "/health"),
    "no token": wire("GET", "/process-runs/"),
    "no JSON": wire("POST", "/auth/login", b"{"),
    "no such fields": wire("POST", "/auth/login", b"{}"),
    "not compressed as it says": packed(b"plain", b"gzip"),
    "compressed, and cut off": packed(zlib.compress(PART)[:-20], b"deflate"),
    "too large when it is no longer compressed": packed(zlib.compress(PART * 10), b"deflate"),
    "no HTTP behind a request": HEALTH + NO_HTTP,
}


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("request_", REFUSED.values(), ids=REFUSED.keys())
async def test_what_is_refused_is_gone_with_its_connection(settings: Settings, request_: bytes) -> None:
    async with entrance(settings) as here:
        before = left()
        for _ in range(TIMES):
            line = await here.line(request_)
            await line.read()
            line.writer.close()
        await until(lambda: not here.connections)
        await until(lambda: left() == before)


@pytest.mark.usefixtures("alone")
async def test_of_a_body_whose_sender_goes_nothing_is_kept(settings: Settings) -> None:
    async with entrance(settings) as here:
        token = await register(here, "ann")
        arriving = here.door.runner.app[ARRIVING]
        before, free = large(), arriving._free
        for _ in range(TIMES):
            head = f"POST /process-runs/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            more = f"Content-Type: application/json\r\nContent-Length: {len(PART) * 2}\r\n\r\n"
            line = await here.line((head + more).encode() + PART)
            await line.writer.drain()
            await until(lambda: arriving._free <= free - len(PART))
            line.writer.transport.abort()
            await until(lambda: arriving._free == free)
        await until(lambda: large() == before)


def test_an_error_lets_go_of_all_that_led_to_it() -> None:
    error, first, second = KeyError("last"), ValueError("first"), OSError("second")
    try:
        try:
            try:
                raise first
            except ValueError:
                raise second from first
        except OSError:
            raise error from None
    except KeyError:
        untangle(error)
    assert [(one.__traceback__, one.__cause__, one.__context__) for one in (error, first, second)] == [(None,) * 3] * 3
