"""Accounts, revocations, receipts and templates as rows; all of it runs in a connection's thread."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from actors.ports import Receipt, ReceiptTaken
from daemon.model import Account, EmailTaken, SchemaMismatch, TemplateDocument
from daemon.model.audit_events import Logged
from daemon.stores import codec
from daemon.stores.group_commit import DROP_MAX
from daemon.stores.rows import account_of_row, receipt_row, text
from daemon.stores.sqlite.company_log import log
from daemon.stores.sqlite.rows import Rows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

_ACCOUNTS = (
    "SELECT users.id, users.company_id, users.email, users.name, users.role, users.password_hash, users.created_at, "
    "companies.name, companies.created_at "
    "FROM users JOIN companies ON companies.id = users.company_id WHERE "
)
_RECEIPT = "INSERT INTO receipts (company_id, path, key, fingerprint, run_id, status, headers, body, created_at)"
ADD_RECEIPTS = Rows(_RECEIPT, columns=9, after="ON CONFLICT (company_id, path, key) DO NOTHING")
_KEEP_RECEIPT = Rows(
    _RECEIPT,
    columns=9,
    after="ON CONFLICT (company_id, path, key) DO UPDATE SET run_id = coalesce(excluded.run_id, run_id), "
    "status = excluded.status, headers = excluded.headers, body = excluded.body WHERE receipts.status IS NULL",
)


def register(
    db: sqlite3.Connection, account: Account, receipt: Receipt | None, at: str, logged: Sequence[Logged]
) -> None:
    """Add a company with its first user, or raise ReceiptTaken or EmailTaken."""
    company, user = account.company, account.user
    if receipt is not None:
        add_receipt(db, receipt, at)
    db.execute("INSERT INTO companies VALUES (?, ?, ?)", (company.id, company.name, text(company.created_at)))
    row = (user.company_id, user.id, user.email, codec.email_key(user.email), user.name, user.role)
    added = db.execute(
        "INSERT INTO users VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (email_key) DO NOTHING",
        (*row, user.password_hash, text(user.created_at)),
    )
    if added.rowcount != 1:
        raise EmailTaken("An account with this e-mail address exists.")
    for one in logged:
        log(db, one)


def account_by_email(db: sqlite3.Connection, email: str) -> Account | None:
    """The account of an e-mail address."""
    return account_of_row(db.execute(f"{_ACCOUNTS} users.email_key = ?", (codec.email_key(email),)).fetchone())


def account(db: sqlite3.Connection, user_id: str) -> Account | None:
    """The account of a user."""
    return account_of_row(db.execute(f"{_ACCOUNTS} users.id = ?", (user_id,)).fetchone())


def revoke(db: sqlite3.Connection, token_id: str, expires_at: datetime, logged: Logged | None) -> None:
    """Keep a revoked token."""
    statement = (
        "INSERT INTO revocations VALUES (?, ?) ON CONFLICT (token_id) DO UPDATE SET expires_at = excluded.expires_at"
    )
    db.execute(statement, (token_id, text(expires_at)))
    if logged is not None:
        log(db, logged)


def revoked(db: sqlite3.Connection, at: str) -> dict[str, datetime]:
    """The revoked tokens that expire after that time."""
    rows = db.execute("SELECT token_id, expires_at FROM revocations WHERE expires_at > ?", (at,))
    return {token_id: datetime.fromisoformat(expires_at) for token_id, expires_at in rows}


def drop_revocations(db: sqlite3.Connection, before: str) -> None:
    """Drop the revocations of tokens that expired before that time."""
    db.execute("DELETE FROM revocations WHERE expires_at <= ?", (before,))


def add_receipt(db: sqlite3.Connection, receipt: Receipt, at: str) -> None:
    """Keep a receipt; ReceiptTaken when there is any under its key."""
    if ADD_RECEIPTS.write(db, [receipt_row(receipt, at)]) != 1:
        raise ReceiptTaken("The idempotency key is already used.")


def keep_receipt(db: sqlite3.Connection, receipt: Receipt, at: str) -> None:
    """Keep a receipt, or complete the unanswered one under its key; ReceiptTaken when that is answered."""
    if _KEEP_RECEIPT.write(db, [receipt_row(receipt, at)]) != 1:
        raise ReceiptTaken("The request under this idempotency key is answered already.")


def receipt(db: sqlite3.Connection, company_id: str, path: str, key: str) -> Receipt | None:
    """The receipt under a key."""
    row = db.execute(
        "SELECT company_id, path, key, fingerprint, run_id, status, headers, body FROM receipts "
        "WHERE company_id = ? AND path = ? AND key = ?",
        (company_id, path, key),
    ).fetchone()
    return None if row is None else Receipt(*row)


def drop_receipts(db: sqlite3.Connection, before: str) -> int:
    """Drop at most DROP_MAX receipts kept before that time, so that no batch is held up; returns how many."""
    return db.execute(
        "DELETE FROM receipts WHERE (company_id, path, key) IN "
        "(SELECT company_id, path, key FROM receipts WHERE created_at < ? LIMIT ?)",
        (before, DROP_MAX),
    ).rowcount


def keep_template(db: sqlite3.Connection, document: TemplateDocument) -> None:
    """Keep a template; SchemaMismatch when its version is another one's."""
    row = (document.digest, document.vertical, document.version, document.document)
    db.execute("INSERT INTO templates VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
    taken = db.execute("SELECT digest FROM templates WHERE vertical = ? AND version = ?", row[1:3]).fetchone()
    if taken is not None and taken != (document.digest,):
        raise SchemaMismatch(codec.version_taken(document, taken[0]))


def template_document(db: sqlite3.Connection, digest: str) -> TemplateDocument | None:
    """The template of a digest."""
    statement = "SELECT digest, vertical, version, document FROM templates WHERE digest = ?"
    row = db.execute(statement, (digest,)).fetchone()
    return None if row is None else TemplateDocument(*row)
