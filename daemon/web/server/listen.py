"""The listening sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from daemon.runtime import fd_limits
from daemon.web.app import application
from daemon.web.server.connections import Connection, Connections
from daemon.web.server.in_flight import IN_FLIGHT
from daemon.web.server.listen_errors import explained
from daemon.web.services import Services

BACKLOG = 4_096
ANSWERS_DRAIN_S = 2.0
ANSWERS_LEAST_S = 1.0
NEWCOMERS_S = 1.0
STOP_S = 8.5
LOOK_S = 0.01
CLOSE_S = 0.25


@dataclass(slots=True)
class Door:
    """Where the service listens; `lent` sockets belong to whoever started it, and outlive it."""

    runner: web.AppRunner
    lent: bool
    listeners: list[asyncio.Server] = field(default_factory=list)
    shut_at: float | None = None

    @property
    def address(self) -> str:
        """The first address as a URL, or the path of a Unix socket."""
        address = self.listeners[0].sockets[0].getsockname()
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
            self._stop_listening()

    async def settle(self) -> None:
        """Answer whoever is there: requests in flight first, then those who have connected and not yet asked."""
        self.shut_at = self.shut_at or asyncio.get_running_loop().time()
        # What the actors and calls took of the time is gone, but for the least.
        await self.runner.app[IN_FLIGHT].drain(max(ANSWERS_DRAIN_S - self._gone_s, ANSWERS_LEAST_S))
        until = min(self._gone_s + NEWCOMERS_S, STOP_S)
        while self._newcomers() and self._gone_s < until:  # noqa: ASYNC110 - aiohttp has no event for it
            await asyncio.sleep(LOOK_S)
        self._stop_listening()
        await self.runner.cleanup()

    def _stop_listening(self) -> None:
        for listener in self.listeners:
            listener.close()

    @property
    def _gone_s(self) -> float:
        """How long ago the stop began."""
        return 0.0 if self.shut_at is None else asyncio.get_running_loop().time() - self.shut_at

    def _newcomers(self) -> bool:
        """Whether a connection has had no request yet: to close it would look like a refusal."""
        server = self.runner.server
        return server is not None and any(isinstance(one, Connection) and not one.asked for one in server.connections)


@asynccontextmanager
async def listening(services: Services, lent: Sequence[int] = ()) -> AsyncIterator[Door]:
    """Serve on the sockets of these descriptors, or else on the settings' address.

    On the way out every request in flight is answered.
    """
    settings = services.settings
    runner = web.AppRunner(application(services), shutdown_timeout=CLOSE_S)
    await runner.setup()
    assert runner.server is not None  # noqa: S101 - it is set up
    connections = Connections(runner.server, settings, fd_limits.room_for(settings.connections_max))
    door = Door(runner, bool(lent))
    try:
        with explained(f"{settings.host}:{settings.port}", "PENSTOCK_PORT or PENSTOCK_HOST"):
            await _listen(door.listeners, connections, settings.host, settings.port, lent)
        yield door
    finally:
        await door.settle()


async def _listen(
    listeners: list[asyncio.Server], connections: Connections, host: str, port: int, lent: Sequence[int]
) -> None:
    loop = asyncio.get_running_loop()
    for number in lent:
        handed = socket.socket(fileno=number)
        listeners.append(await loop.create_server(connections, sock=handed, backlog=BACKLOG))
    if not lent:
        listeners.append(await loop.create_server(connections, host, port, backlog=BACKLOG))
