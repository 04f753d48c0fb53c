"""Webhooks and notifications with their deliveries; of several daemons, one serves each.

How far the events of a company have become notifications is its row of `notifiers`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from daemon.model.audit_events import HistoryRewound, Logged
from daemon.model.event_log import Position
from daemon.model.events.company import NotificationChanged, NotificationTerms
from daemon.model.webhooks import (
    KEPT_MAX,
    REVIVED_FROM,
    WINDOW_MAX,
    DeliveryQueue,
    StoredDelivery,
    StoredWebhook,
    TooManyWebhooks,
    message_id,
    notification_form,
)
from daemon.stores.group_commit import DROP_MAX
from daemon.stores.rows import below, bounded, iso, iso_or_null, time_or_none
from daemon.stores.table import TEXTS, Table, json_codec
from daemon.stores.tables.company_log import log
from daemon.stores.tables.event_log import log_end
from daemon.stores.tables.reading import visible
from daemon.stores.tables.receipts import add_receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime
    from typing import TypeAlias

    from actors.ports import Receipt
    from daemon.model.event_log import LoggedEvent, LogPlace
    from daemon.stores.database import Database, Key

    NewDelivery: TypeAlias = tuple[str, LoggedEvent | LogPlace, str, datetime, str | None]
    """Id, event or its place, type, when it is due, and the recipient of a mail to a group."""

    from daemon.model import StoredMember
    from daemon.model.reading import Sight
    from daemon.model.webhooks import EndedAttempt, Wanted


NOTIFIER = "company_id, cursor_position, cursor_nth"
TERMS = json_codec(NotificationTerms)
WEBHOOKS = Table(
    *("webhooks", StoredWebhook, ("company_id", "id")),
    json=("terms",),
    stored_as={"cursor": ("cursor_position", "cursor_nth")},
    codecs={"events": TEXTS.optional},
    shared=("epoch",),
)
_OF_COMPANY = f"{WEBHOOKS.select} WHERE company_id = $1"
_CHANGED = ("url", "events", "description", "updated_at", "updated_by", "enabled", "terms", "sealed_secret")
_CHANGE = (
    f"UPDATE webhooks SET {', '.join(f'{name} = ${at}' for at, name in enumerate(_CHANGED, 3))}, "
    "reason = NULL, failures = 0 WHERE company_id = $1 AND id = $2"
)
_ROTATE = "UPDATE webhooks SET sealed_secret = $3, updated_at = $4, updated_by = $5 WHERE company_id = $1 AND id = $2"
DELIVERIES = Table(
    "webhook_deliveries",
    StoredDelivery,
    ("company_id", "webhook_id", "number"),
    stored_as={"position": ("position", "nth")},
)
_OF_WEBHOOK = "WHERE company_id = $1 AND webhook_id = $2"
_DELIVERIES = f"{DELIVERIES.select} {_OF_WEBHOOK}"
_PENDING = f"SELECT count(*), min(next_at) FROM webhook_deliveries {_OF_WEBHOOK} AND next_at IS NOT NULL"
# One that was asked for again during its attempt has another `next_at` by now, and stays due.
_UNLESS_ASKED = ", ".join(
    f"{name} = CASE WHEN next_at = $12 THEN ${at} ELSE {name} END"
    for name, at in (("status", 4), ("tries", 6), ("next_at", 7))
)
_SETTLE = (
    f"UPDATE webhook_deliveries SET {_UNLESS_ASKED}, attempts = $5, last_at = $8, "
    f"status_code = $9, latency_ms = $10, error = $11 {_OF_WEBHOOK} AND id = $3"
)
_MOVE_CURSOR = (
    "UPDATE webhooks SET cursor_position = $3, cursor_nth = $4 WHERE company_id = $1 AND id = $2 "
    "AND (cursor_position, cursor_nth) < ($3, $4)"
)
_REVIVE = (
    f"UPDATE webhook_deliveries SET next_at = $3 {_OF_WEBHOOK} AND next_at > $3 "
    f"AND (SELECT failures FROM webhooks WHERE company_id = $1 AND id = $2) >= {REVIVED_FROM}"
)
_DROP = (
    "DELETE FROM webhook_deliveries WHERE (company_id, webhook_id, number) IN (SELECT company_id, webhook_id, number "
    "FROM webhook_deliveries AS old WHERE next_at IS NULL AND created_at < $1 AND (created_at < $3 OR NOT EXISTS "
    "(SELECT 1 FROM webhooks WHERE company_id = old.company_id AND id = webhook_id AND kind = 'aap')) LIMIT $2)"
)
# An approval is told of for as long as the protocol says, however many there are.
_DROP_OLDEST = (
    f"DELETE FROM webhook_deliveries {_OF_WEBHOOK} AND number <= $3 AND next_at IS NULL "
    "AND NOT EXISTS (SELECT 1 FROM webhooks WHERE company_id = $1 AND id = $2 AND kind = 'aap')"
)
# Free, or left by a daemon that is gone.
_FREE = "NOT EXISTS (SELECT 1 FROM daemons WHERE daemons.epoch = webhooks.epoch)"
_TAKE = (
    "UPDATE webhooks SET epoch = $3 WHERE company_id = $1 AND id = $2 "
    f"AND (epoch = $3 OR {_FREE}) AND EXISTS (SELECT 1 FROM daemons WHERE daemons.epoch = $3)"
)
# Who served it has forgotten it by then, and would not hear of what becomes due.
_LEAVE = "UPDATE webhooks SET epoch = 0 WHERE company_id = $1 AND id = $2 AND NOT enabled"
_SERVED = (
    "SELECT 1 FROM webhooks JOIN daemons ON daemons.epoch = webhooks.epoch "
    "WHERE company_id = $1 AND id = $2 AND webhooks.epoch = $3"
)
_ENABLED = "SELECT company_id, id FROM webhooks WHERE enabled AND (company_id, id) > ($1, $2)"
_ALIKE = {True: "kind = 'events'", False: "kind NOT IN ('events', 'aap')"}
_ENABLED_HERE = {"sqlite": "AND $4 = 0", "postgres": f"AND (epoch = $4 OR {_FREE})"}


async def add_webhook(
    db: Database, webhook: StoredWebhook, logged: Logged, receipt: Receipt | None, *, at: str, most: int
) -> None:
    """Add a webhook with its cursor at the end, unless the company has so many."""
    if receipt is not None:
        await add_receipt(db, receipt, at)
    # The log locks the company's commit order: a count after it sees what all others have added.
    await log(db, logged)
    alike = f"SELECT count(*) FROM webhooks WHERE company_id = $1 AND {_ALIKE[webhook.kind == 'events']}"
    if await db.value(alike, webhook.company_id) >= most:
        raise TooManyWebhooks
    begins = await log_end(db, webhook.company_id)
    await WEBHOOKS.insert(db, replace(webhook, cursor=begins))
    if webhook.kind != "events":
        await db.insert(f"notifiers ({NOTIFIER})", [(webhook.company_id, *begins)], skip_known=True)


async def put_webhook(db: Database, webhook: StoredWebhook, logged: Logged) -> bool:
    """Change the settings; what is pending stays. The cursor moves on, never back."""
    row = WEBHOOKS.values(webhook)
    if db.dialect == "postgres" and webhook.enabled:
        await db.execute(_LEAVE, *webhook.key)
    if await db.execute(_CHANGE, *webhook.key, *(row[name] for name in _CHANGED)) != 1:
        return False
    await db.execute(_MOVE_CURSOR, *webhook.key, *webhook.cursor)
    await log(db, logged)
    return True


async def rotate_webhook(
    db: Database, webhook: StoredWebhook, logged: Logged, receipt: Receipt | None, at: str
) -> None:
    """Keep another secret; what is pending stays, and is signed with it."""
    if receipt is not None:
        await add_receipt(db, receipt, at)
    times = (iso(webhook.updated_at), webhook.updated_by)
    await db.execute(_ROTATE, *webhook.key, webhook.sealed_secret, *times)
    await log(db, logged)


async def delete_webhook(db: Database, company_id: str, webhook_id: str, logged: Logged) -> bool:
    """Delete a webhook with its deliveries; False, and nothing changed, without one."""
    key = (company_id, webhook_id)
    if await db.execute("DELETE FROM webhooks WHERE company_id = $1 AND id = $2", *key) != 1:
        return False
    await db.execute("DELETE FROM webhook_deliveries WHERE company_id = $1 AND webhook_id = $2", *key)
    await log(db, logged)
    return True


async def webhook(db: Database, company_id: str, webhook_id: str) -> StoredWebhook | None:
    row = await db.row(f"{_OF_COMPANY} AND id = $2", company_id, webhook_id)
    return None if row is None else WEBHOOKS.from_row(row)


async def webhooks_of(db: Database, company_id: str) -> Sequence[StoredWebhook]:
    """A company's webhooks by id, in order, without its notifications."""
    return [
        WEBHOOKS.from_row(row) for row in await db.rows(f"{_OF_COMPANY} AND {_ALIKE[True]} ORDER BY id", company_id)
    ]


