"""Runs long CPU work of requests beside the event loop."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from weakref import WeakValueDictionary

from actors.actor import Overloaded
from actors.ports import LIGHT_BYTES_MAX

T = TypeVar("T")


class Offload:
    """One thread for work of bounded size; companies take turns, each with `waiting_max` pieces.

    Only for work that ends by itself within a second and holds the interpreter's lock for at most
    50 ms without a break. Other work needs a process of its own.
    """

    def __init__(self, waiting_max: int = 64) -> None:
        self._pool = ThreadPoolExecutor(1, "offload")
        self._thread = asyncio.Semaphore(1)
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._waiting: Counter[str] = Counter()
        self._waiting_max = waiting_max

    async def run_by_size(self, company_id: str, size: int, work: Callable[[], T]) -> T:
        """The value of `work()`: done here and now where its input is small."""
        return work() if size <= LIGHT_BYTES_MAX else await self.run(company_id, work, bounded=False)

    async def run(self, company_id: str, work: Callable[[], T], *, bounded: bool = True) -> T:
        """The value of `work()`; Overloaded when the company has too much waiting.

        Without `bounded` it waits all the same: for work whose number has another bound.
        """
        if bounded and self._waiting[company_id] >= self._waiting_max:
            raise Overloaded
        turn = self._turns.setdefault(company_id, asyncio.Semaphore(1))
        self._waiting[company_id] += 1
        try:
            async with turn, self._thread:
                return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._waiting[company_id] -= 1
            if not self._waiting[company_id]:
                del self._waiting[company_id]

    @property
    def idle(self) -> bool:
        return not self._waiting

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
