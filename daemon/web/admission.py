"""Admission: how many requests are worked on at once, and whose turn is next when there are more."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from aiohttp import web

from actors.actor import Overloaded
from daemon.web.siege import Siege

NOBODY = ""
REFILLED = 7 / 8
LATE_S = 30.0
AHEAD_MAX = 128
SHORTENED_AT_ONCE = 8


class Holder(Protocol):
    """A connection with a request that waits as bytes, as it has come."""

    def admitted(self, data: bytes) -> None:
        """Take it apart now: it is soon its turn."""

    def too_late(self, data: bytes) -> None:
        """Refuse it: it has waited too long."""


class Admission:
    """Lets so many requests be worked on at once; the others wait, and the companies take turns.

    A burst waits, however large, up to `waiting_max`; of that room a company may fill as much as is still free (a
    dynamic threshold), so that one alone gets half of it. Only where the wait stays too long for too long (a siege)
    there is less room: then each company that waits has an equal share of it, and one share stays free. Who has
    filled its part is refused until some of it is free again: else whatever becomes free would be fought for
    by all that arrive at that moment, and what is fought for has been parsed already.
    """

    def __init__(
        self,
        at_once_max: int,
        waiting_max: int,
        siege: Siege | None = None,
        *,
        late_s: float = LATE_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with nobody; who has waited longer than `late_s` is refused when its turn comes."""
        self._free = at_once_max
        self._waiting_max = waiting_max
        self._siege = siege or Siege()
        self._late_s = late_s
        self._now = now
        self._waiting = 0
        self._held: dict[str, deque[tuple[float, Holder, bytes]]] = {}
        self._queues: OrderedDict[str, deque[tuple[float, asyncio.Future[None]]]] = OrderedDict()
        self._expected: dict[str, int] = {}
        self._full: set[str] = set()
        self.refused = 0

    @property
    def crowded(self) -> bool:
        """Whether so many wait that one more might be refused, or has to wait as it is."""
        return self._siege.on or (self._free <= 0 and self._waiting >= min(AHEAD_MAX, self._waiting_max / 4))

    @property
    def besieged(self) -> bool:
        """Whether anybody might be refused, and that is likely to go on."""
        self._siege.waits(self._waiting, self._now())
        return self._siege.on or (self._free <= 0 and 4 * self._waiting >= self._waiting_max)

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return self._waiting

    def is_full(self, company_id: str) -> bool:
        """Whether a company's next request can neither be worked on nor wait; then that stays until some is free."""
        own, most = self._own(company_id), self._most(company_id)
        if own >= most:
            self._full.add(company_id)
        elif company_id in self._full and own <= most * REFILLED:
            self._full.discard(company_id)
        return company_id in self._full

    def wanted(self, company_id: str) -> int:
        """How many more of a company may wait now, of those that are kept out."""
        own = self._own(company_id)
        more = int(min(self._most(company_id), (self._waiting_max - self._waiting + own) / 2)) - own
        if more > 0:
            self._full.discard(company_id)
        return max(0, more)

    def in_vain(self) -> None:
        """Take note that somebody has come for whom there is no room."""
        self._siege.refused(self._now())

    def turned_away(self, count: int = 1) -> None:
        """Count so many that have come in vain and were refused."""
        self.refused += count
        self.in_vain()

    def presses(self, company_id: str) -> bool:
        """Whether so many of a company wait that its next request may well be refused."""
        return 2 * self._own(company_id) >= self._most(company_id)

    def expect(self, company_id: str) -> None:
        """Count a request that is on its way here while it is crowded, so that not all of a burst are let through.

        Whoever expects one says how it ends: it enters, or it is expected no longer.
        """
        self._expected[company_id] = self._expected.get(company_id, 0) + 1

    def unexpect(self, company_id: str) -> None:
        """One that was let through will not come here: it has been answered before, or its caller has gone."""
        self._arrived(company_id)
        self._draw_up(company_id)

    def holds(self, company_id: str) -> bool:
        """Whether a company's next request had better wait as it is: enough are taken apart already."""
        return self._near(company_id) >= AHEAD_MAX

    def hold(self, company_id: str, holder: Holder, data: bytes) -> None:
        """Let a request wait as it is, behind those of its company."""
        now = self._now()
        self._held.setdefault(company_id, deque()).append((now, holder, data))
        self._waiting += 1
        self._siege.waits(self._waiting, now)

    def give_up(self) -> None:
        """Refuse all that wait as they are: nobody will get to them."""
        held, self._held = self._held, {}
        for one in held.values():
            self._waiting -= len(one)
            self.refused += len(one)
            for _, holder, data in one:
                holder.too_late(data)

    async def enter(self, company_id: str, let_in: str | None = None) -> None:
        """Take a slot, after a wait if need be; Overloaded when there is no room to wait or it takes too long.

        Who was expected comes `let_in` for a company, and is not refused for want of room: that would cost the most.
        """
        if let_in is not None:
            self._arrived(let_in)
        if self._free > 0 and not self._queues:
            self._free -= 1
            if company_id in self._held:
                self._draw_up(company_id)
            return
        if let_in is None and self.is_full(company_id):
            self.turned_away()
            raise Overloaded
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        began = self._now()
        self._queues.setdefault(company_id, deque()).append((began, turn))
        self._waiting += 1
        self._siege.waits(self._waiting, began)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the slot was given just before
                self.leave()
            raise

    def rejoin(self) -> None:
        """Take a slot again at once, for what is nearly done."""
        self._free -= 1

    def leave(self) -> None:
        """Give a slot back: to the next company in turn, if anybody waits."""
        if not self._queues:
            self._free += 1
            for company_id in list(self._held):
                self._draw_up(company_id)
            return
        now = self._now()
        while self._queues and self._free >= 0:
            began, turn = self._next()
            if turn.done():
                continue
            if now - began > self._late_s:  # its caller has given up by now, or is about to
                self.refused += 1
                turn.set_exception(Overloaded())
                continue
            turn.set_result(None)
            self._siege.served(self._waiting, now)
            return
        self._siege.waits(self._waiting, now)
        self._free += 1

    def _next(self) -> tuple[float, asyncio.Future[None]]:
        """Whose turn it is."""
        company_id, queue = next(iter(self._queues.items()))
        one = queue.popleft()
        self._waiting -= 1
        if queue:
            self._queues.move_to_end(company_id)
        else:
            del self._queues[company_id]
        if company_id in self._held:
            self._draw_up(company_id)
        if self._siege.on:
            self._shorten(company_id)
        return one

    def _shorten(self, company_id: str) -> None:
        """Refuse the newest that wait as they are, where they wait for too long; a few at a time, to hold up nobody."""
        held = self._held.get(company_id, deque())
        most = self._siege.bearable / max(1, len(self._held))
        for _ in range(min(SHORTENED_AT_ONCE, len(held) - int(most))):
            _, holder, data = held.pop()
            self._waiting -= 1
            self.refused += 1
            asyncio.get_running_loop().call_soon(holder.too_late, data)
        if not held:
            self._held.pop(company_id, None)

    def _draw_up(self, company_id: str) -> None:
        """Have requests of a company that wait as they are taken apart, so many that its turn finds one."""
        held, now = self._held.get(company_id), self._now()
        while held and self._near(company_id) < AHEAD_MAX:
            began, holder, data = held.popleft()
            self._waiting -= 1
            if not held:
                del self._held[company_id]
            call_soon = asyncio.get_running_loop().call_soon
            if now - began > self._late_s:  # its caller has given up by now, or is about to
                self.refused += 1
                call_soon(holder.too_late, data)
            else:
                self.expect(company_id)
                call_soon(holder.admitted, data)

    def _arrived(self, company_id: str) -> None:
        """Count one fewer that is on its way."""
        left = self._expected.pop(company_id) - 1
        if left:
            self._expected[company_id] = left

    def _near(self, company_id: str) -> int:
        """How many of a company are taken apart and wait, or will in a moment."""
        return len(self._queues.get(company_id, ())) + self._expected.get(company_id, 0)

    def _own(self, company_id: str) -> int:
        """How many of a company wait, or will when those that are on their way have taken the free slots."""
        return self._near(company_id) + len(self._held.get(company_id, ())) - max(0, self._free)

    def _most(self, company_id: str) -> float:
        """How many of a company may wait at this moment."""
        free = self._waiting_max - self._waiting
        if not self._siege.on:
            return free
        waiting = len(self._queues) + (company_id not in self._queues)
        return min(free, self._siege.room / (waiting + 1))


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


@contextmanager
def aside() -> Iterator[None]:
    """Leave the slot to others while this request waits for something outside: a run, a hash, a call, its reader."""
    slot = SLOT.get()
    if slot is None:
        yield
        return
    slot.leave()
    try:
        yield
    finally:
        slot.retake()
