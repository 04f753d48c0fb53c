"""Processes that evaluate, shared fairly by companies."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from actors.actor import Overloaded
from daemon.runtime.workers import Worker

WORKERS = 2
WAITING_MAX = 256
HALF_LIFE_S = 60.0


class WorkerPool:
    """Some processes; a company has all but one of them at most, and `WAITING_MAX` wait.

    The company that has used them least of late is next: many that ask for much hold up none that
    asks for little.
    """

    def __init__(self, module: str, count: int = WORKERS, *, answer_bytes_max: int) -> None:
        self._idle = [Worker(module, answer_bytes_max=answer_bytes_max) for _ in range(count)]
        self._all = tuple(self._idle)
        self._share_max = max(1, count - 1)
        self._busy: Counter[str] = Counter()
        self._used: dict[str, tuple[float, float]] = {}
        self._waiting: dict[str, deque[asyncio.Future[Worker]]] = {}

    @property
    def workers(self) -> tuple[Worker, ...]:
        return self._all

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self._all))

    @asynccontextmanager
    async def turn(self, company_id: str) -> AsyncIterator[Worker]:
        """A process, once it is the company's turn; Overloaded when too much of it waits."""
        worker = await self._take(company_id)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            yield worker
        finally:
            self._used[company_id] = self._use(company_id) + loop.time() - began, loop.time()
            self._give(company_id, worker)

    async def _take(self, company_id: str) -> Worker:
        line = self._waiting.setdefault(company_id, deque())
        if len(line) >= WAITING_MAX:
            raise Overloaded
        turn: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        line.append(turn)
        self._hand_out()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was given in the same moment
                self._give(company_id, turn.result())
            raise

    def _give(self, company_id: str, worker: Worker) -> None:
        self._busy[company_id] -= 1
        self._idle.append(worker)
        self._hand_out()

    def _hand_out(self) -> None:
        while self._idle and (company_id := self._next()) is not None:
            line = self._waiting[company_id] = self._waiting.pop(company_id)  # behind those that used as little
            turn = line.popleft()
            if not turn.done():
                self._busy[company_id] += 1
                turn.set_result(self._idle.pop())

    def _next(self) -> str | None:
        """The company whose turn it is; forgets those that neither wait nor have used anything."""
        for company_id in [one for one, line in self._waiting.items() if not line]:
            del self._waiting[company_id]
        self._busy = +self._busy
        self._used = {one: use for one, use in self._used.items() if one in self._busy or self._use(one) > 0.001}  # noqa: PLR2004
        may = [one for one in self._waiting if self._busy[one] < self._share_max]
        return min(may, key=self._use, default=None)

    def _use(self, company_id: str) -> float:
        """The seconds that a company has used of late."""
        used_s, at = self._used.get(company_id, (0.0, 0.0))
        return float(used_s * 0.5 ** ((asyncio.get_running_loop().time() - at) / HALF_LIFE_S))
