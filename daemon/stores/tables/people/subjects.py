"""People by the subject that an OpenID provider names."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from daemon.contract.addresses import email_key
from daemon.model import MembershipConflict, PeopleChange
from daemon.model.people.credentials import Subject
from daemon.stores.rows import text
from daemon.stores.tables.company_log import log
from daemon.stores.tables.people.accounts import add_user
from daemon.stores.tables.people.members import change_people

if TYPE_CHECKING:
    from daemon.model.audit_events import Logged
    from daemon.model.people.credentials import Arrival
    from daemon.stores.database import Database

SUBJECT = "issuer, subject, company_id, user_id, created_at"
_LINK = f"INSERT INTO sso_subjects ({SUBJECT}) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING"
_REMOVED = "SELECT count(*) FROM members WHERE company_id = $1 AND email_key = $2 AND status = 'removed'"


async def subject(db: Database, issuer: str, subject: str) -> Subject | None:
    row = await db.row(f"SELECT {SUBJECT} FROM sso_subjects WHERE issuer = $1 AND subject = $2", issuer, subject)
    if row is None:
        return None
    issuer, subject, company_id, user_id, created_at = row
    return Subject(issuer, subject, company_id, user_id, datetime.fromisoformat(created_at))


async def link_subject(db: Database, subject: Subject, logged: Logged) -> bool:
    await db.next_position(subject.company_id, 0)  # locks in the order of all that change rights
    if not await _link(db, subject):
        return False
    await log(db, logged)
    return True


async def arrive(db: Database, arrival: Arrival, logged: tuple[Logged, ...]) -> None:
    account, edit, subject = arrival
    await db.next_position(subject.company_id, 0)
    await add_user(db, account.user)
    if not await _link(db, subject):
        raise MembershipConflict
    await change_people(db, PeopleChange(account.company.id, (edit,), logged))


async def is_linked(db: Database, user_id: str, issuer: str) -> bool:
    """Whether the issuer names the user under some subject already."""
    statement = "SELECT count(*) FROM sso_subjects WHERE issuer = $1 AND user_id = $2"
    return bool(await db.value(statement, issuer, user_id))


async def was_removed(db: Database, company_id: str, email: str) -> bool:
    """Whether a member with this address was removed from the company."""
    return bool(await db.value(_REMOVED, company_id, email_key(email)))


async def _link(db: Database, one: Subject) -> bool:
    row = (one.issuer, one.subject, one.company_id, one.user_id, text(one.created_at))
    return bool(await db.execute(_LINK, *row) == 1)
