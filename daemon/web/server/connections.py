"""aiohttp's connections, bounded in number, by network and in bytes; refusals are problems."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from aiohttp import web
from aiohttp.http_exceptions import ContentEncodingError, HttpProcessingError, LineTooLong

from daemon.observability.logs import ThrottledLog
from daemon.runtime.clock import new_id
from daemon.settings import Settings
from daemon.web.clients import Clients, prefix_of
from daemon.web.middleware.occupancy import Occupancy
from daemon.web.middleware.request_id import guard
from daemon.web.problems import HttpProblem, quota_exceeded, unforeseen, unsupported_encoding
from daemon.web.responses import problem_response

BUDGET = "network_connections"


class Networks:
    """Bounds the connections of a network; this machine's and a proxy's are those of many."""

    def __init__(self, clients: Clients, connections_max: int, exceeded: Callable[[str], None] | None) -> None:
        self._clients = clients
        self._max = connections_max
        self._exceeded = exceeded
        self._open: Counter[str] = Counter()

    def count(self, address: str) -> str | None:
        """Count a connection, and return its network; None if it does not count.

        Problem beyond the budget.
        """
        if self._clients.is_near(address):
            return None
        network = prefix_of(address)
        if self._open[network] >= self._max:
            if self._exceeded is not None:
                self._exceeded(BUDGET)
            raise self._too_many()
        self._open[network] += 1
        return network

    def discount(self, network: str) -> None:
        self._open[network] -= 1
        if not self._open[network]:
            del self._open[network]

    def _too_many(self) -> HttpProblem:
        return quota_exceeded(BUDGET, self._max, f"Your network has {self._max} connections already.")


LINGER_S = 1.0
MOVED_BYTES_LEAST = 48 * 1024
READING: dict[str, Any] = {"auto_decompress": False, "read_bufsize": 64 * 1024}
"""Who reads a body inflates it, within bounds; aiohttp would inflate those it drops, too."""
_NO_LINGER = struct.pack("ii", 1, 0)


class Connections:
    def __init__(self, server: web.Server, settings: Settings, occupancy: Occupancy, networks: Networks) -> None:
        self.write_timeout_s = settings.write_timeout_s
        self.unread_bytes_free = settings.write_buffers_bytes_max
        self.occupancy = occupancy
        self.networks = networks
        self.full = ThrottledLog("too_many_connections")
        self._server = server
        self._idle_s = settings.keepalive_timeout_s

    def __call__(self) -> Connection:
        # This one time-out of aiohttp's ends silent connections, unfinished heads and idle ones.
        options = {"keepalive_timeout": self._idle_s, "lingering_time": LINGER_S, "access_log": None, **READING}
        return Connection(self._server, self, loop=asyncio.get_running_loop(), **options)


class Connection(web.RequestHandler):
    """One connection of aiohttp's; a client that does not read its responses loses it."""

    __slots__ = ("_network", "_shared", "_timer", "_unread", "_wire", "used")

    def __init__(self, server: web.Server, shared: Connections, **options: Any) -> None:
        super().__init__(server, **options)
        self.used = False
        self._shared = shared
        self._network: str | None = None
        self._wire: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unread = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        wire = self._wire = cast("asyncio.Transport", transport)
        if not self._enter(wire):
            self._shared.full.warn()
            return
        wire.set_write_buffer_limits(high=0)  # so that a pause means: something is not read
        super().connection_made(transport)

    def _enter(self, wire: asyncio.Transport) -> bool:
        """Whether there is room for this connection; one beyond its network's budget is told so."""
        peer = wire.get_extra_info("peername")
        address = peer[0] if isinstance(peer, tuple) else ""  # a Unix socket has none
        try:
            self._network = self._shared.networks.count(address)
        except HttpProblem as problem:
            wire.write(_in_full(problem))
            wire.close()
            return False
        if not self._shared.occupancy.open(wire, self._network or address):
            wire.abort()
            return False
        return True

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_timer()
        if self._wire is not None:
            self._shared.occupancy.close(self._wire)
        if self._network is not None:
            self._shared.networks.discount(self._network)
        self._wire = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.used = True
        super().data_received(data)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._wire is not None:
            self._unread = self._wire.get_write_buffer_size()
            if self._unread > self._shared.unread_bytes_free:
                self._reset(self._wire)
            self._shared.unread_bytes_free -= self._unread
            self._start_timer(self._wire, self._unread)

    def resume_writing(self) -> None:
        self._stop_timer()
        super().resume_writing()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - it repeats what was sent
    ) -> web.StreamResponse:
        """Answer what the parser refuses with a problem that repeats nothing of what was sent."""
        if isinstance(exc, ConnectionError):
            exc.__traceback__ = None  # its frames hold the body, which holds the error: a ring
            if request.transport is None:  # there is nobody to answer
                return web.Response()
            raise exc
        if request.writer.output_size > 0:
            raise ConnectionResetError("the answer was cut off in the middle")
        request_id = new_id()
        response = problem_response(self._refusal(status, exc), request_id).response()
        response.headers["X-Request-ID"] = request_id
        guard(response)
        response.force_close()
        if exc is not None:
            exc.__traceback__ = None  # its frames hold what arrived, and the error itself: a ring
        return response

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """Log an error, but not one about bytes that were sent: anybody could fill the log."""
        if not isinstance(kw.get("exc_info"), HttpProcessingError | web.RequestPayloadError):
            super().log_exception(*args, **kw)

    def _refusal(self, status: int, exc: BaseException | None) -> HttpProblem:
        if status != web.HTTPBadRequest.status_code:
            self.log_exception("unhandled_exception", exc_info=exc)
            return unforeseen()
        if isinstance(exc, ContentEncodingError):
            return unsupported_encoding()
        if isinstance(exc, LineTooLong):
            return HttpProblem("malformed_request", "A line of the request or a header is too long.")
        return HttpProblem("malformed_request", "The request is no HTTP that can be understood.")

    def _start_timer(self, wire: asyncio.Transport, unread: int) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._shared.write_timeout_s, self._check_read, wire, unread)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._shared.unread_bytes_free += self._unread
        self._unread = 0

    def _check_read(self, wire: asyncio.Transport, unread: int) -> None:
        left = wire.get_write_buffer_size()
        if left > unread - MOVED_BYTES_LEAST:
            self._reset(wire)
        else:
            self._start_timer(wire, left)

    def _reset(self, wire: asyncio.Transport) -> None:
        """Drop the connection with all that is unread: a plain close leaves that to the kernel."""
        with suppress(OSError):
            wire.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        wire.abort()


def _in_full(problem: HttpProblem) -> bytes:
    """A response for a connection of which no request is read."""
    request_id = new_id()
    response = problem_response(problem, request_id).response()
    response.headers.update({"X-Request-ID": request_id, "Connection": "close"})
    guard(response)
    body = problem.body(request_id)
    lines = [f"HTTP/1.1 {problem.status} {response.reason}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in response.headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
