"""A company's events in order, webhooks and deliveries in memory, as they are on disk."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from daemon.model.chain import Walk, genesis
from daemon.model.event_log import CompanyEvent, Position
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
from daemon.stores import codec
from daemon.stores.memory.audit import MemoryLedger
from daemon.stores.memory.receipts import MemoryReceipts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from actors.ports import Receipt
    from daemon.model.audit_events import Logged
    from daemon.model.evidence import Entry

Key = tuple[str, str]


class MemoryTelling(MemoryLedger, MemoryReceipts):
    """What the store in memory has for telling others."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        """Begin with nobody to tell."""
        MemoryLedger.__init__(self)
        MemoryReceipts.__init__(self, clock)
        self._webhooks: dict[Key, Webhook] = {}
        self._deliveries: dict[Key, list[Delivery]] = {}

    async def present(self, company_id: str) -> Position:  # noqa: ARG002 - one order for all companies
        """The place behind everything that a company has committed."""
        return Position(len(self._order) + 1, 0)

    async def happened(self, company_id: str, after: Position, limit: int) -> Sequence[CompanyEvent]:
        """At most `limit` events of a company's runs behind a place, in order."""
        found: list[CompanyEvent] = []
        for position, before, one in self.committed(company_id, after.position):
            if len(found) >= limit:
                break
            walk = Walk(one.stream, before or genesis(company_id, one.stream), one.first_seq - 1)
            walk.take(one.first_seq, one.version, one.head, one.events)
            found += [placed for placed in _events(position, one) if placed.place > after]
        return found[: max(0, limit)]

    async def add_webhook(self, webhook: Webhook, logged: Logged, receipt: Receipt | None) -> None:
        """Keep a new webhook that begins at the present; ReceiptTaken or TooManyWebhooks say why not."""
        self._refuse_taken(receipt)
        if len(await self.webhooks_of(webhook.company_id)) >= WEBHOOKS_MAX:
            raise TooManyWebhooks
        self._keep(receipt)
        await self.log(logged)
        self._webhooks[webhook.key] = replace(webhook, cursor=await self.present(webhook.company_id))
        self._deliveries[webhook.key] = []

    async def put_webhook(self, webhook: Webhook, logged: Logged) -> bool:
        """Change what people can change, and enable it; False, and nothing changed, without such a webhook."""
        kept = self._webhooks.get(webhook.key)
        if kept is None:
            return False
        self._webhooks[webhook.key] = replace(
            kept,
            url=webhook.url,
            events=webhook.events,
            description=webhook.description,
            updated_at=webhook.updated_at,
            updated_by=webhook.updated_by,
            enabled=True,
            reason=None,
            failures=0,
        )
        await self.log(logged)
        return True

    async def delete_webhook(self, company_id: str, webhook_id: str, logged: Logged) -> bool:
        """Forget a webhook with its deliveries; False, and nothing changed, without such a webhook."""
        if self._webhooks.pop((company_id, webhook_id), None) is None:
            return False
        del self._deliveries[company_id, webhook_id]
        await self.log(logged)
        return True

    async def webhook(self, company_id: str, webhook_id: str) -> Webhook | None:
        """A company's webhook."""
        return self._webhooks.get((company_id, webhook_id))

    async def webhooks_of(self, company_id: str) -> Sequence[Webhook]:
        """A company's webhooks by id, in order."""
        return [one for key, one in sorted(self._webhooks.items()) if key[0] == company_id]

    async def enabled_webhooks(self, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
        """At most `limit` (company_id, id) of enabled webhooks behind one, in order."""
        return sorted(key for key, one in self._webhooks.items() if one.enabled and key > after)[:limit]

    async def webhook_queue(self, company_id: str, webhook_id: str, at: datetime, limit: int) -> DeliveryQueue | None:
        """A webhook with at most `limit` deliveries that are due at that time, the longest due first."""
        found = self._webhooks.get((company_id, webhook_id))
        if found is None:
            return None
        waiting = [(one.next_at, one.number, one) for one in self._deliveries[found.key] if one.next_at is not None]
        waiting.sort()
        due = [one for next_at, _, one in waiting if next_at <= at][:limit]
        return DeliveryQueue(found, due, len(waiting), waiting[0][0] if waiting else None)

    async def enqueue(self, webhook: Webhook, found: Sequence[CompanyEvent], cursor: Position, at: datetime) -> None:
        """Make events deliveries that are due and move the cursor, in one; old settled ones are dropped."""
        kept = self._webhooks.get(webhook.key)
        if kept is None or kept.cursor >= cursor:
            return
        self._webhooks[webhook.key] = replace(kept, cursor=cursor)
        known = self._deliveries[webhook.key]
        last = known[-1].number if known else 0
        for number, one in enumerate(found, last + 1):
            known.append(
                Delivery(
                    company_id=kept.company_id,
                    webhook_id=kept.id,
                    number=number,
                    id=message_id(one.run_id, one.seq),
                    place=one.place,
                    run_id=one.run_id,
                    seq=one.seq,
                    type=one.event.type,
                    created_at=at,
                    next_at=at,
                )
            )
        old = last + len(found) - KEPT_MAX
        self._deliveries[webhook.key] = [one for one in known if one.number > old or one.next_at is not None]

    async def settle_delivery(self, after: Delivery, at: datetime, gone: tuple[str, Logged] | None = None) -> None:
        """Keep how an attempt ended; `gone` disables the webhook, for that reason."""
        key = (after.company_id, after.webhook_id)
        hook = self._webhooks.get(key)
        if hook is None:
            return
        well = after.status == "delivered"
        revived = well and hook.failures >= REVIVED_FROM
        self._deliveries[key] = [
            after if one.id == after.id else _due(one, at) if revived else one for one in self._deliveries[key]
        ]
        hook = replace(hook, failures=0 if well else hook.failures + 1)
        if gone is not None and hook.enabled:
            hook = replace(hook, enabled=False, reason=gone[0])
            await self.log(gone[1])
        self._webhooks[key] = hook

    async def redeliver(self, company_id: str, webhook_id: str, delivery_id: str, at: datetime) -> Delivery | None:
        """Make a delivery pending and due, its schedule from the beginning; None without such a delivery."""
        known = self._deliveries.get((company_id, webhook_id), [])
        for place, one in enumerate(known):
            if one.id == delivery_id:
                known[place] = replace(one, status="pending", tries=0, next_at=at)
                return known[place]
        return None

    async def deliveries(self, company_id: str, webhook_id: str, before: int | None, limit: int) -> Sequence[Delivery]:
        """At most `limit` deliveries, newest first, those with a number below `before`."""
        known = self._deliveries.get((company_id, webhook_id), [])
        return [one for one in reversed(known) if before is None or one.number < before][:limit]

    async def drop_deliveries(self, before: datetime) -> int:
        """Drop settled deliveries that were made before that time; returns how many."""
        dropped = 0
        for key, known in self._deliveries.items():
            stay = [one for one in known if one.next_at is not None or one.created_at >= before]
            dropped += len(known) - len(stay)
            self._deliveries[key] = stay
        return dropped


def _due(one: Delivery, at: datetime) -> Delivery:
    """The delivery, due by then if it waits for its next attempt."""
    return one if one.next_at is None else replace(one, next_at=min(one.next_at, at))


def _events(position: int, one: Entry) -> Iterator[CompanyEvent]:
    for nth, event in enumerate(codec.decode_events(one.events, one.exact), 1):
        yield CompanyEvent(Position(position, nth), one.stream, one.first_seq + nth - 1, event)
