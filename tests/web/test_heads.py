"""Heads of requests that proxies read in several ways, and headers that every response has."""

from __future__ import annotations

import json

import pytest

from daemon.settings import Settings
from tests.web.support import House, Person
from tests.web.test_connections import HEALTH, Entrance, Line, code_of, entrance, register

QUICK = json.dumps({"vertical": "quick"}).encode()
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def head(*lines: bytes, version: bytes = b"HTTP/1.1") -> bytes:
    fixed = b"POST /process-runs/ " + version, b"Host: x", b"Content-Type: application/json"
    return b"\r\n".join((*fixed, *lines, b"", b""))


async def bearer(here: Entrance) -> bytes:
    return b"Authorization: Bearer " + (await register(here, "sender")).encode()


@pytest.mark.parametrize(
    "coding",
    [
        b"chunked, identity",
        b"identity, chunked",
        b"identity",
        b"gzip, chunked",
        b"xchunked",
        b"chunked;q=1",
        b"chunked, chunked",
        b"chunked\r\nTransfer-Encoding: chunked",
        b"chunked\r\nTransfer-Encoding: identity",
        b"chunked\r\nContent-Length: 5",
        b"\x0bchunked",
        b"",
    ],
)
async def test_another_transfer_coding_than_chunked_is_refused(settings: Settings, coding: bytes) -> None:
    async with entrance(settings) as here:
        line = await here.line(head(await bearer(here), b"Transfer-Encoding: " + coding) + b"0\r\n\r\n" + HEALTH)
        await is_refused(line)


async def test_chunks_in_another_version_than_1_1_are_refused(settings: Settings) -> None:
    async with entrance(settings) as here:
        request = head(await bearer(here), b"Transfer-Encoding: chunked", version=b"HTTP/1.0")
        await is_refused(await here.line(request + b"0\r\n\r\n" + HEALTH))


@pytest.mark.parametrize("version", [b"HTTP/2.0", b"HTTP/0.9", b"HTTP/1.2", b"HTTP/3.0", b"HTTP/11", b"http/1.1"])
async def test_another_version_of_http_is_refused(settings: Settings, version: bytes) -> None:
    async with entrance(settings) as here:
        request = head(await bearer(here), b"Connection: keep-alive", b"Content-Length: 21", version=version)
        await is_refused(await here.line(request + QUICK + HEALTH))
        await is_refused(await here.line(b"GET /nowhere " + version + b"\r\nHost: x\r\n\r\n"))


async def is_refused(line: Line) -> None:
    """With one problem, and the end of the connection: nothing behind it is read."""
    assert code_of(await line.read()) == (400, "malformed_request")
    assert await line.ended()


async def test_chunks_and_http_1_0_are_taken(settings: Settings) -> None:
    async with entrance(settings) as here:
        own = await bearer(here)
        chunked = head(own, b"Transfer-Encoding: Chunked") + b"15\r\n" + QUICK + b"\r\n0\r\n\r\n"
        old = head(own, b"Content-Length: 21", version=b"HTTP/1.0") + QUICK
        for request in (chunked, old):
            assert (await (await here.line(request)).read()).status == 201


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((b"Content-Length: 21",), 401),
        ((b"Content-Length: 21", b"Authorization: Bearer x"), 401),
        ((b"Content-Length: 2000000", b"its own"), 413),
        ((b"Content-Length: 21", b"Content-Encoding: br", b"its own"), 415),
    ],
)
async def test_nobody_is_asked_for_a_body_that_is_refused(
    settings: Settings, lines: tuple[bytes, ...], status: int
) -> None:
    async with entrance(settings) as here:
        own = await bearer(here)
        sent = [own if line == b"its own" else line for line in lines]
        line = await here.line(head(b"Expect: 100-continue", *sent))
        answer = await line.reader.readuntil(b"\r\n")
        assert answer.startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize("request_", [b"GET /nowhere", b"PUT /health", b"HEAD /nowhere", b"OPTIONS *"])
async def test_an_expectation_at_an_unknown_address_is_answered(settings: Settings, request_: bytes) -> None:
    async with entrance(settings) as here:
        line = await here.line()
        request = request_ + b" HTTP/1.1\r\nHost: x\r\nExpect: the-unexpected\r\n\r\n"
        assert [answer.status for answer in await line.ask(request, HEALTH)] == [417, 200]


async def test_a_caller_who_waits_for_it_is_asked_for_the_body_once_the_token_holds(settings: Settings) -> None:
    async with entrance(settings) as here:
        line = await here.line(head(b"Expect: 100-continue", b"Content-Length: 21", await bearer(here)))
        assert await line.reader.readexactly(len(CONTINUE)) == CONTINUE
        line.writer.write(QUICK)
        assert (await line.read()).status == 201


async def test_an_answer_with_data_is_for_nobody_else_to_keep_or_to_guess_at(house: House, ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    tag = {"If-None-Match": (await ann.get(f"/process-runs/{run['id']}")).headers["ETag"]}
    for path in ("/auth/me", "/process-runs/", "/connectors/", "/events", "/audit/checkpoint", "/webhooks", "/nowhere"):
        answer = await ann.get(path)
        assert answer.headers["Cache-Control"] == "no-store", path
        assert answer.headers["X-Content-Type-Options"] == "nosniff", path
    for answer in (await ann.get(f"/process-runs/{run['id']}"), await ann.resume(run, "signoff")):
        assert answer.headers["Cache-Control"] == "private, no-cache"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    unchanged = await house.send("GET", f"/process-runs/{run['id']}", headers={**ann.bearer, **tag})
    assert (unchanged.status, unchanged.headers["Cache-Control"]) == (200, "private, no-cache")  # it was decided
    tag = {"If-None-Match": unchanged.headers["ETag"]}
    unchanged = await house.send("GET", f"/process-runs/{run['id']}", headers={**ann.bearer, **tag})
    assert (unchanged.status, unchanged.headers["Cache-Control"]) == (304, "private, no-cache")


async def test_a_session_and_a_refusal_are_not_kept(house: House, ann: Person) -> None:
    login = await house.send("POST", "/auth/login", {"email": ann.email, "password": "correct horse"})
    refused = await house.send("POST", "/auth/login", {"email": ann.email, "password": "wrong horse"})
    for answer, status in ((login, 200), (refused, 401), (await house.send("GET", "/health"), 200)):
        assert answer.status == status
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_stream_and_what_the_parser_refuses_have_the_same_headers(settings: Settings) -> None:
    async with entrance(settings) as here:
        refused = await (await here.line(b"nonsense\r\n\r\n")).read()
        own = await bearer(here)
        line = await here.line(b"GET /events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n" + own + b"\r\n\r\n")
        stream = (await line.reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert (refused.headers["cache-control"], refused.headers["x-content-type-options"]) == ("no-store", "nosniff")
        assert "x-content-type-options: nosniff" in stream
        assert "cache-control: no-store" in stream
