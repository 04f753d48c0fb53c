"""Loading runs in groups: those that are asked for while one group is being read make up the next one.

Where a slow disk was waited for, the next groups are small, and several are read at once.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from actors.context import set_log_context

R = TypeVar("R")
LOADS_MAX = 64
FEW = 16
Key: TypeAlias = tuple[str, str]
# A page has eight blocks of 512 bytes; and not every system counts by thread.
BLOCKS_EACH, WAITED_EACH_S = 4, 0.001
_MINE = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)


def watched(read: Callable[[], Mapping[Key, R]]) -> tuple[Mapping[Key, R], bool]:
    """What is read, and whether this thread has waited for the disk, a millisecond and more for each run.

    To wait for the interpreter looks the same to a clock, so it has to be that blocks were read, too. Where the disk is
    quick, smaller groups would cost more than they bring.
    """
    blocks, began, used = resource.getrusage(_MINE).ru_inblock, time.perf_counter(), time.thread_time()
    found = read()
    waited_s = time.perf_counter() - began - (time.thread_time() - used)
    blocks = resource.getrusage(_MINE).ru_inblock - blocks
    each = max(1, len(found))
    return found, blocks >= BLOCKS_EACH * each and waited_s >= WAITED_EACH_S * each


class Loads(Generic[R]):
    """A group is read in one hop, one at a time while that is quick, so that a rush costs few hops and not many."""

    def __init__(
        self,
        read: Callable[[Sequence[Key]], Awaitable[Mapping[Key, R]]],
        at_once: int = 1,
        waited: Callable[[], bool] = lambda: False,
    ) -> None:
        """Read the runs of these keys with this, those that there are; so many groups at once after it has `waited`."""
        self._read = read
        self._at_once = at_once
        self._waited = waited
        self._asked: list[tuple[Key, asyncio.Future[R | None]]] = []
        self._serving = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def load(self, company_id: str, run_id: str) -> R | None:
        """The run as committed; None when the company has no such run. Raises StoreFailed."""
        found: asyncio.Future[R | None] = asyncio.get_running_loop().create_future()
        self._asked.append(((company_id, run_id), found))
        if not self._serving:
            self._begin()
        return await found

    def _begin(self) -> None:
        self._serving += 1
        task = asyncio.get_running_loop().create_task(self._serve())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self) -> None:
        while self._asked:
            size, at_once = (FEW, self._at_once) if self._waited() else (LOADS_MAX, 1)
            group, self._asked = self._asked[:size], self._asked[size:]
            if self._asked and self._serving < at_once:
                self._begin()
            await self._answer(group)
        self._serving -= 1

    async def _answer(self, group: Sequence[tuple[Key, asyncio.Future[R | None]]]) -> None:
        """Answer a group; where that fails, one by one, so that one run that cannot be read fails alone."""
        # What is read for many is not about the one who asked first.
        set_log_context(**dict(zip(("company_id", "run_id"), group[0][0], strict=True)) if len(group) == 1 else {})
        try:
            runs = await self._read(list({key for key, _ in group}))
        except Exception as failed:  # noqa: BLE001 - the top of this loop: whatever it was, all are answered
            if len(group) > 1:
                for one in group:
                    await self._answer([one])
            elif not group[0][1].done():
                group[0][1].set_exception(failed)
            return
        for key, found in group:
            if not found.done():
                found.set_result(runs.get(key))
