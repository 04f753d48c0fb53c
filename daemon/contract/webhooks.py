"""Webhooks and notifications, and their deliveries."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, ConfigDict, Field

from daemon.contract.base import Request, Response, Url, example, printable
from daemon.contract.company import Zone
from daemon.contract.events import WebhookType

DeliveryStatus = Annotated[str, Field(json_schema_extra={"enum": ["pending", "delivered", "failed"]})]


class WebhookDefinition(Request):
    """A URL, and the types of events to send there; all of them without `events`."""

    model_config = example({"url": "https://example.com/penstock", "events": ["gate_opened", "run_ended"]})

    url: Url
    events: list[WebhookType] | None = Field(None, min_length=1, max_length=len(get_args(WebhookType)))
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


class SecretRotation(Request):
    """How many seconds the secret before the new one signs, too; a day by default."""

    model_config = example({"overlap_s": 86_400})

    overlap_s: int = Field(86_400, ge=0, le=2_592_000)


class RotatedSecret(Response):
    """A new secret, which is not shown again, and until when the one before signs beside it."""

    model_config = example(
        {"secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "overlap_until": "2026-01-02T09:00:00Z"}
    )

    secret: str = Field(repr=False)
    overlap_until: datetime


class Delivery(Response):
    """An event on its way to a webhook, and the result of the last attempt.

    Of `history_rewound`, which is about no run, `run_id` is the id of the company.
    """

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


NotificationKind = Literal["email", "slack", "teams", "webhook"]
NotificationEvent = Literal[
    "gate_opened",
    "gate_reminded",
    "gate_escalated",
    "gate_blocked",
    "gate_decided",
    "clock_warned",
    "clock_breached",
    "run_failed",
    "glass_broken",
    "question_answered",
]
Digest = Literal["PT1H", "P1D"]
Clock = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
NotificationStatus = Annotated[str, Field(json_schema_extra={"enum": ["pending", "delivered", "failed", "skipped"]})]
QUIET = {"from": "19:00", "to": "07:30", "timezone": "Europe/Vienna"}
NOTIFIED = {
    "kind": "slack",
    "group": "physicians",
    "events": ["gate_opened", "gate_escalated"],
    "verticals": ["prior-auth"],
    "description": "#approvals",
    "quiet_hours": QUIET,
    "digest": "PT1H",
    "enabled": True,
}


class QuietHours(Request):
    """Times of the day between which nothing is sent; by default in the company's time zone."""

    model_config = ConfigDict(serialize_by_alias=True, **example(QUIET))

    begins: Clock = Field(alias="from")
    ends: Clock = Field(alias="to")
    timezone: Zone | None = None


class ShownQuietHours(Response):
    """Times of the day between which nothing is sent, of the company's zone without another."""

    model_config = ConfigDict(serialize_by_alias=True, **example(QUIET))

    begins: str = Field(alias="from")
    ends: str = Field(alias="to")
    timezone: str | None = None


class NotificationDefinition(Request):
    """Of what a person or a group is told, by which channel, and when.

    Without `group` it is the caller's own. `url` is needed for all but e-mail, and a change without
    it keeps the one that is there. `digest` collects what happens in an hour or a day.
    """

    model_config = example({**NOTIFIED, "url": "https://hooks.example.com/services/T0/B0/x1"})

    kind: NotificationKind
    group: Annotated[str, Field(max_length=63)] | None = None
    events: list[NotificationEvent] = Field(min_length=1, max_length=20)
    verticals: list[Annotated[str, Field(min_length=1, max_length=200)]] | None = Field(
        None, min_length=1, max_length=100
    )
    url: Url | None = Field(None, repr=False)
    description: Annotated[str, Field(max_length=500), AfterValidator(printable)] | None = None
    quiet_hours: QuietHours | None = None
    digest: Digest | None = None
    enabled: bool = True


_NOTIFICATION = {
    "id": "0199c1f0-0000-7000-8000-00000000000c",
    **NOTIFIED,
    "member_id": None,
    "url": "https://hooks.example.com/…",
    "disabled_reason": None,
    "failures": 0,
    "created_at": "2026-01-01T09:00:00Z",
    "updated_at": "2026-01-01T09:00:00Z",
    "updated_by": "ada@example.test",
}


class NotificationRule(Response):
    """What a member or a group is told of; of its URL, a secret, only the host is shown."""

    model_config = example(_NOTIFICATION)

    id: str
    kind: NotificationKind
    member_id: str | None = None
    group: str | None = None
    events: tuple[str, ...]
    verticals: tuple[str, ...] | None = None
    url: str | None = None
    description: str | None = None
    quiet_hours: ShownQuietHours | None = None
    digest: Digest | None = None
    enabled: bool
    disabled_reason: str | None = None
    failures: int
    created_at: datetime
    updated_at: datetime
    updated_by: str


class NewNotificationRule(NotificationRule):
    """A new notification, with the secret that signs what a webhook gets; it is not shown again."""

    model_config = example({**_NOTIFICATION, "secret": None})

    secret: str | None = Field(None, repr=False)


class NotificationDelivery(Response):
    """Something to tell, on its way; `skipped` when nobody needs to be told any more.

    `recipient` is the member whom a mail to a group is for.
    """

    model_config = example(
        {
            "id": "msg_0199c1f0-0000-7000-8000-000000000003_13",
            "run_id": "0199c1f0-0000-7000-8000-000000000003",
            "type": "gate_opened",
            "recipient": None,
            "status": "delivered",
            "attempts": 1,
            "status_code": 200,
            "latency_ms": 48,
            "error": None,
            "created_at": "2026-01-01T09:00:00Z",
            "last_attempt_at": "2026-01-01T09:00:00Z",
            "next_attempt_at": None,
        }
    )

    id: str
    run_id: str
    type: str
    recipient: str | None = None
    status: NotificationStatus
    attempts: int
    status_code: int | None = None
    latency_ms: int | None = None
    error: str | None = None
    created_at: datetime
    last_attempt_at: datetime | None = None
    next_attempt_at: datetime | None = None
