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
from daemon.observability.throttled_log import ThrottledLog
from daemon.web.middleware.auth import HEALTH, company_of

STANDING = 0.3
REFUSED = web.RequestKey("refused", bool)
"""Whether there was no room for a request."""
Turn: TypeAlias = asyncio.Future[None]


class Admission:
    """Lets `at_once_max` requests be worked on; up to `waiting_max` others wait, for `wait_s` at most.

    The companies that wait take turns. A company may wait with as many requests as there are places left, so that
    one alone fills half of the places, two a third each, and the next company always finds some.

    A burst may wait for long: it is over when it is served. Once the queue has not been empty for `wait_s`, requests
    wait for `STANDING` of that: a longer queue would serve nobody sooner.
    """

    def __init__(self, at_once_max: int, waiting_max: int, wait_s: float) -> None:
        self.waiting = 0
        self._free = at_once_max
        self._waiting_max = waiting_max
        self._wait_s = wait_s
        self._queues: OrderedDict[str, OrderedDict[Turn, None]] = OrderedDict()
        self._queued_since = 0.0
        self._log = ThrottledLog("overloaded")

    async def enter(self, company_id: str) -> None:
        """Take a slot, after a wait if need be; Overloaded when there is no place to wait or no turn in time."""
        if self._free > 0 and not self._queues:
            self._free -= 1
            return
        turn = self._line_up(company_id)
        try:
            async with asyncio.timeout(self._patience_s()):
                await turn
        except BaseException as error:
            if turn.cancelled():
                self._forget(company_id, turn)
            else:  # the slot was given in the same moment
                self.leave()
            if isinstance(error, TimeoutError):
                self._log.warn(waiting=self.waiting)
                raise Overloaded from None
            raise

    def leave(self) -> None:
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


class Slot:
    """The slot that one request holds while it is worked on."""

    __slots__ = ("_admission", "_held")

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._held = True

    def retake(self) -> None:
        self._admission.rejoin()
        self._held = True

    def release(self) -> None:
        if self._held:
            self._held = False
            self._admission.leave()


ADMISSION = web.AppKey("admission", Admission)
SLOT: ContextVar[Slot | None] = ContextVar("slot", default=None)


def admitting(admission: Admission) -> Middleware:
    """Let each request wait for its slot; /health needs none."""

    @web.middleware
    async def admit(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path == HEALTH:
            return await handler(request)
        try:
            await admission.enter(company_of(request))
        except Overloaded:
            request[REFUSED] = True
            raise
        slot = Slot(admission)
        SLOT.set(slot)
        try:
            if request.transport is None:
                raise ConnectionResetError("the caller has gone while waiting")
            return await handler(request)
        finally:
            slot.release()

    return admit


@contextmanager
def slot_released() -> Iterator[None]:
    """Release the slot while this request waits for something outside: a run, a hash, a call, its reader."""
    slot = SLOT.get()
    if slot is None:
        yield
        return
    slot.release()
    try:
        yield
    finally:
        slot.retake()
