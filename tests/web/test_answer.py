"""Our answers are on the wire what aiohttp's own would be, to the byte."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product

import pytest
from aiohttp import web
from aiohttp.typedefs import Handler

from daemon.app import Life, opened
from daemon.settings import Settings
from daemon.web.admission import ADMISSION, Admission
from daemon.web.answer import Answer
from daemon.web.rendered import RENDERED, Rendered
from daemon.web.runner import Runner
from daemon.web.services import SERVICES
from tests.web.test_connections import until

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


@asynccontextmanager
async def served(settings: Settings, handle: Handler) -> AsyncIterator[Runner]:
    """A service on connections of ours, in which all that is asked goes to one handler."""
    async with opened(settings, Life()) as services:
        app = web.Application()
        app[SERVICES], app[ADMISSION], app[RENDERED] = services, Admission(1, 1), Rendered()
        app.router.add_route("*", "/{tail:.*}", handle)
        runner = Runner(app, 10)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner
        await runner.cleanup()


@pytest.fixture
async def port(settings: Settings) -> AsyncIterator[int]:
    async with served(settings, handle) as runner:
        yield runner.addresses[0][1]


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


async def test_who_does_not_read_an_answer_is_not_answered_again(settings: Settings) -> None:
    asked: list[web.Request] = []

    async def large(request: web.Request) -> web.Response:
        asked.append(request)
        return Answer(body=b"x" * 8_000_000)

    async with served(settings, large) as runner:
        reader, writer = await asyncio.open_connection("127.0.0.1", runner.addresses[0][1], limit=1_000)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 2)
        await until(lambda: any(one.writing_paused for one in connections(runner)))
        await said(runner.addresses[0][1], LAST.replace("200/1", "200/0"))
        assert len(asked) == 2  # one here, one from the other connection
        for _ in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"Content-Length: 8000000\r\n" in head
            await reader.readexactly(8_000_000)
        assert len(asked) == 3
        writer.close()


async def test_an_answer_to_who_has_gone_is_dropped(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    entered, gone = asyncio.Event(), asyncio.Event()

    async def held(_: web.Request) -> web.Response:
        entered.set()
        await gone.wait()
        return Answer(body=b"x")

    async with served(settings, held) as runner:
        _, writer = await asyncio.open_connection("127.0.0.1", runner.addresses[0][1])
        writer.write(LAST.encode())
        await entered.wait()
        (connection,) = connections(runner)
        task = connection._task_handler
        assert task is not None
        writer.transport.abort()
        await until(lambda: connection.transport is None)
        gone.set()
        await task
    assert not caplog.records


def connections(runner: Runner) -> list[web.RequestHandler]:
    assert runner.server is not None
    return runner.server.connections
