"""Room for what is under way at once, some of which no company can fill alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary


class Room:
    """So many places, of which one company takes three quarters at most: the others find a free one at once."""

    def __init__(self, places: int) -> None:
        """Begin empty."""
        self._places = asyncio.Semaphore(places)
        self._share_max = places - places // 4
        self._shares: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, company_id: str) -> AsyncIterator[None]:
        """A place, as soon as there is one for this company."""
        share = self._shares.setdefault(company_id, asyncio.Semaphore(self._share_max))
        async with share, self._places:
            yield