async def notifications_of(db: Database, company_id: str) -> Sequence[StoredWebhook]:
    """A company's notifications by id, in order."""
    return [
        WEBHOOKS.from_row(row) for row in await db.rows(f"{_OF_COMPANY} AND {_ALIKE[False]} ORDER BY id", company_id)
    ]


async def enabled_webhooks(db: Database, after: Key, limit: int) -> Sequence[Key]:
    """The enabled webhooks that this daemon serves or may serve, page by page."""
    statement = f"{_ENABLED} {_ENABLED_HERE[db.dialect]} ORDER BY company_id, id LIMIT $3"
    return [(row[0], row[1]) for row in await db.rows(statement, *after, limit, db.epoch)]


async def webhook_queue(
    db: Database, company_id: str, webhook_id: str, at: datetime, limit: int
) -> DeliveryQueue | None:
    """A webhook with its due deliveries, taken if it is free; None when it is another daemon's.

    A daemon whose lease has ended must not send what another one sends by now.
    """
    key = (company_id, webhook_id)
    if (
        db.dialect == "postgres"
        and await db.row(_SERVED, *key, db.epoch) is None
        and await db.execute(_TAKE, *key, db.epoch) != 1
    ):
        return None
    found = await webhook(db, *key)
    if found is None:
        return None
    due_next = f"{_DELIVERIES} AND next_at <= $3 ORDER BY next_at, number LIMIT $4"
    due = [DELIVERIES.from_row(row) for row in await db.rows(due_next, *key, iso(at), bounded(limit))]
    pending, next_at = await db.row(_PENDING, *key) or (0, None)
    return DeliveryQueue(found, due, pending, time_or_none(next_at))


