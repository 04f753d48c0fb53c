"""The companies' calendars."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from actors.core.canonical import canonical
from daemon.model.events.company import CalendarForm
from daemon.model.people.companies import StoredCalendar
from daemon.stores.rows import text
from daemon.stores.tables.people.settings import columns_of, replace_settings

if TYPE_CHECKING:
    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database

CALENDAR = columns_of("calendar")
_AFTER = (
    "calendar = excluded.calendar, number = excluded.number, updated_at = excluded.updated_at, "
    "updated_by = excluded.updated_by"
)
_PUT = (
    f"INSERT INTO calendars ({CALENDAR}) VALUES ($1, $2, $3, $4, $5) "
    f"ON CONFLICT (company_id) DO UPDATE SET {_AFTER} WHERE calendars.number = excluded.number - 1"
)


async def calendar(db: Database, company_id: str) -> StoredCalendar | None:
    row = await db.row(f"SELECT {CALENDAR} FROM calendars WHERE company_id = $1", company_id)
    if row is None:
        return None
    company_id, form, number, updated_at, updated_by = row
    found = msgspec.json.decode(form, type=CalendarForm)
    return StoredCalendar(company_id, found, number, datetime.fromisoformat(updated_at), updated_by)


async def put_calendar(db: Database, one: StoredCalendar, logged: Logged) -> bool:
    row = (one.company_id, written(one.calendar), one.number, text(one.updated_at), one.updated_by)
    return await replace_settings(db, _PUT, row, logged)


def written(form: CalendarForm) -> str:
    """A calendar as it is stored."""
    return canonical(msgspec.to_builtins(form))
