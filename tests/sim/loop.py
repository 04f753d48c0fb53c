"""An event loop without IO: time jumps to the next timer, and the seed says which of the ready
callbacks comes next.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
from collections.abc import Callable, Coroutine, Generator
from random import Random
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
STEPS_MAX = 300_000


class Lifecycle:
    """Whatever belongs to one process; once it is dead nothing of it is run any more."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False


LIFE: contextvars.ContextVar[Lifecycle | None] = contextvars.ContextVar("LIFE", default=None)


class Stuck(Exception):
    """Nothing will ever happen again, or it never ends."""


class SimTask(asyncio.Task[Any]):
    """A task whose place in a set depends on when it was made, and not on where it lies in
    memory.
    """

    def __init__(self, coro: Any, *, number: int, **how: Any) -> None:
        self.number = number
        super().__init__(coro, **how)

    def __hash__(self) -> int:
        return self.number


class SimLoop(asyncio.BaseEventLoop):
    """Deterministic: the same seed and the same work give the same order; `disorder` is how often
    it is not FIFO.
    """

    def __init__(self, rng: Random, disorder: float) -> None:
        super().__init__()
        self.steps = 0
        self.problems: list[str] = []
        self._rng, self._disorder = rng, disorder
        self._now = 0.0
        self._queue: list[tuple[asyncio.Handle, Lifecycle | None]] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle, Lifecycle | None]] = []
        self._made: list[SimTask] = []
        self._numbers = 0
        self._over = False

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        context = contextvars.copy_context() if context is None else context
        handle = asyncio.Handle(callback, args, self, context)
        if not self._over:
            self._queue.append((handle, context.get(LIFE)))
        return handle

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        context = contextvars.copy_context() if context is None else context
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._numbers += 1
        if not self._over:
            heapq.heappush(self._timers, (when, self._numbers, handle, context.get(LIFE)))
        return handle

    def create_task(self, coro: Any, **how: Any) -> Any:
        self._numbers += 1
        task = SimTask(coro, number=self._numbers, loop=self, **how)
        self._made.append(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what went wrong in a callback; that nobody asked for a result is no fault here."""
        if "handle" in context:
            self.problems.append(f"{context['message']}: {context.get('exception')!r}")

    def _timer_handle_cancelled(self, _handle: asyncio.TimerHandle) -> None:
        """A timer that was cancelled is passed over when its time comes."""

    def play(self, main: Coroutine[Any, Any, T], broken: Callable[[], bool]) -> T | None:
        """Run until `main` has ended; None when something was found broken before that."""
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        try:
            task = self.create_task(main)
            while not task.done():
                if broken() or self.problems:
                    return None
                self._step()
            result: T = task.result()
            return result
        finally:
            self._finish()
            asyncio._set_running_loop(before)

    def _step(self) -> None:
        if not self._queue:
            self._jump()
        self.steps += 1
        if self.steps > STEPS_MAX:
            raise Stuck(f"It does not come to rest within {STEPS_MAX} steps.")
        queue, at = self._queue, 0
        if len(queue) > 1 and self._rng.random() < self._disorder:
            at = self._rng.randrange(len(queue))
        handle, life = queue.pop(at)
        if not (handle.cancelled() or (life is not None and life.dead)):
            handle._run()

    def _jump(self) -> None:
        """Go on to the time of the next timer that anybody still waits for."""
        timers = self._timers
        while timers and (timers[0][2].cancelled() or (timers[0][3] is not None and timers[0][3].dead)):
            heapq.heappop(timers)
        if not timers:
            raise Stuck("Somebody waits, and nothing will ever happen again.")
        self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            _, _, handle, life = heapq.heappop(timers)
            self._queue.append((handle, life))

    def _finish(self) -> None:
        """Take apart what was left lying, here and now and without consequences."""
        self._over = True
        for task in self._made:
            if not task.done():
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                coro = task.get_coro()
                if isinstance(coro, Generator | Coroutine):
                    coro.close()
        self._queue.clear()
        self._timers.clear()
        self._made.clear()
        self.close()
