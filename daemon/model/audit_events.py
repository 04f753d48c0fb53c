"""The company's own log: what people do outside of runs, as events of the same form as a run's."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from actors.core.calls import Connector
from actors.core.messages import EventBase

KeyPurpose = Literal["tokens", "secrets", "audit"]

SecretChange = Literal["none", "set", "changed", "kept", "removed"]

SERVICE = ""
"""The id under which the service keeps a log of its own, for what belongs to no company."""

PASSWORD = "password"  # noqa: S105 - a kind of proof, not a password


class Registered(EventBase, frozen=True, kw_only=True, tag="registered"):
    """A company began, with its first user."""

    by: str
    company: str
    role: str
    user: str
    via: str = PASSWORD


class LoggedIn(EventBase, frozen=True, kw_only=True, tag="logged_in"):
    """Somebody proved who they are, and has a token until then."""

    by: str
    token: str
    until: datetime
    via: str = PASSWORD


class LoggedOut(EventBase, frozen=True, kw_only=True, tag="logged_out"):
    """A token was revoked by whoever holds it."""

    by: str
    token: str
    via: str


class LoginRefused(EventBase, frozen=True, kw_only=True, tag="login_refused"):
    """Somebody gave this address, and a password that is not its own."""

    by: str
    reason: str = "invalid_credentials"
    via: str = PASSWORD


class ConnectorChanged(EventBase, frozen=True, kw_only=True, tag="connector_changed"):
    """A connector was made, changed or deleted; of its secret only what became of it."""

    after: Connector | None
    before: Connector | None
    by: str
    number: int
    secret: SecretChange
    tool_id: str
    version: int
    via: str


class WebhookForm(Struct, frozen=True, kw_only=True):
    """What a webhook is, without its secret."""

    description: str | None
    enabled: bool
    events: tuple[str, ...] | None
    reason: str | None
    url: str


class WebhookChanged(EventBase, frozen=True, kw_only=True, tag="webhook_changed"):
    """A webhook was made, changed, disabled or deleted; `by` is empty where the service did so itself."""

    after: WebhookForm | None
    before: WebhookForm | None
    by: str
    via: str
    webhook_id: str


class KeysForm(Struct, frozen=True, kw_only=True):
    """The keys in a file, by their ids: the one in use, and all that count."""

    current: str
    known: tuple[str, ...]


class KeysChanged(EventBase, frozen=True, kw_only=True, tag="keys_changed"):
    """Keys of the service were made, rotated or dropped; `by` is empty, as a file does not say who changed it."""

    after: KeysForm
    before: KeysForm | None
    by: str
    purpose: KeyPurpose
    via: str


LogEvent = Registered | LoggedIn | LoggedOut | LoginRefused | ConnectorChanged | WebhookChanged | KeysChanged


class Logged(Struct, frozen=True):
    """An event on its way into the log of a company."""

    company_id: str
    event: LogEvent
