"""Stored connectors, their changes, and the companies' wrapped keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from msgspec import UNSET, UnsetType

from actors.core.calls import Connector
from actors.core.people import ByKind
from daemon.model.audit_events import Caller, SecretChange

SESSION = "session"
"""The kind of token that a person has after logging in."""


@dataclass(frozen=True, slots=True)
class StoredConnector:
    """A connector with its sealed secret."""

    company_id: str
    connector: Connector
    sealed_secret: bytes | None
    created_at: datetime
    updated_at: datetime
    updated_by: str


@dataclass(frozen=True, slots=True)
class StoredConnectorChange:
    """The change `number`, from 1, of a tool-id; `version` is that of the connector after it.

    `by_kind` and `unchanged` stand in the company's log alone. With a `caller` it is made only
    while that is the caller's role.
    """

    company_id: str
    tool_id: str
    number: int
    version: int
    at: datetime
    by: str
    secret: SecretChange
    before: Connector | None
    after: Connector | None
    via: str = SESSION
    by_kind: ByKind | UnsetType = UNSET
    unchanged: bool | UnsetType = UNSET
    caller: Caller | None = None


@dataclass(frozen=True, slots=True)
class CompanyKey:
    """The data key of a company, wrapped by the key-encryption key of that id."""

    company_id: str
    key_id: str
    wrapped: bytes
    created_at: datetime


class CompanyKeys(Protocol):
    """The wrapped data keys of the companies."""

    async def company_key(self, company_id: str) -> CompanyKey | None: ...

    async def add_company_key(self, key: CompanyKey) -> CompanyKey:
        """Keep a company's key unless it has one; returns the one that counts."""

    async def company_keys(self, not_by: str, after: str, limit: int) -> Sequence[CompanyKey]:
        """At most `limit` keys that another key wraps, by company, after the company `after`."""

    async def rewrap_company_keys(self, keys: Sequence[CompanyKey]) -> None:
        """Put other wrappings in place of the earlier ones, all or none."""
