"""API keys: what services and agents authenticate with."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from actors.ports import Receipt
from daemon.model.audit_events import Logged

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


class ApiKeyRepository(Protocol):
    async def add_api_key(self, key: ApiKey, logged: Logged, receipt: Receipt | None, most: int = API_KEYS_MAX) -> None:
        """Keep a new key; KeyNameTaken or TooManyApiKeys when the company's live keys refuse it."""

    async def api_key(self, key_hash: bytes) -> ApiKey | None:
        """The key of a hash, unless it was deleted."""

    async def api_keys_of(self, company_id: str) -> Sequence[ApiKey]:
        """The keys of a company that were not deleted, oldest first."""

    async def delete_api_key(self, company_id: str, key_id: str, at: datetime, logged: Logged) -> bool:
        """Delete a key; False when there is none. No daemon accepts it when this returns."""

    async def touch_api_keys(self, key_ids: Collection[str], at: datetime) -> None:
        """Record that keys were used at that time."""
