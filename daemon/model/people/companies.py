"""What a company says about its people and its business days, as it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from actors.core.autonomy import Autonomy
from actors.core.people.company import Delegation, Person
from daemon.model.events.company import CalendarForm

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
