"""What every store says of itself, keeps beside runs, and raises; and runs without actors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol, TypeAlias

from actors.core.messages import Event
from actors.ports import StoreFailed
from daemon.model.reading import Sight

StoreState: TypeAlias = Literal["ok", "full", "stalled", "failed"]
"""Whether the store can write, as far as known; a `stalled` one does not answer."""


@dataclass(frozen=True, slots=True)
class StoredTemplate:
    """The canonical JSON of a template under its digest."""

    digest: str
    vertical: str
    version: int
    document: str


class Ownership(NamedTuple):
    """Which daemon performs the outstanding work of a run.

    A daemon that is gone may have begun what was outstanding at the version `claimed`; 0 for none.
    """

    epoch: int
    claimed: int


class LostHistory(NamedTuple):
    """What the database lost in a failover, of what this daemon had acknowledged."""

    at: datetime
    commits: int
    companies: int


class Rates(Protocol):
    """Request counts shared by all daemons."""

    async def hit(self, who: str, amount: int, window_s: float) -> float | None:
        """Count one of at most `amount` requests in the window; returns the seconds to wait."""

    async def hits(self, who: str, amount: int, window_s: float) -> tuple[int, float]:
        """How many up to `amount` the window has, and the seconds until the first leaves it."""


class SchemaMismatch(Exception):
    """The store cannot be used by this version of the service; the text says why and what to do."""


def check_same(vertical: str, version: int, digest: str, known: str | None) -> None:
    """SchemaMismatch when a version of a template is known with another digest."""
    if known not in (None, digest):
        raise SchemaMismatch(
            f"Version {version} of {vertical} is known with the digest {known}, and now comes with {digest}. "
            "Runs are pinned to what they began with: give the changed template a new version."
        )


class FolderInUse(StoreFailed):
    """Another process has the data folder."""


class DiskFull(StoreFailed):
    """There is no room to write; reads go on, and writes as soon as there is."""


class StoreBroken(StoreFailed):
    """The disk or the database failed, and this process must not write; the outcome is certain."""


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
    clock_due_before: datetime | None = None
    words: tuple[str, ...] | None = None
    sight: Sight | None = None
    """What of them may be listed; None for all."""

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
