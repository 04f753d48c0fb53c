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

    A due wake-up is queued until `post_due` has posted it, so that none is lost.
    """

    def __init__(self, post: Callable[[str, str, Outcome], None], now: Callable[[], datetime]) -> None:
        self._post = post
        self._now = now
        self._handles: dict[str, asyncio.TimerHandle] = {}
        self._due_wakes: deque[Wake] = deque()
        self._wakes_due = asyncio.Event()

    def wake(self, wake: Wake) -> None:
        if wake.key in self._handles:
            return
        delay_s = 0.0 if wake.at is None else max(0.0, (wake.at - self._now()).total_seconds())
        self._handles[wake.key] = asyncio.get_running_loop().call_later(delay_s, self._due, wake)

    def under_way(self, wake: Wake) -> bool:
        return wake.key in self._handles

    def close(self) -> None:
        for handle in self._handles.values():
            handle.cancel()
        self._handles.clear()
        self._due_wakes.clear()

    async def post_due(self) -> None:
        """Wait until a timer is due, and post all that are."""
        while not self._due_wakes:
            self._wakes_due.clear()
            await self._wakes_due.wait()
        while self._due_wakes:
            wake = self._due_wakes[0]
            reach("timer-due")
            self._post(wake.company_id, wake.run_id, Elapsed(step_id=wake.step_id, visit=wake.visit, at=self._now()))
            self._due_wakes.popleft()
            del self._handles[wake.key]

    def _due(self, wake: Wake) -> None:
        self._due_wakes.append(wake)
        self._wakes_due.set()
