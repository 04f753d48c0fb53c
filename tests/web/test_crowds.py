"""A crowd that connects at once is let in at once, and one that asks at once is not taken apart at once."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack

import uvloop
from aiohttp import web

from daemon.settings import Settings
from daemon.web.admission import AHEAD_MAX
from daemon.web.server import BACKLOG, open_wide
from tests.load.pump import wire
from tests.web.test_connections import LOGIN, Entrance, crowded, entrance, register, until

CROWD = 64


async def turns_until_all_are_in() -> int:
    """How many turns of the loop it takes to let a crowd in."""
    runner = web.AppRunner(web.Application())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=BACKLOG).start()
    await open_wide(runner)
    turns = 0
    with ExitStack() as stack:
        for _ in range(CROWD):
            stack.enter_context(socket.create_connection(runner.addresses[0]))
        assert runner.server is not None
        while len(runner.server.connections) < CROWD:
            turns += 1
            await asyncio.sleep(0)
        await runner.cleanup()
    return turns


def test_a_crowd_is_let_in_within_a_few_turns_of_the_loop() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(turns_until_all_are_in()) < CROWD / 4


async def bearer(here: Entrance) -> dict[str, str]:
    """A token that the service has seen."""
    headers = {"Authorization": f"Bearer {await register(here, 'many')}"}
    await (await here.line()).ask(wire("GET", "/auth/me", headers=headers))
    return headers


async def test_of_a_crowd_that_asks_in_one_turn_of_the_loop_most_wait_as_bytes(settings: Settings) -> None:
    async with entrance(settings, requests_max=1) as here:
        me = wire("GET", "/auth/me", headers=await bearer(here))
        lines = [await here.line() for _ in range(4 * AHEAD_MAX)]
        await until(lambda: len(here.connections) > len(lines))
        await here.admission.enter("somebody")
        for line in lines:
            line.writer.write(me)  # all are there before the loop looks again
        await until(lambda: here.admission.waiting == len(lines))
        assert sum(map(len, here.admission._queues.values())) <= 2 * AHEAD_MAX
        here.admission.leave()
        assert [(await line.read()).status for line in lines] == [200] * len(lines)
        assert here.admission.refused == 0


async def test_what_was_let_through_is_expected_until_it_comes_or_is_answered(settings: Settings) -> None:
    async with entrance(settings, requests_max=1, requests_waiting_max=40) as here:
        headers = await bearer(here)
        await here.admission.enter("somebody")
        others = [asyncio.get_running_loop().create_task(here.admission.enter("others")) for _ in range(10)]
        await until(lambda: here.admission.crowded)
        nowhere = wire("GET", "/nowhere", headers=headers)
        first = await here.line()
        assert [answer.status for answer in await first.ask(nowhere, nowhere)] == [404, 404]
        open_to_all = await here.line(wire("GET", "/docs", headers=headers))
        await until(lambda: here.admission.waiting == 11)
        assert here.admission._expected == {}
        for _ in range(11):
            here.admission.leave()
        assert (await open_to_all.read()).status == 200
        await asyncio.gather(*others)


async def first_asked(settings: Settings) -> bytes:
    """The answers to two requests that came to a crowded service with their connection."""
    async with crowded(settings) as here:
        with socket.create_connection(("127.0.0.1", here.port)) as one:
            one.sendall(LOGIN + LOGIN)
            await until(lambda: here.admission.refused == 2)
            return one.recv(65_536)


def test_who_connects_and_asks_at_once_is_refused_as_bytes(settings: Settings) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        answers = runner.run(first_asked(settings))
    assert answers.count(b"HTTP/1.1 503 ") == 2
    assert b"\r\nDate: " not in answers  # as answers to requests that were taken apart have it