async def enqueue(
    db: Database, webhook: StoredWebhook, found: Sequence[LoggedEvent], cursor: Position, at: datetime
) -> None:
    """Add deliveries and move the cursor, unless it is there already or the webhook is gone."""
    if await db.execute(_MOVE_CURSOR, *webhook.key, *cursor) != 1:
        return
    rows = [(message_id(one.run_id, one.seq), one, one.event.type, at, None) for one in found]
    await add_deliveries(db, webhook.key, rows, at)


async def log_rewound(db: Database, logged: Logged, at: datetime) -> None:
    """Log that history is lost, and tell the company's webhooks, of which no run has an event."""
    place, kind = await log(db, logged), str(HistoryRewound.__struct_config__.tag)
    told = message_id(place.run_id, place.seq), place, kind, at, None
    for one in await webhooks_of(db, logged.company_id):
        if one.events is None or kind in one.events:
            await add_deliveries(db, one.key, [told], at)


async def add_deliveries(db: Database, key: Key, found: Sequence[NewDelivery], at: datetime) -> None:
    """Number deliveries of a webhook on, and drop the oldest settled ones beyond those kept."""
    last = await db.value(f"SELECT coalesce(max(number), 0) FROM webhook_deliveries {_OF_WEBHOOK}", *key)
    made = [
        StoredDelivery(
            *(*key, number, name, one.position, one.run_id, one.seq, kind, at),
            next_at=next_at,
            recipient=recipient,
            mark=one.mark,
        )
        for number, (name, one, kind, next_at, recipient) in enumerate(found, last + 1)
    ]
    await DELIVERIES.insert_new(db, made)
    await db.execute(_DROP_OLDEST, *key, last + len(found) - KEPT_MAX)


