"""Batches: one gathers while the one before is made durable, or is read."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import structlog

from actors.context import set_log_context
from actors.failpoints import reach
from actors.ports import StoreFailed
from daemon.model import DiskFull, StoreBroken, StoreState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from daemon.observability.metrics import Metrics


W = TypeVar("W")
W_contra = TypeVar("W_contra", contravariant=True)

BATCH_MAX = 256
QUEUE_MAX = 20_000
STALLED_S = 5.0
"""How long a batch may take before the store counts as one that does not answer."""
DROP_MAX = 1_000
"""Rows that are dropped in one batch, so that nobody waits long behind it."""

_log = structlog.get_logger()


class BatchEngine(Protocol[W_contra]):
    """A database that can run a batch of works in one transaction."""

    async def apply(self, works: Sequence[W_contra]) -> Sequence[tuple[Any, Exception | None]]:
        """Commit the works together and return the value or the refusal of each.

        A work that refuses changes nothing and leaves the others alone. StoreFailed has the
        outcome `not_applied` when the whole batch was rolled back, and `unknown` otherwise;
        StoreBroken means that it was rolled back and nothing more may be written.
        """

    async def after_batch(self) -> None:
        """Tidy up between two batches, when no caller waits for this one."""


class Writer(Generic[W]):
    """One task that hands whatever is queued to the engine as one batch; it answers every caller.

    A batch ends when the queue is empty or at `batch_max`. After an unknown outcome or a
    StoreBroken the writer is `failed` for good: it answers all callers and calls `on_failed` once.
    """

    def __init__(
        self,
        engine: BatchEngine[W],
        *,
        batch_max: int = BATCH_MAX,
        queue_max: int = QUEUE_MAX,
        on_failed: Callable[[], None] | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.failed = False
        self._engine = engine
        self._batch_max = batch_max
        self._queue_max = queue_max
        self._on_failed = on_failed
        self._metrics = metrics
        self._queue: deque[tuple[W, asyncio.Future[Any]]] = deque()
        self._batch: list[tuple[W, asyncio.Future[Any]]] = []
        self._wake = asyncio.Event()
        self._closing = False
        self._seen: StoreState = "ok"
        self._began: float | None = None
        self._task = asyncio.create_task(self._serve(), name="store-writer")

    @property
    def state(self) -> StoreState:
        """What the last batch has shown; `stalled` while one takes too long."""
        if self.failed:
            return "failed"
        if self._began is not None and time.perf_counter() - self._began >= STALLED_S:
            return "stalled"
        return self._seen

    def noticed(self, state: StoreState) -> None:
        self._seen = state

    async def submit(self, work: W) -> Any:
        """Run a work in the next batch; return its value once durable, or raise its refusal.

        A caller that stops waiting does not stop the work.
        """
        if self.failed or self._closing:
            state = "has failed" if self.failed else "is closed"
            raise StoreFailed(f"The store {state}; nothing was written.", "not_applied")
        if len(self._queue) >= self._queue_max:
            raise StoreFailed("Too many writes are waiting; nothing was written.", "not_applied")
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._queue.append((work, done))
        self._wake.set()
        return await done

    async def close(self) -> None:
        self._closing = True
        self._wake.set()
        await asyncio.wait({self._task})

    async def _serve(self) -> None:
        failure: Exception | None = None
        try:
            while await self._gather():
                self._began = time.perf_counter()
                await self._write(self._began)
                await self._engine.after_batch()
                self._began = None
        except Exception as error:  # noqa: BLE001 - the top of this loop: whatever it was, all are answered
            failure = error
            self._failure(error)
        finally:
            self._end()
        # Those who wait come first: to print a traceback can take long.
        if failure is not None:
            unexpected = None if isinstance(failure, StoreFailed) else failure
            _log.error("store_writer_failed", detail=str(failure), exc_info=unexpected)

    async def _gather(self) -> bool:
        """Take the next batch as soon as there is one; False when there will be none."""
        while not self._queue:
            if self._closing:
                return False
            self._wake.clear()
            await self._wake.wait()
        size = min(len(self._queue), self._batch_max)
        self._batch = [self._queue.popleft() for _ in range(size)]
        return True

    async def _write(self, began: float) -> None:
        try:
            settled = await self._engine.apply([work for work, _ in self._batch])
        except StoreFailed as failure:
            self._seen = "full" if isinstance(failure, DiskFull) else "failed"
            if failure.outcome == "unknown":
                raise
            for _, done in self._batch:
                _refuse(done, type(failure)(str(failure), "not_applied"))
            if isinstance(failure, StoreBroken):
                self._batch = []
                raise
            self._failure(failure)
            if not isinstance(failure, DiskFull):
                _log.warning("store_batch_not_applied", detail=str(failure), works=len(self._batch))
        else:
            reach("before-settling")
            # In PostgreSQL a work can meet a full disk alone.
            self._seen = "full" if any(isinstance(refusal, DiskFull) for _, refusal in settled) else "ok"
            if self._metrics is not None:
                self._metrics.batch(len(self._batch), time.perf_counter() - began)
            self._settle(settled)
        self._batch = []

    def _settle(self, settled: Sequence[tuple[Any, Exception | None]]) -> None:
        for (_, done), (value, refusal) in zip(self._batch, settled, strict=True):
            if done.done():
                continue
            if refusal is None:
                done.set_result(value)
            else:
                done.set_exception(refusal)

    def _failure(self, failure: Exception) -> None:
        if self._metrics is not None:
            self._metrics.store_failure(_kind(failure))

    def _end(self) -> None:
        """Answer all waiting callers; only a closed writer with nothing left to do ends well."""
        self.failed = not self._closing or bool(self._batch or self._queue)
        for _, done in self._batch:
            _refuse(done, StoreFailed("The store failed while it was writing this.", "unknown"))
        for _, done in self._queue:
            _refuse(done, StoreFailed("The store has failed; nothing was written.", "not_applied"))
        self._batch = []
        self._queue.clear()
        if self.failed and self._on_failed is not None:
            self._on_failed()


async def drop_all(drop: Callable[[], Awaitable[int]]) -> int:
    """Drop rows, at most DROP_MAX with each call, until none are left; returns how many."""
    total = 0
    while dropped := await drop():
        total += dropped
    return total


def _kind(failure: Exception) -> str:
    match failure:
        case DiskFull():
            return "full"
        case StoreBroken():
            return "broken"
        case StoreFailed(outcome=outcome):
            return outcome
        case _:
            return "unknown"


def _refuse(done: asyncio.Future[Any], failure: StoreFailed) -> None:
    if not done.done():
        done.set_exception(failure)


K = TypeVar("K", bound=tuple[str, ...])
R = TypeVar("R")
GROUP_MAX = 32
RUN = ("company_id", "run_id")


class BatchLoader(Generic[K, R]):
    """Reads what concurrent requests ask for in groups, up to `at_once` of them side by side."""

    def __init__(
        self, read: Callable[[Sequence[K]], Awaitable[Mapping[K, R]]], at_once: int = 1, named: Sequence[str] = RUN
    ) -> None:
        """`named` are the names of the first parts of a key in the log."""
        self._read = read
        self._at_once = at_once
        self._named = named
        self._asked: list[tuple[K, asyncio.Future[R | None]]] = []
        self._serving = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def load(self, key: K) -> R | None:
        """What is under the key as committed, or None. Raises StoreFailed."""
        found: asyncio.Future[R | None] = asyncio.get_running_loop().create_future()
        self._asked.append((key, found))
        if self._serving < self._at_once:
            self._serving += 1
            task = asyncio.create_task(self._serve())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await found

    async def _serve(self) -> None:
        while self._asked:
            group, self._asked = self._asked[:GROUP_MAX], self._asked[GROUP_MAX:]
            await self._answer(group)
        self._serving -= 1

    async def _answer(self, group: Sequence[tuple[K, asyncio.Future[R | None]]]) -> None:
        """Answer a group; when its read fails, read singly, so that a damaged one fails alone."""
        # What is read for many is not about the one who asked first.
        set_log_context(**dict(zip(self._named, group[0][0], strict=False)) if len(group) == 1 else {})
        try:
            values = await self._read(list({key for key, _ in group}))
        except Exception as failed:  # noqa: BLE001 - the top of this loop: whatever it was, all are answered
            if len(group) > 1:
                for one in group:
                    await self._answer([one])
            elif not group[0][1].done():
                group[0][1].set_exception(failed)
            return
        for key, found in group:
            if not found.done():
                found.set_result(values.get(key))
