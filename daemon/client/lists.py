"""The API of lists with filters: runs, the company's log, events that match, and saved views."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from daemon.client.base import BaseClient, filters
from daemon.contract.events import CompanyEvent
from daemon.contract.lists.rows import RunRow
from daemon.contract.lists.views import SavedView
from daemon.contract.runs import Run

RUNS = TypeAdapter(list[Run])
RUN_ROWS = TypeAdapter(list[RunRow])
LOG = TypeAdapter(list[dict[str, Any]])
EVENTS = TypeAdapter(list[CompanyEvent])
VIEWS = TypeAdapter(list[SavedView])


class ListsClient(BaseClient):
    """What can be searched and filtered; `limit` is the size of a page."""

    def runs(
        self,
        /,
        *,
        status: str | None = None,
        vertical: str | None = None,
        parked_at: str | None = None,
        business_key: str | None = None,
        limit: int = 50,
        **more: str | datetime | None,
    ) -> AsyncIterator[Run]:
        """The runs, newest first.

        `more` are further filters: `q`, `id` (its beginning), `created_by`, `created_after` and
        `created_before`.
        """
        asked = filters(status=status, vertical=vertical, parked_at=parked_at, business_key=business_key, **more)
        return self._all("/process-runs/", RUNS, {**asked, "limit": str(limit)})

    def run_rows(self, /, *, limit: int = 50, **which: str | datetime | None) -> AsyncIterator[RunRow]:
        """The same as rows: what a list shows of each."""
        return self._all("/process-runs/", RUN_ROWS, {**filters(**which), "limit": str(limit), "view": "row"})

    def audit_log(self, /, **which: str | datetime | None) -> AsyncIterator[dict[str, Any]]:
        """The company's own log, newest first: log-ins, changes of connectors and webhooks.

        `type`, `by`, `since`, `until` and `q` narrow it down.
        """
        return self._all("/audit/log", LOG, filters(**which))

    def find_events(self, /, *, limit: int = 50, **which: str | datetime | None) -> AsyncIterator[CompanyEvent]:
        """The events of all runs that match, newest first: `type`, `by`, `since`, `until`, `q`."""
        return self._all("/events", EVENTS, {**filters(**which), "limit": str(limit)})

    def views(self, wanted: str | None = None) -> AsyncIterator[SavedView]:
        """The caller's saved views: of a list, `inbox`, `runs` or `audit`, or of all."""
        return self._all("/saved-views/", VIEWS, filters(list=wanted))

    async def put_view(self, wanted: str, name: str, query: str) -> SavedView:
        return await self._put(SavedView, "saved-views", wanted, name, body={"query": query})

    async def delete_view(self, wanted: str, name: str) -> None:
        """Forget a view; no error when there is none."""
        await self._delete("saved-views", wanted, name)
