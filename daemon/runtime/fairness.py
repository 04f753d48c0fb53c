"""Fair shares: a semaphore for companies, and a queue of callers of whom some may be hostile."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import TypeAlias

from actors.actor import Overloaded

Turn: TypeAlias = asyncio.Future[None]


class FairSemaphore:
    """A semaphore that hands its next turn to the company with the fewest.

    A company takes at most three times the turns that are free, and of the last sixteenth one, so
    that a few companies whose work hangs hold up no other.
    """

    def __init__(self, count: int, share_max: int | None = None) -> None:
        self._free = count
        self._kept_back = count // 16
        self._share_max = count if share_max is None else share_max
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[Turn]] = {}

    @asynccontextmanager
    async def hold(self, company_id: str) -> AsyncIterator[bool]:
        """Take a turn, and give it back; yields whether it had to be waited for."""
        turn: Turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(company_id, deque()).append(turn)
        self._hand_out()
        waited = not turn.done()
        try:
            await turn
            yield waited
        finally:
            if turn.cancelled():
                self._forget(company_id, turn)
            else:
                self._free += 1
                self._held.subtract([company_id])
                if not self._held[company_id]:
                    del self._held[company_id]
                self._hand_out()

    def _hand_out(self) -> None:
        while self._free and (may := [one for one in self._waiting if self._may_hold(one)]):
            company_id = min(may, key=self._held.__getitem__)
            turn = self._waiting[company_id][0]
            self._forget(company_id, turn)
            if not turn.done():
                self._free -= 1
                self._held[company_id] += 1
                turn.set_result(None)

    def _may_hold(self, company_id: str) -> bool:
        held = self._held[company_id]
        return not held or held < min(self._share_max, 3 * (self._free - self._kept_back))

    def _forget(self, company_id: str, turn: Turn) -> None:
        line = self._waiting.get(company_id)
        if line is not None and turn in line:
            line.remove(turn)
            if not line:
                del self._waiting[company_id]


class CallerQueue:
    """The turns that one caller waits for."""

    def __init__(self, caller: str, number: int) -> None:
        self.caller = caller
        self.number = number
        self.rank = 0
        self.turns: deque[Turn] = deque()

    @property
    def priority(self) -> tuple[int, int]:
        return self.rank, -self.number


class FairQueue:
    """Lets `at_once` pieces of work be done; `waiting_max` wait, half of them for one caller.

    A caller of the least rank is next: by turns the one who came last and the one who came first. A
    flood that begins behind somebody, or goes on in front of somebody, holds neither up. Where no
    place is free, one of the callers of the highest rank loses its own.
    """

    def __init__(self, at_once: int, waiting_max: int) -> None:
        self.waiting = 0
        self._free = at_once
        self._waiting_max = waiting_max
        self._lines: dict[str, CallerQueue] = {}
        self._numbers = count()
        self._last_first = True

    async def acquire(self, caller: str, rank: int) -> None:
        """Take a turn; Overloaded when too many wait."""
        if self._free > 0 and not self._lines:
            self._free -= 1
            return
        turn = self._line_up(caller, rank)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._forget(caller, turn)
            elif turn.exception() is None:  # it was given in the same moment
                self.release()
            raise

    def release(self) -> None:
        """Give a turn back, to the next caller if any waits."""
        while self._lines:
            line = self._next()
            turn = self._taken(line, line.turns[0])
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _next(self) -> CallerQueue:
        rank = min(line.rank for line in self._lines.values())
        least = [line for line in self._lines.values() if line.rank == rank]
        by_turns, self._last_first = self._last_first, not self._last_first
        return max(least, key=lambda line: line.number if by_turns else -line.number)

    def _line_up(self, caller: str, rank: int) -> Turn:
        line = self._lines.get(caller) or CallerQueue(caller, next(self._numbers))
        if len(line.turns) >= max(1, self._waiting_max // 2):
            raise Overloaded
        line.rank = max(line.rank, rank)
        if self.waiting >= self._waiting_max:
            self._displace(line)
        turn: Turn = asyncio.get_running_loop().create_future()
        self._lines[caller] = line
        line.turns.append(turn)
        self.waiting += 1
        return turn

    def _displace(self, line: CallerQueue) -> None:
        """Take a place from the caller who would be the last, if that is not this one."""
        last = max(self._lines.values(), key=lambda one: one.priority)
        if last.priority <= line.priority:
            raise Overloaded
        turn = self._taken(last, last.turns[-1])
        if not turn.done():
            turn.set_exception(Overloaded())

    def _forget(self, caller: str, turn: Turn) -> None:
        line = self._lines.get(caller)
        if line is not None and turn in line.turns:
            self._taken(line, turn)

    def _taken(self, line: CallerQueue, turn: Turn) -> Turn:
        line.turns.remove(turn)
        self.waiting -= 1
        if not line.turns:
            del self._lines[line.caller]
        return turn
