"""Pages of reports that are read from the events themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

from aiohttp import web

from daemon.model.event_log import CompanyEvent, Position
from daemon.model.events.history_filter import HistoryFilter
from daemon.web.bodies import page_limit
from daemon.web.middleware.auth import principal_of
from daemon.web.problems import Problem
from daemon.web.resources.pages import in_turn, rendered
from daemon.web.resources.reports.asked import span_of
from daemon.web.responses import from_cursor, list_response, next_page, to_cursor
from daemon.web.services import SERVICES

Show = Callable[[web.Request, Sequence[CompanyEvent]], Awaitable[list[tuple[Position, dict[str, Any]]]]]
"""The rows that events make, each with where its event stands."""


async def matching_page(
    request: web.Request,
    cursor: str,
    types: tuple[str, ...],
    show: Show,
    *,
    by: str | None = None,
    text: str | None = None,
) -> web.Response:
    """A page of what events of these types make, those that were committed last first.

    It looks at a bounded number of events, so that it may be empty and announce another.
    """
    company_id, store = principal_of(request).company_id, request.app[SERVICES].store
    limit, span = page_limit(request), span_of(request)
    since = datetime.combine(span.first, time.min, UTC)
    until = datetime.combine(span.last + timedelta(days=1), time.min, UTC)
    which = HistoryFilter(types, by, text, since, until)
    async with in_turn(request):
        found, further = await store.read_matching(company_id, await _begun(request, cursor), which, limit)
        shown = await show(request, found)
        items = await rendered(request, shown, limit, lambda one: one[1])
    if len(items) < len(shown):
        further = shown[len(items) - 1][0]
    if further is None:
        return list_response(items)
    return list_response(items, next_page(request, to_cursor(cursor, store.event_ids.text(company_id, further))))


async def _begun(request: web.Request, cursor: str) -> Position:
    """Where the page begins: before the last event of the page before, or at the end."""
    company_id, store, text = (
        principal_of(request).company_id,
        request.app[SERVICES].store,
        from_cursor(request, cursor),
    )
    if text is None:
        return await store.log_end(company_id)
    found = store.event_ids.parse(company_id, text)
    if found is None:
        raise Problem("malformed_cursor", "The cursor is none that this list has given; begin again without one.")
    return found
