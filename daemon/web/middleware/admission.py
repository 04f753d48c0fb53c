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
from daemon.observability.throttled_log import ThrottledLog
from daemon.web.middleware.access_log import HEALTH, REFUSED, company_of

STANDING = 0.3
REFUSE_EVERY_S = 0.05
REFUSED_AT_ONCE = 25
REFUSED_MAX = 10_000
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Turn = asyncio.Future[None]


class Admission:
    """Lets `at_once_max` requests be worked on; up to `waiting_max` others wait, for `wait_s` at most.

    The companies that wait take turns. A company may wait with as many requests as there are places left, so that
    one alone fills half of the places, two a third each, and the next company always finds some.

    A burst may wait for long: it is over when it is served. Once the queue has not been empty for `wait_s`, requests
    wait for `STANDING` of that: a longer queue would serve nobody sooner.

    Refusals are held back, so many at a time: a caller who is refused at once asks again at once, and a refusal costs
    a good part of what a request costs.
    """

    def __init__(self, at_once_max: int, waiting_max: int, wait_s: float) -> None:
        """Begin with no request."""
        self.waiting = 0
        self._free = at_once_max
        self._waiting_max = waiting_max
        self._wait_s = wait_s
        self._standing_since = 0.0
        self._queues: OrderedDict[str, OrderedDict[Turn, float]] = OrderedDict()
        self._refused: deque[Turn] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._log = ThrottledLog("overloaded")

    async def enter(self, company_id: str) -> None:
        """Take a slot, after a wait if need be; Overloaded when there is no place to wait or no turn in time."""
        if self._free > 0 and not self._queues:
            self._free -= 1
            return
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._line_up(company_id, turn, loop.time())
        if self._timer is None:
            self._timer = loop.call_later(REFUSE_EVERY_S, self._look)
        try:
            await turn
        except BaseException:
            if turn.cancelled() or turn.exception() is not None:
                self._forget(company_id, turn)
            else:  # the slot was given in the same moment
                self.leave()
            raise

    def leave(self) -> None:
        """Give a slot back: to the next company in turn, if any waits."""
        if self._queues and self._free >= 0:
            self._drop_late(asyncio.get_running_loop().time())
        while self._queues and self._free >= 0:
            turn = self._next()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def rejoin(self) -> None:
        """Take a slot again at once, for a request that is nearly done."""
        self._free -= 1

    def _line_up(self, company_id: str, turn: Turn, now: float) -> None:
        queue = self._queues.get(company_id, OrderedDict())
        if len(queue) >= self._waiting_max - self.waiting:
            self._refuse(turn)
            return
        if not self._queues:
            self._standing_since = now
        self._queues[company_id] = queue
        queue[turn] = now
        self.waiting += 1

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

    def _drop_late(self, now: float) -> None:
        """Take the requests that have waited too long out of the queue."""
        standing = now - self._standing_since >= self._wait_s
        late_since = now - self._wait_s * (STANDING if standing else 1)
        for company_id, queue in list(self._queues.items()):
            while queue and next(iter(queue.values())) <= late_since:
                turn, _ = queue.popitem(last=False)
                self.waiting -= 1
                self._refuse(turn)
            if not queue:
                del self._queues[company_id]

    def _refuse(self, turn: Turn) -> None:
        self._log.warn(waiting=self.waiting)
        self._refused.append(turn)
        if len(self._refused) > REFUSED_MAX:
            self._answer(1)

    def _look(self) -> None:
        """Answer some of those that are refused, for as long as any request waits."""
        loop = asyncio.get_running_loop()
        self._drop_late(loop.time())
        self._answer(REFUSED_AT_ONCE)
        again = self._queues or self._refused
        self._timer = loop.call_later(REFUSE_EVERY_S, self._look) if again else None

    def _answer(self, count: int) -> None:
        for _ in range(min(count, len(self._refused))):
            turn = self._refused.popleft()
            if not turn.done():
                turn.set_exception(Overloaded())

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
def slot_released() -> Iterator[None]:
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
