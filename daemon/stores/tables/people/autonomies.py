"""What the companies let be cleared without a human."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from actors.core.autonomy import Autonomy
from actors.core.canonical import canonical
from daemon.model.events.company import StoredAutonomy
from daemon.stores.rows import text
from daemon.stores.tables.people.settings import columns_of, replace_settings, replacing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from daemon.model.audit_events import Logged
    from daemon.stores.database import Database, Row

AUTONOMY = columns_of("autonomy")
OF_AUTONOMIES = f"SELECT {AUTONOMY} FROM autonomies"
_PUT = replacing("autonomies", "autonomy")
_HELD = f"""{OF_AUTONOMIES} WHERE autonomy LIKE '%"auto_resolve":false%'"""


async def autonomy(db: Database, company_id: str) -> StoredAutonomy | None:
    return next(autonomies_of(await db.rows(f"{OF_AUTONOMIES} WHERE company_id = $1", company_id)), None)


async def put_autonomy(db: Database, one: StoredAutonomy, logged: Logged) -> bool:
    row = (one.company_id, written(one.autonomy), one.number, text(one.updated_at), one.updated_by)
    return await replace_settings(db, _PUT[db.dialect], row, logged)


async def held_autonomies(db: Database) -> Sequence[StoredAutonomy]:
    """The settings of companies in which nothing is cleared without a human."""
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
