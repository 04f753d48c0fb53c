"""Connectors, their changes and the companies' keys as rows; all of it runs in a connection's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model import CompanyKey, ConnectorChange, StoredConnector
from daemon.model.audit_events import Logged
from daemon.stores import codec
from daemon.stores.rows import below, change_of_row, connector_of_row, key_of_row, text
from daemon.stores.sqlite.company_log import log

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

_KEYS = "SELECT company_id, key_id, wrapped, created_at FROM company_keys WHERE"


def put_connector(db: sqlite3.Connection, stored: StoredConnector, change: ConnectorChange) -> None:
    """Keep a connector in place of an earlier one, and its change."""
    add_change(db, change)
    connector = codec.encode_connector(stored.connector)
    times = (text(stored.created_at), text(stored.updated_at))
    row = (stored.company_id, stored.connector.tool_id, connector, stored.sealed_secret, *times, stored.updated_by)
    db.execute("INSERT OR REPLACE INTO connectors VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def delete_connector(db: sqlite3.Connection, change: ConnectorChange) -> bool:
    """Drop a connector, and keep that it was."""
    statement = "DELETE FROM connectors WHERE company_id = ? AND tool_id = ?"
    if db.execute(statement, (change.company_id, change.tool_id)).rowcount != 1:
        return False
    add_change(db, change)
    return True


def connectors_of(db: sqlite3.Connection, company_id: str) -> Sequence[StoredConnector]:
    """The connectors of a company, by tool-id."""
    rows = db.execute(
        "SELECT connector, sealed_secret, created_at, updated_at, updated_by FROM connectors "
        "WHERE company_id = ? ORDER BY tool_id",
        (company_id,),
    )
    return [connector_of_row(company_id, *row) for row in rows]


def add_change(db: sqlite3.Connection, change: ConnectorChange) -> None:
    """Keep a change, and write it into the company's log."""
    key = (change.company_id, change.tool_id, change.number)
    states = (codec.encode_state(change.before), codec.encode_state(change.after))
    row = (*key, change.version, text(change.at), change.by, change.secret, *states, change.via)
    db.execute("INSERT INTO connector_changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    log(db, Logged(change.company_id, codec.connector_changed(change)))


def connector_changes(
    db: sqlite3.Connection, company_id: str, tool_id: str, before: int | None, limit: int
) -> Sequence[ConnectorChange]:
    """The changes of a connector, newest first."""
    rows = db.execute(
        "SELECT company_id, tool_id, number, version, at, by, secret, before, after, via FROM connector_changes "
        "WHERE company_id = ? AND tool_id = ? AND number < ? ORDER BY number DESC LIMIT ?",
        (company_id, tool_id, below(before), limit),
    )
    return [change_of_row(row) for row in rows]


def company_key(db: sqlite3.Connection, company_id: str) -> CompanyKey | None:
    """A company's wrapped key."""
    row = db.execute(f"{_KEYS} company_id = ?", (company_id,)).fetchone()
    return None if row is None else key_of_row(row)


def add_company_key(db: sqlite3.Connection, key: CompanyKey) -> CompanyKey:
    """Keep a company's first key; returns the one it has."""
    row = (key.company_id, key.key_id, key.wrapped, text(key.created_at))
    db.execute("INSERT INTO company_keys VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
    return key_of_row(db.execute(f"{_KEYS} company_id = ?", (key.company_id,)).fetchone())


def company_keys(db: sqlite3.Connection, not_by: str, after: str, limit: int) -> Sequence[CompanyKey]:
    """The keys behind a company that another key than this one wraps, by company."""
    where = "key_id != ? AND company_id > ? ORDER BY company_id LIMIT ?"
    return [key_of_row(row) for row in db.execute(f"{_KEYS} {where}", (not_by, after, limit))]


def rewrap_company_keys(db: sqlite3.Connection, keys: Sequence[CompanyKey]) -> None:
    """Put other wrappings in place."""
    rows = [(key.key_id, key.wrapped, key.company_id) for key in keys]
    db.executemany("UPDATE company_keys SET key_id = ?, wrapped = ? WHERE company_id = ?", rows)
