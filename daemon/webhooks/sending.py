"""What is sent of the deliveries of a webhook, in how many messages, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from actors.ports import INLINE, Compute
from daemon.model.event_log import CompanyEvent, event_json
from daemon.model.retention.records import HistoryArchived
from daemon.model.webhooks import Delivery, Webhook
from daemon.stores.store import Store
from daemon.webhooks.backoff import Result
from daemon.webhooks.sender import Notify, attempt, message_of, payload

NOT_THERE = "The event is not in the journal any more."


@dataclass(frozen=True, slots=True)
class Sent:
    """How an attempt ended, None without one; and why deliveries were left out of it, by id."""

    result: Result | None
    skipped: Mapping[str, str] = field(default_factory=dict)


class Sending(Protocol):
    """Sends deliveries of one sort of webhook."""

    async def held_until(self, webhook: Webhook) -> datetime | None:
        """When sending may go on; None for at once."""

    def batches(self, webhook: Webhook, due: Sequence[Delivery]) -> Sequence[Sequence[Delivery]]:
        """Deliveries by the message that they go into."""

    async def send(self, webhook: Webhook, batch: Sequence[Delivery]) -> Sent:
        """Send one message, once."""


class EventSending:
    """Sends each event as a message of its own, as soon as it is due."""

    def __init__(self, store: Store, notify: Notify, compute: Compute = INLINE) -> None:
        """`compute` makes the bodies of large events."""
        self._store = store
        self._notify = notify
        self._compute = compute

    async def held_until(self, _: Webhook) -> datetime | None:
        return None

    def batches(self, _: Webhook, due: Sequence[Delivery]) -> Sequence[Sequence[Delivery]]:
        return [(one,) for one in due]

    async def send(self, webhook: Webhook, batch: Sequence[Delivery]) -> Sent:
        (delivery,) = batch
        body = await self._body(delivery)
        if body is None:
            return Sent(Result(None, None, NOT_THERE))
        return Sent(await attempt(self._notify(message_of(webhook, delivery.id, body)), webhook.id))

    async def _body(self, delivery: Delivery) -> dict[str, object] | None:
        try:
            found = await self._store.history(delivery.company_id, delivery.run_id, delivery.seq - 1, 1)
        except HistoryArchived:
            return None
        if not found:
            return None
        one = CompanyEvent(delivery.position, delivery.run_id, delivery.seq, found[0].event)
        event_id = self._store.event_ids.text(delivery.company_id, delivery.position)

        def made() -> dict[str, object]:
            return payload(one.event.type, one.event.at, event_json(one, event_id))

        return await self._compute.sized(delivery.company_id, found.size, made)
