"""The people of a company as gates see them: active members, groups, delegations, calendar."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from msgspec import Struct, field

from actors.core.autonomy.settings import Autonomy
from actors.core.schedule.calendars import Calendar


class Person(Struct, frozen=True, gc=False):
    """An active member; the e-mail address is the name that histories have."""

    member_id: str
    email: str
    role: str
    groups: frozenset[str] = frozenset()


class Delegation(Struct, frozen=True, gc=False):
    """For a time `to` may decide as `giver`; both are member ids. Without verticals, in all."""

    giver: str
    to: str
    begins: datetime
    ends: datetime
    verticals: tuple[str, ...] = ()

    def covers(self, giver: str, to: str, vertical: str, at: datetime) -> bool:
        """Whether `to` may decide as `giver` at that time."""
        named = not self.verticals or vertical in self.verticals
        return (self.giver, self.to) == (giver, to) and named and self.begins <= at < self.ends


class Company(Struct, frozen=True):
    """Active members by e-mail address, delegations, calendar, and what may be cleared.

    While it is `solo` it has exactly one active member, who decides alone. `makers` made the keys
    of these names, those that were deleted, too.
    """

    people: Mapping[str, Person] = field(default_factory=dict)
    delegations: tuple[Delegation, ...] = ()
    calendar: Calendar = Calendar()
    solo: bool = False
    autonomy: Autonomy = Autonomy()
    makers: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def made(self, names: Collection[str]) -> frozenset[str]:
        """These names, and who made the keys among them: a key counts as its maker."""
        known = self.makers
        return frozenset().union(names, *(known[name] for name in names if name in known))

    def member(self, member_id: str) -> Person | None:
        """The active member of that id."""
        return next((one for one in self.people.values() if one.member_id == member_id), None)

    def givers(self, person: Person, at: datetime, vertical: str | None = None) -> list[Person]:
        """In whose place a person may decide at that time, in a vertical or in any."""
        to = person.member_id
        given = [
            one.giver
            for one in self.delegations
            if one.covers(one.giver, to, vertical or next(iter(one.verticals), ""), at)
        ]
        return [one for one in self.people.values() if one.member_id in given]

    def person(self, email: str, role: str = "") -> Person:
        """The active member of that address, or somebody who is in no group."""
        return self.people.get(email) or Person("", email, role)


NOBODY = Company()
"""A company of which nothing is known."""