async def settle_deliveries(db: Database, attempts: Sequence[EndedAttempt]) -> None:
    """Record how attempts of one webhook ended, for their deliveries, and for their webhook."""
    first = attempts[0][0][0][1]
    key = (first.company_id, first.webhook_id)
    await db.execute_each(_SETTLE, [(*key, *_outcome(*one)) for ended, *_ in attempts for one in ended])
    of_key = "WHERE company_id = $1 AND id = $2"
    failures = 0
    for ended, _, gone in attempts:
        status = ended[0][1].status
        failures = 0 if status == "delivered" else failures + (status != "skipped")
        if gone is not None:
            disable = f"UPDATE webhooks SET enabled = false, reason = $3 {of_key} AND enabled"
            if await db.execute(disable, *key, gone[0]) == 1:
                await log(db, gone[1])
    delivered = [at for ended, at, _ in attempts if ended[0][1].status == "delivered"]
    if delivered:
        # After many failures what waits for its next attempt need not wait longer.
        await db.execute(_REVIVE, *key, iso(delivered[-1]))
        await db.execute(f"UPDATE webhooks SET failures = $3 {of_key} AND failures <> $3", *key, failures)
    elif failures:
        await db.execute(f"UPDATE webhooks SET failures = failures + $3 {of_key}", *key, failures)


def _outcome(before: StoredDelivery, one: StoredDelivery) -> tuple[Any, ...]:
    times = (iso_or_null(one.next_at), iso_or_null(one.last_at))
    answer = (one.status_code, one.latency_ms, one.error)
    return (one.id, one.status, one.attempts, one.tries, *times, *answer, iso_or_null(before.next_at))


async def redeliver(
    db: Database,
    company_id: str,
    webhook_id: str,
    delivery_id: str,
    at: datetime,
    *,
    receipt: Callable[[StoredDelivery], Receipt | None] = lambda _: None,
) -> StoredDelivery | None:
    """Make a delivery due, and notify the daemon that serves the webhook."""
    key = (company_id, webhook_id)
    restart = f"UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_at = $4 {_OF_WEBHOOK} AND id = $3"
    if await db.execute(restart, *key, delivery_id, iso(at)) != 1:
        return None
    await db.next_position(company_id)
    [row] = await db.rows(f"{_DELIVERIES} AND id = $3", *key, delivery_id)
    again = DELIVERIES.from_row(row)
    if (kept := receipt(again)) is not None:
        await add_receipt(db, kept, iso(at))
    return again


async def deliveries(
    db: Database, company_id: str, webhook_id: str, before: int | None, limit: int, *, sight: Sight | None = None
) -> Sequence[StoredDelivery]:
    """At most `limit` deliveries, newest first, those with a number below `before`."""
    seen, more = visible(db.dialect, sight, 5, "webhook_deliveries.run_id")
    newest = f"{_DELIVERIES} AND number < $3{seen} ORDER BY number DESC LIMIT $4"
    rows = await db.rows(newest, company_id, webhook_id, below(before), bounded(limit), *more)
    return [DELIVERIES.from_row(row) for row in rows]


async def drop_deliveries(db: Database, before: str, aap_before: str) -> int:
    """Drop a bounded number of settled ones, so that no other write waits long."""
    return await db.execute(_DROP, before, DROP_MAX, aap_before)


