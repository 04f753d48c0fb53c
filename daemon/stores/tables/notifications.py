"""How far the events of companies have become notifications; of several daemons, one sees to each.

The notifications and their deliveries are rows of `webhooks` and `webhook_deliveries`.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from daemon.model.audit_events import Logged
from daemon.model.event_log import Position
from daemon.model.events.notifications import NotificationChanged
from daemon.model.webhooks import WINDOW_MAX, message_id, notification_form
from daemon.stores.tables.webhooks import add_deliveries, delete_webhook, notifications_of, webhook

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from daemon.model import Member
    from daemon.model.webhooks import Wanted
    from daemon.stores.database import Database

# Free, or left by a daemon that is gone.
_FREE = "NOT EXISTS (SELECT 1 FROM daemons WHERE daemons.epoch = notifiers.epoch)"
_TAKE = (
    "UPDATE notifiers SET epoch = $2 WHERE company_id = $1 "
    f"AND (epoch = $2 OR {_FREE}) AND EXISTS (SELECT 1 FROM daemons WHERE daemons.epoch = $2)"
)
_SERVED = (
    "SELECT 1 FROM notifiers JOIN daemons ON daemons.epoch = notifiers.epoch "
    "WHERE company_id = $1 AND notifiers.epoch = $2"
)
_MOVE_CURSOR = (
    "UPDATE notifiers SET cursor_position = $2, cursor_nth = $3 WHERE company_id = $1 "
    "AND (cursor_position, cursor_nth) < ($2, $3)"
)
_COMPANIES = "SELECT company_id FROM notifiers WHERE company_id > $1"
_COMPANIES_HERE = {"sqlite": "AND $3 = 0", "postgres": f"AND (epoch = $3 OR {_FREE})"}
_PENDING = "SELECT count(*) FROM webhook_deliveries WHERE company_id = $1 AND webhook_id = $2 AND next_at IS NOT NULL"


async def notifying_companies(db: Database, after: str, limit: int) -> Sequence[str]:
    """The companies that this daemon sees to, or may."""
    statement = f"{_COMPANIES} {_COMPANIES_HERE[db.dialect]} ORDER BY company_id LIMIT $2"
    return [row[0] for row in await db.rows(statement, after, limit, db.epoch)]


async def notifier(db: Database, company_id: str) -> Position | None:
    """The cursor of a company, taken if it is free; None when it is another daemon's."""
    if (
        db.dialect == "postgres"
        and await db.row(_SERVED, company_id, db.epoch) is None
        and await db.execute(_TAKE, company_id, db.epoch) != 1
    ):
        return None
    row = await db.row("SELECT cursor_position, cursor_nth FROM notifiers WHERE company_id = $1", company_id)
    return None if row is None else Position(*row)


async def enqueue_notifications(
    db: Database, company_id: str, found: Sequence[Wanted], cursor: Position, at: datetime
) -> None:
    """Add deliveries and move the cursor, unless it is there already."""
    if found:  # locks in the order of all that delete one, and tells the daemons that serve them
        await db.next_position(company_id)
    if await db.execute(_MOVE_CURSOR, company_id, *cursor) != 1:
        return
    for webhook_id, wanted in groupby(sorted(found, key=lambda one: one.webhook_id), lambda one: one.webhook_id):
        if await webhook(db, company_id, webhook_id) is None:
            continue
        room = max(0, WINDOW_MAX - await db.value(_PENDING, company_id, webhook_id))
        rows = [
            (
                message_id(one.event.run_id, one.event.seq, one.recipient),
                one.event,
                one.type,
                one.next_at,
                one.recipient,
            )
            for one in wanted
        ]
        await add_deliveries(db, (company_id, webhook_id), rows[:room], at)


async def forget_all(db: Database, removed: Member, by: str, via: str) -> None:
    """Delete a removed member's own notifications, which nobody else can see."""
    for one in await notifications_of(db, removed.company_id):
        if one.terms is not None and one.terms.member_id == removed.id:
            before = notification_form(one)
            event = NotificationChanged(
                after=None, at=removed.changed_at, before=before, by=by, notification_id=one.id, via=via
            )
            await delete_webhook(db, *one.key, Logged(removed.company_id, event))
