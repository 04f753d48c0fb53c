"""Counts the open gates in the store, and finds the oldest of each vertical."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from actors.core.run import Run
from actors.ports import StoreFailed
from daemon.model import ParkedRun

PAGE = 1_000
FRESH_S = 15.0
PAUSE_FACTOR = 20
OLDEST_READ_MAX = 1_000


@dataclass(slots=True)
class VerticalGates:
    """The open gates of one vertical, and the runs that may have an older one.

    A row has the time of its last change; only runs older than the oldest known gate are read.
    """

    count: int
    since: datetime
    older: list[ParkedRun] = field(default_factory=list)

    def add(self, run: ParkedRun) -> None:
        self.count += run.gates
        self.since = min(self.since, run.since)
        if run.created < self.since:
            self.older.append(run)
        if len(self.older) > 2 * OLDEST_READ_MAX:
            self.older = self.oldest()

    def oldest(self) -> list[ParkedRun]:
        """The oldest runs that may have an older gate, at most OLDEST_READ_MAX."""
        found = sorted((run for run in self.older if run.created < self.since), key=lambda run: run.created)
        return found[:OLDEST_READ_MAX]


class ParkedRuns(Protocol):
    """The store, as far as it has the runs that wait for a human."""

    async def load(self, company_id: str, run_id: str) -> Run | None: ...

    async def parked(self, after: tuple[str, str], limit: int, /) -> Sequence[ParkedRun]: ...


class OpenGates:
    """Counts the open gates, and keeps the result for a multiple of the time that it takes."""

    def __init__(self, store: ParkedRuns, *, fresh_s: float = FRESH_S, pause_factor: int = PAUSE_FACTOR) -> None:
        self._store = store
        self._fresh_s = fresh_s
        self._pause_factor = pause_factor
        self._counted: Mapping[str, VerticalGates] = {}
        self._due = 0.0
        self._lock = asyncio.Lock()

    async def by_vertical(self) -> Mapping[str, VerticalGates]:
        """The open gates by vertical; empty while the store cannot be read."""
        now: Callable[[], float] = asyncio.get_running_loop().time
        async with self._lock:
            if now() >= self._due:
                began = now()
                try:
                    self._counted = await self._count()
                except StoreFailed:
                    self._counted = {}
                self._due = now() + max(self._fresh_s, self._pause_factor * (now() - began))
        return self._counted

    async def _count(self) -> Mapping[str, VerticalGates]:
        found: dict[str, VerticalGates] = {}
        after: tuple[str, str] | None = ("", "")
        while after is not None:
            page = await self._store.parked(after, PAGE)
            for run in page:
                found.setdefault(run.vertical, VerticalGates(0, run.since)).add(run)
            after = (page[-1].company_id, page[-1].run_id) if len(page) == PAGE else None
        for gates in found.values():
            await self._read_oldest(gates)
        return found

    async def _read_oldest(self, gates: VerticalGates) -> None:
        """Read the runs that may have a gate older than any known."""
        for one in gates.oldest():
            if one.created >= gates.since:
                break
            with suppress(StoreFailed):  # a run that cannot be read says nothing
                run = await self._store.load(one.company_id, one.run_id)
                opened = [visit.gate.opened_at for visit in (run.parked if run else ()) if visit.gate is not None]
                gates.since = min([gates.since, *opened])
        gates.older = []
