"""The requests in flight: a drain gives them some time, and cuts off those that take longer."""

from __future__ import annotations

import asyncio

from aiohttp import web

ANSWERED_S = 0.5
LOOK_S = 0.01


class InFlight:
    """Every request in flight has a deadline, which is set once the service drains."""

    def __init__(self) -> None:
        self._deadlines: set[asyncio.Timeout] = set()

    @property
    def count(self) -> int:
        return len(self._deadlines)

    def begin(self) -> asyncio.Timeout:
        """The deadline that the request has to enter at once."""
        deadline = asyncio.timeout(None)
        self._deadlines.add(deadline)
        return deadline

    def end(self, deadline: asyncio.Timeout) -> None:
        self._deadlines.discard(deadline)

    async def drain(self, within_s: float) -> None:
        """Give the requests that time, cut off the rest, and wait until each is answered."""
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        for deadline in self._deadlines:
            deadline.reschedule(until)
        while self._deadlines and loop.time() < until + ANSWERED_S:  # noqa: ASYNC110 - a drain is rare
            await asyncio.sleep(LOOK_S)


IN_FLIGHT = web.AppKey("in_flight", InFlight)
