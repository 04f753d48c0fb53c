"""API keys: what services and agents authenticate with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

KeyKind = Literal["service", "agent"]
API_KEYS_MAX = 100


class KeyNameTaken(Exception):
    """A live key of the company has this name."""


class TooManyApiKeys(Exception):
    """The company has as many live keys as it may have."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key by its SHA-256; a deleted one stays, since records name it."""

    company_id: str
    id: str
    name: str
    kind: KeyKind
    role: str
    prefix: str
    key_hash: bytes
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    deleted_at: datetime | None = None
    acts_for: bool = False
    """Whether it may say for whom it starts a run."""

    @property
    def made_by(self) -> str:
        """Who made it, and counts as doing what it does."""
        return self.created_by
