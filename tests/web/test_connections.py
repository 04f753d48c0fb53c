"""Connections on real sockets: late, idle, too many, badly spoken to, and turned away."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from daemon.app import Life, opened
from daemon.settings import Settings
from daemon.web.admission import ADMISSION, AHEAD_MAX, Admission
from daemon.web.bodies import ARRIVING
from daemon.web.plain import plain
from daemon.web.runner import LINGER_S
from daemon.web.server import Door, listening
from tests.attack.wire import Answer, read
from tests.load.pump import wire

HEALTH = wire("GET", "/health")
LOGIN = wire("POST", "/auth/login", json.dumps({"email": "a@a.test", "password": "correct horse"}).encode())
HALF_BODY = b"POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
PATIENCE_S = 10.0


class Line:
    """One connection to the service."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, *requests: bytes) -> list[Answer]:
        """Send all at once, and read as many answers."""
        self.writer.write(b"".join(requests))
        return [await self.read(head=request.startswith(b"HEAD")) for request in requests]

    async def read(self, *, head: bool = False) -> Answer:
        async with asyncio.timeout(PATIENCE_S):
            answer = await read(self.reader, head=head)
        assert answer is not None, "the connection ended without an answer"
        assert answer.mistake() is None, answer
        return answer

    async def ended(self) -> bool:
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read() == b""


async def until(true: Callable[[], bool]) -> None:
    """Wait for something that the service does on its own."""
    async with asyncio.timeout(PATIENCE_S):
        while not true():  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.001)


class Entrance:
    """A service that listens, and connections to it, all closed in the end."""

    def __init__(self, door: Door, life: Life) -> None:
        self.door, self.life = door, life
        self.lines: list[Line] = []

    @property
    def admission(self) -> Admission:
        return self.door.runner.app[ADMISSION]

    @property
    def port(self) -> int:
        return int(self.door.address.rsplit(":", 1)[1])

    @property
    def connections(self) -> list[web.RequestHandler]:
        assert self.door.runner.server is not None
        return self.door.runner.server.connections

    async def line(self, first: bytes = b"") -> Line:
        one = Line(*await asyncio.open_connection("127.0.0.1", self.port))
        one.writer.write(first)
        self.lines.append(one)
        return one


@asynccontextmanager
async def entrance(settings: Settings, **how: Any) -> AsyncIterator[Entrance]:
    own = settings.model_copy(update={"port": 0, **how})
    life = Life()
    async with opened(own, life) as services, listening(services) as door:
        one = Entrance(door, life)
        try:
            yield one
        finally:
            for line in one.lines:
                line.writer.transport.abort()
            await asyncio.sleep(0)


def code_of(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json["code"]


@pytest.mark.parametrize("begun", [b"", b"G", b"GET /health HTTP/1.1\r\nHost: x\r\nX-Half: "])
async def test_a_head_that_does_not_arrive_in_time_ends_the_connection(settings: Settings, begun: bytes) -> None:
    async with entrance(settings, head_s=0.1) as here:
        assert await (await here.line(begun)).ended()


async def test_a_second_head_has_to_arrive_in_time_as_well(settings: Settings) -> None:
    async with entrance(settings, head_s=0.1) as here:
        line = await here.line()
        await line.ask(HEALTH)
        line.writer.write(HEALTH[:-4])
        assert await line.ended()


async def test_a_connection_that_has_asked_stays_open_beyond_the_time_of_a_head(settings: Settings) -> None:
    async with entrance(settings, head_s=0.1) as here:
        line, silent = await here.line(), await here.line()
        await line.ask(HEALTH)
        assert await silent.ended()
        assert [answer.status for answer in await line.ask(HEALTH)] == [200]


async def test_an_idle_connection_is_ended(settings: Settings) -> None:
    async with entrance(settings, idle_connection_s=0.1) as here:
        line = await here.line()
        await line.ask(HEALTH)
        assert await line.ended()


@pytest.mark.parametrize(
    "request_",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 9_000 + b"\r\n\r\n",
        b"POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nsecret",
        b"POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\nsecret",
    ],
)
async def test_what_is_no_http_is_a_problem_document_that_repeats_nothing(settings: Settings, request_: bytes) -> None:
    async with entrance(settings) as here:
        line = await here.line()
        (answer,) = await line.ask(request_)
        assert code_of(answer) == (400, "malformed_request")
        assert answer.headers["server"] == "penstock"
        assert not any(part in answer.body for part in (b"secret", b"colon", b"xxxx", b"9.9"))
        assert await line.ended()


