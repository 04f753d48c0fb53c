"""Connections: each bounded in what it may hold open, and in how long it may take."""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import sys
import termios
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web
from aiohttp.http import RawRequestMessage
from aiohttp.http_exceptions import ContentEncodingError, LineTooLong

from daemon.uuids import new_id
from daemon.web.admission import NOBODY
from daemon.web.answer import Answer
from daemon.web.doorman import BYTES_MAX
from daemon.web.lending import Whose
from daemon.web.plain import accepted_id, plain
from daemon.web.problems import SERVER, Problem, unsupported_encoding
from daemon.web.refusals import REFUSAL
from daemon.web.spent import untangle

if TYPE_CHECKING:
    from daemon.web.runner import Server

MOVED_BYTES_LEAST = 48 * 1024
KERNEL_BYTES_MAX = 128 * 1024
_NO_LINGER = struct.pack("ii", 1, 0)


class Connection(web.RequestHandler):
    """One connection: its next request head has to arrive in time, and its answers have to be read in time.

    While the service is crowded, whole requests of a company that would be refused are refused before anything of them
    is taken apart: a refusal must cost next to nothing, or there is no time left for the others. So the connection is
    lent to the doorman; where that cannot be, it is refused here.
    """

    __slots__ = (
        "_admission",
        "_due",
        "_expected",
        "_head_of",
        "_lent",
        "_server",
        "_services",
        "_settings",
        "_stalled",
        "_unread",
        "_whose",
        "_wire",
    )

    def __init__(self, server: Server, **how: Any) -> None:
        """Belong to a server."""
        super().__init__(server, **how)
        self._server = server
        self._services, self._settings, self._admission = server.services, server.services.settings, server.admission
        self._wire: asyncio.Transport | None = None
        self._due: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._head_of = -1
        self._lent = False
        self._expected: str | None = None
        self._whose: Whose | None = None
        self._unread = 0

    @property
    def idle(self) -> bool:
        """Whether it waits for a request and answers none."""
        return self._waiter is not None and not self._waiter.done() and not self._lent and not self.writing_paused

    @property
    def descriptor(self) -> int:
        """The descriptor of its socket."""
        return -1 if self._wire is None else _socket(self._wire).fileno()

    def given_back(self, unsent: bytes, unread: bytes, *, idle: bool) -> None:
        """Go on where the doorman has left off."""
        self._lent = False
        if self._wire is None or self._wire.is_closing():
            return
        self._next_keepalive_close_time = self._loop.time() + self._settings.idle_connection_s
        if unsent:
            self._wire.write(unsent)
        elif idle:
            self.cut()
            return
        self._wire.resume_reading()
        if unread:
            self.data_received(unread)

    def admitted(self, data: bytes) -> None:
        """Take apart what has waited as it was."""
        assert self._whose is not None  # noqa: S101 - it is known whose it is
        self._lent = False
        if self._wire is None or self._wire.is_closing():
            self._admission.unexpect(self._whose.company_id)
            return
        self._wire.resume_reading()
        self._expected = self._whose.company_id
        self._take(data)

    def too_late(self, data: bytes) -> None:
        """Refuse what has waited for too long."""
        one = plain(data)
        assert one is not None  # noqa: S101 - nothing else waits as it is
        self.given_back(REFUSAL.to(accepted_id(one.request_id)), data[one.size :], idle=False)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless there are too many."""
        self._wire = cast("asyncio.Transport", transport)
        self._wire.set_write_buffer_limits(high=0)  # so that a pause means: something is not read
        with suppress(OSError):
            _socket(self._wire).setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES_MAX)
        super().connection_made(transport)
        self._due = self._loop.call_later(self._settings.head_s, self._head_late, self._request_count)
        if not self._server.has_room_for(self):
            self._wire.write(REFUSAL.to(new_id()))
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Give back what it held of what all connections share."""
        self._server.gone(self)
        self._let_go(self._due)
        self._all_read()
        self._wire = None
        self._unexpected()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Refuse what arrives, answer it at once, or have it taken apart."""
        if data and (self._server.rushed() or self._admission.crowded) and not self._services.draining():
            data = self._unrefused(data)
            if not data:
                return
        elif self._answers(data):
            return
        self._take(data)

    def _take(self, data: bytes) -> None:
        before = self._request_count
        super().data_received(data)
        if self._messages and not isinstance(last := self._messages[-1][0], RawRequestMessage):
            untangle(last.exc)  # the parser refused it; behind a request that ends the connection nobody answers it
        if self._request_count != before:
            self._server.used(self)
        elif data and self.idle and self._head_of != before:
            self._head_of = before
            self._let_go(self._due)
            self._due = self._loop.call_later(self._settings.head_s, self._head_late, before)

    def pause_writing(self) -> None:
        """Begin to wait for the reader."""
        super().pause_writing()
        if self._wire is None:
            return
        self._unread = self._wire.get_write_buffer_size()
        if self._unread > self._server.unread_bytes_free:
            self._reset()
        self._server.unread_bytes_free -= self._unread
        self._stalled = self._loop.call_later(self._settings.unread_s, self._unmoved, self._unread)

    def resume_writing(self) -> None:
        """Everything is read."""
        self._all_read()
        super().resume_writing()
        if self.idle and self._wire is not None and not self._wire.is_closing():
            self._wire.resume_reading()

    def cut(self) -> None:
        """End it now, whatever the other side does."""
        self.force_close()
        if self._wire is not None and (self._wire.get_write_buffer_size() or _unread_by_far(self._wire)):
            self._reset()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - it repeats what was sent
    ) -> web.StreamResponse:
        """Answer what the parser refuses in the contract's form; nothing of what was sent is repeated."""
        if isinstance(exc, ConnectionError):  # the caller has gone; there is nobody to answer
            raise exc
        if request.writer.output_size > 0:
            raise ConnectionResetError("the answer was cut off in the middle")
        if status != web.HTTPBadRequest.status_code:
            self.log_exception("unforeseen", exc_info=exc)
            problem = Problem("internal_error", "Something went wrong here; the request id helps to find out what.")
        elif isinstance(exc, ContentEncodingError):
            problem = unsupported_encoding()
        elif isinstance(exc, LineTooLong):
            problem = Problem("malformed_request", "A line of the request or a header is too long.")
        else:
            problem = Problem("malformed_request", "The request is no HTTP that can be understood.")
        if exc is not None:
            untangle(exc)
        request_id = new_id()
        response = problem.response(request_id)
        response.headers.update({"X-Request-ID": request_id, "Server": SERVER})
        response.force_close()
        return response

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """Note an error, which is all that becomes of it."""
        super().log_exception(*args, **kw)
        if isinstance(error := kw.get("exc_info"), BaseException):
            untangle(error)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send an answer, in one piece where it is whole; the next request may then be refused elsewhere."""
        whole = resp.whole(request) if isinstance(resp, Answer) and not self._upgraded else None
        if whole is None:
            answered = await super().finish_response(request, resp, start_time)
        else:
            await self._write(whole)
            answered = resp, self.transport is None
        self._unexpected()
        if self._whose is not None:
            self._loop.call_soon(self._loop.call_soon, self._rests)
        return answered

    async def _write(self, answer: bytes) -> None:
        """Write an answer, if its caller is still there, and wait until it is taken."""
        if self.transport is None or self.transport.is_closing():
            return
        self.transport.write(answer)
        if self._paused:
            with suppress(ConnectionError):
                await self._drain_helper()

    def let_in(self) -> str | None:
        """The company that the request was let through for while it was crowded, if it was; it is told once."""
        company_id, self._expected = self._expected, None
        return company_id

    def hurry(self) -> None:
        """Do not wait for the rest of a body that was too slow already."""
        self._lingering_time = 0.0

    def _unrefused(self, data: bytes) -> bytes:
        """Refuse the whole requests that are there as far as they are to be refused; returns the rest."""
        asks_nothing = self.idle or (self._waiter is None and self._request_count == 0)  # its task has yet to begin
        while data and asks_nothing and self._head_of != self._request_count and not self.writing_paused:
            one = plain(data)
            company_id = None if one is None else self._known_company(one.authorization)
            if one is None or company_id is None:
                break
            self._whose = Whose(company_id, one.authorization)
            if not self._admission.is_full(company_id):
                if self._admission.holds(company_id) and len(data) <= BYTES_MAX:
                    self._hold(company_id, data)
                    return b""
                self._admission.expect(company_id)
                self._expected = company_id
                break
            if self._lends(data):
                self._admission.in_vain()
                return b""
            data = data[one.size :]
            self._admission.turned_away()
            self._say(REFUSAL.to(accepted_id(one.request_id)))
        return data

    def _answers(self, data: bytes) -> bool:
        """Answer a read at once, if nothing comes before it and nobody waits for a turn; False for anything else.

        Nothing more is heard from who has not taken the answer.
        """
        if not self.idle or self._head_of == self._request_count or self._admission.waiting:
            return False
        answer = None if self._services.draining() else self._server.reads.answer(data)
        if answer is not None:
            self._server.used(self)
            self._say(answer)
            if self.writing_paused and self._wire is not None and not self._wire.is_closing():
                self._wire.pause_reading()
        return answer is not None

    def _say(self, answer: bytes) -> None:
        """Answer a request that was not taken apart."""
        self._request_count += 1
        self._next_keepalive_close_time = self._loop.time() + self._settings.idle_connection_s
        assert self._wire is not None  # noqa: S101 - it receives
        self._wire.write(answer)

    def _lends(self, data: bytes) -> bool:
        """Have the doorman refuse what has arrived and what comes next, unless something is still to be written."""
        if self._wire is None or self._whose is None or self._wire.get_write_buffer_size():
            return False
        self._lent = self._server.lending.lend(self, self._whose, data)
        if self._lent:
            self._wire.pause_reading()
            self._request_count += 1
        return self._lent

    def _hold(self, company_id: str, data: bytes) -> None:
        """Let what has arrived wait as it is, which costs a tenth of taking it apart."""
        assert self._wire is not None  # noqa: S101 - it receives
        self._lent = True
        self._wire.pause_reading()
        self._request_count += 1
        self._admission.hold(company_id, self, data)

    def _unexpected(self) -> None:
        """What was let through has been answered, or has gone; it may never have come to the admission."""
        company_id = self.let_in()
        if company_id is not None:
            self._admission.unexpect(company_id)

    def _rests(self) -> None:
        """It has answered: where its next request would probably be refused, let the doorman wait for it."""
        if not self.idle or self._expected is not None:  # its next request has come already
            return
        if self._whose is None or not self._admission.besieged:
            self._whose = None
        elif self._head_of == self._request_count or not self._server.lending.busy:
            return
        elif self._admission.presses(self._whose.company_id):
            self._lends(b"")

    def _known_company(self, authorization: bytes) -> str | None:
        """Whose request it is, as far as that is known without checking anything anew."""
        if not authorization:
            return NOBODY
        known = self._services.identity.known(authorization[7:].decode("latin-1"))
        return known.company_id if known is not None and authorization[:7].lower() == b"bearer " else None

    def _head_late(self, count: int) -> None:
        """The head of a request was due."""
        if self._request_count == count:
            self.cut()

    def _all_read(self) -> None:
        """Nothing is left to be read."""
        self._let_go(self._stalled)
        self._server.unread_bytes_free += self._unread
        self._unread = 0

    def _unmoved(self, unread: int) -> None:
        """Look whether the reader reads."""
        if self._wire is None:
            return
        left = self._wire.get_write_buffer_size()
        if left > unread - MOVED_BYTES_LEAST:
            self._reset()
        else:
            self._stalled = self._loop.call_later(self._settings.unread_s, self._unmoved, left)

    def _reset(self) -> None:
        """Drop the connection with all that is unread: a plain close would leave that with the kernel, for minutes."""
        if self._wire is None:
            return
        with suppress(OSError):
            _socket(self._wire).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._wire.abort()

    def _process_keepalive(self) -> None:
        if self._lent or self.writing_paused:  # the doorman looks after it, and gives it back; or it is still read from
            self._next_keepalive_close_time = self._loop.time() + self._settings.idle_connection_s
        super()._process_keepalive()
        if self._force_close:
            self.cut()

    @staticmethod
    def _let_go(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()


def _socket(wire: asyncio.Transport) -> socket.socket:
    return cast("socket.socket", wire.get_extra_info("socket"))


def _unread_by_far(wire: asyncio.Transport) -> int:
    """How many bytes the kernel holds that the other side has not taken."""
    try:
        answer: bytes = fcntl.ioctl(_socket(wire).fileno(), termios.TIOCOUTQ, bytes(4))
    except OSError:
        return 0
    return int.from_bytes(answer, sys.byteorder)
