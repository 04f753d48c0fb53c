"""Tells instances of the protocol that requests of theirs are decided."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from actors.core.commands.handovers import granted
from actors.core.messages import CallGranted, RunEnded
from daemon.aap.shapes import decided_at, stamp
from daemon.model.event_log import LoggedEvent
from daemon.model.webhooks import StoredDelivery, StoredWebhook
from daemon.stores.store import Store
from daemon.webhooks.sender import NOT_THERE, Notify, Result, Sent, attempt, message_of

EVENTS = (str(CallGranted.__struct_config__.tag), str(RunEnded.__struct_config__.tag))
"""What may decide a request; the end of one that was approved before does not."""
TIMEOUT_S = 10.0
DECIDED_BEFORE = "The request was decided before."


class AapSending:
    """Sends a signed message for each decision, as soon as it is made."""

    def __init__(self, store: Store, notify: Notify) -> None:
        self._store, self._notify = store, notify

    async def wanted(self, webhook: StoredWebhook, found: Sequence[LoggedEvent]) -> Sequence[LoggedEvent]:
        """The events that decide requests of the instance."""
        if not found:
            return ()
        instance = await self._store.instance(webhook.company_id, webhook.id)
        if instance is None:
            return ()
        chosen = []
        for one in found:
            row = await self._store.action(webhook.company_id, one.run_id)
            if row is not None and (row.way, row.agent_id) == ("aap", instance.key_id):
                chosen.append(one)
        return chosen

    async def held_until(self, _: StoredWebhook) -> datetime | None:
        return None

    async def batches(self, _: StoredWebhook, due: Sequence[StoredDelivery]) -> Sequence[Sequence[StoredDelivery]]:
        return [(one,) for one in due]

    async def send(self, webhook: StoredWebhook, batch: Sequence[StoredDelivery]) -> Sent:
        (delivery,) = batch
        run = await self._store.load(delivery.company_id, delivery.run_id)
        at = None if run is None else decided_at(run)
        if run is None or at is None:
            return Sent(Result(None, None, NOT_THERE, final=True))
        if delivery.type == EVENTS[1] and granted(run) is not None:
            return Sent(None, {delivery.id: DECIDED_BEFORE})
        body = {
            "id": str(uuid.uuid5(uuid.UUID(webhook.id), delivery.id)),
            "type": "request.resolved",
            "instance_id": webhook.id,
            "request_id": run.id,
            "created_at": stamp(at),
        }
        message = replace(message_of(webhook, body["id"], body), timeout_s=TIMEOUT_S)
        return Sent(await attempt(self._notify(message), webhook.id))
