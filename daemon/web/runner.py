"""The connections together: so many at most, and the one that has been idle longest makes room for the next."""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from typing import Any

from aiohttp import web

from daemon.web.admission import ADMISSION, AHEAD_MAX
from daemon.web.connections import Connection
from daemon.web.lending import Lending
from daemon.web.prompt import PromptReads
from daemon.web.rendered import RENDERED
from daemon.web.services import SERVICES

LINGER_S = 5.0
LOOKED_AT_MAX = 16


class Server(web.Server):
    """The connections, the ones longest without a request first."""

    def __init__(self, like: web.Server, app: web.Application, connections_max: int) -> None:
        """Handle requests like another server."""
        super().__init__(like.request_handler, request_factory=like.request_factory, **like._kwargs)  # noqa: SLF001 - the application gives them to nobody else
        self.services, self.admission = app[SERVICES], app[ADMISSION]
        self.reads = PromptReads(self.services, app[RENDERED])
        settings = self.services.settings
        self.lending = Lending(self.admission, settings.idle_connection_s, self.services.draining)
        self.unread_bytes_free = settings.unread_bytes_max
        self._connections_max = connections_max
        self._order: OrderedDict[Connection, None] = OrderedDict()
        self._came = 0

    def __call__(self) -> web.RequestHandler:
        """A protocol for a new connection."""
        return Connection(self, loop=self._loop, **self._kwargs)

    def pre_shutdown(self) -> None:
        """Answer whoever still waits, and let go of all that are idle."""
        self.admission.give_up()
        super().pre_shutdown()

    async def shutdown(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - aiohttp calls it so
        """End all connections, and the doorman."""
        await self.lending.close()
        await super().shutdown(timeout)

    def has_room_for(self, connection: Connection) -> bool:
        """Take a connection in, if need be in place of the one that has been idle longest; False when none is idle."""
        self._order[connection] = None
        if len(self._order) <= self._connections_max:
            return True
        oldest = list(islice(self._order, LOOKED_AT_MAX))
        for one in oldest:
            if one.idle and one is not connection:
                self.gone(one)
                one.cut()
                return True
            self._order.move_to_end(one)
        self.admission.turned_away()
        return False

    def rushed(self) -> bool:
        """Whether one more that arrives comes with so many in one turn of the loop that not all can be taken apart.

        None of them has been admitted yet, so the admission cannot know of the crowd.
        """
        if not self._came:
            self._loop.call_soon(self._turned)
        self._came += 1
        return self._came > AHEAD_MAX

    def _turned(self) -> None:
        """A turn of the loop is over."""
        self._came = 0

    def used(self, connection: Connection) -> None:
        """A request has come."""
        if connection in self._order:
            self._order.move_to_end(connection)

    def gone(self, connection: Connection) -> None:
        """A connection has ended."""
        self._order.pop(connection, None)


class Runner(web.AppRunner):
    """Runs an application on such connections."""

    def __init__(self, app: web.Application, connections_max: int, **how: Any) -> None:
        """Not set up yet."""
        idle_s = app[SERVICES].settings.idle_connection_s
        super().__init__(app, access_log=None, keepalive_timeout=idle_s, lingering_time=LINGER_S, **how)
        self._connections_max = connections_max

    async def _make_server(self) -> web.Server:
        return Server(await super()._make_server(), self.app, self._connections_max)
