"""Webhooks and their deliveries in PostgreSQL; each webhook is served by one daemon at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.model.event_log import Position
from daemon.model.webhooks import (
    KEPT_MAX,
    REVIVED_FROM,
    WEBHOOKS_MAX,
    Delivery,
    DeliveryQueue,
    TooManyWebhooks,
    Webhook,
    message_id,
)
from daemon.stores.group_commit import DROP_MAX
from daemon.stores.postgres.accounts import add_receipt, counted
from daemon.stores.postgres.company_log import CLOCK, log
from daemon.stores.postgres.connection import without_nul
from daemon.stores.postgres.event_log import present
from daemon.stores.rows import below, bounded, delivery_of_row, text, text_or_null, time_or_none, types, webhook_of_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.ports import Receipt
    from daemon.model.audit_events import Logged
    from daemon.model.event_log import CompanyEvent
    from daemon.stores.postgres.connection import Db

Key = tuple[str, str]
_HOOK = (
    "company_id, id, url, events, description, sealed_secret, created_at, updated_at, updated_by, enabled, reason, "
    "failures, cursor_position, cursor_nth"
)
_SELECT, _UPDATE, _INTO = "SELECT", "UPDATE", "INSERT INTO"
_HOOKS = f"{_SELECT} {_HOOK} FROM webhooks WHERE company_id = $1"
_COUNT = "SELECT count(*) FROM webhooks WHERE company_id = $1"
_ADD_HOOK = f"{_INTO} webhooks ({_HOOK}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
_DELIVERY = (
    "company_id, webhook_id, number, id, position, nth, run_id, seq, type, created_at, status, attempts, tries, "
    "next_at, last_at, status_code, latency_ms, error"
)
_DELIVERIES = f"{_SELECT} {_DELIVERY} FROM webhook_deliveries WHERE company_id = $1 AND webhook_id = $2"
_ADD = (
    "INSERT INTO webhook_deliveries (company_id, webhook_id, number, id, position, nth, run_id, seq, type, created_at, "
    "status, attempts, tries, next_at) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', 0, 0, $10) ON CONFLICT DO NOTHING"
)
_SETTLE = (
    "UPDATE webhook_deliveries SET status = $4, attempts = $5, tries = $6, next_at = $7, last_at = $8, "
    "status_code = $9, latency_ms = $10, error = $11 WHERE company_id = $1 AND webhook_id = $2 AND id = $3"
)
# Free, or left by a daemon that is gone.
_FREE = "NOT EXISTS (SELECT 1 FROM daemons WHERE daemons.epoch = webhooks.epoch)"
_ALIVE = "EXISTS (SELECT 1 FROM daemons WHERE daemons.epoch = $3)"
_SERVED = f"{_SELECT} {_HOOK}, epoch, {_ALIVE} FROM webhooks WHERE company_id = $1 AND id = $2"
_TAKE = f"{_UPDATE} webhooks SET epoch = $3 WHERE company_id = $1 AND id = $2 AND epoch <> $3 AND {_FREE}"


async def add_webhook(db: Db, webhook: Webhook, logged: Logged, receipt: Receipt | None, at: str) -> None:
    """Add a webhook whose cursor is at the present, unless the company has as many as it may."""
    if receipt is not None:
        await add_receipt(db, receipt, at)
    # The log holds the company's clock until the end: whoever counts behind it sees what all others have added.
    await log(db, logged)
    if await db.fetchval(_COUNT, webhook.company_id) >= WEBHOOKS_MAX:
        raise TooManyWebhooks
    times = (text(webhook.created_at), text(webhook.updated_at), webhook.updated_by)
    row = (*webhook.key, webhook.url, types(webhook), without_nul(webhook.description), webhook.sealed_secret, *times)
    cursor = await present(db, webhook.company_id)
    await db.execute(_ADD_HOOK, *row, webhook.enabled, webhook.reason, webhook.failures, *cursor)


async def put_webhook(db: Db, webhook: Webhook, logged: Logged) -> bool:
    """Change what people can change; what is still to be told stays."""
    done = await db.execute(
        "UPDATE webhooks SET url = $3, events = $4, description = $5, updated_at = $6, updated_by = $7, "
        "enabled = true, reason = NULL, failures = 0 WHERE company_id = $1 AND id = $2",
        *(*webhook.key, webhook.url, types(webhook), without_nul(webhook.description)),
        *(text(webhook.updated_at), webhook.updated_by),
    )
    if counted(done) == 1:
        await log(db, logged)
    return counted(done) == 1


async def delete_webhook(db: Db, key: Key, logged: Logged) -> bool:
    """Drop a webhook with its deliveries."""
    if counted(await db.execute("DELETE FROM webhooks WHERE company_id = $1 AND id = $2", *key)) != 1:
        return False
    await db.execute("DELETE FROM webhook_deliveries WHERE company_id = $1 AND webhook_id = $2", *key)
    await log(db, logged)
    return True


async def webhook(db: Db, key: Key) -> Webhook | None:
    """One webhook."""
    row = await db.fetchrow(f"{_HOOKS} AND id = $2", *key)
    return None if row is None else webhook_of_row(tuple(row))


async def webhooks_of(db: Db, company_id: str) -> Sequence[Webhook]:
    """The webhooks of a company."""
    return [webhook_of_row(tuple(row)) for row in await db.fetch(f"{_HOOKS} ORDER BY id", company_id)]


async def enabled_webhooks(db: Db, after: Key, limit: int, epoch: int) -> Sequence[Key]:
    """The enabled webhooks of all companies that this daemon serves or may, page by page."""
    rows = await db.fetch(
        f"{_SELECT} company_id, id FROM webhooks WHERE enabled AND (company_id, id) > ($1, $2) "
        f"AND (epoch = $4 OR {_FREE}) ORDER BY company_id, id LIMIT $3",
        *(*after, limit, epoch),
    )
    return [(row[0], row[1]) for row in rows]


async def webhook_queue(db: Db, key: Key, at: str, limit: int, epoch: int) -> DeliveryQueue | None:
    """A webhook with what is due, taken by this daemon if it is free; None when another serves it, or this one is gone.

    Whoever is gone must not send what another one sends by now.
    """
    row = await db.fetchrow(_SERVED, *key, epoch)
    if row is None or not row[-1] or (row[-2] != epoch and counted(await db.execute(_TAKE, *key, epoch)) != 1):
        return None
    due = await db.fetch(f"{_DELIVERIES} AND next_at <= $3 ORDER BY next_at, number LIMIT $4", *key, at, bounded(limit))
    pending, next_at = await db.fetchrow(
        "SELECT count(*), min(next_at) FROM webhook_deliveries "
        "WHERE company_id = $1 AND webhook_id = $2 AND next_at IS NOT NULL",
        *key,
    )
    return DeliveryQueue(
        webhook_of_row(tuple(row)[:-2]), [delivery_of_row(tuple(one)) for one in due], pending, time_or_none(next_at)
    )


async def enqueue(db: Db, webhook: Webhook, found: Sequence[CompanyEvent], cursor: Position, at: str) -> None:
    """Add deliveries and move the cursor; nothing when the webhook was deleted or the cursor is there already."""
    moved = await db.execute(
        "UPDATE webhooks SET cursor_position = $1, cursor_nth = $2 WHERE company_id = $3 AND id = $4 "
        "AND (cursor_position, cursor_nth) < ($1, $2)",
        *(*cursor, *webhook.key),
    )
    if counted(moved) != 1:
        return
    numbers = "SELECT coalesce(max(number), 0) FROM webhook_deliveries WHERE company_id = $1 AND webhook_id = $2"
    last = await db.fetchval(numbers, *webhook.key)
    rows = [
        (
            *(*webhook.key, number, message_id(one.run_id, one.seq), *one.place),
            *(one.run_id, one.seq, one.event.type, at),
        )
        for number, one in enumerate(found, last + 1)
    ]
    await db.executemany(_ADD, rows)
    await db.execute(
        "DELETE FROM webhook_deliveries WHERE company_id = $1 AND webhook_id = $2 AND number <= $3 AND next_at IS NULL",
        *(*webhook.key, last + len(found) - KEPT_MAX),
    )


async def settle_delivery(db: Db, after: Delivery, at: str, gone: tuple[str, Logged] | None) -> None:
    """Keep how an attempt ended, and what that says of the receiver."""
    key = (after.company_id, after.webhook_id)
    times = (text_or_null(after.next_at), text_or_null(after.last_at))
    row = (
        after.status,
        after.attempts,
        after.tries,
        *times,
        after.status_code,
        after.latency_ms,
        without_nul(after.error),
    )
    await db.execute(_SETTLE, *key, after.id, *row)
    if after.status != "delivered":
        await db.execute("UPDATE webhooks SET failures = failures + 1 WHERE company_id = $1 AND id = $2", *key)
    else:
        await _well(db, key, at)
    if gone is not None:
        disable = "UPDATE webhooks SET enabled = false, reason = $3 WHERE company_id = $1 AND id = $2 AND enabled"
        if counted(await db.execute(disable, *key, gone[0])) == 1:
            await log(db, gone[1])


async def _well(db: Db, key: Key, at: str) -> None:
    """The receiver is well: after many failures what waits for its next attempt need not wait longer."""
    failures = await db.fetchval(
        "SELECT failures FROM webhooks WHERE company_id = $1 AND id = $2 AND failures > 0 FOR UPDATE", *key
    )
    if failures is None:
        return
    await db.execute("UPDATE webhooks SET failures = 0 WHERE company_id = $1 AND id = $2", *key)
    if failures >= REVIVED_FROM:
        due = "UPDATE webhook_deliveries SET next_at = $3 WHERE company_id = $1 AND webhook_id = $2 AND next_at > $3"
        await db.execute(due, *key, at)


async def redeliver(db: Db, key: Key, delivery_id: str, at: str) -> Delivery | None:
    """Make a delivery due, and let the daemon that serves the webhook see that something happened."""
    if "\x00" in delivery_id:
        return None
    await db.execute(
        "UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_at = $4 "
        "WHERE company_id = $1 AND webhook_id = $2 AND id = $3",
        *(*key, delivery_id, at),
    )
    row = await db.fetchrow(f"{_DELIVERIES} AND id = $3", *key, delivery_id)
    if row is None:
        return None
    await db.fetchval(CLOCK, key[0], 1)
    return delivery_of_row(tuple(row))


async def deliveries(db: Db, key: Key, before: int | None, limit: int) -> Sequence[Delivery]:
    """The deliveries of a webhook, newest first."""
    rows = await db.fetch(
        f"{_DELIVERIES} AND number < $3 ORDER BY number DESC LIMIT $4", *key, below(before), bounded(limit)
    )
    return [delivery_of_row(tuple(row)) for row in rows]


async def drop_deliveries(db: Db, before: str) -> int:
    """Drop at most DROP_MAX settled deliveries from before that time; returns how many."""
    return counted(
        await db.execute(
            "DELETE FROM webhook_deliveries WHERE (company_id, webhook_id, number) IN "
            "(SELECT company_id, webhook_id, number FROM webhook_deliveries "
            "WHERE next_at IS NULL AND created_at < $1 LIMIT $2)",
            *(before, DROP_MAX),
        )
    )
