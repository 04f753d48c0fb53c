"""Templates of a company's own: drafts, and the versions that were published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from actors.core.gate_policy import Loosened
from actors.ports import Receipt
from daemon.model.audit_events import Logged

NO_DRAFT = ""
"""Stands for the digest of a draft where there is none."""


class DraftChanged(Exception):
    """The draft is not the one that was seen; nothing was changed."""


class VersionTaken(Exception):
    """Another version was published meanwhile; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A document that may yet break rules, as its author sent it; `digest` is that of its JSON."""

    company_id: str
    vertical: str
    document: str
    digest: str
    title: str
    saved_at: datetime
    saved_by: str
    size: int = 0
    """The length of the document."""


@dataclass(frozen=True, slots=True)
class OwnVersion:
    """A published version without its document, and the address or key name of who published it.

    `drafted_by` saved the draft, `made_by` made the key that published it. Its `loosened` gates are
    those that it makes laxer.
    """

    company_id: str
    vertical: str
    version: int
    digest: str
    title: str
    published_at: datetime
    published_by: str
    retired_at: datetime | None = None
    retired_by: str | None = None
    size: int = 0
    """The length of the document."""
    drafted_by: str | None = None
    made_by: str | None = None
    loosened: tuple[Loosened, ...] = ()


class OwnDocument(NamedTuple):
    """A version as canonical JSON, and what is known of it beside."""

    document: str
    published_by: str
    drafted_by: str | None
    loosened: tuple[Loosened, ...]


class OwnTemplateSource(Protocol):
    """The companies' own templates that were published."""

    async def own_versions(self, company_id: str) -> Sequence[OwnVersion]:
        """All versions of a company, by vertical, the newest first."""

    async def own_document(self, company_id: str, digest: str) -> OwnDocument | None:
        """A version by its digest."""


class OwnTemplateRepository(OwnTemplateSource, Protocol):
    """What a store keeps of companies' own templates."""

    async def draft(self, company_id: str, vertical: str) -> Draft | None: ...

    async def drafts(self, company_id: str) -> Sequence[Draft]:
        """All drafts of a company, by vertical, each with an empty document."""

    async def put_draft(self, draft: Draft, seen: frozenset[str] | None) -> None:
        """Keep a draft; with `seen` only in place of one of these digests, else DraftChanged.

        `NO_DRAFT` among them allows that there is none.
        """

    async def delete_draft(self, company_id: str, vertical: str, seen: frozenset[str] | None) -> bool:
        """Delete a draft; False when there is none, DraftChanged when it was not seen."""

    async def publish(
        self, version: OwnVersion, document: str, drafted: str, logged: Logged, receipt: Receipt | None
    ) -> None:
        """Keep a version in place of the draft of the digest `drafted`.

        VersionTaken or DraftChanged when things have moved on. Every daemon knows it when this
        returns.
        """

    async def retire(self, retired: OwnVersion, logged: Logged, receipt: Receipt | None) -> bool:
        """Retire a version; False when it was before. No daemon starts it when this returns."""
