"""Webhooks and their deliveries as rows; all of it runs in a connection's thread."""

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
from daemon.stores.rows import below, delivery_of_row, text, text_or_null, time_or_none, types, webhook_of_row
from daemon.stores.sqlite.accounts import add_receipt
from daemon.stores.sqlite.company_log import log
from daemon.stores.sqlite.event_log import present
from daemon.stores.sqlite.rows import Rows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from actors.ports import Receipt
    from daemon.model.audit_events import Logged
    from daemon.model.event_log import CompanyEvent

_SELECT = "SELECT"
_HOOK = (
    "company_id, id, url, events, description, sealed_secret, created_at, updated_at, updated_by, enabled, reason, "
    "failures, cursor_position, cursor_nth"
)
_HOOKS = f"{_SELECT} {_HOOK} FROM webhooks WHERE company_id = ?"
_COUNT = "SELECT count(*) FROM webhooks WHERE company_id = ?"
_ADD_HOOK = Rows(f"INSERT INTO webhooks ({_HOOK})", columns=14)
_DELIVERY = (
    "company_id, webhook_id, number, id, position, nth, run_id, seq, type, created_at, status, attempts, tries, "
    "next_at, last_at, status_code, latency_ms, error"
)
_DELIVERIES = f"{_SELECT} {_DELIVERY} FROM webhook_deliveries WHERE company_id = ? AND webhook_id = ?"
_ADD = Rows(f"INSERT INTO webhook_deliveries ({_DELIVERY})", columns=18, after="ON CONFLICT DO NOTHING")
_SETTLE = (
    "UPDATE webhook_deliveries SET status = ?, attempts = ?, tries = ?, next_at = ?, last_at = ?, status_code = ?, "
    "latency_ms = ?, error = ? WHERE company_id = ? AND webhook_id = ? AND id = ?"
)


def add_webhook(db: sqlite3.Connection, webhook: Webhook, logged: Logged, receipt: Receipt | None, at: str) -> None:
    """Add a webhook whose cursor is at the present, unless the company has as many as it may."""
    if receipt is not None:
        add_receipt(db, receipt, at)
    if db.execute(_COUNT, (webhook.company_id,)).fetchone()[0] >= WEBHOOKS_MAX:
        raise TooManyWebhooks
    log(db, logged)
    row = (*webhook.key, webhook.url, types(webhook), webhook.description, webhook.sealed_secret)
    times = (text(webhook.created_at), text(webhook.updated_at), webhook.updated_by)
    _ADD_HOOK.write(db, [(*row, *times, webhook.enabled, webhook.reason, webhook.failures, *present(db))])


def put_webhook(db: sqlite3.Connection, webhook: Webhook, logged: Logged) -> bool:
    """Change what people can change; what is still to be told stays."""
    changed = db.execute(
        "UPDATE webhooks SET url = ?, events = ?, description = ?, updated_at = ?, updated_by = ?, enabled = 1, "
        "reason = NULL, failures = 0 WHERE company_id = ? AND id = ?",
        (
            webhook.url,
            types(webhook),
            webhook.description,
            text(webhook.updated_at),
            webhook.updated_by,
            *webhook.key,
        ),
    )
    if changed.rowcount == 1:
        log(db, logged)
    return changed.rowcount == 1


def delete_webhook(db: sqlite3.Connection, key: tuple[str, str], logged: Logged) -> bool:
    """Drop a webhook with its deliveries."""
    if db.execute("DELETE FROM webhooks WHERE company_id = ? AND id = ?", key).rowcount != 1:
        return False
    db.execute("DELETE FROM webhook_deliveries WHERE company_id = ? AND webhook_id = ?", key)
    log(db, logged)
    return True


def webhook(db: sqlite3.Connection, key: tuple[str, str]) -> Webhook | None:
    """One webhook."""
    row = db.execute(f"{_HOOKS} AND id = ?", key).fetchone()
    return None if row is None else webhook_of_row(row)


def webhooks_of(db: sqlite3.Connection, company_id: str) -> Sequence[Webhook]:
    """The webhooks of a company."""
    return [webhook_of_row(row) for row in db.execute(f"{_HOOKS} ORDER BY id", (company_id,))]


