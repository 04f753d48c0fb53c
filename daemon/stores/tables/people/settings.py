"""Settings of a company: one row, which the next number replaces, with the event that tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.stores.tables.company_log import log
from daemon.stores.tables.people.company_changes import note

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database, Row


def columns_of(member: str) -> str:
    return f"company_id, {member}, number, updated_at, updated_by"


def replacing(table: str, member: str) -> Mapping[str, str]:
    """The statement by dialect; it writes nothing where somebody else was first."""
    names, kept = columns_of(member), [member, "number", "updated_at", "updated_by"]
    after = ", ".join(f"{name} = excluded.{name}" for name in kept)
    following = f"WHERE {table}.number = excluded.number - 1"
    return {
        "sqlite": f"INSERT INTO {table} ({names}) VALUES ($1, $2, $3, $4, $5) "
        f"ON CONFLICT (company_id) DO UPDATE SET {after} {following}",
        # Other daemons look for recent ones.
        "postgres": f"INSERT INTO {table} ({names}, noted_at) VALUES ($1, $2, $3, $4, $5, clock_timestamp()) "
        f"ON CONFLICT (company_id) DO UPDATE SET {after}, noted_at = excluded.noted_at {following}",
    }


async def replace_settings(db: Database, statement: str, row: Row, logged: Logged) -> bool:
    """Replace the settings of a company; False where somebody else was first."""
    await db.next_position(logged.company_id, 0)  # locks in the order of all that change rights
    if await db.execute(statement, *row) != 1:
        return False
    await log(db, logged)
    await note(db, logged.company_id)
    return True
