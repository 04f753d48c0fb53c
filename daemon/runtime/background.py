"""Background loops: repeated, restarted after failures, and reported while down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from traceback import extract_tb

import structlog

RETRY_S = 0.1
RETRY_MAX_S = 10.0
VOID_S = 30.0
_log = structlog.get_logger("penstock")


def where_raised(error: Exception) -> str:
    frame = extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}:{frame.lineno}"


async def finish(tasks: Sequence[asyncio.Task[None]], timeout_s: float) -> None:
    """Wait for tasks, and cancel those that take longer."""
    if tasks:
        _, late = await asyncio.wait(tasks, timeout=timeout_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Clock:
    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(slots=True, eq=False)
class Loop:
    """Repeated work. A `vital` loop that is down for VOID_S stops the process."""

    name: str
    work: Callable[[], Awaitable[object]]
    every_s: float
    at_once: bool = True
    vital: bool = False
    failures: int = field(default=0, init=False)
    failed_at: float = field(default=0.0, init=False)


class Background:
    """Runs background loops; a loop is down from a failed round until the next that succeeds."""

    def __init__(
        self,
        *,
        stop: Callable[[], None],
        count: Callable[[str], None] | None = None,
        clock: Clock = Clock(),  # noqa: B008 - it holds nothing
    ) -> None:
        """`stop` ends the process; `count` receives the name of a loop whenever it fails."""
        self._stop = stop
        self._count = count
        self._clock = clock
        self._loops: list[Loop] = []

    @property
    def down(self) -> list[str]:
        return [loop.name for loop in self._loops if loop.failures]

    def start(self, stack: AsyncExitStack, loop: Loop) -> None:
        self._loops.append(loop)
        task = asyncio.get_running_loop().create_task(self._serve(loop), name=loop.name)
        stack.push_async_callback(self._end, loop, task)

    async def _serve(self, loop: Loop) -> None:
        if not loop.at_once:
            await self._clock.sleep(loop.every_s)
        while True:
            try:
                await loop.work()
            except Exception as error:  # noqa: BLE001 - the top of every background loop
                await self._clock.sleep(self._failed(loop, error))
            else:
                if loop.failures:
                    _log.warning("background_loop_recovered", loop=loop.name, failures=loop.failures)
                    loop.failures = 0
                await self._clock.sleep(loop.every_s)

    def _failed(self, loop: Loop, error: Exception) -> float:
        """Log a failure; returns the pause before the next round."""
        now = self._clock.monotonic()
        if not loop.failures:
            loop.failed_at = now
        loop.failures += 1
        pause_s = min(RETRY_MAX_S, RETRY_S * 2.0 ** min(loop.failures - 1, 32))
        _log.error(
            "background_loop_failed",
            loop=loop.name,
            error=type(error).__name__,
            errno=getattr(error, "errno", None),
            where=where_raised(error),
            failures=loop.failures,
            again_in_s=pause_s,
        )
        if self._count is not None:
            self._count(loop.name)
        if loop.vital and now - loop.failed_at >= VOID_S:
            _log.critical("background_loop_gave_up", loop=loop.name, hint="the process stops, to be started again")
            self._stop()
        return pause_s

    async def _end(self, loop: Loop, task: asyncio.Task[None]) -> None:
        self._loops.remove(loop)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
