"""Notifications: whom they are for and when they are sent; and events of a company's log."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from actors.core.messages import EventBase

NotificationKind = Literal["email", "slack", "teams", "webhook"]
NotificationEvent = Literal[
    "gate_opened", "gate_reminded", "gate_escalated", "gate_blocked", "gate_decided", "run_failed"
]
Digest = Literal["PT1H", "P1D"]


class StoredQuietHours(Struct, frozen=True, kw_only=True):
    """Times of the day, such as 22:00; without a time zone they are of the company's calendar."""

    begins: str
    ends: str
    timezone: str | None = None


class NotificationTerms(Struct, frozen=True, kw_only=True):
    """A notification is for one member or for a group; without verticals, of all of them."""

    member_id: str | None = None
    group: str | None = None
    verticals: tuple[str, ...] = ()
    quiet_hours: StoredQuietHours | None = None
    digest: Digest | None = None


class NotificationForm(Struct, frozen=True, kw_only=True):
    """A notification without its secrets: of its URL only the host is shown."""

    description: str | None
    enabled: bool
    events: tuple[str, ...]
    kind: NotificationKind
    reason: str | None
    terms: NotificationTerms
    url: str


class NotificationChanged(EventBase, frozen=True, kw_only=True, tag="notification_changed"):
    """A notification was created, changed, disabled or deleted.

    `by` is empty if the service did it; `secret_digest` is that of the sealed URL and secret.
    """

    after: NotificationForm | None
    before: NotificationForm | None
    by: str
    notification_id: str
    secret_digest: str | None = None
    via: str
