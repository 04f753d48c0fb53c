"""What a company says of its people and business days, read together."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from actors.core.autonomy import Autonomy
from actors.core.people.company import Delegation, Person
from daemon.model.events.company import CalendarForm, Policy
from daemon.model.people.companies import CompanyRecord
from daemon.stores.tables.people.autonomies import autonomy
from daemon.stores.tables.people.calendars import calendar
from daemon.stores.tables.people.delegations import delegations_of
from daemon.stores.tables.people.policies import policy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from datetime import datetime

    from daemon.stores.database import Database, Row

PAGE = 2_000
"""So many rows at once: no more hold up the event loop for long."""
ROW_BYTES = 40
# A token names a person as the account is written, an invitation may be written otherwise.
_PEOPLE = (
    "SELECT members.id, coalesce(users.email, members.email), members.role FROM members "
    "LEFT JOIN users ON users.id = members.user_id WHERE members.company_id = $1 AND members.status = 'active' "
    "AND members.id > $2 ORDER BY members.id LIMIT $3"
)
_GROUPS = (
    "SELECT group_name, member_id FROM group_members WHERE company_id = $1 AND (group_name, member_id) > ($2, $3) "
    "ORDER BY group_name, member_id LIMIT $4"
)
_MAKERS = "SELECT DISTINCT name, created_by FROM api_keys WHERE company_id = $1"
_JOINED = "SELECT count(*) FROM members WHERE company_id = $1 AND (status = 'active' OR joined_at IS NOT NULL)"


async def company_record(db: Database, company_id: str, at: datetime) -> CompanyRecord:
    """What a company says of its people, with the delegations that have not ended by then."""
    groups, weight = await _groups(db, company_id)
    people = {}
    async for member_id, email, role in _members(db, company_id):
        people[email] = Person(member_id, email, role, groups.get(member_id, frozenset()))
    stored, asked = await calendar(db, company_id), await policy(db, company_id)
    allowed = await autonomy(db, company_id)
    given = [
        Delegation(one.giver, one.recipient, one.begins_at, one.ends_at, one.verticals)
        for one in await delegations_of(db, company_id, at)
    ]
    return CompanyRecord(
        people=people,
        delegations=tuple(given),
        calendar=CalendarForm() if stored is None else stored.calendar,
        may_be_solo=(Policy() if asked is None else asked.policy).solo,
        joined=await db.value(_JOINED, company_id),
        weight=weight + len(people),
        autonomy=Autonomy() if allowed is None else allowed.autonomy,
        makers=await _makers(db, company_id),
    )


async def _makers(db: Database, company_id: str) -> dict[str, frozenset[str]]:
    """Who made the keys of each name: a name may be given again."""
    found = defaultdict(set)
    for name, maker in await db.rows(_MAKERS, company_id):
        found[name].add(maker)
    return {name: frozenset(makers) for name, makers in found.items()}


async def _members(db: Database, company_id: str) -> AsyncIterator[Row]:
    after, page = "", await db.rows(_PEOPLE, company_id, "", PAGE)
    while page:
        for row in page:
            yield row
        after = page[-1][0]
        page = await db.rows(_PEOPLE, company_id, after, PAGE)


async def _groups(db: Database, company_id: str) -> tuple[dict[str, frozenset[str]], int]:
    """The groups by member, each set once, and how many memberships there are."""
    found, weight = defaultdict(list), 0
    page = await db.rows(_GROUPS, company_id, "", "", PAGE)
    while page:
        weight += len(page)
        for name, member_id in page:
            found[member_id].append(name)
        page = await db.rows(_GROUPS, company_id, *page[-1], PAGE)
    return await db.sized(company_id, weight * ROW_BYTES, lambda: _sets(found)), weight


def _sets(found: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    known: dict[frozenset[str], frozenset[str]] = {}
    sets = ((member_id, frozenset(names)) for member_id, names in found.items())
    return {member_id: known.setdefault(names, names) for member_id, names in sets}
