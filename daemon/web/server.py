"""The listening sockets."""

from __future__ import annotations

import asyncio
import operator
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from daemon import descriptors
from daemon.web.routes import application
from daemon.web.runner import Runner
from daemon.web.services import Services
from daemon.web.sites import begin
from daemon.web.underway import UNDER_WAY

BACKLOG = 4_096
ANSWERS_DRAIN_S = 2.0
ANSWERS_LEAST_S = 1.0
NEWCOMERS_S = 1.0
STOP_S = 8.5
LOOK_S = 0.01
CLOSE_S = 0.25
ACCEPTED_A_TURN = 16


@dataclass(slots=True)
class Door:
    """Where the service listens; `lent` sockets belong to whoever started it, and outlive it."""

    runner: web.AppRunner
    lent: bool
    shut_at: float | None = None

    @property
    def address(self) -> str:
        """The first address as a URL, or the path of a Unix socket."""
        address = self.runner.addresses[0]
        if isinstance(address, str):
            return f"unix:{address}"
        host, port = address[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def shut(self) -> None:
        """Leave new connections in a lent socket's queue, for the process that comes next.

        A socket of our own has no heir, so it goes on to answer that the service is stopping.
        """
        self.shut_at = asyncio.get_running_loop().time()
        if self.lent:
            for site in list(self.runner.sites):
                await site.stop()

    async def settle(self) -> None:
        """Answer whoever is there: requests under way first, then those who have connected and not yet asked."""
        self.shut_at = self.shut_at or asyncio.get_running_loop().time()
        # What the actors and calls took of the time is gone, but for the least.
        await self.runner.app[UNDER_WAY].end(max(ANSWERS_DRAIN_S - self._gone_s, ANSWERS_LEAST_S))
        until = min(self._gone_s + NEWCOMERS_S, STOP_S)
        while self._newcomers() and self._gone_s < until:  # noqa: ASYNC110 - aiohttp has no event for it
            await asyncio.sleep(LOOK_S)

    @property
    def _gone_s(self) -> float:
        """How long ago the stop began."""
        return 0.0 if self.shut_at is None else asyncio.get_running_loop().time() - self.shut_at

    def _newcomers(self) -> bool:
        """Whether a connection has had no request yet: to close it would look like a refusal."""
        server = self.runner.server
        return server is not None and any(one._request_count == 0 for one in server.connections)  # noqa: SLF001


@asynccontextmanager
async def listening(services: Services, lent: Sequence[int] = ()) -> AsyncIterator[Door]:
    """Serve on the sockets of these descriptors, or else on the settings' address.

    On the way out every request under way is answered.
    """
    connections_max = descriptors.room_for(services.settings.connections_max)
    runner = Runner(application(services), connections_max, shutdown_timeout=CLOSE_S)
    await runner.setup()
    door = Door(runner, bool(lent))
    try:
        settings = services.settings
        for site in _sites(runner, services, lent):
            await begin(site, f"{settings.host}:{settings.port}", "PENSTOCK_PORT or PENSTOCK_HOST")
        await open_wide(runner)
        yield door
    finally:
        await door.settle()
        await runner.cleanup()


async def open_wide(runner: web.AppRunner) -> None:
    """Listen on each socket several times over, since uvloop takes one connection of a listener in a turn of the loop.

    A turn is as long as all that is ready in it. Of a crowd that comes at once, each would wait for a turn of its own.
    """
    server_of = operator.attrgetter("_server")  # aiohttp tells no more than its addresses
    for listener in [one for site in runner.sites for one in server_of(site).sockets]:
        for _ in range(ACCEPTED_A_TURN - 1):
            again = socket.socket(fileno=os.dup(listener.fileno()))
            await web.SockSite(runner, again, backlog=BACKLOG).start()


def _sites(runner: web.AppRunner, services: Services, lent: Sequence[int]) -> list[web.BaseSite]:
    if lent:
        return [web.SockSite(runner, socket.socket(fileno=number), backlog=BACKLOG) for number in lent]
    return [web.TCPSite(runner, services.settings.host, services.settings.port, backlog=BACKLOG)]
