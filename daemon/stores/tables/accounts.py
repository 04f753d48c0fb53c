"""Companies with their users, and revoked tokens."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from daemon.model import Account, Company, EmailTaken, User
from daemon.stores.rows import text
from daemon.stores.tables.company_log import log
from daemon.stores.tables.receipts import add_receipt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.ports import Receipt
    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database, Row

_ACCOUNT = (
    "SELECT users.id, users.company_id, users.email, users.name, users.role, users.password_hash, users.created_at, "
    "users.epoch, companies.name, companies.created_at FROM users JOIN companies ON companies.id = users.company_id"
)
# PostgreSQL keeps addresses in a table of their own, since they are unique over all companies.
_BY_EMAIL = {
    "sqlite": f"{_ACCOUNT} WHERE users.email_key = $1",
    "postgres": f"{_ACCOUNT} JOIN addresses ON addresses.company_id = users.company_id "
    "AND addresses.user_id = users.id WHERE addresses.email_key = $1",
}
_USER = "INSERT INTO users (company_id, id, email, name, role, password_hash, created_at"
_ADD_USER = {
    "sqlite": f"{_USER}, email_key) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (email_key) DO NOTHING",
    "postgres": "WITH address AS (INSERT INTO addresses (company_id, user_id, email_key) VALUES ($1, $2, $8) "
    f"ON CONFLICT (email_key) DO NOTHING RETURNING 1) {_USER}) SELECT $1, $2, $3, $4, $5, $6, $7 FROM address",
}
_REVOKE = (
    "INSERT INTO revocations (token_id, expires_at) VALUES ($1, $2) "
    "ON CONFLICT (token_id) DO UPDATE SET expires_at = excluded.expires_at"
)


async def register(db: Database, account: Account, receipt: Receipt | None, at: str, logged: Sequence[Logged]) -> None:
    company, user = account.company, account.user
    if receipt is not None:
        await add_receipt(db, receipt, at)
    await db.execute("INSERT INTO companies VALUES ($1, $2, $3)", company.id, company.name, text(company.created_at))
    row = (user.company_id, user.id, user.email, user.name, user.role, user.password_hash, text(user.created_at))
    if await db.execute(_ADD_USER[db.dialect], *row, user.email.casefold()) != 1:
        raise EmailTaken("An account with this e-mail address exists.")
    for one in logged:
        await log(db, one)


async def account_by_email(db: Database, email: str) -> Account | None:
    return _account(await db.row(_BY_EMAIL[db.dialect], email.casefold()))


async def account(db: Database, user_id: str) -> Account | None:
    return _account(await db.row(f"{_ACCOUNT} WHERE users.id = $1", user_id))


async def revoke(db: Database, token_id: str, expires_at: datetime, logged: Logged | None) -> None:
    """Revoke a token, or all tokens of a session by its id."""
    # PostgreSQL notes the time of the change: other daemons look for recent ones.
    noted = {"sqlite": "", "postgres": ", noted_at = clock_timestamp()"}[db.dialect]
    await db.execute(f"{_REVOKE}{noted}", token_id, text(expires_at))
    if logged is not None:
        await log(db, logged)


async def revoked(db: Database, at: str) -> dict[str, datetime]:
    rows = await db.rows("SELECT token_id, expires_at FROM revocations WHERE expires_at > $1", at)
    return {token_id: datetime.fromisoformat(expires_at) for token_id, expires_at in rows}


async def drop_revocations(db: Database, before: str) -> None:
    await db.execute("DELETE FROM revocations WHERE expires_at <= $1", before)


def _account(row: Row | None) -> Account | None:
    if row is None:
        return None
    user_id, company_id, email, name, role, password_hash, joined_at, epoch, company_name, founded_at = row
    user = User(user_id, company_id, email, name, role, password_hash, datetime.fromisoformat(joined_at), epoch)
    return Account(user, Company(company_id, company_name, datetime.fromisoformat(founded_at)))
