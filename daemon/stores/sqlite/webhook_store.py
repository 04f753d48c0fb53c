"""The part of the SQLite store that is about telling others: a company's events in order, webhooks, deliveries."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from daemon.stores.group_commit import drop_all
from daemon.stores.rows import text
from daemon.stores.sqlite import event_log, webhooks

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from actors.ports import Receipt
    from daemon.model.audit_events import Logged
    from daemon.model.event_log import CompanyEvent, Position
    from daemon.model.webhooks import Delivery, DeliveryQueue, Webhook
    from daemon.stores.group_commit import Writer

T = TypeVar("T")


class SqliteTelling:
    """What the store of one file adds of this to all else."""

    _writer: Writer[sqlite3.Connection]
    _clock: Callable[[], datetime]

    async def _read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        raise NotImplementedError

    async def present(self, company_id: str) -> Position:  # noqa: ARG002 - one order for all companies
        """The place behind everything that a company has committed."""
        return await self._read(event_log.present)

    async def happened(self, company_id: str, after: Position, limit: int) -> Sequence[CompanyEvent]:
        """At most `limit` events of a company's runs behind a place, in order."""
        return await self._read(lambda db: event_log.happened(db, company_id, after, limit))

    async def add_webhook(self, webhook: Webhook, logged: Logged, receipt: Receipt | None) -> None:
        """Keep a new webhook that begins at the present; ReceiptTaken or TooManyWebhooks say why not."""
        at = text(self._clock())
        await self._writer.submit(lambda db: webhooks.add_webhook(db, webhook, logged, receipt, at))

    async def put_webhook(self, webhook: Webhook, logged: Logged) -> bool:
        """Change what people can change, and enable it; False, and nothing changed, without such a webhook."""
        return await self._writer.submit(lambda db: webhooks.put_webhook(db, webhook, logged))

    async def delete_webhook(self, company_id: str, webhook_id: str, logged: Logged) -> bool:
        """Forget a webhook with its deliveries; False, and nothing changed, without such a webhook."""
        key = (company_id, webhook_id)
        return await self._writer.submit(lambda db: webhooks.delete_webhook(db, key, logged))

    async def webhook(self, company_id: str, webhook_id: str) -> Webhook | None:
        """A company's webhook."""
        return await self._read(lambda db: webhooks.webhook(db, (company_id, webhook_id)))

    async def webhooks_of(self, company_id: str) -> Sequence[Webhook]:
        """A company's webhooks by id, in order."""
        return await self._read(lambda db: webhooks.webhooks_of(db, company_id))

    async def enabled_webhooks(self, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
        """At most `limit` (company_id, id) of enabled webhooks behind one, in order."""
        return await self._read(lambda db: webhooks.enabled_webhooks(db, after, limit))

    async def webhook_queue(self, company_id: str, webhook_id: str, at: datetime, limit: int) -> DeliveryQueue | None:
        """A webhook with at most `limit` deliveries that are due at that time, the longest due first."""
        key = (company_id, webhook_id)
        return await self._read(lambda db: webhooks.webhook_queue(db, key, text(at), limit))

    async def enqueue(self, webhook: Webhook, found: Sequence[CompanyEvent], cursor: Position, at: datetime) -> None:
        """Make events deliveries that are due and move the cursor, in one; old settled ones are dropped."""
        await self._writer.submit(lambda db: webhooks.enqueue(db, webhook, found, cursor, text(at)))

    async def settle_delivery(self, after: Delivery, at: datetime, gone: tuple[str, Logged] | None = None) -> None:
        """Keep how an attempt ended; `gone` disables the webhook, for that reason."""
        await self._writer.submit(lambda db: webhooks.settle_delivery(db, after, text(at), gone))

    async def redeliver(self, company_id: str, webhook_id: str, delivery_id: str, at: datetime) -> Delivery | None:
        """Make a delivery pending and due, its schedule from the beginning; None without such a delivery."""
        key = (company_id, webhook_id)
        return await self._writer.submit(lambda db: webhooks.redeliver(db, key, delivery_id, text(at)))

    async def deliveries(self, company_id: str, webhook_id: str, before: int | None, limit: int) -> Sequence[Delivery]:
        """At most `limit` deliveries, newest first, those with a number below `before`."""
        key = (company_id, webhook_id)
        return await self._read(lambda db: webhooks.deliveries(db, key, before, limit))

    async def drop_deliveries(self, before: datetime) -> int:
        """Drop settled deliveries that were made before that time, a bounded number per batch; returns how many."""
        drop = partial(webhooks.drop_deliveries, before=text(before))
        return await drop_all(lambda: self._writer.submit(drop))
