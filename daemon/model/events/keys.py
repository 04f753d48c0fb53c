"""Events of a company's log: what happened to its API keys."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import UNSET, UnsetType

from actors.core.messages import EventBase


class ApiKeyCreated(EventBase, frozen=True, kw_only=True, tag="api_key_created"):
    """An API key was created; `digest` is that of the stored hash.

    One that `acts_for` others may say for whom it starts a run.
    """

    acts_for: bool | UnsetType = UNSET
    by: str
    digest: str
    expires_at: datetime | None
    key_id: str
    kind: Literal["service", "agent"]
    name: str
    prefix: str
    role: str
    via: str


class ApiKeyDeleted(EventBase, frozen=True, kw_only=True, tag="api_key_deleted"):
    by: str
    key_id: str
    name: str
    via: str
