"""A crowd that connects at once is let in at once."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack

import uvloop
from aiohttp import web

from daemon.web.server import BACKLOG, open_wide

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
