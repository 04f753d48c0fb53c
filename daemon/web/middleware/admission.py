"""Admission: how many requests are worked on at once, whose turn is next, and who is refused."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from actors.actor import Overloaded
from daemon.observability.logs import ThrottledLog
from daemon.web.middleware.auth import HEALTH, authenticate_again, company_of, permit
from daemon.web.middleware.in_flight import in_pieces
from daemon.web.problems import OVERLOADED, HttpProblem, quota_exceeded

STANDING = 0.3
REFUSED = web.RequestKey("refused", bool)
"""Whether there was no room for a request."""
Turn: TypeAlias = asyncio.Future[None]


class Admission:
    """Lets `at_once_max` requests be worked on; `waiting_max` others wait, for `wait_s` at most.

    Companies take turns. A company may fill as many places of the queue as are free: alone half of
    them, of two companies each a third. There is always room for the next.

    A burst may wait for long: it ends when it is served. Once the queue has not been empty for
    `wait_s`, requests wait for `STANDING` of that: a longer queue would serve nobody sooner.
    """

    def __init__(self, at_once_max: int, waiting_max: int, wait_s: float, company_max: int | None = None) -> None:
        self.waiting = 0
        self._free = at_once_max
        self._company_max = company_max
        self._waiting_max = waiting_max
        self._wait_s = wait_s
        self._queues: OrderedDict[str, OrderedDict[Turn, None]] = OrderedDict()
        self._queued_since = 0.0
        self._log = ThrottledLog("overloaded")

    async def acquire(self, company_id: str) -> bool:
        """Take a slot; whether that took a wait.

        Overloaded when the queue is full or there is no turn in time.
        """
        if self._free > 0 and not self._queues:
            self._free -= 1
            return False
        turn = self._line_up(company_id)
        try:
            async with asyncio.timeout(self._patience_s()):
                await turn
        except BaseException as error:
            if turn.cancelled():
                self._forget(company_id, turn)
            else:  # the slot was given in the same moment
                self.release()
            if isinstance(error, TimeoutError):
                self._log.warn(waiting=self.waiting)
                raise Overloaded from None
            raise
        return True

    def release(self) -> None:
        """Give a slot back: to the next company in turn, if any waits."""
        while self._queues and self._free >= 0:
            turn = self._next()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def rejoin(self) -> None:
        """Take a slot again at once, for a request that is nearly done."""
        self._free -= 1

    def _patience_s(self) -> float:
        stands_s = asyncio.get_running_loop().time() - self._queued_since
        return self._wait_s * (STANDING if stands_s >= self._wait_s else 1)

    def _line_up(self, company_id: str) -> Turn:
        queue = self._queues.get(company_id, OrderedDict())
        if self._company_max is not None and len(queue) >= self._company_max:
            raise quota_exceeded("company_requests", self._company_max, OVERLOADED)
        if len(queue) >= self._waiting_max - self.waiting:
            self._log.warn(waiting=self.waiting)
            raise Overloaded
        turn = asyncio.get_running_loop().create_future()
        if not self._queues:
            self._queued_since = turn.get_loop().time()
        self._queues[company_id] = queue
        queue[turn] = None
        self.waiting += 1
        return turn

    def _next(self) -> Turn:
        """Take the first request of the company whose turn it is out of the queue."""
        company_id, queue = next(iter(self._queues.items()))
        turn, _ = queue.popitem(last=False)
        self.waiting -= 1
        if queue:
            self._queues.move_to_end(company_id)
        else:
            del self._queues[company_id]
        return turn

    def _forget(self, company_id: str, turn: Turn) -> None:
        queue = self._queues.get(company_id)
        if queue is not None and turn in queue:
            del queue[turn]
            self.waiting -= 1
            if not queue:
                del self._queues[company_id]


ADMISSION = web.AppKey("admission", Admission)
ADMITTED: ContextVar[Admission | None] = ContextVar("admitted", default=None)
"""Whose slot the request at hand holds."""


def admitting(admission: Admission) -> Middleware:
    """Let each request wait for its slot, and its answer for its reader; /health needs neither."""

    @web.middleware
    async def admit(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path == HEALTH:
            return await handler(request)
        try:
            waited = await admission.acquire(company_of(request))
        except (Overloaded, HttpProblem):
            request[REFUSED] = True
            raise
        ADMITTED.set(admission)
        try:
            if request.transport is None:
                raise ConnectionResetError("the caller has gone while waiting")
            if waited:
                await authenticate_again(request)
            await permit(request)
            response = await handler(request)
        finally:
            admission.release()
        return await in_pieces(request, response)

    return admit


@contextmanager
def slot_released() -> Iterator[None]:
    """Release the slot while this request waits: for a run, a hash, a call or its reader."""
    admission = ADMITTED.get()
    if admission is None:
        yield
        return
    admission.release()
    try:
        yield
    finally:
        admission.rejoin()
