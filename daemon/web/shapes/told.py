"""The shapes of what others are told, and of whom."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from typing_extensions import TypedDict

from daemon.model.event_log import EventType
from daemon.web.shapes.runs import EventShape


class PlacedShape(TypedDict):
    """An event of one of the company's runs; `id` is its place among all of them."""

    id: str
    run_id: str
    seq: int
    event: EventShape


class WebhookShape(TypedDict):
    """Whom the company tells of its runs' events."""

    id: str
    url: str
    events: list[EventType] | None
    description: str | None
    enabled: bool
    disabled_reason: str | None
    failures: int
    created_at: datetime
    updated_at: datetime
    updated_by: str


class NewWebhookShape(WebhookShape):
    """A webhook as it is made, with the secret that its messages are signed with: it is not shown again."""

    secret: str


class DeliveryShape(TypedDict):
    """An event on its way to a webhook, and how the last attempt went."""

    id: str
    event_id: str
    run_id: str
    seq: int
    type: str
    status: Literal["pending", "delivered", "failed"]
    attempts: int
    status_code: int | None
    latency_ms: int | None
    error: str | None
    created_at: datetime
    last_attempt_at: datetime | None
    next_attempt_at: datetime | None


class WebhookTrialShape(TypedDict):
    """How a test of a webhook went."""

    ok: bool
    status_code: int | None
    latency_ms: int | None
    error: str | None
