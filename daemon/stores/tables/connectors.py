"""Connectors, their changes and the companies' keys."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from daemon.model import CompanyKey, StoredConnector, StoredConnectorChange
from daemon.model.audit_events import COMPANY_KEYS, SERVICE, CompanyKeysWrapped, Logged, WrappedKeyForm
from daemon.model.chain import digest
from daemon.model.pages import Page
from daemon.stores import codec
from daemon.stores.rows import below, bounded, change_of_row, text
from daemon.stores.tables.company_log import log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.stores.database import Database, Row

VIA = "service"
CHANGE = "company_id, tool_id, number, version, at, by, secret, before, after, via"
_PUT = (
    "INSERT INTO connectors (company_id, tool_id, connector, sealed_secret, created_at, updated_at, updated_by) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (company_id, tool_id) DO UPDATE SET "
    "connector = excluded.connector, sealed_secret = excluded.sealed_secret, created_at = excluded.created_at, "
    "updated_at = excluded.updated_at, updated_by = excluded.updated_by"
)
_OF_COMPANY = (
    "SELECT connector, sealed_secret, created_at, updated_at, updated_by FROM connectors "
    "WHERE company_id = $1 ORDER BY tool_id"
)
_CHANGES = (
    f"SELECT {CHANGE} FROM connector_changes "
    "WHERE company_id = $1 AND tool_id = $2 AND number < $3 ORDER BY number DESC LIMIT $4"
)
_KEY = "SELECT company_id, key_id, wrapped, created_at FROM company_keys WHERE"


async def put_connector(db: Database, stored: StoredConnector, change: StoredConnectorChange) -> None:
    sealed = stored.sealed_secret
    await add_change(db, change, None if sealed is None else digest(sealed))
    key = (stored.company_id, stored.connector.tool_id)
    times = (text(stored.created_at), text(stored.updated_at))
    connector = codec.encode_connector(stored.connector)
    await db.execute(_PUT, *key, connector, sealed, *times, stored.updated_by)


async def delete_connector(db: Database, change: StoredConnectorChange) -> bool:
    statement = "DELETE FROM connectors WHERE company_id = $1 AND tool_id = $2"
    if await db.execute(statement, change.company_id, change.tool_id) != 1:
        return False
    await add_change(db, change)
    return True


async def connectors_of(db: Database, company_id: str) -> Sequence[StoredConnector]:
    """A company's connectors by tool-id, in order."""
    return [_connector(company_id, *row) for row in await db.rows(_OF_COMPANY, company_id)]


async def add_change(db: Database, change: StoredConnectorChange, secret_digest: str | None = None) -> None:
    key = (change.company_id, change.tool_id, change.number)
    states = (codec.encode_connector(change.before), codec.encode_connector(change.after))
    row = (*key, change.version, text(change.at), change.by, change.secret, *states, change.via)
    await db.insert(f"connector_changes ({CHANGE})", [row])
    await log(db, Logged(change.company_id, codec.connector_changed(change, secret_digest), caller=change.caller))


async def connector_changes(
    db: Database, company_id: str, tool_id: str, before: int | None, limit: int
) -> Page[StoredConnectorChange]:
    """At most `limit` changes of a connector below number `before`, newest first."""
    rows = await db.page(_CHANGES, company_id, tool_id, below(before), bounded(limit))
    page = Page(map(change_of_row, rows))
    page.more, page.size = rows.more, rows.size
    return page


async def company_key(db: Database, company_id: str) -> CompanyKey | None:
    row = await db.row(f"{_KEY} company_id = $1", company_id)
    return None if row is None else _key(row)


async def add_company_key(db: Database, key: CompanyKey) -> CompanyKey:
    """Add a company's first key; returns the one it has."""
    row = (key.company_id, key.key_id, key.wrapped, text(key.created_at))
    if await db.execute("INSERT INTO company_keys VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", *row) == 1:
        await log_keys(db, [key], key.created_at)
    return await company_key(db, key.company_id) or key


async def company_keys(db: Database, not_by: str, after: str, limit: int) -> Sequence[CompanyKey]:
    where = "key_id <> $1 AND company_id > $2 ORDER BY company_id LIMIT $3"
    return [_key(row) for row in await db.rows(f"{_KEY} {where}", not_by, after, bounded(limit))]


async def rewrap_company_keys(db: Database, keys: Sequence[CompanyKey], at: datetime) -> None:
    statement = "UPDATE company_keys SET key_id = $1, wrapped = $2 WHERE company_id = $3"
    if keys:
        await log_keys(db, keys, at)  # first, since it locks the log: its last event is the last wrapping
    for key in keys:
        await db.execute(statement, key.key_id, key.wrapped, key.company_id)


async def log_keys(db: Database, keys: Sequence[CompanyKey], at: datetime) -> None:
    wrapped = {
        key.company_id: WrappedKeyForm(created_at=key.created_at, digest=digest(key.wrapped), key_id=key.key_id)
        for key in keys
    }
    await log(db, Logged(SERVICE, CompanyKeysWrapped(at=at, keys=wrapped, via=VIA), COMPANY_KEYS))


def _connector(company_id: str, connector: bytes, sealed: bytes | None, *rest: str) -> StoredConnector:
    made_at, changed_at, by = rest
    times = datetime.fromisoformat(made_at), datetime.fromisoformat(changed_at)
    return StoredConnector(company_id, codec.decode_connector(connector), sealed, *times, by)


def _key(row: Row) -> CompanyKey:
    company_id, key_id, wrapped, created_at = row
    return CompanyKey(company_id, key_id, wrapped, datetime.fromisoformat(created_at))
