"""Reads that are answered as they come: on the wire like any other, and only where nothing speaks against it."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from errno import ECONNRESET
from functools import partial
from typing import Any

import pytest
from aiohttp import web
from aiohttp.http_parser import HttpRequestParser
from hypothesis import example, given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from daemon.settings import Settings
from daemon.web.prompt import asked
from daemon.web.services import SERVICES
from tests.attack.wire import Answer
from tests.load.pump import wire
from tests.web.collector import Collector
from tests.web.figures import Page
from tests.web.test_connections import Entrance, code_of, entrance, register, until

pytestmark = [pytest.mark.one_daemon, pytest.mark.sqlite]
DATE = re.compile(rb"Date: [^\r]+\r\n")


@dataclass
class Here:
    """A service with a run that is in memory, and who may read it."""

    entrance: Entrance
    bearer: dict[str, str]
    run_id: str

    @property
    def taken_apart(self) -> int:
        """How many requests were taken apart until now."""
        assert self.entrance.door.runner.server is not None
        return self.entrance.door.runner.server.requests_count

    @property
    def me(self) -> bytes:
        return wire("GET", "/auth/me", headers=self.bearer)

    def read(self, run_id: str = "", **more: str) -> bytes:
        headers = {name.replace("_", "-"): text for name, text in more.items()}
        return wire("GET", f"/process-runs/{run_id or self.run_id}", headers=self.bearer | headers)

    async def ask(self, request: bytes) -> tuple[Answer, bool]:
        """The answer to a request on a connection that was used before, and whether that was prompt."""
        line = await self.entrance.line()
        await line.ask(self.me)
        before = self.taken_apart
        (answer,) = await line.ask(request)
        return answer, self.taken_apart == before


async def started(one: Entrance, bearer: dict[str, str], **inputs: Any) -> str:
    body = json.dumps({"vertical": "line", "inputs": {"amount": 1, **inputs}}).encode()
    (answer,) = await (await one.line()).ask(wire("POST", "/process-runs/", body, bearer))
    assert answer.status == 201, answer
    return str(answer.json["id"])


@asynccontextmanager
async def house(settings: Settings, **how: Any) -> AsyncIterator[Here]:
    async with entrance(settings, **how) as one:
        bearer = {"Authorization": f"Bearer {await register(one, 'ann')}"}
        yield Here(one, bearer, await started(one, bearer))


@pytest.fixture
async def here(settings: Settings) -> AsyncIterator[Here]:
    async with house(settings) as one:
        yield one


async def said(here: Here, *parts: bytes) -> bytes:
    """All that comes back to a request that comes in these parts, but for the time of day."""
    line = await here.entrance.line()
    await line.ask(here.me)
    for part in parts[:-1]:
        line.writer.write(part)
        await until(lambda: any(one._head_of == 1 for one in here.entrance.connections))  # type: ignore[attr-defined]
    line.writer.write(parts[-1])
    head = await line.reader.readuntil(b"\r\n\r\n")
    size = re.search(rb"Content-Length: (\d+)", head)
    assert size is not None
    return DATE.sub(b"", head) + await line.reader.readexactly(int(size[1]))


async def test_a_prompt_answer_is_to_the_byte_that_of_a_request_that_is_taken_apart(here: Here) -> None:
    request, before = here.read(X_Request_ID="mine"), here.taken_apart
    prompt = await said(here, request)
    assert here.taken_apart == before + 1  # for /auth/me
    assert prompt == await said(here, request[:40], request[40:])
    assert here.taken_apart == before + 3


async def test_an_answer_has_an_id_of_its_own_where_its_request_has_none(here: Here) -> None:
    requests = (here.read(), here.read(), here.read(X_Request_ID="not mine"), here.read(X_Request_ID="mine"))
    answers = [await here.ask(request) for request in requests]
    assert all(prompt for _, prompt in answers)
    ids = [answer.headers["x-request-id"] for answer, _ in answers]
    assert len(set(ids)) == len(ids)
    assert "not mine" not in ids
    assert ids[-1] == "mine"


async def test_a_read_behind_a_verdict_shows_what_the_verdict_has_done(here: Here) -> None:
    before, _ = await here.ask(here.read())
    verdict = json.dumps({"gate": before.json["parked_at"], "decision": "approved"}).encode()
    decided, _ = await here.ask(wire("POST", f"/process-runs/{here.run_id}/resume", verdict, here.bearer))
    after, prompt = await here.ask(here.read())
    assert prompt
    assert after.json == decided.json != before.json
    assert after.headers["etag"] == decided.headers["etag"] != before.headers["etag"]


async def test_nobody_is_shown_the_run_of_another_company(here: Here) -> None:
    theirs = {"Authorization": f"Bearer {await register(here.entrance, 'eve')}"}
    other = await started(here.entrance, theirs)
    assert [(await here.ask(request))[0].status for request in (here.read(), here.read(other))] == [200, 404]
    assert (await here.ask(wire("GET", f"/process-runs/{here.run_id}", headers=theirs)))[0].status == 404


async def test_a_token_counts_no_longer_than_its_session(here: Here) -> None:
    line = await here.entrance.line()
    requests = here.read(), wire("POST", "/auth/logout", headers=here.bearer), here.read()
    assert [(await line.ask(request))[0].status for request in requests] == [200, 204, 401]


async def test_a_token_that_was_revoked_elsewhere_counts_no_longer(here: Here) -> None:
    line = await here.entrance.line(here.read())
    assert (await line.read()).status == 200
    identity = here.entrance.door.runner.app[SERVICES].identity
    known = identity.principal(here.bearer["Authorization"].removeprefix("Bearer "))
    identity.learn({known.token_id: known.expires_at})
    assert (await line.ask(here.read()))[0].status == 401


async def test_what_looks_like_a_read_in_the_middle_of_a_head_is_none(here: Here) -> None:
    line = await here.entrance.line(here.me)
    assert "user" in (await line.read()).json
    line.writer.write(b"GET /auth/me HTTP/1.1\r\nX-Next: ")
    await until(lambda: any(one._head_of == 1 for one in here.entrance.connections))  # type: ignore[attr-defined]
    assert "user" in (await line.ask(here.read()))[0].json


async def test_requests_that_come_together_or_in_pieces_are_answered_in_their_order(here: Here) -> None:
    other = await started(here.entrance, here.bearer)
    line = await here.entrance.line(here.me)
    await line.read()
    line.writer.write(here.read()[:50])
    await until(lambda: any(one._head_of == 1 for one in here.entrance.connections))  # type: ignore[attr-defined]
    line.writer.write(here.read()[50:] + here.read(other) + here.me + here.read(other))
    assert [(await line.read()).json.get("id") for _ in range(4)] == [here.run_id, other, None, other]


async def test_who_may_have_the_run_already_is_answered_as_by_all_other_ways(here: Here) -> None:
    first, _ = await here.ask(here.read())
    answer, prompt = await here.ask(here.read(If_None_Match=first.headers["etag"]))
    assert (answer.status, answer.body, prompt) == (304, b"", False)
    assert (await here.ask(here.read(If_None_Match='"none"')))[0].body == first.body


@pytest.mark.parametrize(
    ("ordinary", "changed"),
    [
        (b"GET", b"HEAD"),
        (b"HTTP/1.1", b"HTTP/1.0"),
        (b" HTTP", b"?x=1 HTTP"),
        (b"Host: ", b"Connection: close\r\nHost: "),
        (b"Host: ", b"Expect: 100-continue\r\nHost: "),
        (b"Bearer ", b"bearer  "),
    ],
)
async def test_what_is_out_of_the_ordinary_is_taken_apart(here: Here, ordinary: bytes, changed: bytes) -> None:
    line = await here.entrance.line(here.me)
    await line.read()
    before = here.taken_apart
    line.writer.write(here.read().replace(ordinary, changed))
    assert (await line.read(head=changed == b"HEAD")).status == 200
    assert here.taken_apart == before + 1


async def test_a_read_waits_behind_those_who_wait_for_their_turn(settings: Settings) -> None:
    async with house(settings, requests_max=1) as here:
        line = await here.entrance.line(here.me)
        await line.read()
        await here.entrance.admission.enter("somebody")
        first = await here.entrance.line(here.me)
        await until(lambda: here.entrance.admission.waiting == 1)
        line.writer.write(here.read())
        await until(lambda: here.entrance.admission.waiting == 2)
        here.entrance.admission.leave()
        assert [(await one.read()).status for one in (first, line)] == [200, 200]


async def test_a_read_while_the_service_stops_is_refused(here: Here) -> None:
    line = await here.entrance.line(here.read())
    assert (await line.read()).status == 200
    here.entrance.life.draining = True
    (answer,) = await line.ask(here.read())
    assert code_of(answer) == (503, "draining")


async def test_where_each_request_is_logged_a_read_is_too(settings: Settings) -> None:
    async with house(settings, access_log="all") as here:
        with capture_logs() as logs:
            _, prompt = await here.ask(here.read())
        assert not prompt
        assert [line["route"] for line in logs] == ["/auth/me", "/process-runs/{run_id}"]


async def test_where_each_request_is_traced_a_read_is_too(settings: Settings) -> None:
    collector = Collector()
    await collector.server.start_server()
    async with house(settings, traces_to=collector.url) as here:
        _, prompt = await here.ask(here.read())
        assert not prompt
    assert "GET /process-runs/{run_id}" in {span.name for span in collector.spans}
    await collector.server.close()


async def test_a_prompt_answer_is_counted_and_timed_like_any_other(settings: Settings) -> None:
    with capture_logs() as logs:
        async with house(settings, metrics_port=0) as here:
            (address,) = (log["address"] for log in logs if log["event"] == "measuring")
            page, labels = Page(address), {"method": "GET", "route": "/process-runs/{run_id}"}
            before = await page.read()
            answers = [await here.ask(here.read()) for _ in range(3)]
            figures = await page.read()
    assert labels not in before.labelled("request_seconds_count")  # what never was is not listed
    assert [prompt for _, prompt in answers] == [True] * 3
    assert figures("requests_total", **labels, status="200") == 3
    assert figures("request_seconds_count", **labels) == 3


def has_heard(connection: web.RequestHandler, requests: int) -> bool:
    return connection._request_count == requests


@asynccontextmanager
async def slow_reader(here: Here) -> AsyncIterator[tuple[socket.socket, web.RequestHandler, int]]:
    """Who asks for a large run until an answer is stuck: its socket, its connection, and how many answers are due."""
    large, loop = await started(here.entrance, here.bearer, text="x" * 200_000), asyncio.get_running_loop()
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        slow.connect(("127.0.0.1", here.entrance.port))
        slow.setblocking(False)
        slow.send(here.me)
        await loop.sock_recv(slow, 10_000)
        heard, taken_apart, sent = here.entrance.connections[-1], here.taken_apart, 1
        while not heard.writing_paused:
            slow.send(here.read(large))
            sent += 1
            await until(partial(has_heard, heard, sent))
        assert here.taken_apart == taken_apart
        slow.send(here.read(large) * 2)
        yield slow, heard, sent - 1 + 2


async def caught_up(slow: socket.socket, answers: int) -> None:
    """Read all that is due."""
    found = b""
    while found.count(b"HTTP/1.1 200 OK") < answers or len(found) < answers * 200_000:
        found += await asyncio.get_running_loop().sock_recv(slow, 1_000_000)


async def test_who_does_not_read_what_is_answered_is_not_heard_until_it_has(here: Here) -> None:
    async with slow_reader(here) as (slow, heard, answers):
        await here.ask(here.read())
        assert has_heard(heard, answers - 1)
        assert heard._unread == heard._wire.get_write_buffer_size() <= 210_000  # type: ignore[attr-defined]
        await caught_up(slow, answers)


async def test_prompt_answers_that_nobody_reads_have_a_bound_together(settings: Settings) -> None:
    async with house(settings, unread_bytes_max=1_048_576) as here, AsyncExitStack() as stack:
        large = await started(here.entrance, here.bearer, text="x" * 900_000)
        deaf = [stack.enter_context(socket.socket()) for _ in range(2)]
        for one in deaf:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            one.connect(("127.0.0.1", here.entrance.port))
            one.send(here.read(large))
        await until(lambda: any(one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == ECONNRESET for one in deaf))


async def test_who_still_reads_is_not_idle(settings: Settings) -> None:
    async with (
        house(settings, connections_max=4, idle_connection_s=0.2) as here,
        slow_reader(here) as (slow, _, answers),
    ):
        idle = [await here.entrance.line() for _ in range(4)]
        assert await idle[0].ended()
        assert await idle[-1].ended()
        await caught_up(slow, answers)


async def test_who_reads_runs_is_not_the_one_that_is_idle_longest(settings: Settings) -> None:
    async with house(settings, connections_max=4) as here:
        first, second = [await here.entrance.line(here.read()) for _ in range(2)]
        assert [(await line.read()).status for line in (first, second)] == [200, 200]
        assert [answer.status for answer in await first.ask(here.read())] == [200]
        for _ in range(3):
            assert (await (await here.entrance.line(here.read())).read()).status == 200
        assert await second.ended()
        assert [answer.status for answer in await first.ask(here.read())] == [200]


async def test_what_looks_like_a_read_in_a_body_is_none(here: Here) -> None:
    line = await here.entrance.line(here.me)
    await line.read()
    start = wire("POST", "/process-runs/", here.read(), here.bearer)
    line.writer.write(start.removesuffix(here.read()))
    await until(lambda: any(one._current_request for one in here.entrance.connections))
    line.writer.write(here.read())
    assert code_of(await line.read()) == (400, "malformed_json")


NAMES = """Accept Accept-Encoding Connection Content-Encoding Content-Length Content-Type Cookie Date Expect Host
If-None-Match Keep-Alive Origin Proxy-Connection Range Referer Sec-WebSocket-Key1 Sec-WebSocket-Key TE Trailer
Transfer-Encoding Upgrade User-Agent Via X-Request-ID X:Y"""
TEXTS = "|0|1|+0|0, 0|close|keep-alive|upgrade|chunked|gzip|websocket|x\ty|ä|mine"
names = st.sampled_from(NAMES.split()) | st.text(st.characters(max_codepoint=255), max_size=3)
texts = st.sampled_from(TEXTS.split("|")) | st.text(st.characters(max_codepoint=255), max_size=4)
spaces = st.sampled_from(["", " ", "\t", "  "])
fields = st.tuples(names, spaces, texts, spaces).map(lambda one: f"{one[0]}:{one[1]}{one[2]}{one[3]}")
endings = st.sampled_from(["\r\n"] * 8 + ["\n", "\r", "\r\n "])


@given(st.lists(st.tuples(fields, endings), max_size=5), st.booleans())
@example([(f"A{number}: b", "\r\n") for number in range(130)], True)
@example([("X-Request-ID: mine", "\r\n")], True)
@example([("X: a\x01b", "\r\n")], True)
@example([("Content-Encoding: gzip", "\r\n")], True)
@example([("Proxy-Connection: close", "\r\n")], True)
@example([("Sec-WebSocket-Key1: x", "\r\n")], True)
def test_fields_that_are_understood_at_once_are_understood_alike_by_the_parser(
    more: list[tuple[str, str]], with_host: bool
) -> None:
    lines = ("Host: a\r\n" if with_host else "") + "Authorization: Bearer a.b.c\r\n"
    head = (lines + "".join(field + end for field, end in more)).encode("latin-1").removesuffix(b"\r\n")
    one = asked(head)
    if one is None:
        return
    parser = HttpRequestParser(None, None, 2**16, max_headers=128)
    ((message, payload),), upgraded, tail = parser.feed_data(b"GET /process-runs/x HTTP/1.1\r\n" + head + b"\r\n\r\n")
    assert (message.method, message.path, message.should_close, message.upgrade) == (
        "GET",
        "/process-runs/x",
        False,
        False,
    )
    assert (upgraded, tail, payload.is_eof(), message.compression) == (False, b"", True, None)
    assert message.headers["Authorization"] == f"Bearer {one.token}"
    assert message.headers.get("X-Request-ID", "") == one.request_id or not one.request_id.isascii()
