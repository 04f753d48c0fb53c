"""The company's own log: what people do outside of runs, as events of the same form as a run's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from actors.core.calls import Connector

KeyPurpose = Literal["tokens", "secrets", "audit"]

SecretChange = Literal["none", "set", "changed", "kept", "removed"]

SERVICE = ""
"""The id under which the service keeps a log of its own, for what belongs to no company."""

PASSWORD = "password"  # noqa: S105 - a kind of proof, not a password


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A company began, with its first user."""

    at: datetime
    by: str
    company: str
    role: str
    type: Literal["registered"] = "registered"
    user: str
    via: str = PASSWORD


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedIn:
    """Somebody proved who they are, and has a token until then."""

    at: datetime
    by: str
    token: str
    type: Literal["logged_in"] = "logged_in"
    until: datetime
    via: str = PASSWORD


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedOut:
    """A token was revoked by whoever holds it."""

    at: datetime
    by: str
    token: str
    type: Literal["logged_out"] = "logged_out"
    via: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRefused:
    """Somebody gave this address, and a password that is not its own."""

    at: datetime
    by: str
    reason: str = "invalid_credentials"
    type: Literal["login_refused"] = "login_refused"
    via: str = PASSWORD


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorChanged:
    """A connector was made, changed or deleted; of its secret only what became of it."""

    after: Connector | None
    at: datetime
    before: Connector | None
    by: str
    number: int
    secret: SecretChange
    tool_id: str
    type: Literal["connector_changed"] = "connector_changed"
    version: int
    via: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookForm:
    """What a webhook is, without its secret."""

    description: str | None
    enabled: bool
    events: tuple[str, ...] | None
    reason: str | None
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookChanged:
    """A webhook was made, changed, disabled or deleted; `by` is empty where the service did so itself."""

    after: WebhookForm | None
    at: datetime
    before: WebhookForm | None
    by: str
    type: Literal["webhook_changed"] = "webhook_changed"
    via: str
    webhook_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysForm:
    """The keys in a file, by their ids: the one in use, and all that count."""

    current: str
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysChanged:
    """Keys of the service were made, rotated or dropped; `by` is empty, as a file does not say who changed it."""

    after: KeysForm
    at: datetime
    before: KeysForm | None
    by: str
    purpose: KeyPurpose
    type: Literal["keys_changed"] = "keys_changed"
    via: str


LogEvent = Registered | LoggedIn | LoggedOut | LoginRefused | ConnectorChanged | WebhookChanged | KeysChanged


@dataclass(frozen=True, slots=True)
class Logged:
    """An event on its way into the log of a company."""

    company_id: str
    event: LogEvent
