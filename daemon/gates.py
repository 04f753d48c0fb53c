"""The open gates as the store knows them: how many, and since when, by vertical."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from actors.ports import StoreFailed
from daemon.ports import ParkedRun

PAGE = 1_000
FRESH_S = 15.0
REST_TIMES = 20


class Parked(Protocol):
    """The runs that wait for a human."""

    async def parked(self, after: tuple[str, str], limit: int) -> Sequence[ParkedRun]:
        """At most `limit` runs behind a (company_id, run_id), in order, that wait for a human."""


@dataclass(slots=True)
class Tally:
    """The open gates of one vertical, and since when the oldest of its parked runs has not changed."""

    gates: int
    since: datetime


class OpenGates:
    """The tallies, counted anew when somebody asks and they are no longer fresh.

    To count takes the longer the more runs are parked, so it is left alone for a multiple of the time that it took.
    """

    def __init__(self, store: Parked, *, fresh_s: float = FRESH_S, rest_times: int = REST_TIMES) -> None:
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
                tally = found.setdefault(run.vertical, Tally(0, run.since))
                tally.gates += run.gates
                tally.since = min(tally.since, run.since)
            after = (page[-1].company_id, page[-1].run_id) if len(page) == PAGE else None
        return found