async def test_bad_http_on_a_connection_that_was_used_properly_is_answered_too(settings: Settings) -> None:
    async with entrance(settings) as here:
        line = await here.line()
        assert [answer.status for answer in await line.ask(HEALTH)] == [200]
        assert [code_of(answer) for answer in await line.ask(b"nonsense\r\n\r\n")] == [(400, "malformed_request")]
        assert await line.ended()


async def test_one_too_many_takes_the_place_of_the_connection_that_is_idle_longest(settings: Settings) -> None:
    async with entrance(settings, connections_max=2) as here:
        first, second = await here.line(), await here.line()
        await first.ask(HEALTH)
        await second.ask(HEALTH)
        await first.ask(HEALTH)
        third = await here.line()
        assert [answer.status for answer in await third.ask(HEALTH)] == [200]
        assert await second.ended()
        assert [answer.status for answer in await first.ask(HEALTH)] == [200]


async def test_one_too_many_is_refused_where_all_others_are_at_work(settings: Settings) -> None:
    async with entrance(settings, connections_max=2) as here:
        for _ in range(2):
            await here.line(HALF_BODY)
        await until(lambda: sum(bool(one._current_request) for one in here.connections) == 2)
        late = await here.line()
        answer = await late.read()
        assert code_of(answer) == (503, "overloaded")
        assert await late.ended()


async def test_where_there_is_no_room_for_connections_it_is_a_siege_until_nobody_comes(settings: Settings) -> None:
    async with entrance(settings, connections_max=1, requests_burst_s=0) as here:
        await here.line(HALF_BODY)
        await until(lambda: any(one._current_request for one in here.connections))
        assert not here.admission.besieged
        assert code_of(await (await here.line()).read()) == (503, "overloaded")
        assert here.admission.refused == 1
        await until(lambda: here.admission.besieged)
        assert here.admission.crowded
        await until(lambda: not here.admission.crowded)


async def test_a_body_that_is_too_slow_is_408_and_nothing_more_is_waited_for(settings: Settings) -> None:
    async with entrance(settings, body_s=0.1) as here:
        line = await here.line(HALF_BODY)
        assert code_of(await line.read()) == (408, "request_timeout")
        async with asyncio.timeout(LINGER_S / 2):
            assert await line.ended()


async def test_bodies_that_have_arrived_in_part_have_a_bound_together(settings: Settings) -> None:
    part = HALF_BODY.replace(b"100", b"1000000") + b" " * 900_000
    async with entrance(settings, bodies_bytes_max=2_097_152) as here:
        arriving = here.door.runner.app[ARRIVING]
        first = await here.line(part)
        await until(lambda: arriving._free < 1_200_000)
        assert code_of(await (await here.line(part)).read()) == (503, "overloaded")
        first.writer.write(b" " * 99_999)
        assert code_of(await first.read()) == (400, "malformed_json")
        assert arriving._free == 2_097_152


@asynccontextmanager
async def crowded(settings: Settings) -> AsyncIterator[Entrance]:
    """A service whose only place is taken, and where nobody may wait."""
    async with entrance(settings, requests_max=1, requests_waiting_max=0) as here:
        await here.admission.enter("somebody")
        yield here


async def test_a_refusal_of_bytes_says_what_a_refusal_of_a_request_says(settings: Settings) -> None:
    async with crowded(settings) as here:
        (quick,) = await (await here.line()).ask(LOGIN)
        slow = await here.line(LOGIN[:40])
        await until(lambda: any(one._head_of == 0 for one in here.connections))  # type: ignore[attr-defined]
        (other,) = await slow.ask(LOGIN[40:])
        assert code_of(quick) == code_of(other) == (503, "overloaded")
        assert {**quick.json, "request_id": ""} == {**other.json, "request_id": ""}
        assert quick.json["outcome"] == "not_applied"
        for name in ("content-type", "retry-after", "server"):
            assert quick.headers[name] == other.headers[name]
        assert here.admission.refused == 2


async def test_a_refused_connection_goes_on(settings: Settings) -> None:
    async with crowded(settings) as here:
        line = await here.line()
        answers = await line.ask(LOGIN, HEALTH, wire("GET", "/openapi.json"), b"HEAD /docs HTTP/1.1\r\nHost: x\r\n\r\n")
        assert [answer.status for answer in answers] == [503, 200, 503, 503]
        assert answers[-1].body == b""
        here.admission.leave()
        assert [answer.status for answer in await line.ask(LOGIN)] == [401]


