"""Webhooks and their deliveries."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field

from daemon.contract.base import Request, Response, example
from daemon.contract.events import EventType
from daemon.contract.text import Url, printable

DeliveryStatus = Annotated[str, Field(json_schema_extra={"enum": ["pending", "delivered", "failed"]})]


class WebhookDefinition(Request):
    """A URL, and the types of events to send there; all of them without `events`."""

    model_config = example({"url": "https://example.com/penstock", "events": ["gate_opened", "run_ended"]})

    url: Url
    events: list[EventType] | None = Field(None, min_length=1, max_length=20)
    description: Annotated[str, Field(max_length=500), AfterValidator(printable)] | None = None


class Webhook(Response):
    """A URL that receives the events of the company's runs."""

    id: str
    url: str
    events: tuple[str, ...] | None = None
    description: str | None = None
    enabled: bool
    disabled_reason: str | None = None
    failures: int
    created_at: datetime
    updated_at: datetime
    updated_by: str


class NewWebhook(Webhook):
    """A new webhook, with the secret that signs its notifications; it is not shown again."""

    secret: str = Field(repr=False)


class Delivery(Response):
    """An event on its way to a webhook, and the result of the last attempt."""

    id: str
    event_id: str
    run_id: str
    seq: int
    type: str
    status: DeliveryStatus
    attempts: int
    status_code: int | None = None
    latency_ms: int | None = None
    error: str | None = None
    created_at: datetime
    last_attempt_at: datetime | None = None
    next_attempt_at: datetime | None = None


class WebhookTestResult(Response):
    """The result of a test notification."""

    ok: bool
    status_code: int | None = None
    latency_ms: int | None = None
    error: str | None = None
