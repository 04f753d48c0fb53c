"""Webhooks and notifications, their deliveries, and their changes as log events.

A notification is a webhook to people. It goes through the same deliveries, but the notifier makes
those of a company's notifications, and they have a `kind` and terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple

from msgspec import UNSET

from actors.core.messages import kept_kind
from actors.core.people import ByKind
from daemon.model.audit_events import Caller, Logged, WebhookChanged, WebhookForm
from daemon.model.chain import digest
from daemon.model.event_log import BEGINNING, LoggedEvent, Position
from daemon.model.events.company import (
    NotificationChanged,
    NotificationEvent,
    NotificationForm,
    NotificationKind,
    NotificationTerms,
)

WEBHOOKS_MAX = 20
"""How many a company may have, if nothing else is set."""

WINDOW_MAX = 500
"""How many deliveries of a webhook may be pending; what comes behind them waits in the journal."""

PAGE_MAX = 200
"""How many events are read at once; fewer that no webhook wants move its cursor in memory alone."""

KEPT_MAX = 1_000
KEPT_S = 7 * 86_400
REVIVED_FROM = 5
"""After so many failures in a row a success makes all that is pending due at once."""

NOTIFICATIONS_MAX = 1_000
"""How many notifications a company may have, if nothing else is set."""

TEST_TYPE = "webhook.test"


@dataclass(frozen=True, slots=True)
class StoredWebhook:
    """A webhook; `failures` counts consecutive ones, `reason` says why it is disabled.

    All events up to the cursor have become deliveries. The cursor of a notification stays where it
    was created; what is sealed of it holds the URL, too, and `url` shows the host alone.
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
    kind: Literal["events", "aap"] | NotificationKind = "events"
    terms: NotificationTerms | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.company_id, self.id

    @property
    def follows(self) -> bool:
        """Whether it is told of events as they come; notifications have what the notifier makes."""
        return self.kind in ("events", "aap")

    def wants(self, one: LoggedEvent) -> bool:
        return self.events is None or one.event.type in self.events


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """One event for one webhook; pending while there is a `next_at`.

    The id is the same for each attempt and each webhook. `tries` counts since the schedule began.
    A mail to a group has one delivery for each `recipient`, a member's id. What nobody needs to be
    told any more is `skipped`.
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
    status: Literal["pending", "delivered", "failed", "skipped"] = "pending"
    attempts: int = 0
    tries: int = 0
    next_at: datetime | None = None
    last_at: datetime | None = None
    status_code: int | None = None
    latency_ms: int | None = None
    error: str | None = None
    recipient: str | None = None
    mark: bytes = b""


EndedDelivery = tuple[StoredDelivery, StoredDelivery]
"""A delivery as an attempt found it, and as the attempt left it."""

EndedAttempt = tuple[Sequence[EndedDelivery], datetime, tuple[str, Logged] | None]
"""The deliveries of one message, when it ended, and why its webhook is disabled."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An event of which a notification tells, to a member where it is a mail to a group."""

    webhook_id: str
    event: LoggedEvent
    type: NotificationEvent
    next_at: datetime
    recipient: str | None = None


@dataclass(frozen=True, slots=True)
class DeliveryQueue:
    """A webhook with its due deliveries, the number of pending ones, and the time of the next."""

    webhook: StoredWebhook
    due: Sequence[StoredDelivery]
    pending: int
    next_at: datetime | None


@dataclass(frozen=True, slots=True)
class WebhookDraft:
    company_id: str
    url: str
    events: tuple[str, ...] | None
    description: str | None
    by: str
    via: str
    by_kind: ByKind = "person"
    caller: Caller | None = None


class WebhookReplaced(NamedTuple):
    """The webhook of an instance before and after a change, and what the log says of it."""

    before: StoredWebhook | None
    after: StoredWebhook | None
    logged: Logged


class TooManyWebhooks(Exception):
    """The company has as many webhooks, or notifications, as it may."""


def message_id(run_id: str, seq: int, recipient: str | None = None) -> str:
    """The id of the message about an event, the same for every attempt.

    It is the same for every receiver, too, but that of a mail to a group names the member.
    """
    return f"msg_{run_id}_{seq}" if recipient is None else f"msg_{run_id}_{seq}_{recipient}"


def notification_form(one: StoredWebhook | None) -> NotificationForm | None:
    """A notification as the log has it."""
    if one is None or one.kind == "events" or one.kind == "aap" or one.terms is None:  # noqa: PLR1714 - narrows
        return None
    return NotificationForm(
        description=one.description,
        enabled=one.enabled,
        events=one.events or (),
        kind=one.kind,
        reason=one.reason,
        terms=one.terms,
        url=one.url,
    )


SERVICE_VIA = "service"


def subscription_changed(
    before: StoredWebhook | None,
    after: StoredWebhook | None,
    at: datetime,
    by: str,
    via: str,
    *,
    kind: ByKind = "person",
) -> WebhookChanged | NotificationChanged:
    one = after or before
    assert one is not None  # noqa: S101 - one of them is there
    sealed = None if after is None else digest(after.sealed_secret)
    about: dict[str, Any] = {"at": at, "by": by, "by_kind": kept_kind(kind), "secret_digest": sealed, "via": via}
    if one.follows:
        return WebhookChanged(after=_webhook_form(after), before=_webhook_form(before), webhook_id=one.id, **about)
    return NotificationChanged(
        after=notification_form(after), before=notification_form(before), notification_id=one.id, **about
    )


def subscription_disabled(before: StoredWebhook, reason: str, at: datetime) -> WebhookChanged | NotificationChanged:
    return subscription_changed(before, replace(before, enabled=False, reason=reason), at, "", SERVICE_VIA)


def _webhook_form(one: StoredWebhook | None) -> WebhookForm | None:
    if one is None:
        return None
    return WebhookForm(
        description=one.description,
        enabled=one.enabled,
        events=one.events,
        reason=one.reason,
        url=one.url,
        kind="aap" if one.kind == "aap" else UNSET,
    )
