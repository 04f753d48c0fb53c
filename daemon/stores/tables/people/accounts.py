"""Companies with their users, links for new passwords, and revoked tokens."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from daemon.contract.base import email_key
from daemon.model import EmailTaken, PeopleChange, StoredAccount, StoredCompany, StoredPasswordReset, StoredUser
from daemon.stores.rows import iso
from daemon.stores.table import Table
from daemon.stores.tables.company_log import log
from daemon.stores.tables.people.members import MEMBER, add_member, change_people, member_of_row
from daemon.stores.tables.receipts import add_receipt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.ports import Receipt
    from daemon.model import Joining
    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database, Row

COMPANIES = Table("companies", StoredCompany, ("id",))
_ACCOUNT = (
    "SELECT users.id, users.company_id, users.email, users.name, users.password_hash, users.created_at, users.epoch, "
    f"companies.id, companies.name, companies.created_at, {MEMBER} FROM users "
    "JOIN members ON members.user_id = users.id JOIN companies ON companies.id = members.company_id"
)
# PostgreSQL keeps addresses in a table of their own, since they are unique over all companies.
_BY_EMAIL = {
    "sqlite": f"{_ACCOUNT} WHERE users.email_key = $1",
    "postgres": f"{_ACCOUNT} JOIN addresses ON addresses.company_id = users.company_id "
    "AND addresses.user_id = users.id WHERE addresses.email_key = $1",
}
# A person of several companies gets the one entered last; one of none, what is left of the last.
_LAST = (
    " ORDER BY CASE WHEN members.status = 'active' AND members.company_id = coalesce($2, members.company_id) "
    "THEN 0 ELSE 1 END, members.entered_at DESC, members.id LIMIT 1"
)
_USER = "INSERT INTO users (company_id, id, email, name, password_hash, created_at"
_ADD_USER = {
    "sqlite": f"{_USER}, email_key) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (email_key) DO NOTHING",
    "postgres": "WITH address AS (INSERT INTO addresses (company_id, user_id, email_key) VALUES ($1, $2, $7) "
    f"ON CONFLICT (email_key) DO NOTHING RETURNING 1) {_USER}) SELECT $1, $2, $3, $4, $5, $6 FROM address",
}
PASSWORD_RESETS = Table("password_resets", StoredPasswordReset, ("token_hash",), beside=("ended_at",))
_OF_RESET = (
    " JOIN password_resets ON password_resets.user_id = users.id AND password_resets.company_id = users.company_id "
    "WHERE token_hash = $1 AND password_resets.ended_at IS NULL AND password_resets.expires_at > $3"
)
_REVOKE = (
    "INSERT INTO revocations (token_id, expires_at) VALUES ($1, $2) "
    "ON CONFLICT (token_id) DO UPDATE SET expires_at = excluded.expires_at"
)


async def register(
    db: Database, account: StoredAccount, receipt: Receipt | None, at: str, logged: Sequence[Logged]
) -> None:
    if receipt is not None:
        await add_receipt(db, receipt, at)
    await COMPANIES.insert(db, account.company)
    await add_user(db, account.user)
    await add_member(db, account.member)
    for one in logged:
        await log(db, one)


async def join(db: Database, joining: Joining, receipt: Receipt | None, at: str, logged: Sequence[Logged]) -> None:
    account = joining.account
    if receipt is not None:
        await add_receipt(db, receipt, at)
    await add_user(db, account.user)
    await change_people(db, PeopleChange(account.company.id, (joining.edit,), tuple(logged)))


async def add_user(db: Database, user: StoredUser) -> None:
    row = (user.company_id, user.id, user.email, user.name, user.password_hash, iso(user.created_at))
    if await db.execute(_ADD_USER[db.dialect], *row, email_key(user.email)) != 1:
        raise EmailTaken("An account with this e-mail address exists.")


async def account_by_email(db: Database, email: str, company_id: str | None = None) -> StoredAccount | None:
    """The account of an e-mail address, whatever its case, in the company entered last.

    Its member is `removed` where the person belongs to no company, or not to that one.
    """
    found = _account(await db.row(f"{_BY_EMAIL[db.dialect]}{_LAST}", email_key(email), company_id))
    if found is None or company_id in (None, found.company.id):
        return found
    return replace(found, member=replace(found.member, status="removed"))


async def account(db: Database, user_id: str, company_id: str) -> StoredAccount | None:
    """The account of a user as an active member of the company."""
    where = "WHERE users.id = $1 AND members.company_id = $2 AND members.status = 'active'"
    return _account(await db.row(f"{_ACCOUNT} {where}", user_id, company_id))


async def company(db: Database, company_id: str) -> StoredCompany | None:
    row = await db.row(f"{COMPANIES.select} WHERE id = $1", company_id)
    return None if row is None else COMPANIES.from_row(row)


async def rename(db: Database, user: StoredUser, logged: Logged) -> None:
    """Give a user the display name that `user` has."""
    statement = "UPDATE users SET name = $3 WHERE company_id = $1 AND id = $2"
    await db.execute(statement, user.company_id, user.id, user.name)
    await log(db, logged)


async def add_password_reset(db: Database, reset: StoredPasswordReset, logged: Logged) -> None:
    await PASSWORD_RESETS.insert(db, reset)
    await log(db, logged)


async def account_by_reset(db: Database, token_hash: bytes, at: datetime) -> StoredAccount | None:
    """The account whose password a token may set at that time."""
    return _account(await db.row(f"{_ACCOUNT}{_OF_RESET}{_LAST}", token_hash, None, iso(at)))


async def end_password_resets(db: Database, company_id: str, user_id: str, at: str) -> None:
    statement = "UPDATE password_resets SET ended_at = $3 WHERE company_id = $1 AND user_id = $2 AND ended_at IS NULL"
    await db.execute(statement, company_id, user_id, at)


async def drop_password_resets(db: Database, before: str) -> None:
    await db.execute("DELETE FROM password_resets WHERE expires_at <= $1", before)


async def revoke(db: Database, token_id: str, expires_at: datetime, logged: Logged | None) -> None:
    """Revoke a token, or all tokens of a session by its id."""
    # PostgreSQL notes the time of the change: other daemons look for recent ones.
    noted = {"sqlite": "", "postgres": ", noted_at = clock_timestamp()"}[db.dialect]
    await db.execute(f"{_REVOKE}{noted}", token_id, iso(expires_at))
    if logged is not None:
        await log(db, logged)


async def revoked(db: Database, at: str) -> dict[str, datetime]:
    rows = await db.rows("SELECT token_id, expires_at FROM revocations WHERE expires_at > $1", at)
    return {token_id: datetime.fromisoformat(expires_at) for token_id, expires_at in rows}


async def drop_revocations(db: Database, before: str) -> None:
    await db.execute("DELETE FROM revocations WHERE expires_at <= $1", before)


def _account(row: Row | None) -> StoredAccount | None:
    if row is None:
        return None
    user_id, home_id, email, name, password_hash, joined_at, epoch, company_id, company_name, founded_at, *member = row
    user = StoredUser(user_id, home_id, email, name, password_hash, datetime.fromisoformat(joined_at), epoch)
    company = COMPANIES.from_row((company_id, company_name, founded_at))
    return StoredAccount(user, company, member_of_row((*member, name)))
