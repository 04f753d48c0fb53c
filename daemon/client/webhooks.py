"""The events of all runs of the company, and the webhooks that receive them, as methods."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from pydantic import TypeAdapter

from daemon.client.base import BaseClient
from daemon.client.streams import follow_company
from daemon.client.transport import path
from daemon.contract.events import CompanyEvent
from daemon.contract.webhooks import Delivery, NewWebhook, Webhook, WebhookTestResult

WEBHOOKS = TypeAdapter(list[Webhook])
DELIVERIES = TypeAdapter(list[Delivery])
EVENTS = TypeAdapter(list[CompanyEvent])
BEGINNING = "0"


class WebhooksClient(BaseClient):
    """Read the company's events, and have them sent to URLs."""

    def happened(self, *, after: str = BEGINNING) -> AsyncIterator[CompanyEvent]:
        """The events of all runs so far, in order, behind the `id` of an event."""
        return self._all("/events", EVENTS, {"after": after})

    def listen(self, *, after: str | None = None) -> AsyncIterator[CompanyEvent]:
        """Follow the events of all runs from now on, or after the `id` of an event."""
        return follow_company(self._transport, "/events", after)

    def webhooks(self) -> AsyncIterator[Webhook]:
        return self._all("/webhooks/", WEBHOOKS)

    async def webhook(self, webhook_id: str) -> Webhook:
        return await self._get(Webhook, "webhooks", webhook_id)

    async def add_webhook(
        self, url: str, *, events: Sequence[str] | None = None, description: str | None = None, key: str | None = None
    ) -> NewWebhook:
        """Have events sent to a URL; this response alone has the secret that signs them."""
        return await self._post(NewWebhook, "/webhooks/", _body(url, events, description), key=key)

    async def put_webhook(
        self, webhook_id: str, url: str, *, events: Sequence[str] | None = None, description: str | None = None
    ) -> Webhook:
        """Change a webhook, and enable it where it was not; its secret stays."""
        return await self._put(Webhook, "webhooks", webhook_id, body=_body(url, events, description))

    async def delete_webhook(self, webhook_id: str) -> None:
        """Delete a webhook; no error when there is none."""
        await self._delete("webhooks", webhook_id)

    async def test_webhook(self, webhook_id: str) -> WebhookTestResult:
        """Send a test notification; it is never repeated."""
        return await self._post_once(WebhookTestResult, "webhooks", webhook_id, "test", body={})

    def deliveries(self, webhook_id: str) -> AsyncIterator[Delivery]:
        """What was sent to a webhook or waits to be, newest first."""
        return self._all(path("webhooks", webhook_id, "deliveries"), DELIVERIES)

    async def redeliver(self, webhook_id: str, delivery_id: str, *, key: str | None = None) -> Delivery:
        """Send an event to a webhook once more."""
        return await self._post(
            Delivery, path("webhooks", webhook_id, "deliveries", delivery_id, "redeliver"), {}, key=key
        )


def _body(url: str, events: Sequence[str] | None, description: str | None) -> dict[str, Any]:
    return {"url": url, "events": None if events is None else list(events), "description": description}
