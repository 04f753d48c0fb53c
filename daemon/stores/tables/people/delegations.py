"""Delegations: who may decide as another member for a time."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from actors.core.canonical import canonical
from daemon.model.audit_events import Logged
from daemon.model.events.company import DelegationEnded
from daemon.model.people.companies import NotActive, StoredDelegation, TooManyDelegations
from daemon.stores.rows import text, text_or_null, time_or_none
from daemon.stores.tables.company_log import log
from daemon.stores.tables.people.company_changes import note
from daemon.stores.tables.receipts import add_receipt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.ports import Receipt
    from daemon.model import Member
    from daemon.stores.database import Database, Row

DELEGATION = "company_id, id, giver, recipient, begins_at, ends_at, verticals, created_at, ended_at"
_LIVE = f"SELECT {DELEGATION} FROM delegations WHERE company_id = $1 AND ended_at IS NULL AND ends_at > $2"
_END = "UPDATE delegations SET ended_at = $3 WHERE company_id = $1 AND id = $2 AND ended_at IS NULL AND ends_at > $3"
_ACTIVE = "SELECT id FROM members WHERE company_id = $1 AND id IN ($2, $3) AND status = 'active'"


async def delegations_of(db: Database, company_id: str, at: datetime) -> Sequence[StoredDelegation]:
    """The delegations that have not ended by then, oldest first."""
    return [_of_row(row) for row in await db.rows(f"{_LIVE} ORDER BY id", company_id, text(at))]


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
    await db.insert(f"delegations ({DELEGATION})", [_row(one)])
    await note(db, one.company_id)


async def end_delegation(db: Database, one: StoredDelegation, at: datetime, logged: Logged) -> bool:
    await db.next_position(one.company_id, 0)  # locks in the order of all that end rights
    if await db.execute(_END, one.company_id, one.id, text(at)) != 1:
        return False
    await log(db, logged)
    await note(db, one.company_id)
    return True


async def end_all(db: Database, removed: Member, by: str, via: str) -> None:
    """End the delegations that a removed member gave or was given."""
    company_id, at = removed.company_id, removed.changed_at
    found = await db.rows(f"{_LIVE} AND $3 IN (giver, recipient) ORDER BY id", company_id, text(at), removed.id)
    for one in map(_of_row, found):
        await db.execute(_END, company_id, one.id, text(at))
        event = DelegationEnded(
            at=at, by=by, delegation=one.id, giver=one.giver, reason="removed", to=one.recipient, via=via
        )
        await log(db, Logged(company_id, event))


def written(verticals: Sequence[str]) -> str:
    """Verticals as they are stored."""
    return canonical(list(verticals))


def _row(one: StoredDelegation) -> Row:
    times = (text(one.begins_at), text(one.ends_at), written(one.verticals))
    made = (text(one.created_at), text_or_null(one.ended_at))
    return (one.company_id, one.id, one.giver, one.recipient, *times, *made)


def _of_row(row: Row) -> StoredDelegation:
    company_id, delegation_id, giver, recipient, begins_at, ends_at, verticals, created_at, ended_at = row
    times = (datetime.fromisoformat(begins_at), datetime.fromisoformat(ends_at), tuple(json.loads(verticals)))
    made = (datetime.fromisoformat(created_at), time_or_none(ended_at))
    return StoredDelegation(company_id, delegation_id, giver, recipient, *times, *made)
