"""What companies say of their people: delegations, and all that gates need, read together."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING

from actors.core.people import ActiveDelegation, AgentKey, Person
from daemon.model.audit_events import Logged
from daemon.model.events.company import DelegationEnded
from daemon.model.people.companies import (
    ACTION_RULES,
    AUTONOMY,
    CALENDAR,
    FUNCTIONS,
    POLICY,
    CompanyRecord,
    NotActive,
    StoredDelegation,
    TooManyDelegations,
)
from daemon.stores.rows import iso
from daemon.stores.table import Table
from daemon.stores.tables.company_log import log
from daemon.stores.tables.people.settings import note, setting_values
from daemon.stores.tables.receipts import add_receipt

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from actors.ports import Receipt
    from daemon.model import StoredMember
    from daemon.stores.database import Database, Row


DELEGATIONS = Table("delegations", StoredDelegation, ("company_id", "id"), json=("verticals",))
_LIVE = f"{DELEGATIONS.select} WHERE company_id = $1 AND ended_at IS NULL AND ends_at > $2"
_END = "UPDATE delegations SET ended_at = $3 WHERE company_id = $1 AND id = $2 AND ended_at IS NULL AND ends_at > $3"
_ACTIVE = "SELECT id FROM members WHERE company_id = $1 AND id IN ($2, $3) AND status = 'active'"


async def delegations_of(db: Database, company_id: str, at: datetime) -> Sequence[StoredDelegation]:
    """The delegations that have not ended by then, oldest first."""
    return [DELEGATIONS.from_row(row) for row in await db.rows(f"{_LIVE} ORDER BY id", company_id, iso(at))]


async def add_delegation(
    db: Database, one: StoredDelegation, logged: Logged, receipt: Receipt | None, *, at: str, most: int
) -> None:
    """Add a delegation between two active members, unless the company has so many."""
    if receipt is not None:
        await add_receipt(db, receipt, at)
    # The log locks the company's commit order: what is read after it is what all others have done.
    await log(db, logged)
    active = await db.rows(_ACTIVE, one.company_id, one.giver, one.recipient)
    if {one.giver, one.recipient} != {row[0] for row in active}:
        raise NotActive
    if len(await delegations_of(db, one.company_id, one.created_at)) >= most:
        raise TooManyDelegations
    await DELEGATIONS.insert(db, one)
    await note(db, one.company_id)


async def end_delegation(db: Database, one: StoredDelegation, at: datetime, logged: Logged) -> bool:
    await db.next_position(one.company_id, 0)  # locks in the order of all that end rights
    if await db.execute(_END, one.company_id, one.id, iso(at)) != 1:
        return False
    await log(db, logged)
    await note(db, one.company_id)
    return True


async def end_all(db: Database, removed: StoredMember, by: str, via: str) -> None:
    """End the delegations that a removed member gave or was given."""
    company_id, at = removed.company_id, removed.changed_at
    found = await db.rows(f"{_LIVE} AND $3 IN (giver, recipient) ORDER BY id", company_id, iso(at), removed.id)
    for one in map(DELEGATIONS.from_row, found):
        await db.execute(_END, company_id, one.id, iso(at))
        event = DelegationEnded(
            at=at, by=by, delegation=one.id, giver=one.giver, reason="removed", to=one.recipient, via=via
        )
        await log(db, Logged(company_id, event))


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
_LIVE_KEYS = (
    "SELECT id, model, models, expires_at FROM api_keys "
    "WHERE company_id = $1 AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > $2)"
)
_JOINED = "SELECT count(*) FROM members WHERE company_id = $1 AND (status = 'active' OR joined_at IS NOT NULL)"


async def company_record(db: Database, company_id: str, at: datetime) -> CompanyRecord:
    """What a company says of its people, with the delegations that have not ended by then."""
    groups, weight = await _groups(db, company_id)
    people = {}
    async for member_id, email, role in _members(db, company_id):
        people[email] = Person(member_id, email, role, groups.get(member_id, frozenset()))
    given = [
        ActiveDelegation(one.giver, one.recipient, one.begins_at, one.ends_at, one.verticals)
        for one in await delegations_of(db, company_id, at)
    ]
    keys = await db.rows(_LIVE_KEYS, company_id, iso(at))
    kinds = (CALENDAR, POLICY, AUTONOMY, FUNCTIONS, ACTION_RULES)
    calendar, policy, autonomy, functions, rules = await setting_values(db, company_id, *kinds)
    return CompanyRecord(
        people=people,
        delegations=tuple(given),
        calendar=calendar,
        may_be_solo=policy.solo,
        joined=await db.value(_JOINED, company_id),
        weight=weight + len(people) + functions.weight + len(keys) + len(rules.rules),
        autonomy=autonomy,
        makers=await _makers(db, company_id),
        functions=functions,
        rules={one.id: one.version for one in rules.rules},
        agents={key_id: AgentKey(model, tuple(json.loads(models))) for key_id, model, models, _ in keys},
        key_ends=min((datetime.fromisoformat(ends) for *_, ends in keys if ends is not None), default=None),
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
    return await db.run_by_size(company_id, weight * ROW_BYTES, lambda: _sets(found)), weight


def _sets(found: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    known: dict[frozenset[str], frozenset[str]] = {}
    sets = ((member_id, frozenset(names)) for member_id, names in found.items())
    return {member_id: known.setdefault(names, names) for member_id, names in sets}
