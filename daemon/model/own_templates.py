"""Templates of a company's own: drafts, and the versions that were published."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from actors.core.gate_policy import Loosened

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
    guards: bool = False
    """Whether the document may say who reads its runs, or whom they are about."""


class OwnDocument(NamedTuple):
    """A version as canonical JSON, and what is known of it beside."""

    document: str
    published_by: str
    drafted_by: str | None
    loosened: tuple[Loosened, ...]
