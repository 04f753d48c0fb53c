"""Loading runs in groups: those that are asked for while one group is being read make up the next one."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from actors.about import concern
from actors.run import Run
from daemon.stores import sqlite_journal

LOADS_MAX = 64
Read: TypeAlias = Callable[[Callable[[sqlite3.Connection], Any]], Awaitable[Any]]
Key: TypeAlias = tuple[str, str]


class Loads:
    """One group at a time is read in one hop to a reader's thread, so that a rush costs few hops and not many."""

    def __init__(self, read: Read) -> None:
        """Read with this."""
        self._read = read
        self._asked: list[tuple[Key, asyncio.Future[Run | None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def load(self, company_id: str, run_id: str) -> Run | None:
        """The run as committed; None when the company has no such run. Raises StoreFailed."""
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Run | None] = loop.create_future()
        self._asked.append(((company_id, run_id), found))
        if self._task is None:
            self._task = loop.create_task(self._serve())
        return await found

    async def _serve(self) -> None:
        while self._asked:
            group, self._asked = self._asked[:LOADS_MAX], self._asked[LOADS_MAX:]
            await self._answer(group)
        self._task = None

    async def _answer(self, group: Sequence[tuple[Key, asyncio.Future[Run | None]]]) -> None:
        """Answer a group; where that fails, one by one, so that one run that cannot be read fails alone."""
        # What is read for many is not about the one who asked first.
        concern(**dict(zip(("company_id", "run_id"), group[0][0], strict=True)) if len(group) == 1 else {})
        try:
            runs = await self._read(partial(sqlite_journal.load_all, keys=list({key for key, _ in group})))
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
