"""The saved views of people."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from daemon.model.people.saved_views import VIEWS_MAX, StoredView
from daemon.stores.rows import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.stores.database import Database, Row

SAVED_VIEW = "company_id, user_id, list, name, query, saved_at"
_OF_PERSON = f"SELECT {SAVED_VIEW} FROM saved_views WHERE company_id = $1 AND user_id = $2 ORDER BY list, name"
_OTHERS = "SELECT count(*) FROM saved_views WHERE company_id = $1 AND user_id = $2 AND NOT (list = $3 AND name = $4)"
_PUT = (
    f"INSERT INTO saved_views ({SAVED_VIEW}) VALUES ($1, $2, $3, $4, $5, $6) "
    "ON CONFLICT (company_id, user_id, list, name) DO UPDATE SET query = excluded.query, saved_at = excluded.saved_at"
)
_DELETE = "DELETE FROM saved_views WHERE company_id = $1 AND user_id = $2 AND list = $3 AND name = $4"


async def views(db: Database, company_id: str, user_id: str) -> Sequence[StoredView]:
    """The views of a person, by list and name."""
    return [_of_row(row) for row in await db.rows(_OF_PERSON, company_id, user_id)]


async def put_view(db: Database, view: StoredView, most: int = VIEWS_MAX) -> bool:
    """Keep a view, in the place of one of the same name; False when there are too many."""
    key = (view.company_id, view.user_id, view.list, view.name)
    if await db.value(_OTHERS, *key) >= most:
        return False
    await db.execute(_PUT, *key, view.query, text(view.saved_at))
    return True


async def delete_view(db: Database, company_id: str, user_id: str, name: tuple[str, str]) -> bool:
    """Forget a view by list and name; False when there is none."""
    return await db.execute(_DELETE, company_id, user_id, *name) == 1


def _of_row(row: Row) -> StoredView:
    company_id, user_id, wanted, name, query, saved_at = row
    return StoredView(company_id, user_id, wanted, name, query, datetime.fromisoformat(saved_at))
