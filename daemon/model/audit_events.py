"""The log of a company: changes made by users outside of runs."""

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
    """A company was created with its first user."""

    by: str
    company: str
    role: str
    user: str
    via: str = PASSWORD


class LoggedIn(EventBase, frozen=True, kw_only=True, tag="logged_in"):
    """A user was authenticated, and has a token until then."""

    by: str
    token: str
    until: datetime
    via: str = PASSWORD


class LoggedOut(EventBase, frozen=True, kw_only=True, tag="logged_out"):
    """A token was revoked by its owner."""

    by: str
    token: str
    via: str


class LoginRefused(EventBase, frozen=True, kw_only=True, tag="login_refused"):
    by: str
    reason: str = "invalid_credentials"
    via: str = PASSWORD


class ConnectorChanged(EventBase, frozen=True, kw_only=True, tag="connector_changed"):
    """A connector was created, changed or deleted; `secret` says what happened to its secret."""

    after: Connector | None
    before: Connector | None
    by: str
    number: int
    secret: SecretChange
    tool_id: str
    version: int
    via: str


class WebhookForm(Struct, frozen=True, kw_only=True):
    """A webhook without its secret."""

    description: str | None
    enabled: bool
    events: tuple[str, ...] | None
    reason: str | None
    url: str


class WebhookChanged(EventBase, frozen=True, kw_only=True, tag="webhook_changed"):
    """A webhook was created, changed, disabled or deleted; `by` is empty if the service did it."""

    after: WebhookForm | None
    before: WebhookForm | None
    by: str
    via: str
    webhook_id: str


class KeysForm(Struct, frozen=True, kw_only=True):
    """The ids of the keys in a file: the current one, and all."""

    current: str
    known: tuple[str, ...]


class KeysChanged(EventBase, frozen=True, kw_only=True, tag="keys_changed"):
    """Key files were created, rotated or pruned; `by` is empty, as a file does not tell."""

    after: KeysForm
    before: KeysForm | None
    by: str
    purpose: KeyPurpose
    via: str


LogEvent = Registered | LoggedIn | LoggedOut | LoginRefused | ConnectorChanged | WebhookChanged | KeysChanged


class Logged(Struct, frozen=True):
    """An event to append to the log of a company."""

    company_id: str
    event: LogEvent
