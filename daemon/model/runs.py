"""Stored runs, read without their actors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from actors.core.messages import Event


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
