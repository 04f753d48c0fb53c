"""Connections on real sockets: late, idle, too many, not read from, and badly spoken to."""

from __future__ import annotations

import ast
import asyncio
import errno
import gc
import inspect
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import pytest
from aiohttp import web

from daemon.app import Lifecycle, opened
from daemon.settings import Settings
from daemon.web.clients import Clients
from daemon.web.incoming import INCOMING_BODIES
from daemon.web.middleware.admission import ADMISSION, Admission
from daemon.web.middleware.occupancy import OCCUPANCY, PACE_BURST_S, PACE_S, YOUNG_S, Occupancy, Use
from daemon.web.server.connections import Connection
from daemon.web.server.listen import ServerHandle, binding, listening
from tests.attack.wire import Answer, read
from tests.load.pump import wire

HEALTH = wire("GET", "/health")
LOGIN = wire("POST", "/auth/login", json.dumps({"email": "a@a.test", "password": "correct horse"}).encode())
REGISTER = wire(
    "POST",
    "/auth/register",
    json.dumps({"email": "a@a.test", "password": "correct horse", "company_name": "A"}).encode(),
)
HALF_BODY = b"POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
HALF_START = (
    b"POST /process-runs/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %b\r\n"
    b"Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"
)
PATIENCE_S = 10.0
ITS_OWN = {*dir(web.RequestHandler)}


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
        """Whether the service ends the connection, and says nothing before; it resets one that goes
        on to be written to.
        """
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self.reader.read() == b""
            except ConnectionResetError:
                return True


async def until(true: Callable[[], bool]) -> None:
    """Wait for something that the service does on its own."""
    async with asyncio.timeout(PATIENCE_S):
        while not true():  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.001)


class Entrance:
    """A service that listens, and connections to it, all closed in the end."""

    def __init__(self, server: ServerHandle, life: Lifecycle) -> None:
        self.server, self.life = server, life
        self.lines: list[Line] = []

    @property
    def admission(self) -> Admission:
        return self.server.runner.app[ADMISSION]

    @property
    def port(self) -> int:
        return int(self.server.address.rsplit(":", 1)[1])

    @property
    def connections(self) -> list[web.RequestHandler]:
        assert self.server.runner.server is not None
        return self.server.runner.server.connections

    async def line(self, first: bytes = b"") -> Line:
        one = Line(*await asyncio.open_connection("127.0.0.1", self.port))
        one.writer.write(first)
        self.lines.append(one)
        return one


@asynccontextmanager
async def entrance(settings: Settings, **how: Any) -> AsyncIterator[Entrance]:
    own = settings.model_copy(update={"port": 0, **how})
    life = Lifecycle()
    async with binding(own) as bound, opened(own, life) as services, listening(services, bound) as server:
        one = Entrance(server, life)
        try:
            yield one
        finally:
            for line in one.lines:
                line.writer.transport.abort()
            await asyncio.sleep(0)


def count_of(here: Entrance, use: Use) -> int:
    return here.server.runner.app[OCCUPANCY].count(use)


