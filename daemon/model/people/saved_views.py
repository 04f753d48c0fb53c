"""Saved views: the searches and filters that a person keeps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

VIEWS_MAX = 100


@dataclass(frozen=True, slots=True)
class StoredView:
    """A view of a list under a name of the person's own; `query` is that of the page's address."""

    company_id: str
    user_id: str
    list: str
    name: str
    query: str
    saved_at: datetime
