"""Loading runs in groups: those that are asked for while one group is being read make up the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from actors.about import concern

R = TypeVar("R")
LOADS_MAX = 64
Key: TypeAlias = tuple[str, str]


class Loads(Generic[R]):
    """One group at a time is read in one hop, so that a rush costs few hops and not many."""

    def __init__(self, read: Callable[[Sequence[Key]], Awaitable[Mapping[Key, R]]]) -> None:
        """Read the runs of these keys with this; those that there are."""
        self._read = read
        self._asked: list[tuple[Key, asyncio.Future[R | None]]] = []
        self._task: asyncio.Task[None] | None = None

    async def load(self, company_id: str, run_id: str) -> R | None:
        """The run as committed; None when the company has no such run. Raises StoreFailed."""
        loop = asyncio.get_running_loop()
        found: asyncio.Future[R | None] = loop.create_future()
        self._asked.append(((company_id, run_id), found))
        if self._task is None:
            self._task = loop.create_task(self._serve())
        return await found

    async def _serve(self) -> None:
        while self._asked:
            group, self._asked = self._asked[:LOADS_MAX], self._asked[LOADS_MAX:]
            await self._answer(group)
        self._task = None

    async def _answer(self, group: Sequence[tuple[Key, asyncio.Future[R | None]]]) -> None:
        """Answer a group; where that fails, one by one, so that one run that cannot be read fails alone."""
        # What is read for many is not about the one who asked first.
        concern(**dict(zip(("company_id", "run_id"), group[0][0], strict=True)) if len(group) == 1 else {})
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
