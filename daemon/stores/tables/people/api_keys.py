"""API keys, by the hashes of their secrets."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from daemon.model.people.credentials import ApiKey, KeyNameTaken, TooManyApiKeys
from daemon.stores.rows import text, text_or_null, time_or_none
from daemon.stores.tables.company_log import log
from daemon.stores.tables.people.company_changes import note
from daemon.stores.tables.receipts import add_receipt

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from actors.ports import Receipt
    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database, Row

API_KEY = (
    "company_id, id, name, kind, role, prefix, key_hash, created_at, created_by, expires_at, last_used_at, deleted_at, "
    "acts_for"
)
_API_KEY = f"SELECT {API_KEY} FROM api_keys"
_OF_COMPANY = f"{_API_KEY} WHERE company_id = $1 AND deleted_at IS NULL ORDER BY id"
_IDS = {
    "sqlite": "(SELECT value FROM json_each($2))",
    "postgres": "(SELECT jsonb_array_elements_text($2::jsonb))",
}
# PostgreSQL notes the time of the change: other daemons look for recent ones.
_NOTED = {"sqlite": "", "postgres": ", noted_at = clock_timestamp()"}


async def add_api_key(
    db: Database, key: ApiKey, logged: Logged, receipt: Receipt | None, *, at: str, most: int
) -> None:
    """Add a key, unless the company has so many or one of this name."""
    if receipt is not None:
        await add_receipt(db, receipt, at)
    # The log locks the company's commit order: what is read after it is what all others have added.
    await log(db, logged)
    live = await api_keys_of(db, key.company_id)
    if any(one.name.casefold() == key.name.casefold() for one in live):
        raise KeyNameTaken
    if len(live) >= most:
        raise TooManyApiKeys
    await db.insert(f"api_keys ({API_KEY})", [_row(key)])
    await note(db, key.company_id)


async def api_key(db: Database, key_hash: bytes) -> ApiKey | None:
    """The key of a hash, unless it was deleted."""
    row = await db.row(f"{_API_KEY} WHERE key_hash = $1 AND deleted_at IS NULL", key_hash)
    return None if row is None else _of_row(row)


async def api_keys_of(db: Database, company_id: str) -> Sequence[ApiKey]:
    """The keys of a company that were not deleted, oldest first."""
    return [_of_row(row) for row in await db.rows(_OF_COMPANY, company_id)]


async def delete_api_key(db: Database, company_id: str, key_id: str, at: datetime, logged: Logged) -> bool:
    await db.next_position(company_id, 0)  # locks in the order of all that end rights
    deleted = await db.execute(
        f"UPDATE api_keys SET deleted_at = $3{_NOTED[db.dialect]} "
        "WHERE company_id = $1 AND id = $2 AND deleted_at IS NULL",
        *(company_id, key_id, text(at)),
    )
    if deleted != 1:
        return False
    await log(db, logged)
    return True


async def touch_api_keys(db: Database, key_ids: Collection[str], at: datetime) -> None:
    statement = (
        f"UPDATE api_keys SET last_used_at = $1 WHERE id IN {_IDS[db.dialect]} "
        "AND (last_used_at IS NULL OR last_used_at < $1)"
    )
    await db.execute(statement, text(at), json.dumps(sorted(key_ids)))


def _row(one: ApiKey) -> Row:
    made = (one.key_hash, text(one.created_at), one.created_by)
    times = (text_or_null(one.expires_at), text_or_null(one.last_used_at), text_or_null(one.deleted_at))
    return (one.company_id, one.id, one.name, one.kind, one.role, one.prefix, *made, *times, one.acts_for)


def _of_row(row: Row) -> ApiKey:
    company_id, key_id, name, kind, role, prefix, key_hash, created_at, created_by, *times, acts_for = row
    made = (bytes(key_hash), datetime.fromisoformat(created_at), created_by)
    expires_at, last_used_at, deleted_at = map(time_or_none, times)
    named = (company_id, key_id, name, kind, role, prefix)
    return ApiKey(*named, *made, expires_at, last_used_at, deleted_at, acts_for=bool(acts_for))
