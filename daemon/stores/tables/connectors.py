"""Connectors, their changes and the companies' keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model import CompanyKey, StoredConnector, StoredConnectorChange
from daemon.model.audit_events import COMPANY_KEYS, SERVICE, CompanyKeysWrapped, Logged, WrappedKeyForm
from daemon.model.chain import digest
from daemon.model.pages import Page
from daemon.stores import codec
from daemon.stores.rows import below, bounded
from daemon.stores.table import Codec, Table
from daemon.stores.tables.company_log import log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from daemon.stores.database import Database

VIA = "service"
_STATE = Codec(codec.encode_connector, codec.decode_state)
CONNECTOR_CHANGES = Table(
    *("connector_changes", StoredConnectorChange, ("company_id", "tool_id", "number")),
    codecs={"before": _STATE, "after": _STATE},
    absent=("by_kind", "unchanged", "caller"),
    noted="noted_at",
)
CONNECTORS = Table(
    *("connectors", StoredConnector, ("company_id", "tool_id")),
    codecs={"connector": Codec(codec.encode_connector, codec.decode_connector)},
    beside=("tool_id",),
)
KEYS = Table("company_keys", CompanyKey, ("company_id",))
_CHANGES = (
    f"{CONNECTOR_CHANGES.select} WHERE company_id = $1 AND tool_id = $2 AND number < $3 ORDER BY number DESC LIMIT $4"
)


async def put_connector(db: Database, stored: StoredConnector, change: StoredConnectorChange) -> None:
    sealed = stored.sealed_secret
    await add_change(db, change, None if sealed is None else digest(sealed))
    await CONNECTORS.put(db, stored, tool_id=stored.connector.tool_id)


async def delete_connector(db: Database, change: StoredConnectorChange) -> bool:
    statement = "DELETE FROM connectors WHERE company_id = $1 AND tool_id = $2"
    if await db.execute(statement, change.company_id, change.tool_id) != 1:
        return False
    await add_change(db, change)
    return True


async def connectors_of(db: Database, company_id: str) -> Sequence[StoredConnector]:
    """A company's connectors by tool-id, in order."""
    rows = await db.rows(f"{CONNECTORS.select} WHERE company_id = $1 ORDER BY tool_id", company_id)
    return [CONNECTORS.from_row(row) for row in rows]


async def add_change(db: Database, change: StoredConnectorChange, secret_digest: str | None = None) -> None:
    await CONNECTOR_CHANGES.insert(db, change)
    await log(db, Logged(change.company_id, codec.connector_changed(change, secret_digest), caller=change.caller))


async def connector_changes(
    db: Database, company_id: str, tool_id: str, before: int | None, limit: int
) -> Page[StoredConnectorChange]:
    """At most `limit` changes of a connector below number `before`, newest first."""
    rows = await db.page(_CHANGES, company_id, tool_id, below(before), bounded(limit))
    page = Page(map(CONNECTOR_CHANGES.from_row, rows))
    page.more, page.size = rows.more, rows.size
    return page


async def company_key(db: Database, company_id: str) -> CompanyKey | None:
    row = await db.row(f"{KEYS.select} WHERE company_id = $1", company_id)
    return None if row is None else KEYS.from_row(row)


async def add_company_key(db: Database, key: CompanyKey) -> CompanyKey:
    """Add a company's first key; returns the one it has."""
    if await KEYS.add(db, key):
        await log_keys(db, [key], key.created_at)
    return await company_key(db, key.company_id) or key


async def company_keys(db: Database, not_by: str, after: str, limit: int) -> Sequence[CompanyKey]:
    where = "WHERE key_id <> $1 AND company_id > $2 ORDER BY company_id LIMIT $3"
    rows = await db.rows(f"{KEYS.select} {where}", not_by, after, bounded(limit))
    return [KEYS.from_row(row) for row in rows]


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
