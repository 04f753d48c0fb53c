"""The open gates as the store knows them: how many, and since when the oldest, by vertical."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from actors.ports import StoreFailed
from daemon.model import ParkedRun, Runs

PAGE = 1_000
FRESH_S = 15.0
REST_TIMES = 20
LOOKED_MAX = 1_000


@dataclass(slots=True)
class Tally:
    """The open gates of one vertical, since when the oldest is open, and the runs that may hold an older one.

    A run that has changed since a gate was opened, as happens on parallel branches, does not say in its row how old
    the gate is. But it cannot be older than the run: only those begun before the oldest known gate are worth a look.
    """

    gates: int
    since: datetime
    older: list[ParkedRun] = field(default_factory=list)

    def add(self, run: ParkedRun) -> None:
        """Count a run's gates."""
        self.gates += run.gates
        self.since = min(self.since, run.since)
        if run.created < self.since:
            self.older.append(run)
        if len(self.older) > 2 * LOOKED_MAX:
            self.older = self.eldest()

    def eldest(self) -> list[ParkedRun]:
        """The runs that may hold an older gate, the eldest first, as many as are looked at."""
        found = sorted((run for run in self.older if run.created < self.since), key=lambda run: run.created)
        return found[:LOOKED_MAX]


class OpenGates:
    """The tallies, counted anew when somebody asks and they are no longer fresh.

    To count takes the longer the more runs are parked, so it is left alone for a multiple of the time that it took.
    """

    def __init__(self, store: Runs, *, fresh_s: float = FRESH_S, rest_times: int = REST_TIMES) -> None:
        """Begin with none."""
        self._store = store
        self._fresh_s = fresh_s
        self._rest_times = rest_times
        self._tallies: Mapping[str, Tally] = {}
        self._due = 0.0
        self._alone = asyncio.Lock()

    async def tallies(self) -> Mapping[str, Tally]:
        """The tallies by vertical; none while the store cannot be read."""
        now: Callable[[], float] = asyncio.get_running_loop().time
        async with self._alone:
            if now() >= self._due:
                began = now()
                try:
                    self._tallies = await self._count()
                except StoreFailed:
                    self._tallies = {}
                self._due = now() + max(self._fresh_s, self._rest_times * (now() - began))
        return self._tallies

    async def _count(self) -> Mapping[str, Tally]:
        found: dict[str, Tally] = {}
        after: tuple[str, str] | None = ("", "")
        while after is not None:
            page = await self._store.parked(after, PAGE)
            for run in page:
                found.setdefault(run.vertical, Tally(0, run.since)).add(run)
            after = (page[-1].company_id, page[-1].run_id) if len(page) == PAGE else None
        for tally in found.values():
            await self._look(tally)
        return found

    async def _look(self, tally: Tally) -> None:
        """Ask the runs that may hold a gate older than any known."""
        for one in tally.eldest():
            if one.created >= tally.since:
                break
            with suppress(StoreFailed):  # a run that cannot be read says nothing
                run = await self._store.load(one.company_id, one.run_id)
                opened = [visit.gate.opened_at for visit in (run.parked if run else ()) if visit.gate is not None]
                tally.since = min([tally.since, *opened])
        tally.older = []
