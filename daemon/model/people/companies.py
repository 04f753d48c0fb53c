"""What a company says about its people and its business days, as it is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from actors.core.autonomy import Autonomy
from actors.core.people.company import Delegation, Person
from actors.ports import Receipt
from daemon.model.audit_events import Logged
from daemon.model.events.autonomy import StoredAutonomy
from daemon.model.events.calendars import CalendarForm

DELEGATIONS_MAX = 1_000


class TooManyDelegations(Exception):
    """The company has as many delegations that have not ended as it may have."""


class NotActive(Exception):
    """The giver or the recipient of a delegation is no active member."""


@dataclass(frozen=True, slots=True)
class StoredCalendar:
    """A calendar; `number` counts its changes."""

    company_id: str
    calendar: CalendarForm
    number: int
    updated_at: datetime
    updated_by: str


@dataclass(frozen=True, slots=True)
class StoredDelegation:
    """A delegation from a giver to a recipient, both by member id; an ended one stays."""

    company_id: str
    id: str
    giver: str
    recipient: str
    begins_at: datetime
    ends_at: datetime
    verticals: tuple[str, ...]
    created_at: datetime
    ended_at: datetime | None = None


class CompanyRecord(NamedTuple):
    """The active people of a company by address, and what else gates need.

    `joined` counts all who ever were active; `weight` the people and their groups. `makers` are
    those of all keys that there ever were, by the names of the keys.
    """

    people: Mapping[str, Person]
    delegations: tuple[Delegation, ...]
    calendar: CalendarForm
    may_be_solo: bool
    joined: int
    weight: int
    autonomy: Autonomy
    makers: Mapping[str, frozenset[str]]


class CompanyRecords(Protocol):
    async def company_record(self, company_id: str, at: datetime) -> CompanyRecord:
        """What a company says of its people, with the delegations that have not ended by then."""


class AutonomyRepository(Protocol):
    async def autonomy(self, company_id: str) -> StoredAutonomy | None: ...

    async def put_autonomy(self, autonomy: StoredAutonomy, logged: Logged) -> bool:
        """Store settings; False when their number does not follow on the stored one.

        Every daemon knows them when this returns.
        """

    async def held_autonomies(self) -> Sequence[StoredAutonomy]:
        """The settings of companies in which nothing is cleared without a human."""


class CompanyRepository(CompanyRecords, Protocol):
    async def calendar(self, company_id: str) -> StoredCalendar | None: ...

    async def put_calendar(self, calendar: StoredCalendar, logged: Logged) -> bool:
        """Store a calendar; False when its number does not follow on the stored one.

        Every daemon knows it when this returns.
        """

    async def add_delegation(
        self, delegation: StoredDelegation, logged: Logged, receipt: Receipt | None, most: int = DELEGATIONS_MAX
    ) -> None:
        """Keep a new delegation; NotActive or TooManyDelegations when the company refuses it.

        Every daemon knows it when this returns.
        """

    async def delegations_of(self, company_id: str, at: datetime) -> Sequence[StoredDelegation]:
        """The delegations that have not ended by then, oldest first."""

    async def end_delegation(self, delegation: StoredDelegation, at: datetime, logged: Logged) -> bool:
        """End a delegation; False when it has ended. No daemon goes by it when this returns."""
