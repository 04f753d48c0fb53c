"""Values of rows, as the events of logs have them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from daemon.model.audit_events import SecretForm, UserForm, WebhookForm
from daemon.model.events.company import AutonomyChanged, CalendarChanged, PolicyChanged
from daemon.model.events.notifications import NotificationForm
from daemon.stores.rows import text

UNKNOWN: Final = object()
"""The value of a column that an event of an earlier version does not tell."""

Values = dict[str, Any]
Key = tuple[Any, ...]


def earlier(rows: Mapping[Key, Values], key: Key, column: str) -> Any:
    return rows[key].get(column, UNKNOWN) if key in rows else UNKNOWN


def user_values(form: UserForm) -> Values:
    return {
        "id": form.id,
        "email": form.email,
        "name": form.name,
        "password_hash": form.password_digest,
        "created_at": text(form.created_at),
    }


def stood(form: SecretForm) -> Values:
    return {
        "sealed_secret": form.secret_digest,
        "created_at": text(form.created_at),
        "updated_at": text(form.updated_at),
        "updated_by": form.updated_by,
    }


def webhook_row(form: WebhookForm | NotificationForm) -> Values:
    """What both webhooks and notifications have."""
    return {
        "url": form.url,
        "events": None if form.events is None else json.dumps(form.events),
        "description": form.description,
        "enabled": form.enabled,
        "reason": form.reason,
    }


def numbered_row(event: PolicyChanged | CalendarChanged | AutonomyChanged) -> Values:
    return {"number": event.number, "updated_at": text(event.at), "updated_by": event.by}
