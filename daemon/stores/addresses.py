"""Addresses of versions that compared them by `casefold`, under the keys of today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daemon.contract.base import email_key

if TYPE_CHECKING:
    import sqlite3

    import asyncpg

MIGRATION = "version_0_2"
"""With which migration the keys change; those of plain ASCII are the same."""
_SQLITE = ("users", "members")
# PostgreSQL keeps the addresses of users in a table of their own.
_POSTGRES = {
    "addresses": (
        "SELECT users.company_id, id, email FROM users WHERE octet_length(email) <> length(email)",
        (
            "UPDATE addresses SET email_key = $3 WHERE company_id = $1 AND user_id = $2 "
            "AND NOT EXISTS (SELECT 1 FROM addresses WHERE email_key = $3)"
        ),
    ),
    "members": (
        "SELECT company_id, id, email FROM members WHERE octet_length(email) <> length(email)",
        (
            "UPDATE members SET email_key = $3 WHERE company_id = $1 AND id = $2 AND NOT EXISTS (SELECT 1 "
            "FROM members AS one WHERE one.company_id = $1 AND one.email_key = $3 AND one.status <> 'removed')"
        ),
    ),
}


def rekey_sqlite(db: sqlite3.Connection) -> None:
    """Give each address its key; of two that are the same by now the second keeps its own."""
    for table in _SQLITE:
        rows = db.execute(f"SELECT company_id, id, email FROM {table} WHERE email GLOB '*[^ -~]*'")  # noqa: S608
        for company_id, one, email in rows.fetchall():
            statement = f"UPDATE OR IGNORE {table} SET email_key = ? WHERE company_id = ? AND id = ?"  # noqa: S608
            db.execute(statement, (email_key(email), company_id, one))


async def rekey_postgres(db: asyncpg.Connection[Any]) -> None:
    """As `rekey_sqlite`."""
    for reading, writing in _POSTGRES.values():
        for company_id, one, email in await db.fetch(reading):
            await db.execute(writing, company_id, one, email_key(email))
