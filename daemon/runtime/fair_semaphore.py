"""A semaphore shared fairly by companies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class FairSemaphore:
    """A semaphore of which one company gets three quarters at most."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)
        self._share_max = count - count // 4
        self._shares: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, company_id: str) -> AsyncIterator[None]:
        share = self._shares.setdefault(company_id, asyncio.Semaphore(self._share_max))
        async with share, self._free:
            yield