async def test_a_refusal_carries_the_callers_own_request_id_where_it_is_well_formed(settings: Settings) -> None:
    async with crowded(settings) as here:
        line = await here.line()
        mine, other = await line.ask(
            wire("GET", "/docs", headers={"X-Request-ID": "mine"}),
            wire("GET", "/docs", headers={"X-Request-ID": "not mine"}),
        )
        assert mine.headers["x-request-id"] == mine.json["request_id"] == "mine"
        assert other.headers["x-request-id"] == other.json["request_id"] != "not mine"


async def test_a_company_is_known_by_its_token_before_its_request_is_taken_apart(settings: Settings) -> None:
    async with entrance(settings, requests_max=1, requests_waiting_max=2) as here:
        tokens = [await register(here, name) for name in ("greedy", "modest")]
        greedy, modest = [wire("GET", "/auth/me", headers={"Authorization": f"Bearer {token}"}) for token in tokens]
        assert [answer.status for answer in await (await here.line()).ask(greedy, modest)] == [200, 200]
        await here.admission.enter("somebody")
        first = await here.line(greedy)
        await until(lambda: here.admission.waiting == 1)
        assert [answer.status for answer in await (await here.line()).ask(greedy)] == [503]
        assert here.admission.refused == 1
        second = await here.line(modest)
        await until(lambda: here.admission.waiting == 2)
        here.admission.leave()
        assert [(await line.read()).status for line in (first, second)] == [200, 200]


MANY = AHEAD_MAX + 40


@asynccontextmanager
async def held(
    settings: Settings, method: str = "GET", path: str = "/auth/me"
) -> AsyncIterator[tuple[Entrance, list[Line]]]:
    """A service whose only place is taken, and more callers than are taken apart ahead of their turn."""
    async with entrance(settings, requests_max=1) as here:
        bearer = {"Authorization": f"Bearer {await register(here, 'many')}"}
        me = wire("GET", "/auth/me", headers=bearer)
        await (await here.line()).ask(me)
        await here.admission.enter("somebody")
        lines = [await here.line(me) for _ in range(AHEAD_MAX)]
        await until(lambda: here.admission.waiting == AHEAD_MAX)
        lines += [await here.line(wire(method, path, headers=bearer)) for _ in range(MANY - AHEAD_MAX)]
        await until(lambda: here.admission.waiting == MANY)
        assert sum(len(one) for one in here.admission._held.values()) == MANY - AHEAD_MAX
        yield here, lines


async def test_a_burst_waits_as_it_has_come_and_is_answered_to_the_last(settings: Settings) -> None:
    async with held(settings) as (here, lines):
        for one in here.connections:
            one._rests()  # type: ignore[attr-defined] # as it is called just after the answer before
        here.admission.leave()
        assert [(await line.read()).status for line in lines] == [200] * MANY
        assert here.admission.waiting == 0
        assert [answer.status for answer in await lines[-1].ask(HEALTH)] == [200]


async def test_callers_who_ask_again_at_once_are_all_answered(settings: Settings) -> None:
    async with entrance(settings, requests_max=1) as here:
        me = wire("GET", "/auth/me", headers={"Authorization": f"Bearer {await register(here, 'many')}"})
        await (await here.line()).ask(me)

        async def asks(line: Line) -> list[int]:
            return [(await line.ask(me))[0].status for _ in range(4)]

        lines = [await here.line() for _ in range(MANY)]
        assert await asyncio.gather(*map(asks, lines)) == [[200] * 4] * MANY
        assert here.admission.waiting == 0


async def test_what_waits_and_never_comes_to_its_turn_makes_room_for_the_next(settings: Settings) -> None:
    async with held(settings, path="/nowhere") as (here, lines):
        here.admission.leave()
        assert [(await line.read()).status for line in lines] == [200] * AHEAD_MAX + [404] * (MANY - AHEAD_MAX)
        assert here.admission.waiting == 0


async def test_callers_who_go_while_they_wait_leave_nothing_behind(settings: Settings) -> None:
    async with held(settings) as (here, lines):
        for line in lines:
            line.writer.transport.abort()
        await until(lambda: sum(one.transport is None for one in here.connections) == AHEAD_MAX)
        here.admission.leave()
        await until(lambda: here.admission.waiting == 0)
        await until(lambda: not here.admission._held)


