"""Connectors, their changes and the companies' keys in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model import CompanyKey, ConnectorChange, StoredConnector
from daemon.model.audit_events import Logged
from daemon.stores import codec
from daemon.stores.postgres.accounts import counted
from daemon.stores.postgres.company_log import log
from daemon.stores.rows import below, bounded, change_of_row, connector_of_row, key_of_row, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.stores.postgres.connection import Db

_PUT = (
    "INSERT INTO connectors VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (company_id, tool_id) DO UPDATE SET "
    "connector = excluded.connector, sealed_secret = excluded.sealed_secret, created_at = excluded.created_at, "
    "updated_at = excluded.updated_at, updated_by = excluded.updated_by"
)
_KEYS = "SELECT company_id, key_id, wrapped, created_at FROM company_keys WHERE"


async def put_connector(db: Db, stored: StoredConnector, change: ConnectorChange) -> None:
    """Keep a connector in place of an earlier one, and its change."""
    await _add_change(db, change)
    connector = codec.encode_connector(stored.connector)
    times = (text(stored.created_at), text(stored.updated_at))
    row = (stored.company_id, stored.connector.tool_id, connector, stored.sealed_secret, *times, stored.updated_by)
    await db.execute(_PUT, *row)


async def delete_connector(db: Db, change: ConnectorChange) -> bool:
    """Drop a connector, and keep that it was."""
    statement = "DELETE FROM connectors WHERE company_id = $1 AND tool_id = $2"
    if counted(await db.execute(statement, change.company_id, change.tool_id)) != 1:
        return False
    await _add_change(db, change)
    return True


async def connectors_of(db: Db, company_id: str) -> Sequence[StoredConnector]:
    """The connectors of a company, by tool-id."""
    rows = await db.fetch(
        "SELECT connector, sealed_secret, created_at, updated_at, updated_by FROM connectors "
        "WHERE company_id = $1 ORDER BY tool_id",
        company_id,
    )
    return [connector_of_row(company_id, *row) for row in rows]


async def _add_change(db: Db, change: ConnectorChange) -> None:
    key = (change.company_id, change.tool_id, change.number)
    states = (codec.encode_state(change.before), codec.encode_state(change.after))
    row = (*key, change.version, text(change.at), change.by, change.secret, *states, change.via)
    await db.execute("INSERT INTO connector_changes VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", *row)
    await log(db, Logged(change.company_id, codec.connector_changed(change)))


async def connector_changes(
    db: Db, company_id: str, tool_id: str, before: int | None, limit: int
) -> Sequence[ConnectorChange]:
    """The changes of a connector, newest first."""
    rows = await db.fetch(
        "SELECT company_id, tool_id, number, version, at, by, secret, before, after, via FROM connector_changes "
        "WHERE company_id = $1 AND tool_id = $2 AND number < $3 ORDER BY number DESC LIMIT $4",
        *(company_id, tool_id, below(before), bounded(limit)),
    )
    return [change_of_row(tuple(row)) for row in rows]


async def company_key(db: Db, company_id: str) -> CompanyKey | None:
    """A company's wrapped key."""
    row = await db.fetchrow(f"{_KEYS} company_id = $1", company_id)
    return None if row is None else key_of_row(tuple(row))


async def add_company_key(db: Db, key: CompanyKey) -> CompanyKey:
    """Keep a company's first key; returns the one it has."""
    row = (key.company_id, key.key_id, key.wrapped, text(key.created_at))
    await db.execute("INSERT INTO company_keys VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", *row)
    return key_of_row(tuple(await db.fetchrow(f"{_KEYS} company_id = $1", key.company_id)))


async def company_keys(db: Db, not_by: str, after: str, limit: int) -> Sequence[CompanyKey]:
    """The keys behind a company that another key than this one wraps, by company."""
    where = "key_id <> $1 AND company_id > $2 ORDER BY company_id LIMIT $3"
    return [key_of_row(tuple(row)) for row in await db.fetch(f"{_KEYS} {where}", not_by, after, limit)]


async def rewrap_company_keys(db: Db, keys: Sequence[CompanyKey]) -> None:
    """Put other wrappings in place."""
    rows = [(key.key_id, key.wrapped, key.company_id) for key in keys]
    await db.executemany("UPDATE company_keys SET key_id = $1, wrapped = $2 WHERE company_id = $3", rows)
