"""Webhooks, their deliveries, and their repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from actors.core.people.authority import ByKind
from actors.ports import Receipt
from daemon.model.audit_events import Logged
from daemon.model.event_log import BEGINNING, CompanyEvent, Position

WEBHOOKS_MAX = 20
"""How many a company may have, if nothing else is set."""

WINDOW_MAX = 500
"""How many deliveries of a webhook may be pending; what comes behind them waits in the journal."""

KEPT_MAX = 1_000
KEPT_S = 7 * 86_400
REVIVED_FROM = 5
"""After so many failures in a row a success makes all that is pending due at once."""

TEST_TYPE = "webhook.test"


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook; `failures` counts consecutive ones, `reason` says why it is disabled.

    All events up to the cursor have become deliveries.
    """

    company_id: str
    id: str
    url: str
    events: tuple[str, ...] | None
    description: str | None
    sealed_secret: bytes
    created_at: datetime
    updated_at: datetime
    updated_by: str
    enabled: bool = True
    reason: str | None = None
    failures: int = 0
    cursor: Position = BEGINNING

    @property
    def key(self) -> tuple[str, str]:
        return self.company_id, self.id


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one webhook; pending while there is a `next_at`.

    The id is the same for each attempt and each webhook. `tries` counts since the schedule began.
    """

    company_id: str
    webhook_id: str
    number: int
    id: str
    position: Position
    run_id: str
    seq: int
    type: str
    created_at: datetime
    status: Literal["pending", "delivered", "failed"] = "pending"
    attempts: int = 0
    tries: int = 0
    next_at: datetime | None = None
    last_at: datetime | None = None
    status_code: int | None = None
    latency_ms: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DeliveryQueue:
    """A webhook with its due deliveries, the number of pending ones, and the time of the next."""

    webhook: Webhook
    due: Sequence[Delivery]
    pending: int
    next_at: datetime | None


@dataclass(frozen=True, slots=True)
class WebhookTestResult:
    ok: bool
    status_code: int | None
    latency_ms: int | None
    error: str | None


class WebhookRepository(Protocol):
    """The webhooks of each company and their deliveries; a change and its log event are atomic."""

    async def add_webhook(
        self, webhook: Webhook, logged: Logged, receipt: Receipt | None, most: int = WEBHOOKS_MAX
    ) -> None:
        """Store a webhook that begins at the present; ReceiptTaken, or TooManyWebhooks."""

    async def put_webhook(self, webhook: Webhook, logged: Logged) -> bool:
        """Update and enable a webhook; False, and nothing changed, without one."""

    async def delete_webhook(self, company_id: str, webhook_id: str, logged: Logged) -> bool:
        """Delete a webhook with its deliveries; False, and nothing changed, without one."""

    async def webhook(self, company_id: str, webhook_id: str) -> Webhook | None: ...

    async def webhooks_of(self, company_id: str) -> Sequence[Webhook]:
        """A company's webhooks by id, in order."""

    async def enabled_webhooks(self, after: tuple[str, str], limit: int) -> Sequence[tuple[str, str]]:
        """At most `limit` (company_id, id) of enabled webhooks behind one, in order."""

    async def webhook_queue(self, company_id: str, webhook_id: str, at: datetime, limit: int) -> DeliveryQueue | None:
        """A webhook with at most `limit` due deliveries, the longest due first."""

    async def enqueue(self, webhook: Webhook, found: Sequence[CompanyEvent], cursor: Position, at: datetime) -> None:
        """Make events deliveries and move the cursor, atomically; old settled ones are deleted."""

    async def settle_delivery(self, after: Delivery, at: datetime, gone: tuple[str, Logged] | None = None) -> None:
        """Keep how an attempt ended; `gone` disables the webhook, for that reason."""

    async def redeliver(self, company_id: str, webhook_id: str, delivery_id: str, at: datetime) -> Delivery | None:
        """Restart the schedule of a delivery; None without one."""

    async def deliveries(self, company_id: str, webhook_id: str, before: int | None, limit: int) -> Sequence[Delivery]:
        """At most `limit` deliveries, newest first, those with a number below `before`."""

    async def drop_deliveries(self, before: datetime) -> int:
        """Drop settled deliveries that were made before that time; returns how many."""


@dataclass(frozen=True, slots=True)
class WebhookDraft:
    company_id: str
    url: str
    events: tuple[str, ...] | None
    description: str | None
    by: str
    via: str
    by_kind: ByKind = "person"


class TooManyWebhooks(Exception):
    """The company has as many webhooks as it may."""


def message_id(run_id: str, seq: int) -> str:
    """The id of the message about an event, the same for every attempt and receiver."""
    return f"msg_{run_id}_{seq}"