# Free, or left by a daemon that is gone.
_NOTIFIER_FREE = "NOT EXISTS (SELECT 1 FROM daemons WHERE daemons.epoch = notifiers.epoch)"
_TAKE_NOTIFIER = (
    "UPDATE notifiers SET epoch = $2 WHERE company_id = $1 "
    f"AND (epoch = $2 OR {_NOTIFIER_FREE}) AND EXISTS (SELECT 1 FROM daemons WHERE daemons.epoch = $2)"
)
_NOTIFIER_SERVED = (
    "SELECT 1 FROM notifiers JOIN daemons ON daemons.epoch = notifiers.epoch "
    "WHERE company_id = $1 AND notifiers.epoch = $2"
)
_MOVE_NOTIFIER = (
    "UPDATE notifiers SET cursor_position = $2, cursor_nth = $3 WHERE company_id = $1 "
    "AND (cursor_position, cursor_nth) < ($2, $3)"
)
_BEHIND_CURSOR = "SELECT 1 FROM notifiers WHERE company_id = $1 AND (cursor_position, cursor_nth) < ($2, $3)"
ENQUEUED_MAX = 500
_COMPANIES = "SELECT company_id FROM notifiers WHERE company_id > $1"
_COMPANIES_HERE = {"sqlite": "AND $3 = 0", "postgres": f"AND (epoch = $3 OR {_NOTIFIER_FREE})"}
_PENDING_COUNT = (
    "SELECT count(*) FROM webhook_deliveries WHERE company_id = $1 AND webhook_id = $2 AND next_at IS NOT NULL"
)


async def notifying_companies(db: Database, after: str, limit: int) -> Sequence[str]:
    """The companies that this daemon sees to, or may."""
    statement = f"{_COMPANIES} {_COMPANIES_HERE[db.dialect]} ORDER BY company_id LIMIT $2"
    return [row[0] for row in await db.rows(statement, after, limit, db.epoch)]


async def notifier(db: Database, company_id: str) -> Position | None:
    """The cursor of a company, taken if it is free; None when it is another daemon's."""
    if (
        db.dialect == "postgres"
        and await db.row(_NOTIFIER_SERVED, company_id, db.epoch) is None
        and await db.execute(_TAKE_NOTIFIER, company_id, db.epoch) != 1
    ):
        return None
    row = await db.row("SELECT cursor_position, cursor_nth FROM notifiers WHERE company_id = $1", company_id)
    return None if row is None else Position(*row)


def in_pieces(found: Iterable[Wanted]) -> list[list[Wanted]]:
    """What is wanted, by notification, in pieces that keep no other write waiting for long."""
    pieces: list[list[Wanted]] = [[]]
    for _, wanted in groupby(sorted(found, key=lambda one: one.webhook_id), lambda one: one.webhook_id):
        some = list(islice(wanted, WINDOW_MAX))
        if len(pieces[-1]) + len(some) > ENQUEUED_MAX:
            pieces.append([])
        pieces[-1] += some
    return pieces


async def enqueue_notifications(
    db: Database, company_id: str, found: Sequence[Wanted], cursor: Position, at: datetime, *, last: bool
) -> None:
    """Add deliveries, and with the `last` ones move the cursor, unless it is there already."""
    if found:  # locks in the order of all that delete one, and tells the daemons that serve them
        await db.next_position(company_id)
    if last:
        goes_on = await db.execute(_MOVE_NOTIFIER, company_id, *cursor) == 1
    else:
        goes_on = await db.value(_BEHIND_CURSOR, company_id, *cursor) is not None
    if not goes_on:
        return
    for webhook_id, wanted in groupby(found, lambda one: one.webhook_id):
        if await webhook(db, company_id, webhook_id) is None:
            continue
        room = max(0, WINDOW_MAX - await db.value(_PENDING_COUNT, company_id, webhook_id))
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


async def forget_notifications(db: Database, removed: StoredMember, by: str, via: str) -> None:
    """Delete a removed member's own notifications, which nobody else can see."""
    for one in await notifications_of(db, removed.company_id):
        if one.terms is not None and one.terms.member_id == removed.id:
            before = notification_form(one)
            event = NotificationChanged(
                after=None, at=removed.changed_at, before=before, by=by, notification_id=one.id, via=via
            )
            await delete_webhook(db, *one.key, Logged(removed.company_id, event))
