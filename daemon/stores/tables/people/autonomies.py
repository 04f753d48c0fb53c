"""What the companies let be cleared without a human."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from actors.core.autonomy import Autonomy
from actors.core.canonical import canonical
from daemon.model.events.autonomy import StoredAutonomy
from daemon.stores.rows import text
from daemon.stores.tables.company_log import log
from daemon.stores.tables.people.company_changes import note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database, Row

AUTONOMY = "company_id, autonomy, number, updated_at, updated_by"
OF_AUTONOMIES = f"SELECT {AUTONOMY} FROM autonomies"
_AFTER = (
    "autonomy = excluded.autonomy, number = excluded.number, updated_at = excluded.updated_at, "
    "updated_by = excluded.updated_by"
)
_NEXT = "WHERE autonomies.number = excluded.number - 1"
_PUT = {
    "sqlite": f"INSERT INTO autonomies ({AUTONOMY}) VALUES ($1, $2, $3, $4, $5) "
    f"ON CONFLICT (company_id) DO UPDATE SET {_AFTER} {_NEXT}",
    # Other daemons look for recent ones.
    "postgres": f"INSERT INTO autonomies ({AUTONOMY}, noted_at) VALUES ($1, $2, $3, $4, $5, clock_timestamp()) "
    f"ON CONFLICT (company_id) DO UPDATE SET {_AFTER}, noted_at = excluded.noted_at {_NEXT}",
}
_HELD = f"""{OF_AUTONOMIES} WHERE autonomy LIKE '%"auto_resolve":false%'"""


async def autonomy(db: Database, company_id: str) -> StoredAutonomy | None:
    return next(autonomies_of(await db.rows(f"{OF_AUTONOMIES} WHERE company_id = $1", company_id)), None)


async def put_autonomy(db: Database, one: StoredAutonomy, logged: Logged) -> bool:
    await db.next_position(one.company_id, 0)  # locks in the order of all that change rights
    row = (one.company_id, written(one.autonomy), one.number, text(one.updated_at), one.updated_by)
    if await db.execute(_PUT[db.dialect], *row) != 1:
        return False
    await log(db, logged)
    await note(db, one.company_id)
    return True


async def held_autonomies(db: Database) -> Sequence[StoredAutonomy]:
    return list(autonomies_of(await db.rows(_HELD)))


def autonomies_of(rows: Iterable[Row]) -> Iterator[StoredAutonomy]:
    return (
        StoredAutonomy(
            company_id, msgspec.json.decode(form, type=Autonomy), number, datetime.fromisoformat(updated_at), updated_by
        )
        for company_id, form, number, updated_at, updated_by in rows
    )


def written(one: Autonomy) -> str:
    """Settings as they are stored."""
    return canonical(msgspec.to_builtins(one))
