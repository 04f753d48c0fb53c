"""Settings of companies: one row each, which the next number replaces; and what changed last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from daemon.model.people.companies import CompanySetting, StoredSetting
from daemon.stores.rows import iso
from daemon.stores.table import upsert
from daemon.stores.tables.company_log import log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.model.audit_events import Logged
    from daemon.model.events.company import SettingChanged
    from daemon.stores.database import Database, Row


_NOTE = (
    "INSERT INTO company_changes (company_id, noted_at) VALUES ($1, clock_timestamp()) "
    "ON CONFLICT (company_id) DO UPDATE SET noted_at = excluded.noted_at"
)


async def note(db: Database, company_id: str) -> None:
    """Note a change for other daemons, which look for recent ones."""
    if db.dialect == "postgres":
        await db.execute(_NOTE, company_id)


T = TypeVar("T")


async def setting(db: Database, kind: CompanySetting[T], company_id: str) -> StoredSetting[T] | None:
    return next(iter(await settings_where(db, kind, "company_id = $1", company_id)), None)


async def setting_value(db: Database, kind: CompanySetting[T], company_id: str) -> T:
    found = await setting(db, kind, company_id)
    return kind.default if found is None else found.value


async def setting_values(db: Database, company_id: str, *kinds: CompanySetting[Any]) -> Sequence[Any]:
    """The values of several settings, read together."""
    each = (f"SELECT '{one.table}', {one.column} FROM {one.table} WHERE company_id = $1" for one in kinds)
    found = {str(table): value for table, value in await db.rows(" UNION ALL ".join(each), company_id)}
    return [one.from_json(found[one.table]) if one.table in found else one.default for one in kinds]


async def watched_settings(db: Database, kind: CompanySetting[T]) -> Sequence[StoredSetting[T]]:
    """The settings that every daemon keeps in memory."""
    return await settings_where(db, kind, " OR ".join(f"{kind.column} LIKE '%{one}%'" for one in kind.watched))


async def settings_where(db: Database, kind: CompanySetting[T], where: str, *values: Any) -> Sequence[StoredSetting[T]]:
    rows = await db.rows(f"SELECT company_id, {kind.column}, number FROM {kind.table} WHERE {where}", *values)
    return settings_of(kind, rows)


def settings_of(kind: CompanySetting[T], rows: Sequence[Row]) -> Sequence[StoredSetting[T]]:
    return [StoredSetting(company_id, kind.from_json(value), number) for company_id, value, number in rows]


async def put_setting(db: Database, kind: CompanySetting[T], logged: Logged) -> bool:
    """Replace a setting by that of the event; False where somebody else was first."""
    await db.next_position(logged.company_id, 0)  # locks in the order of all that change rights
    row = {"company_id": logged.company_id, **setting_row(kind, cast("SettingChanged", logged.event))}
    noted = "noted_at" if kind.watched and db.dialect == "postgres" else ""
    statement = upsert(kind.table, tuple(row), ("company_id",), f"{kind.table}.number = excluded.number - 1", noted)
    if await db.execute(statement, *row.values()) != 1:
        return False
    await log(db, logged)
    await note(db, logged.company_id)
    return True


def setting_row(kind: CompanySetting[T], event: SettingChanged) -> dict[str, Any]:
    """The columns, beside the company, that an event leads to."""
    changed = {"number": event.number, "updated_at": iso(event.at), "updated_by": event.by}
    return {kind.column: kind.to_json(event.after), **changed}
