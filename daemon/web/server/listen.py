"""Binds the listening sockets, and drains the server when it stops."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import structlog
from aiohttp import web

from daemon.settings import Settings
from daemon.web.app import application
from daemon.web.clients import CLIENTS
from daemon.web.middleware.in_flight import IN_FLIGHT
from daemon.web.middleware.occupancy import OCCUPANCY
from daemon.web.server.connections import Connection, Connections, Networks
from daemon.web.services import Services

FILES_KEPT = 384  # for the database, the listeners, calls, and spare connections
CONNECTIONS_LEAST = 64
_log = structlog.get_logger("penstock")


def room_for(connections_max: int) -> int:
    """Raise the soft limit of open files; returns how many connections it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections_max + FILES_KEPT
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections_max
    fewer = max(soft - FILES_KEPT, CONNECTIONS_LEAST)
    _log.warning("connections_limited", connections_max=fewer, hint="raise the limit of open files (LimitNOFILE=)")
    return fewer


BACKLOG = 4_096
KERNEL_BYTES_MAX = 128 * 1024
LISTENERS = 64
"""uvloop accepts one connection in a turn of the loop for each listener on a socket."""
REQUESTS_DRAIN_S = 2.0
REQUESTS_DRAIN_LEAST_S = 1.0
NEW_CONNECTIONS_S = 1.0
STOP_S = 8.5
LOOK_S = 0.01
CLOSE_S = 0.25


def url_of(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@dataclass(slots=True)
class ServerHandle:
    """A server that listens; `inherited` sockets belong to systemd and outlive the process."""

    runner: web.AppRunner
    inherited: bool
    listeners: list[asyncio.Server] = field(default_factory=list)
    drain_began: float | None = None

    @property
    def address(self) -> str:
        """The first address as a URL, or the path of a Unix socket."""
        address = self.listeners[0].sockets[0].getsockname()
        return f"unix:{address}" if isinstance(address, str) else url_of(*address[:2])

    async def listen(self, connections: Connections, bound: socket.socket) -> None:
        """Listen several times on a socket, so that a busy loop keeps up with new connections.

        Connections take over its bound on what the kernel holds of their responses.
        """
        loop = asyncio.get_running_loop()
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES_MAX)
        for one in (bound, *(bound.dup() for _ in range(LISTENERS - 1))):
            self.listeners.append(await loop.create_server(connections, sock=one, backlog=BACKLOG))

    def begin_drain(self) -> None:
        """Leave new connections in the queue of an inherited socket, for the next process.

        A socket of our own has no next process: it goes on to answer that the service is stopping.
        """
        if self.drain_began is None:
            self.drain_began = asyncio.get_running_loop().time()
        if self.inherited:
            self._stop_listening()

    async def drain(self) -> None:
        """Answer the requests in flight, then those on connections that have not sent one yet."""
        self.begin_drain()
        # The actors and calls have used a part of the time.
        in_flight = self.runner.app[IN_FLIGHT]
        await in_flight.drain(max(REQUESTS_DRAIN_S - self._elapsed_s, REQUESTS_DRAIN_LEAST_S))
        until_s = min(self._elapsed_s + NEW_CONNECTIONS_S, STOP_S)
        while self._has_new_connections and self._elapsed_s < until_s:  # noqa: ASYNC110 - aiohttp has no event for it
            await asyncio.sleep(LOOK_S)
        self._stop_listening()
        await self.runner.cleanup()

    def _stop_listening(self) -> None:
        for listener in self.listeners:
            listener.close()

    @property
    def _elapsed_s(self) -> float:
        return asyncio.get_running_loop().time() - (self.drain_began or 0.0)

    @property
    def _has_new_connections(self) -> bool:
        """Whether a connection has had no request yet: to close it would look like a refusal."""
        server = self.runner.server
        return server is not None and any(isinstance(one, Connection) and not one.used for one in server.connections)


@asynccontextmanager
async def binding(settings: Settings, inherited: Sequence[int] = ()) -> AsyncIterator[Sequence[socket.socket]]:
    """Inherited sockets, or else some bound to the settings' address: they do not listen yet.

    An address that is taken ends a start before it opens the store.
    """
    bound = [socket.socket(fileno=os.dup(number)) for number in inherited]
    if not inherited:
        with explained_for(settings):
            create = asyncio.get_running_loop().create_server
            server = await create(asyncio.Protocol, settings.host, settings.port, start_serving=False)
        bound = [socket.socket(fileno=os.dup(one.fileno())) for one in server.sockets]
        server.close()
    try:
        yield bound
    finally:
        for one in bound:
            one.close()


@asynccontextmanager
async def listening(
    services: Services, bound: Sequence[socket.socket], *, inherited: bool = False
) -> AsyncIterator[ServerHandle]:
    """Serve on bound sockets; drain at the end."""
    settings = services.settings
    runner = web.AppRunner(application(services), shutdown_timeout=CLOSE_S)
    await runner.setup()
    occupancy = runner.app[OCCUPANCY]
    occupancy.connections_max = room_for(settings.connections_max)
    assert runner.server is not None  # noqa: S101 - it is set up
    connections = Connections(runner.server, settings, occupancy, _networks(services, runner.app))
    handle = ServerHandle(runner, inherited)
    try:
        with explained_for(settings):
            for one in bound:
                await handle.listen(connections, one)
        yield handle
    finally:
        await handle.drain()


def _networks(services: Services, app: web.Application) -> Networks:
    budget, quarter = services.settings.network_connections_max, app[OCCUPANCY].connections_max // 4
    exceeded = None if services.metrics is None else services.metrics.quota_exceeded
    return Networks(app[CLIENTS], min(budget, max(1, quarter)), exceeded)


def explained_for(settings: Settings) -> AbstractContextManager[None]:
    return explained(f"{settings.host}:{settings.port}", "PENSTOCK_PORT or PENSTOCK_HOST")


@contextmanager
def explained(address: str, variable: str) -> Iterator[None]:
    """Turn an OSError of listening into one with a sentence for the operator."""
    try:
        yield
    except OSError as error:
        why = error.strerror if isinstance(error, socket.gaierror) or error.errno is None else os.strerror(error.errno)
        raise OSError(f"{address} cannot be listened on: {why}. Choose another with {variable}.") from None
