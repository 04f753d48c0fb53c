"""Changes of webhooks as log events, without secrets."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from actors.core.messages import kept_kind
from actors.core.people.authority import ByKind
from daemon.model.audit_events import WebhookChanged, WebhookForm
from daemon.model.chain import digest
from daemon.model.webhooks import Webhook

SERVICE_VIA = "service"


def changed(
    before: Webhook | None, after: Webhook | None, at: datetime, by: str, via: str, *, kind: ByKind = "person"
) -> WebhookChanged:
    one = after or before
    assert one is not None  # noqa: S101 - one of them is there
    sealed = None if after is None else digest(after.sealed_secret)
    return WebhookChanged(
        after=_form(after),
        at=at,
        before=_form(before),
        by=by,
        by_kind=kept_kind(kind),
        secret_digest=sealed,
        via=via,
        webhook_id=one.id,
    )


def disabled(before: Webhook, reason: str, at: datetime) -> WebhookChanged:
    return changed(before, replace(before, enabled=False, reason=reason), at, "", SERVICE_VIA)


def _form(one: Webhook | None) -> WebhookForm | None:
    if one is None:
        return None
    return WebhookForm(
        description=one.description, enabled=one.enabled, events=one.events, reason=one.reason, url=one.url
    )
