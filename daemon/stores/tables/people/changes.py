"""Changes that wait for another person: asked for, listed and decided once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model.pages import Page
from daemon.model.people.changes import ChangeDecided, StoredChange, TooManyChanges
from daemon.stores.rows import bounded
from daemon.stores.table import Table
from daemon.stores.tables.company_log import log
from daemon.stores.tables.people.settings import note
from daemon.stores.tables.receipts import add_receipt

if TYPE_CHECKING:
    from actors.ports import Receipt
    from daemon.model.audit_events import Logged
    from daemon.model.people.changes import ChangeDecision
    from daemon.stores.database import Database

CHANGES = Table("gated_changes", StoredChange, ("company_id", "id"))
_OPEN = "SELECT count(*) FROM gated_changes WHERE company_id = $1 AND status = 'open' AND expires_at > $2"
_PAGE = f"{CHANGES.select} WHERE company_id = $1 AND ($2 = '' OR id < $2) ORDER BY id DESC LIMIT $3"


async def add_gated_change(
    db: Database, one: StoredChange, logged: Logged, receipt: Receipt | None, *, at: str, most: int
) -> None:
    """Keep an open change, unless the company has so many."""
    if receipt is not None:
        await add_receipt(db, receipt, at)
    await log(db, logged)  # locks: what is counted after it is what all others have done
    if await db.value(_OPEN, one.company_id, at) >= most:
        raise TooManyChanges
    await CHANGES.insert(db, one)
    await note(db, one.company_id)


async def gated_change(db: Database, company_id: str, change_id: str) -> StoredChange | None:
    row = await db.row(f"{CHANGES.select} WHERE company_id = $1 AND id = $2", company_id, change_id)
    return None if row is None else CHANGES.from_row(row)


async def gated_changes(db: Database, company_id: str, before: str, limit: int) -> Page[StoredChange]:
    """At most `limit` changes below an id, newest first; all without one."""
    rows = await db.page(_PAGE, company_id, before, bounded(limit))
    page = Page(map(CHANGES.from_row, rows))
    page.more, page.size = rows.more, rows.size
    return page


async def decide_change(db: Database, decision: ChangeDecision, at: str) -> None:
    """Close an open change; ChangeDecided where somebody else has."""
    if decision.receipt is not None:
        await add_receipt(db, decision.receipt, at)
    await log(db, decision.logged)  # locks in the order of all that change rights
    if not await CHANGES.replace(db, decision.change, status="open"):
        raise ChangeDecided
    await note(db, decision.change.company_id)