def code_of(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json["code"]


@pytest.mark.parametrize("begun", [b"", b"G", b"GET /health HTTP/1.1\r\nHost: x\r\nX-Half: "])
async def test_a_head_that_does_not_arrive_in_time_ends_the_connection(settings: Settings, begun: bytes) -> None:
    async with entrance(settings, keepalive_timeout_s=0.1) as here:
        assert await (await here.line(begun)).ended()


async def test_a_head_that_drips_ends_the_connection_all_the_same(settings: Settings) -> None:
    async with entrance(settings, keepalive_timeout_s=0.3) as here:
        line = await here.line(b"GET /health HTTP/1.1\r\nX: ")
        ended = asyncio.get_running_loop().create_task(line.ended())
        while not ended.done():
            line.writer.write(b"x")
            await asyncio.wait([ended], timeout=0.05)
        assert ended.result()


async def test_a_second_head_has_to_arrive_in_time_as_well(settings: Settings) -> None:
    async with entrance(settings, keepalive_timeout_s=0.1) as here:
        line = await here.line()
        await line.ask(HEALTH)
        line.writer.write(HEALTH[:-4])
        assert await line.ended()


async def test_an_idle_connection_is_ended(settings: Settings) -> None:
    async with entrance(settings, keepalive_timeout_s=0.1) as here:
        line = await here.line()
        await line.ask(HEALTH)
        assert await line.ended()


async def test_a_request_may_take_longer_than_a_connection_may_be_idle(settings: Settings) -> None:
    async with entrance(settings, keepalive_timeout_s=0.1, body_timeout_s=0.4) as here:
        assert code_of(await (await here.line(HALF_BODY)).read()) == (408, "request_timeout")


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


async def test_a_connection_too_many_takes_the_place_of_one_that_is_idle(settings: Settings) -> None:
    async with entrance(settings, connections_max=2) as here:
        first, second = await here.line(), await here.line()
        for line in (first, second):
            await line.ask(HEALTH)
        await asyncio.sleep(YOUNG_S)  # one that was used just now stays
        assert [answer.status for answer in await (await here.line()).ask(HEALTH)] == [200]
        assert await first.ended()
        assert [answer.status for answer in await second.ask(HEALTH)] == [200]


async def test_half_bodies_without_a_token_leave_room(settings: Settings) -> None:
    async with entrance(settings, connections_max=3) as here:
        halves = [await here.line(HALF_BODY) for _ in range(3)]
        await until(lambda: count_of(here, Use.UNKNOWN_BODY) == 3)
        assert [answer.status for answer in await (await here.line()).ask(HEALTH)] == [200]
        assert await halves[0].ended()
        assert count_of(here, Use.UNKNOWN_BODY) == 2


def has_streams(here: Entrance, number: int) -> bool:
    return count_of(here, Use.STREAM) == number


async def test_the_oldest_stream_makes_room(settings: Settings) -> None:
    async with entrance(settings, connections_max=3) as here:
        (registered,) = await (await here.line()).ask(REGISTER)
        for line in here.lines:
            line.writer.transport.abort()
        await until(lambda: not here.connections)
        bearer = {"Authorization": f"Bearer {registered.json['token']}", "Accept": "text/event-stream"}
        streams: list[Line] = []
        for number in (1, 2, 3):
            streams.append(await here.line(wire("GET", "/events/", headers=bearer)))
            await until(partial(has_streams, here, number))
        late = await here.line()
        assert [answer.status for answer in await late.ask(HEALTH)] == [200]
        assert b"200 OK" in await streams[0].reader.read()
        assert count_of(here, Use.STREAM) == 2


async def test_where_all_are_at_work_a_few_more_are_asked_for_the_health_alone(settings: Settings) -> None:
    async with entrance(settings, connections_max=2, requests_max=1) as here:
        await here.admission.acquire("x")
        working = [await here.line(LOGIN) for _ in range(2)]
        await until(lambda: here.admission.waiting == 2)
        assert [answer.status for answer in await (await here.line()).ask(HEALTH)] == [200]
        assert code_of((await (await here.line()).ask(LOGIN))[0]) == (503, "overloaded")
        here.admission.release()
        assert [(await line.read()).status for line in working] == [401, 401]


async def test_a_network_has_so_many_connections(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Clients, "is_near", lambda *_: False)
    async with entrance(settings, network_connections_max=2) as here:
        first, _ = await here.line(), await here.line()
        await until(lambda: len(here.connections) == 2)
        refused = await (await here.line()).read()
        assert code_of(refused) == (429, "quota_exceeded")
        assert (refused.json["limit"], refused.json["budget"]) == (2, "network_connections")
        first.writer.transport.abort()
        await until(lambda: len(here.connections) == 1)
        assert [answer.status for answer in await (await here.line()).ask(HEALTH)] == [200]


@asynccontextmanager
async def wires(number: int) -> AsyncIterator[list[asyncio.Transport]]:
    """So many open connections."""
    loop = asyncio.get_running_loop()
    pairs = [socket.socketpair() for _ in range(number)]
    opened = [(await loop.connect_accepted_socket(asyncio.Protocol, one))[0] for one, _ in pairs]
    try:
        yield opened
    finally:
        for one, (_, other) in zip(opened, pairs, strict=True):
            one.abort()
            other.close()


async def test_networks_take_places_at_a_pace_of_their_own() -> None:
    async with wires(4 * int(PACE_BURST_S / PACE_S)) as opened:
        occupancy, new = Occupancy(2), iter(opened)
        for network in ("127.0.4.1", "127.0.4.2"):
            held = next(new)
            assert occupancy.open(held, network)
            occupancy.use(held, Use.UNKNOWN_BODY)
        while occupancy.open(held := next(new), "127.0.4.1"):
            occupancy.use(held, Use.UNKNOWN_BODY)
        assert occupancy.open(next(new), "127.0.4.2")


async def test_a_crowd_that_came_just_now_makes_room_for_a_network_that_has_fewer() -> None:
    async with wires(6) as new:
        occupancy = Occupancy(4)
        assert all(occupancy.open(one, "127.0.4.1") for one in new[:4])
        assert occupancy.open(new[4], "127.0.4.2")
        assert not occupancy.is_spare(new[4])
        assert occupancy.open(new[5], "127.0.4.1")
        assert occupancy.is_spare(new[5])


async def test_a_crowd_makes_room_though_others_came_after_it() -> None:
    async with wires(42) as new:
        occupancy = Occupancy(40)
        assert all(occupancy.open(one, "127.0.4.1") for one in new[:5])
        for number, one in enumerate(new[5:40]):
            assert occupancy.open(one, f"127.0.{5 + number // 2}.1")
        assert occupancy.open(new[40], "127.0.0.1")
        assert [number for number, one in enumerate(new) if one.is_closing()] == [4]


async def test_a_crowd_takes_no_place_of_a_body_that_a_company_sends_from_elsewhere() -> None:
    async with wires(4) as new:
        occupancy = Occupancy(3)
        for one in new[:2]:
            assert occupancy.open(one, "127.0.4.1")
            occupancy.use(one, Use.WORK)
        assert occupancy.open(new[2], "127.0.0.1")
        occupancy.use(new[2], Use.BODY, "a company")
        assert occupancy.open(new[3], "127.0.4.1")
        assert occupancy.is_spare(new[3])
        assert not new[2].is_closing()


async def test_a_crowd_makes_room_before_a_body_of_a_company_is_cut_off() -> None:
    async with wires(5) as new:
        occupancy = Occupancy(4)
        assert occupancy.open(new[0], "127.0.4.1")
        occupancy.use(new[0], Use.BODY, "a company")
        assert all(occupancy.open(one, "127.0.4.2") for one in new[1:4])
        assert occupancy.open(new[4], "127.0.4.3")
        assert [one.is_closing() for one in new] == [False, False, False, True, False]


async def test_a_caller_who_goes_while_a_body_is_awaited_leaves_no_ring(settings: Settings) -> None:
    async with entrance(settings) as here:
        occupancy = here.server.runner.app[OCCUPANCY]
        gc.collect()
        gc.disable()
        try:
            line = await here.line(HALF_BODY)
            await until(lambda: occupancy.count(Use.UNKNOWN_BODY) == 1)
            line.writer.transport.abort()
            await until(lambda: all(occupancy.count(use) == 0 for use in Use))
            await asyncio.sleep(0)
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            kept = [one for one in gc.garbage if isinstance(one, web.BaseRequest)]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
        assert kept == []


async def test_a_body_that_is_too_slow_is_408_and_the_end_of_the_connection(settings: Settings) -> None:
    async with entrance(settings, body_timeout_s=0.1) as here:
        line = await here.line(HALF_BODY)
        assert code_of(await line.read()) == (408, "request_timeout")
        assert await line.ended()


async def test_bodies_that_have_arrived_in_part_have_a_bound_together(settings: Settings) -> None:
    async with entrance(settings, request_buffers_bytes_max=2_097_152) as here:
        room = here.server.runner.app[INCOMING_BODIES].companies
        head = HALF_START % (await register(here, "sender")).encode()
        first = await here.line(head + b" " * 900_000)
        await until(lambda: room.free < 1_200_000)
        assert code_of(await (await here.line(head + b" " * 900_000)).read()) == (503, "overloaded")
        first.writer.write(b" " * 99_999)
        assert code_of(await first.read()) == (400, "malformed_json")
        await until(lambda: room.free == 2_097_152)


async def test_half_bodies_without_a_token_take_no_room_of_companies_nor_of_other_networks(settings: Settings) -> None:
    part = HALF_BODY.replace(b"100", b"16000") + b" " * 15_000
    async with entrance(settings, request_buffers_bytes_max=2_097_152, trusted_proxies="127.0.0.1") as here:
        rooms = here.server.runner.app[INCOMING_BODIES]
        of_one = [part.replace(b"\r\n", b"\r\nX-Forwarded-For: 127.0.4.1\r\n", 1) for _ in range(40)]
        lines = [await here.line(request) for request in of_one]
        await until(lambda: rooms.strangers.free < 300_000)
        await until(lambda: sum(line.reader.at_eof() or len(line.reader._buffer) > 0 for line in lines) > 10)  # type: ignore[attr-defined]
        assert rooms.companies.free == 2_097_152
        other = await here.line(part.replace(b"\r\n", b"\r\nX-Forwarded-For: 127.0.4.2\r\n", 1))
        other.writer.write(b" " * 999)
        assert code_of(await other.read()) == (400, "malformed_json")


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
    async with entrance(settings, write_timeout_s=0.1) as here:
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


LIST = 1_800_000
"""About the bytes of a list of two large runs."""


async def large_runs(here: Entrance, name: str) -> dict[str, str]:
    """The headers of a new company that has two runs of 0.9 MB."""
    bearer = {"Authorization": f"Bearer {await register(here, name)}"}
    body = json.dumps({"vertical": "quick", "inputs": {"text": "x" * (LIST // 2)}}).encode()
    await (await here.line()).ask(*[wire("POST", "/process-runs/", body, bearer)] * 2)
    return bearer


@contextmanager
def deaf(here: Entrance, bearer: dict[str, str]) -> Iterator[socket.socket]:
    """A connection that asks for a list of all runs and does not read it."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        one.connect(("127.0.0.1", here.port))
        one.sendall(wire("GET", "/process-runs/", headers=bearer))
        yield one


def paused(here: Entrance) -> int:
    return sum(one.writing_paused for one in here.connections)


async def status_of_list(here: Entrance, bearer: dict[str, str]) -> Answer:
    (answer,) = await (await here.line()).ask(wire("GET", "/process-runs/", headers=bearer))
    return answer


async def test_answers_that_nobody_reads_have_a_bound_together(settings: Settings) -> None:
    async with entrance(settings, write_buffers_bytes_max=2 * LIST - 1) as here:
        ann, eve = await large_runs(here, "ann"), await large_runs(here, "eve")
        with deaf(here, ann):
            await until(lambda: paused(here) == 1)
            assert code_of(await status_of_list(here, eve)) == (503, "overloaded")
        await until(lambda: paused(here) == 0)
        assert (await status_of_list(here, eve)).status == 200


async def test_lists_that_a_company_does_not_read_are_its_own_loss(settings: Settings) -> None:
    async with entrance(settings, company_response_bytes_max=3 * LIST) as here:
        ann, eve = await large_runs(here, "ann"), await large_runs(here, "eve")
        with deaf(here, ann), deaf(here, ann):
            await until(lambda: paused(here) == 2)
            refused = await status_of_list(here, ann)
            assert code_of(refused) == (429, "quota_exceeded")
            assert (refused.json["limit"], refused.json["budget"]) == (3 * LIST, "company_response_bytes")
            assert (await status_of_list(here, eve)).status == 200
        await until(lambda: paused(here) == 0)
        assert (await status_of_list(here, ann)).status == 200


async def test_a_large_answer_waits_in_pieces_for_its_reader(settings: Settings) -> None:
    async with entrance(settings) as here:
        ann = await large_runs(here, "ann")
        with deaf(here, ann):
            await until(lambda: paused(here) == 1)
            waiting = [one.transport for one in here.connections if one.writing_paused]
            assert max(one.get_write_buffer_size() for one in waiting if one is not None) < LIST / 4
        (read, again) = await (await here.line()).ask(*[wire("GET", "/process-runs/", headers=ann)] * 2)
        assert read.body == again.body
        assert len(read.body) > LIST


async def test_an_answer_to_a_change_is_never_refused_for_its_size(settings: Settings) -> None:
    async with entrance(settings, company_response_bytes_max=1) as here:
        bearer = {"Authorization": f"Bearer {await register(here, 'ann')}"}
        body = json.dumps({"vertical": "quick", "inputs": {"text": "x" * (LIST // 2)}}).encode()
        (answer,) = await (await here.line()).ask(wire("POST", "/process-runs/", body, bearer))
        assert answer.status == 201


async def register(here: Entrance, name: str) -> str:
    body = {"email": f"{name}@a.test", "password": "correct horse", "company_name": name}
    (answer,) = await (await here.line()).ask(wire("POST", "/auth/register", json.dumps(body).encode()))
    token: str = answer.json["token"]
    return token


def test_the_protocol_is_aiohttps_by_its_public_names_alone() -> None:
    tree = ast.parse(inspect.getsource(Connection))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")}
    own = {*Connection.__slots__, *vars(Connection)}
    assert {name for name in used if not name.startswith("__")} <= own
    assert not [name for name in own if name.startswith("_") and not name.startswith("__") and name in ITS_OWN]
