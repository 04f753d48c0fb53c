"""Accounts, revocations, receipts and templates in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.ports import Receipt, ReceiptTaken
from daemon.model import Account, EmailTaken, SchemaMismatch, TemplateDocument
from daemon.stores import codec
from daemon.stores.group_commit import DROP_MAX
from daemon.stores.postgres.company_log import log
from daemon.stores.rows import account_of_row, receipt_row, text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from daemon.model.audit_events import Logged
    from daemon.stores.postgres.connection import Db

_ACCOUNTS = (
    "SELECT users.id, users.company_id, users.email, users.name, users.role, users.password_hash, users.created_at, "
    "companies.name, companies.created_at FROM users JOIN companies ON companies.id = users.company_id"
)
_BY_EMAIL = (
    f"{_ACCOUNTS} JOIN addresses ON addresses.company_id = users.company_id AND addresses.user_id = users.id "
    "WHERE addresses.email_key = $1"
)
_ADD_RECEIPT = (
    "INSERT INTO receipts (company_id, path, key, fingerprint, run_id, status, headers, body, created_at) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (company_id, path, key)"
)
_KEEP_RECEIPT = (
    f"{_ADD_RECEIPT} DO UPDATE SET run_id = coalesce(excluded.run_id, receipts.run_id), status = excluded.status, "
    "headers = excluded.headers, body = excluded.body WHERE receipts.status IS NULL RETURNING 1"
)
_REVOKE = (
    "INSERT INTO revocations (token_id, expires_at) VALUES ($1, $2) "
    "ON CONFLICT (token_id) DO UPDATE SET expires_at = excluded.expires_at, noted_at = clock_timestamp()"
)


async def register(db: Db, account: Account, receipt: Receipt | None, at: str, logged: Sequence[Logged]) -> None:
    """Add a company with its first user, or raise ReceiptTaken or EmailTaken."""
    company, user = account.company, account.user
    if receipt is not None:
        await add_receipt(db, receipt, at)
    taken = "INSERT INTO addresses VALUES ($1, $2, $3) ON CONFLICT (email_key) DO NOTHING RETURNING 1"
    if await db.fetchval(taken, codec.email_key(user.email), user.company_id, user.id) is None:
        raise EmailTaken("An account with this e-mail address exists.")
    founded = text(company.created_at)
    await db.execute("INSERT INTO companies VALUES ($1, $2, $3)", company.id, company.name, founded)
    row = (user.company_id, user.id, user.email, user.name, user.role, user.password_hash, text(user.created_at))
    await db.execute("INSERT INTO users VALUES ($1, $2, $3, $4, $5, $6, $7)", *row)
    for one in logged:
        await log(db, one)


async def account_by_email(db: Db, email: str) -> Account | None:
    """The account of an e-mail address."""
    key = codec.email_key(email)
    return None if "\x00" in key else account_of_row(_row(await db.fetchrow(_BY_EMAIL, key)))


async def account(db: Db, user_id: str) -> Account | None:
    """The account of a user."""
    return account_of_row(_row(await db.fetchrow(f"{_ACCOUNTS} WHERE users.id = $1", user_id)))


def _row(row: Any) -> tuple[Any, ...] | None:
    return None if row is None else tuple(row)


async def revoke(db: Db, token_id: str, expires_at: datetime, logged: Logged | None) -> None:
    """Keep a revoked token."""
    await db.execute(_REVOKE, token_id, text(expires_at))
    if logged is not None:
        await log(db, logged)


async def revoked(db: Db, at: str) -> Sequence[tuple[str, str]]:
    """The revoked tokens that expire after that time."""
    found = await db.fetch("SELECT token_id, expires_at FROM revocations WHERE expires_at > $1", at)
    return [(row[0], row[1]) for row in found]


async def drop_revocations(db: Db, before: str) -> None:
    """Drop the revocations of tokens that expired before that time."""
    await db.execute("DELETE FROM revocations WHERE expires_at <= $1", before)


async def add_receipt(db: Db, receipt: Receipt, at: str) -> None:
    """Keep a receipt; ReceiptTaken when there is any under its key."""
    if await db.fetchval(f"{_ADD_RECEIPT} DO NOTHING RETURNING 1", *receipt_row(receipt, at)) is None:
        raise ReceiptTaken("The idempotency key is already used.")


async def keep_receipt(db: Db, receipt: Receipt, at: str) -> None:
    """Keep a receipt, or complete the unanswered one under its key; ReceiptTaken when that is answered."""
    if await db.fetchval(_KEEP_RECEIPT, *receipt_row(receipt, at)) is None:
        raise ReceiptTaken("The request under this idempotency key is answered already.")


async def receipt(db: Db, company_id: str, path: str, key: str) -> Receipt | None:
    """The receipt under a key."""
    row = await db.fetchrow(
        "SELECT company_id, path, key, fingerprint, run_id, status, headers, body FROM receipts "
        "WHERE company_id = $1 AND path = $2 AND key = $3",
        *(company_id, path, key),
    )
    return None if row is None else Receipt(*row)


async def drop_receipts(db: Db, before: str) -> int:
    """Drop at most DROP_MAX receipts kept before that time; returns how many."""
    done = await db.execute(
        "DELETE FROM receipts WHERE (company_id, path, key) IN "
        "(SELECT company_id, path, key FROM receipts WHERE created_at < $1 LIMIT $2)",
        *(before, DROP_MAX),
    )
    return counted(done)


async def keep_template(db: Db, document: TemplateDocument) -> None:
    """Keep a template; SchemaMismatch when its version is another one's."""
    row = (document.digest, document.vertical, document.version, document.document)
    await db.execute("INSERT INTO templates VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", *row)
    taken = await db.fetchval("SELECT digest FROM templates WHERE vertical = $1 AND version = $2", *row[1:3])
    if taken not in (None, document.digest):
        raise SchemaMismatch(codec.version_taken(document, taken))


async def template_document(db: Db, digest: str) -> TemplateDocument | None:
    """The template of a digest."""
    row = await db.fetchrow("SELECT digest, vertical, version, document FROM templates WHERE digest = $1", digest)
    return None if row is None else TemplateDocument(*row)


def counted(status: str) -> int:
    """How many rows a statement says that it changed: `DELETE 3`."""
    return int(status.rpartition(" ")[2])
