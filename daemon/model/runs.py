"""Stored runs, read without their actors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from actors.core.messages import Event
from actors.core.run import Run
from daemon.model.pages import Page


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Runs to list: newest first, older than the run `before`, at most `limit`."""

    limit: int = 50
    before: str | None = None
    status: str | None = None
    vertical: str | None = None
    parked_at: str | None = None
    business_key: str | None = None
    begins: str | None = None
    """What the id begins with."""
    created_after: datetime | None = None
    created_before: datetime | None = None
    created_by: str | None = None
    words: tuple[str, ...] | None = None

    @property
    def by_time(self) -> bool:
        """Whether the order is that of the starts, and not of the ids."""
        return self.created_after is not None or self.created_before is not None


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event and its seq in the history of its run, from 1."""

    seq: int
    event: Event


@dataclass(frozen=True, slots=True)
class ParkedRun:
    """A run with open gates; it was `created` then, and has not changed since `since`."""

    company_id: str
    run_id: str
    vertical: str
    gates: int
    since: datetime
    created: datetime


class DueRun(NamedTuple):
    """A run of which something is due at that time."""

    company_id: str
    run_id: str
    wake_at: datetime


class Runs(Protocol):
    """The stored runs, read without their actors."""

    async def load(self, company_id: str, run_id: str) -> Run | None:
        """The run as committed; None when the company has no such run."""

    async def find(self, company_id: str, query: RunQuery) -> Page[Run]: ...

    async def index_runs(self, company_id: str) -> bool:
        """Let searches find the next runs that have started; returns whether more are left."""

    async def index_any_runs(self) -> bool:
        """The same for runs of any company."""

    async def unfinished(self) -> Sequence[tuple[str, str]]:
        """The (company_id, run_id) of every run that is not at rest."""

    async def needs_recovery(self, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
        """At most `limit` runs after `after` that need recovery: unfinished or inconsistent."""

    async def due(self, by: datetime, limit: int) -> Sequence[DueRun]:
        """At most `limit` runs of this daemon of which something is due by then."""

    async def reviewed(self, company_id: str | None, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
        """At most `limit` runs for which people or the calendar of a company matter."""

    async def parked(self, after: tuple[str, str], limit: int) -> Sequence[ParkedRun]:
        """At most `limit` runs behind a (company_id, run_id), in order, that wait for a human."""

    async def history(self, company_id: str, run_id: str, after: int, limit: int) -> Page[RecordedEvent]:
        """At most `limit` events of a company's run with a seq above `after`."""
