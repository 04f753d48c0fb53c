"""Saved views: the searches and filters that a person keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

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


class ViewRepository(Protocol):
    async def views(self, company_id: str, user_id: str) -> Sequence[StoredView]:
        """The views of a person, by list and name."""

    async def put_view(self, view: StoredView, most: int = VIEWS_MAX) -> bool:
        """Keep a view, in the place of one of the same name; False when there are too many."""

    async def delete_view(self, company_id: str, user_id: str, name: tuple[str, str]) -> bool:
        """Forget a view by list and name; False when there is none."""
