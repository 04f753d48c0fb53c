"""What the service tells of all runs, and whom, as frozen models."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from daemon.client.models import Event, Record


class Placed(Record):
    """An event of one of the company's runs; `id` is its place among all of them."""

    id: str
    run_id: str
    seq: int
    event: Event


class Webhook(Record):
    """A URL that is told of events: of all, or of those types."""

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
    """A webhook as it is made, with the secret that signs what it is sent; it is not shown again."""

    secret: str = Field(repr=False)


class Delivery(Record):
    """An event on its way to a webhook, and how the last attempt went."""

    id: str
    event_id: str
    run_id: str
    seq: int
    type: str
    status: str
    attempts: int
    status_code: int | None = None
    latency_ms: int | None = None
    error: str | None = None
    created_at: datetime
    last_attempt_at: datetime | None = None
    next_attempt_at: datetime | None = None


class WebhookTrial(Record):
    """How a test of a webhook went."""

    ok: bool
    status_code: int | None = None
    latency_ms: int | None = None
    error: str | None = None
