"""Loads runs in groups: the requests that arrive during one read form the next group."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

from actors.context import set_log_context
from daemon.stores.database import Key

R = TypeVar("R")
GROUP_MAX = 32


class BatchLoader(Generic[R]):
    """Reads the runs of concurrent requests in groups, up to `at_once` of them side by side."""

    def __init__(self, read: Callable[[Sequence[Key]], Awaitable[Mapping[Key, R]]], at_once: int = 1) -> None:
        self._read = read
        self._at_once = at_once
        self._asked: list[tuple[Key, asyncio.Future[R | None]]] = []
        self._serving = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def load(self, company_id: str, run_id: str) -> R | None:
        """The run as committed; None when the company has no such run. Raises StoreFailed."""
        found: asyncio.Future[R | None] = asyncio.get_running_loop().create_future()
        self._asked.append(((company_id, run_id), found))
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

    async def _answer(self, group: Sequence[tuple[Key, asyncio.Future[R | None]]]) -> None:
        """Answer a group; when its read fails, read singly, so that a damaged run fails alone."""
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
