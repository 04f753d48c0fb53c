"""Admission: how many requests are worked on at once, whose turn is next, and who is refused."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from aiohttp import web
from aiohttp.typedefs import Middleware

from actors.actor import Overloaded
from daemon.web.access import HEALTH, REFUSED, company_of
from daemon.web.seldom import Seldom

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Admission:
    """Lets `at_once_max` requests be worked on; up to `waiting_max` others wait, for `wait_s` at most.

    The companies that wait take turns. A company may wait with as many requests as there are places left, so that
    one alone fills half of the places, two a third each, and the next company always finds some.
    """

    def __init__(self, at_once_max: int, waiting_max: int, wait_s: float) -> None:
        """Begin with no request."""
        self.waiting = 0
        self._free = at_once_max
        self._waiting_max = waiting_max
        self._wait_s = wait_s
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._log = Seldom("overloaded")

    async def enter(self, company_id: str) -> None:
        """Take a slot, after a wait if need be; Overloaded when there is no place to wait or no turn in time."""
        if self._free > 0 and not self._queues:
            self._free -= 1
            return
        queue = self._queues.get(company_id, ())
        if len(queue) >= self._waiting_max - self.waiting:
            self._log.warn(waiting=self.waiting)
            raise Overloaded
        await self._turn(company_id)

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

    async def _turn(self, company_id: str) -> None:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._queues.setdefault(company_id, deque()).append(turn)
        self.waiting += 1
        deadline = loop.call_later(self._wait_s, self._expire, turn)
        try:
            await turn
        except BaseException:
            self._give_up(company_id, turn)
            raise
        finally:
            deadline.cancel()

    def _next(self) -> asyncio.Future[None]:
        """Take the first request of the company whose turn it is out of the queue."""
        company_id, queue = next(iter(self._queues.items()))
        turn = queue.popleft()
        self.waiting -= 1
        if queue:
            self._queues.move_to_end(company_id)
        else:
            del self._queues[company_id]
        return turn

    def _expire(self, turn: asyncio.Future[None]) -> None:
        if not turn.done():
            self._log.warn(waiting=self.waiting)
            turn.set_exception(Overloaded())

    def _give_up(self, company_id: str, turn: asyncio.Future[None]) -> None:
        """Leave the queue; a slot that was given in the same moment goes to the next."""
        if not turn.cancelled() and turn.exception() is None:
            self.leave()
            return
        queue = self._queues.get(company_id, deque())
        if turn in queue:
            queue.remove(turn)
            self.waiting -= 1
            if not queue:
                del self._queues[company_id]


class Slot:
    """The slot that one request holds while it is worked on."""

    __slots__ = ("_admission", "_held")

    def __init__(self, admission: Admission) -> None:
        """Hold what was taken by entering."""
        self._admission = admission
        self._held = True

    def retake(self) -> None:
        """Be worked on again."""
        self._admission.rejoin()
        self._held = True

    def leave(self) -> None:
        """Be worked on no more."""
        if self._held:
            self._held = False
            self._admission.leave()


ADMISSION = web.AppKey("admission", Admission)
SLOT: ContextVar[Slot | None] = ContextVar("slot", default=None)


def admitting(admission: Admission) -> Middleware:
    """A middleware that lets each request wait for its slot; /health needs none."""

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
            slot.leave()

    return admit


@contextmanager
def aside() -> Iterator[None]:
    """Release the slot while this request waits for something outside: a run, a hash, a call, its reader."""
    slot = SLOT.get()
    if slot is None:
        yield
        return
    slot.leave()
    try:
        yield
    finally:
        slot.retake()
