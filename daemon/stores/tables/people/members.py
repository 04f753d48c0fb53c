"""Members of companies, invitations and groups."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from daemon.contract.base import email_key
from daemon.model import (
    MembershipConflict,
    MembershipState,
    StoredGroup,
    StoredInvitation,
    StoredMember,
    StoredMembership,
)
from daemon.stores.rows import bounded, iso
from daemon.stores.table import Table
from daemon.stores.tables.company_log import check_caller, log
from daemon.stores.tables.people.companies import end_all
from daemon.stores.tables.people.settings import note
from daemon.stores.tables.receipts import add_receipt
from daemon.stores.tables.webhooks import forget_notifications

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.model import GroupEdit, PeopleChange
    from daemon.stores.database import Database, Row

MEMBERS = Table(
    *("members", StoredMember, ("company_id", "id")),
    absent=("name",),
    beside=("email_key", "entered_at"),
    noted="noted_at",
)
MEMBER = ", ".join(f"members.{name}" for name in MEMBERS.columns)
INVITATIONS = Table("invitations", StoredInvitation, ("token_hash",))
GROUP = "company_id, name, updated_at, updated_by"
GROUP_MEMBER = "company_id, group_name, member_id"
_FOUND = f"SELECT {MEMBER}, users.name FROM members LEFT JOIN users ON users.id = members.user_id"
_LISTED = f"{_FOUND} WHERE members.company_id = $1 AND members.status <> 'removed'"
_OF_ONE = "WHERE company_id = $1 AND id = $2"
_NOTE = {
    "sqlite": f"SELECT 1 FROM members {_OF_ONE}",
    "postgres": f"UPDATE members SET noted_at = clock_timestamp() {_OF_ONE}",
}
_END_INVITATIONS = "UPDATE invitations SET ended_at = $3 WHERE company_id = $1 AND member_id = $2 AND ended_at IS NULL"
_LEAVE = "DELETE FROM group_members WHERE company_id = $1 AND member_id = $2"
_MEMBERSHIPS = (
    "SELECT companies.id, companies.name, members.role FROM members "
    "JOIN companies ON companies.id = members.company_id WHERE members.user_id = $1 AND members.status = 'active' "
    "ORDER BY companies.name, companies.id"
)
STANDING = "id, CASE status WHEN 'active' THEN role END, changed_at, company_id"
_STANDINGS = f"SELECT {STANDING} FROM members WHERE changed_at > $1"


async def add_member(db: Database, member: StoredMember) -> None:
    await MEMBERS.insert(db, member, email_key=email_key(member.email), entered_at="")


async def members(db: Database, company_id: str, after: str, limit: int) -> Sequence[StoredMember]:
    """Pending and active members by id, those behind `after`."""
    statement = f"{_LISTED} AND members.id > $2 ORDER BY members.id LIMIT $3"
    return [member_of_row(row) for row in await db.rows(statement, company_id, after, bounded(limit))]


async def count_members(db: Database, company_id: str) -> int:
    statement = "SELECT count(*) FROM members WHERE company_id = $1 AND status <> 'removed'"
    found: int = await db.value(statement, company_id)
    return found


async def member(db: Database, company_id: str, member_id: str) -> StoredMember | None:
    row = await db.row(f"{_LISTED} AND members.id = $2", company_id, member_id)
    return None if row is None else member_of_row(row)


async def member_by_email(db: Database, company_id: str, email: str) -> StoredMember | None:
    """The pending or active member with this address."""
    row = await db.row(f"{_LISTED} AND members.email_key = $2", company_id, email_key(email))
    return None if row is None else member_of_row(row)


async def memberships(db: Database, user_id: str) -> Sequence[StoredMembership]:
    return [StoredMembership(*row) for row in await db.rows(_MEMBERSHIPS, user_id)]


async def invitation(db: Database, token_hash: bytes) -> StoredInvitation | None:
    row = await db.row(f"{INVITATIONS.select} WHERE token_hash = $1", token_hash)
    return None if row is None else INVITATIONS.from_row(row)


async def is_invited(db: Database, company_id: str, member_id: str, at: datetime) -> bool:
    """Whether an invitation of the member counts at that time."""
    where = "company_id = $1 AND member_id = $2 AND ended_at IS NULL AND expires_at > $3"
    return bool(await db.value(f"SELECT count(*) FROM invitations WHERE {where}", company_id, member_id, iso(at)))


async def change_people(db: Database, change: PeopleChange) -> None:
    await db.next_position(change.company_id, 0)  # locks: nobody else changes members until the end
    await check_caller(db, change.company_id, change.caller)
    if change.receipt is not None:
        await add_receipt(db, change.receipt, iso(change.logged[0].event.at))
    for before, after in change.edits:
        if before is None:
            if await member_by_email(db, change.company_id, after.email) is not None:
                raise MembershipConflict
            await add_member(db, after)
            await db.execute(_NOTE[db.dialect], after.company_id, after.id)
        else:
            await _edit(db, before, after)
            if change.invitation is not None or after.status != "pending":
                await db.execute(_END_INVITATIONS, after.company_id, after.id, iso(after.changed_at))
    if change.invitation is not None:
        await INVITATIONS.insert(db, change.invitation)
    for logged in change.logged:
        await log(db, logged)
    for _, after in change.edits:
        if after.status == "removed":
            by, via = change.logged[0].event.by, change.logged[0].event.via
            await end_all(db, after, by, via)
            await forget_notifications(db, after, by, via)


async def standings(db: Database, after: datetime) -> dict[str, MembershipState]:
    """How the members stand that were changed since."""
    return standings_of(await db.rows(_STANDINGS, iso(after)))


def standings_of(rows: Sequence[Row]) -> dict[str, MembershipState]:
    return {row[0]: MembershipState(row[1], datetime.fromisoformat(row[2]), row[3]) for row in rows}


async def groups(db: Database, company_id: str) -> Sequence[StoredGroup]:
    names = await db.rows("SELECT name FROM member_groups WHERE company_id = $1 ORDER BY name", company_id)
    found = defaultdict(list)
    statement = "SELECT group_name, member_id FROM group_members WHERE company_id = $1 ORDER BY group_name, member_id"
    for name, member_id in await db.rows(statement, company_id):
        found[name].append(member_id)
    return [StoredGroup(name, tuple(found[name])) for (name,) in names]


async def _group(db: Database, company_id: str, name: str) -> tuple[str, ...] | None:
    """The members of a group; None without one."""
    if await db.value("SELECT 1 FROM member_groups WHERE company_id = $1 AND name = $2", company_id, name) is None:
        return None
    statement = "SELECT member_id FROM group_members WHERE company_id = $1 AND group_name = $2 ORDER BY member_id"
    return tuple([row[0] for row in await db.rows(statement, company_id, name)])


async def edit_group(db: Database, edit: GroupEdit) -> bool:
    company_id, name = edit.company_id, edit.name
    await db.next_position(company_id, 0)  # locks: nobody else changes groups until the end
    await check_caller(db, company_id, edit.caller)
    if await _group(db, company_id, name) != edit.before:
        return False
    for member_id in edit.after or ():
        found = await member(db, company_id, member_id)
        if found is None or found.status != "active":
            return False
    await db.execute("DELETE FROM group_members WHERE company_id = $1 AND group_name = $2", company_id, name)
    await db.execute("DELETE FROM member_groups WHERE company_id = $1 AND name = $2", company_id, name)
    if edit.after is not None:
        await db.insert(f"member_groups ({GROUP})", [(company_id, name, iso(edit.at), edit.by)])
        await db.insert(f"group_members ({GROUP_MEMBER})", [(company_id, name, one) for one in edit.after])
    await log(db, edit.logged)
    await note(db, company_id)
    return True


def member_of_row(row: Row) -> StoredMember:
    """A member by its columns and the name of its user."""
    return replace(MEMBERS.from_row(row), name=row[-1])


async def _edit(db: Database, before: StoredMember, after: StoredMember) -> None:
    if not await MEMBERS.replace(db, after, changed_at=iso(before.changed_at), status=before.status):
        raise MembershipConflict
    if after.status == "removed":
        await db.execute(_LEAVE, after.company_id, after.id)
