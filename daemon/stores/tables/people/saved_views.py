"""The saved views of people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model.people.accounts import VIEWS_MAX, StoredView
from daemon.stores.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.stores.database import Database

SAVED_VIEWS = Table("saved_views", StoredView, ("company_id", "user_id", "list", "name"))
_OF_PERSON = f"{SAVED_VIEWS.select} WHERE company_id = $1 AND user_id = $2 ORDER BY list, name"
_OTHERS = "SELECT count(*) FROM saved_views WHERE company_id = $1 AND user_id = $2 AND NOT (list = $3 AND name = $4)"
_DELETE = "DELETE FROM saved_views WHERE company_id = $1 AND user_id = $2 AND list = $3 AND name = $4"


async def views(db: Database, company_id: str, user_id: str) -> Sequence[StoredView]:
    """The views of a person, by list and name."""
    return [SAVED_VIEWS.from_row(row) for row in await db.rows(_OF_PERSON, company_id, user_id)]


async def put_view(db: Database, view: StoredView, most: int = VIEWS_MAX) -> bool:
    """Keep a view, in the place of one of the same name; False when there are too many."""
    if await db.value(_OTHERS, view.company_id, view.user_id, view.list, view.name) >= most:
        return False
    return await SAVED_VIEWS.put(db, view)


async def delete_view(db: Database, company_id: str, user_id: str, name: tuple[str, str]) -> bool:
    """Forget a view by list and name; False when there is none."""
    return await db.execute(_DELETE, company_id, user_id, *name) == 1
