"""The doorman on real sockets: it refuses what is refused, and everything else comes back unharmed."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from daemon.app import Life, opened
from daemon.settings import Settings
from daemon.web.lending import Lending
from daemon.web.runner import Server
from daemon.web.server import listening
from tests.load.pump import wire
from tests.web.test_connections import HEALTH, LOGIN, Entrance, Line, code_of, crowded, entrance, register, until

DOCS = wire("GET", "/docs")


def lending(here: Entrance) -> Lending:
    server = here.door.runner.server
    assert isinstance(server, Server)
    return server.lending


@asynccontextmanager
async def guarded(settings: Settings) -> AsyncIterator[tuple[Entrance, Line]]:
    """A crowded service whose doorman is there, and has one connection."""
    async with crowded(settings) as here:
        yield here, await lent_line(here)


async def lent_line(here: Entrance) -> Line:
    """A connection that the doorman has."""
    first = await here.line()
    assert code_of((await first.ask(LOGIN))[0]) == (503, "overloaded")  # as yet the service says so itself
    await until(lambda: lending(here)._ready)
    line = await here.line()
    assert code_of((await line.ask(LOGIN))[0]) == (503, "overloaded")
    first.writer.transport.abort()
    await until(lambda: len(here.connections) == 1)
    return line


async def test_the_doorman_refuses_like_the_service(settings: Settings) -> None:
    async with crowded(settings) as here:
        line = await here.line()
        (own,) = await line.ask(LOGIN)
        await until(lambda: lending(here)._ready)
        its = await line.ask(LOGIN, DOCS, LOGIN)
        assert len(lending(here)._lent) == 1
        for answer in its:
            assert {**answer.json, "request_id": ""} == {**own.json, "request_id": ""}
            assert answer.headers.keys() == own.headers.keys()
        assert len({answer.json["request_id"] for answer in (own, *its)}) == 4
        await until(lambda: here.admission.refused == 4)


async def test_what_the_doorman_does_not_understand_comes_back_unharmed(settings: Settings) -> None:
    async with guarded(settings) as (_, line):
        answers = await line.ask(DOCS, HEALTH, DOCS, b"HEAD /docs HTTP/1.1\r\nHost: x\r\n\r\n")
        assert [answer.status for answer in answers] == [503, 200, 503, 503]


async def test_a_request_that_arrives_in_parts_comes_back_with_the_part_that_was_read(settings: Settings) -> None:
    async with guarded(settings) as (here, line):
        line.writer.write(LOGIN + LOGIN[:50])
        assert code_of(await line.read()) == (503, "overloaded")
        await until(lambda: not lending(here)._lent)
        assert code_of((await line.ask(LOGIN[50:]))[0]) == (503, "overloaded")


async def test_when_there_is_room_again_everything_comes_back(settings: Settings) -> None:
    async with guarded(settings) as (here, line):
        here.admission.leave()
        await until(lambda: not lending(here)._lent)
        assert code_of((await line.ask(LOGIN))[0]) == (401, "invalid_credentials")


async def test_a_service_that_stops_has_all_of_them_back_and_says_so(settings: Settings) -> None:
    life = Life()
    narrow = settings.model_copy(update={"port": 0, "requests_max": 1, "requests_waiting_max": 0})
    async with opened(narrow, life) as services, listening(services) as door:
        here = Entrance(door, life)
        await here.admission.enter("somebody")
        line = await lent_line(here)
        assert len(lending(here)._lent) == 1
        life.draining = True
        await until(lambda: not lending(here)._lent)
        assert code_of((await line.ask(LOGIN))[0]) == (503, "draining")
        assert await line.ended()
        line.writer.transport.abort()


async def test_a_connection_that_ends_with_the_doorman_ends_with_the_service(settings: Settings) -> None:
    async with guarded(settings) as (here, line):
        assert len(lending(here)._lent) == 1
        line.writer.close()
        await until(lambda: not here.connections)
        assert not lending(here)._lent


async def test_a_connection_on_which_nothing_comes_is_ended_though_it_is_lent(settings: Settings) -> None:
    async with guarded(settings.model_copy(update={"idle_connection_s": 0.3})) as (_, line):
        assert await line.ended()


async def test_another_token_on_the_same_connection_is_none_of_the_doormans_business(settings: Settings) -> None:
    async with guarded(settings) as (here, line):
        answers = await line.ask(DOCS, wire("GET", "/auth/me", headers={"Authorization": "Bearer forged"}))
        assert [answer.status for answer in answers] == [503, 401]
        assert not lending(here)._lent


async def test_as_many_come_through_as_there_is_room_for(settings: Settings) -> None:
    async with entrance(settings, requests_max=1, requests_waiting_max=16) as here:
        me = wire("GET", "/auth/me", headers={"Authorization": f"Bearer {await register(here, 'greedy')}"})
        line = await here.line()
        company_id = (await line.ask(me))[0].json["company"]["id"]
        await here.admission.enter("somebody")
        others = [asyncio.get_running_loop().create_task(here.admission.enter(company_id)) for _ in range(8)]
        await until(lambda: here.admission.waiting == 8)
        await line.ask(me)
        await until(lambda: lending(here)._ready)
        assert [answer.status for answer in await line.ask(me, me)] == [503, 503]
        assert lending(here)._lent
        here.admission.leave()
        here.admission.leave()
        await until(lambda: bool(+lending(here)._allowed))
        assert here.admission.crowded
        line.writer.write(me)
        await until(lambda: here.admission.waiting == 7)
        for _ in range(7):
            here.admission.leave()
        assert (await line.read()).status == 200
        await asyncio.gather(*others)


async def test_who_asks_for_little_is_not_handed_to_the_doorman(settings: Settings) -> None:
    async with entrance(settings, requests_max=1, requests_waiting_max=16) as here:
        greedy, modest = [
            wire("GET", "/auth/me", headers={"Authorization": f"Bearer {await register(here, name)}"})
            for name in ("greedy", "modest")
        ]
        line, other = await here.line(), await here.line()
        company_id = (await line.ask(greedy))[0].json["company"]["id"]
        await other.ask(modest)
        await here.admission.enter("somebody")
        waiting = [asyncio.get_running_loop().create_task(here.admission.enter(company_id)) for _ in range(8)]
        await until(lambda: here.admission.waiting == 8)
        await line.ask(greedy)
        await until(lambda: lending(here)._ready)
        assert [answer.status for answer in await line.ask(greedy)] == [503]
        other.writer.write(modest)
        await until(lambda: here.admission.waiting == 9)
        here.admission.leave()
        here.admission.leave()
        assert (await other.read()).status == 200
        await until(lambda: here.admission.waiting == 6)
        assert here.admission.besieged
        assert len(lending(here)._lent) == 1
        assert all(whose == company_id for _, whose in lending(here)._lent.values())
        await gone(*waiting)


async def gone(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_when_the_doorman_dies_its_connections_end_and_the_service_refuses_itself(settings: Settings) -> None:
    async with guarded(settings) as (here, line):
        process = lending(here)._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        assert await line.ended()
        another = await here.line()
        assert code_of((await another.ask(LOGIN))[0]) == (503, "overloaded")
        here.admission.leave()
        assert code_of((await another.ask(LOGIN))[0]) == (401, "invalid_credentials")


def allow_two_more(pid: int) -> None:
    """Bound a process in the files that it may open from now on."""
    most = len(list(Path(f"/proc/{pid}/fd").iterdir())) + 2
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, most))


async def test_what_the_doorman_has_no_descriptors_for_comes_back(settings: Settings) -> None:
    async with guarded(settings) as (here, _):
        process = lending(here)._process
        assert process is not None
        allow_two_more(process.pid)
        lines = [await here.line() for _ in range(8)]
        for line in lines:
            line.writer.write(LOGIN)
        assert [code_of(await line.read()) for line in lines] == [(503, "overloaded")] * 8


async def test_the_doorman_leaves_with_the_service(settings: Settings) -> None:
    async with guarded(settings) as (here, _):
        process = lending(here)._process
        assert process is not None
    assert process.returncode == 0
