"""The requests in flight: a stop waits for them, and cuts off those that take too long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from aiohttp import web

from daemon.web.problems import unavailable

ANSWERED_S = 0.5


class InFlight:
    """The tasks whose handlers run at this moment."""

    def __init__(self) -> None:
        """Begin with none."""
        self._tasks: set[asyncio.Task[object]] = set()
        self._cut: set[asyncio.Task[object]] = set()

    @property
    def count(self) -> int:
        """How many requests are in flight."""
        return len(self._tasks)

    async def run(self, answering: Awaitable[web.StreamResponse], request: web.Request) -> web.StreamResponse:
        """Let a handler answer; where `end` cuts it off, raise what is to be answered instead."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a handler always runs in a task
        self._tasks.add(task)
        try:
            return await answering
        except asyncio.CancelledError:
            if task not in self._cut:
                raise
            task.uncancel()
            if request.writer.output_size:
                raise ConnectionResetError("the answer was cut off in the middle") from None
            # A request that arrived in part changes nothing; of the rest nobody knows how far it came.
            outcome = "unknown" if request.content.is_eof() else "not_applied"
            raise unavailable("draining", "The service is stopping; try again when it is back.", outcome) from None
        finally:
            self._tasks.discard(task)
            self._cut.discard(task)

    async def end(self, within_s: float) -> None:
        """Give the handlers that time, then cut off the rest, so that each of their callers is answered."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        self._cut = set(self._tasks)
        for task in self._cut:
            task.cancel()
        if self._cut:
            await asyncio.wait(set(self._cut), timeout=ANSWERED_S)


IN_FLIGHT = web.AppKey("in_flight", InFlight)