async def test_what_still_waits_as_it_has_come_at_the_end_is_refused(settings: Settings) -> None:
    async with held(settings) as (here, lines):
        assert here.door.runner.server is not None
        here.door.runner.server.pre_shutdown()
        answers = [await line.read() for line in lines[AHEAD_MAX:]]
        assert {code_of(answer) for answer in answers} == {(503, "overloaded")}
        here.admission.leave()
        assert [(await line.read()).status for line in lines[:AHEAD_MAX]] == [200] * AHEAD_MAX


async def test_an_export_that_nobody_reads_takes_no_place(settings: Settings) -> None:
    async with entrance(settings, requests_max=1) as here:
        bearer = {"Authorization": f"Bearer {await register(here, 'reader')}"}
        body = json.dumps({"vertical": "quick", "inputs": {"text": "x" * 200_000}}).encode()
        line = await here.line()
        await line.ask(*[wire("POST", "/process-runs/", body, bearer)] * 5)
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            deaf.connect(("127.0.0.1", here.port))
            deaf.sendall(wire("GET", "/audit/export", headers=bearer))
            await until(lambda: any(one.writing_paused for one in here.connections))
            assert [answer.status for answer in await line.ask(wire("GET", "/auth/me", headers=bearer))] == [200]
            assert any(one.writing_paused for one in here.connections)


async def test_an_answer_that_nobody_reads_ends_its_connection(settings: Settings) -> None:
    async with entrance(settings, unread_s=0.1) as here:
        bearer = {"Authorization": f"Bearer {await register(here, 'reader')}"}
        body = json.dumps({"vertical": "quick", "inputs": {"text": "x" * 200_000}}).encode()
        line = await here.line()
        await line.ask(*[wire("POST", "/process-runs/", body, bearer)] * 5)
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            deaf.connect(("127.0.0.1", here.port))
            deaf.sendall(wire("GET", "/process-runs/", headers=bearer))
            await until(lambda: any(one.writing_paused for one in here.connections))
            await until(lambda: not any(one.writing_paused for one in here.connections))
            assert deaf.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNRESET


async def test_answers_that_nobody_reads_have_a_bound_together(settings: Settings) -> None:
    async with entrance(settings, unread_bytes_max=1_048_576) as here:
        bearer = {"Authorization": f"Bearer {await register(here, 'reader')}"}
        body = json.dumps({"vertical": "quick", "inputs": {"text": "x" * 900_000}}).encode()
        line = await here.line()
        await line.ask(*[wire("POST", "/process-runs/", body, bearer)] * 2)
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            deaf.connect(("127.0.0.1", here.port))
            deaf.sendall(wire("GET", "/process-runs/", headers=bearer))
            await until(lambda: deaf.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNRESET)


async def register(here: Entrance, name: str) -> str:
    body = {"email": f"{name}@a.test", "password": "correct horse", "company_name": name}
    (answer,) = await (await here.line()).ask(wire("POST", "/auth/register", json.dumps(body).encode()))
    token: str = answer.json["token"]
    return token


@pytest.mark.parametrize(
    "request_",
    [
        b"",
        b"GET /docs HTTP/1.1\r\nHost: x\r\n",
        b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /health?x HTTP/1.1\r\nHost: x\r\n\r\n",
        b"HEAD /docs HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /docs HTTP/1.0\r\nHost: x\r\n\r\n",
        b"GET /docs HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"GET /docs HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        b"POST /docs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /docs HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n1",
        b"POST /docs HTTP/1.1\r\nContent-Length: 5\r\n\r\n1234",
        b"POST /docs HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\n1234",
        b"POST /docs HTTP/1.1\r\nContent-Length : 4\r\n\r\n1234",
        b"POST /docs HTTP/1.1\r\nX: y\r\n Content-Length: 4\r\n\r\n1234",
        b"POST /docs HTTP/1.1\r\nX: y\nContent-Length: 4\r\n\r\n1234",
        b"POST /docs HTTP/1.1\r\nContent-Length: +4\r\n\r\n1234",
        b"POST /docs HTTP/1.1\r\nContent-Length: 0000000000000004\r\n\r\n1234",
        b"nonsense\r\n\r\n",
    ],
)
def test_what_is_not_plain_is_left_to_the_parser(request_: bytes) -> None:
    assert plain(request_) is None


def test_a_plain_request_ends_where_its_length_says() -> None:
    one = plain(LOGIN + b"GET")
    assert one is not None
    assert one.size == len(LOGIN)
