"""When a company's groups, policy, calendar or delegations were changed last."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daemon.stores.database import Database

_NOTE = (
    "INSERT INTO company_changes (company_id, noted_at) VALUES ($1, clock_timestamp()) "
    "ON CONFLICT (company_id) DO UPDATE SET noted_at = excluded.noted_at"
)


async def note(db: Database, company_id: str) -> None:
    """Note a change for other daemons, which look for recent ones."""
    if db.dialect == "postgres":
        await db.execute(_NOTE, company_id)