def enabled_webhooks(db: sqlite3.Connection, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
    """The enabled webhooks of all companies, page by page."""
    return db.execute(
        "SELECT company_id, id FROM webhooks WHERE enabled AND (company_id, id) > (?, ?) "
        "ORDER BY company_id, id LIMIT ?",
        (*after, limit),
    ).fetchall()


def webhook_queue(db: sqlite3.Connection, key: tuple[str, str], at: str, limit: int) -> DeliveryQueue | None:
    """A webhook with what is due."""
    found = webhook(db, key)
    if found is None:
        return None
    due = db.execute(f"{_DELIVERIES} AND next_at <= ? ORDER BY next_at, number LIMIT ?", (*key, at, limit)).fetchall()
    counted = "SELECT count(*), min(next_at) FROM webhook_deliveries"
    pending, next_at = db.execute(
        f"{counted} WHERE company_id = ? AND webhook_id = ? AND next_at IS NOT NULL", key
    ).fetchone()
    return DeliveryQueue(found, [delivery_of_row(row) for row in due], pending, time_or_none(next_at))


def enqueue(db: sqlite3.Connection, webhook: Webhook, found: Sequence[CompanyEvent], cursor: Position, at: str) -> None:
    """Add deliveries and move the cursor; nothing when the webhook was deleted or the cursor is there already."""
    moved = db.execute(
        "UPDATE webhooks SET cursor_position = ?, cursor_nth = ? WHERE company_id = ? AND id = ? "
        "AND (cursor_position, cursor_nth) < (?, ?)",
        (*cursor, *webhook.key, *cursor),
    )
    if moved.rowcount != 1:
        return
    numbers = "SELECT coalesce(max(number), 0) FROM webhook_deliveries WHERE company_id = ? AND webhook_id = ?"
    (last,) = db.execute(numbers, webhook.key).fetchone()
    _ADD.write(
        db,
        [
            (
                *webhook.key,
                number,
                message_id(one.run_id, one.seq),
                *one.place,
                one.run_id,
                one.seq,
                one.event.type,
                at,
                *("pending", 0, 0, at, None, None, None, None),
            )
            for number, one in enumerate(found, last + 1)
        ],
    )
    old = "DELETE FROM webhook_deliveries WHERE company_id = ? AND webhook_id = ? AND number <= ? AND next_at IS NULL"
    db.execute(old, (*webhook.key, last + len(found) - KEPT_MAX))


def settle_delivery(db: sqlite3.Connection, after: Delivery, at: str, gone: tuple[str, Logged] | None) -> None:
    """Keep how an attempt ended, and what that says of the receiver."""
    key = (after.company_id, after.webhook_id)
    times = (text_or_null(after.next_at), text_or_null(after.last_at))
    row = (after.status, after.attempts, after.tries, *times, after.status_code, after.latency_ms, after.error)
    db.execute(_SETTLE, (*row, *key, after.id))
    if after.status != "delivered":
        db.execute("UPDATE webhooks SET failures = failures + 1 WHERE company_id = ? AND id = ?", key)
    else:
        _well(db, key, at)
    if gone is not None:
        disable = "UPDATE webhooks SET enabled = 0, reason = ? WHERE company_id = ? AND id = ? AND enabled"
        if db.execute(disable, (gone[0], *key)).rowcount == 1:
            log(db, gone[1])


def _well(db: sqlite3.Connection, key: tuple[str, str], at: str) -> None:
    """The receiver is well: after many failures what waits for its next attempt need not wait longer."""
    row = db.execute("SELECT failures FROM webhooks WHERE company_id = ? AND id = ? AND failures > 0", key).fetchone()
    if row is None:
        return
    db.execute("UPDATE webhooks SET failures = 0 WHERE company_id = ? AND id = ?", key)
    if row[0] >= REVIVED_FROM:
        db.execute(
            "UPDATE webhook_deliveries SET next_at = ? WHERE company_id = ? AND webhook_id = ? AND next_at > ?",
            (at, *key, at),
        )


def redeliver(db: sqlite3.Connection, key: tuple[str, str], delivery_id: str, at: str) -> Delivery | None:
    """Make a delivery due."""
    db.execute(
        "UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_at = ? "
        "WHERE company_id = ? AND webhook_id = ? AND id = ?",
        (at, *key, delivery_id),
    )
    row = db.execute(f"{_DELIVERIES} AND id = ?", (*key, delivery_id)).fetchone()
    return None if row is None else delivery_of_row(row)


def deliveries(db: sqlite3.Connection, key: tuple[str, str], before: int | None, limit: int) -> Sequence[Delivery]:
    """The deliveries of a webhook, newest first."""
    rows = db.execute(f"{_DELIVERIES} AND number < ? ORDER BY number DESC LIMIT ?", (*key, below(before), limit))
    return [delivery_of_row(row) for row in rows]


def drop_deliveries(db: sqlite3.Connection, before: str) -> int:
    """Drop at most DROP_MAX settled deliveries from before that time; returns how many."""
    return db.execute(
        "DELETE FROM webhook_deliveries WHERE (company_id, webhook_id, number) IN "
        "(SELECT company_id, webhook_id, number FROM webhook_deliveries "
        "WHERE next_at IS NULL AND created_at < ? LIMIT ?)",
        (before, DROP_MAX),
    ).rowcount
