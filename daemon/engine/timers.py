"""Wake-ups: each is derived from its run, so that a restart sets it anew."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import datetime

from actors.core.messages import Elapsed, Outcome, Wake
from actors.failpoints import reach


class Timers:
    """One wake-up per visit, posted back as Elapsed when it is due.

    What is due waits in line until `post_due` has posted it: one that could not be posted is not lost.
    """

    def __init__(self, post: Callable[[str, str, Outcome], None], now: Callable[[], datetime]) -> None:
        """Post outcomes as (company_id, run_id, outcome); `now` is the clock, in UTC."""
        self._post = post
        self._now = now
        self._set: dict[str, asyncio.TimerHandle] = {}
        self._line: deque[Wake] = deque()
        self._ring = asyncio.Event()

    def wake(self, wake: Wake) -> None:
        """Set a wake-up, unless it is set already."""
        if wake.key in self._set:
            return
        delay_s = 0.0 if wake.at is None else max(0.0, (wake.at - self._now()).total_seconds())
        self._set[wake.key] = asyncio.get_running_loop().call_later(delay_s, self._due, wake)

    def under_way(self, wake: Wake) -> bool:
        """Whether that wake-up is set."""
        return wake.key in self._set

    def close(self) -> None:
        """Forget every wake-up."""
        for handle in self._set.values():
            handle.cancel()
        self._set.clear()
        self._line.clear()

    async def post_due(self) -> None:
        """Wait until a wake-up is due, and post all that are."""
        while not self._line:
            self._ring.clear()
            await self._ring.wait()
        while self._line:
            wake = self._line[0]
            reach("timer-due")
            self._post(wake.company_id, wake.run_id, Elapsed(step_id=wake.step_id, visit=wake.visit, at=self._now()))
            self._line.popleft()
            del self._set[wake.key]

    def _due(self, wake: Wake) -> None:
        self._line.append(wake)
        self._ring.set()
