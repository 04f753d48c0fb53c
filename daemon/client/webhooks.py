"""What happens in all runs of the company, and the webhooks that are told of it, as methods."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from pydantic import TypeAdapter

from daemon.client.http import Ask, keyed, path
from daemon.client.paging import Paging
from daemon.client.streams import overheard
from daemon.contract.events import CompanyEvent
from daemon.contract.webhooks import Delivery, NewWebhook, Webhook, WebhookTestResult

WEBHOOKS = TypeAdapter(list[Webhook])
DELIVERIES = TypeAdapter(list[Delivery])
HAPPENED = TypeAdapter(list[CompanyEvent])
BEGINNING = "0"


class Telling(Paging):
    """Read what happens, and have it sent to URLs."""

    def happened(self, *, after: str = BEGINNING) -> AsyncIterator[CompanyEvent]:
        """What has happened in all runs, in order, behind the `id` of an event."""
        return self._all("/events", HAPPENED, {"after": after})

    def listen(self, *, after: str | None = None) -> AsyncIterator[CompanyEvent]:
        """What happens in all runs from now on, or behind the `id` of an event; goes on over lost connections."""
        return overheard(self._exchange, "/events", after)

    def webhooks(self) -> AsyncIterator[Webhook]:
        """The webhooks."""
        return self._all("/webhooks/", WEBHOOKS)

    async def webhook(self, webhook_id: str) -> Webhook:
        """A webhook."""
        return await self._read(Webhook, "webhooks", webhook_id)

    async def add_webhook(
        self, url: str, *, events: Sequence[str] | None = None, description: str | None = None, key: str | None = None
    ) -> NewWebhook:
        """Have events sent to a URL, all or those of these types; the answer alone has the secret that signs them."""
        ask = Ask("POST", "/webhooks/", body=_body(url, events, description), headers=keyed(key))
        return (await self._exchange.send(ask)).read(NewWebhook)

    async def put_webhook(
        self, webhook_id: str, url: str, *, events: Sequence[str] | None = None, description: str | None = None
    ) -> Webhook:
        """Change a webhook, and enable it where it was not; its secret stays."""
        ask = Ask("PUT", path("webhooks", webhook_id), body=_body(url, events, description))
        return (await self._exchange.send(ask)).read(Webhook)

    async def delete_webhook(self, webhook_id: str) -> None:
        """See to it that a webhook is told nothing, which may not have been there before."""
        await self._delete("webhooks", webhook_id)

    async def test_webhook(self, webhook_id: str) -> WebhookTestResult:
        """Send a message that tells nothing, once."""
        ask = Ask("POST", path("webhooks", webhook_id, "test"), body={}, again=False)
        return (await self._exchange.send(ask)).read(WebhookTestResult)

    def deliveries(self, webhook_id: str) -> AsyncIterator[Delivery]:
        """What was sent to a webhook or waits to be, newest first."""
        return self._all(path("webhooks", webhook_id, "deliveries"), DELIVERIES)

    async def redeliver(self, webhook_id: str, delivery_id: str, *, key: str | None = None) -> Delivery:
        """Send an event to a webhook once more."""
        address = path("webhooks", webhook_id, "deliveries", delivery_id, "redeliver")
        ask = Ask("POST", address, body={}, headers=keyed(key))
        return (await self._exchange.send(ask)).read(Delivery)


def _body(url: str, events: Sequence[str] | None, description: str | None) -> dict[str, Any]:
    return {"url": url, "events": None if events is None else list(events), "description": description}
