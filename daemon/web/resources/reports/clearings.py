"""The steps that the autopilot cleared alone, read from the events themselves."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

from aiohttp import web

from actors.core.messages import AUTOPILOT, CallSettled, StepCleared
from daemon.contract.reports import entries as contract
from daemon.model.event_log import CompanyEvent, Position
from daemon.model.events.history_filter import HistoryFilter
from daemon.model.reports.questions import Span
from daemon.web.bodies import page_limit
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import LISTED, Operation
from daemon.web.problems import Problem
from daemon.web.resources.pages import in_turn, rendered
from daemon.web.resources.reports.asked import DAYS, span_of
from daemon.web.resources.run_commands import current
from daemon.web.responses import from_cursor, list_response, next_page, to_cursor
from daemon.web.services import SERVICES

CURSOR = "report-cleared-steps"
TYPES = ("step_cleared", "call_settled")


@Operation(
    "List the cleared steps that reports count",
    "read",
    list[contract.ReportedClearing],
    query=(*LISTED, *DAYS, "vertical", "step_id"),
)
@csv_list(contract.ReportedClearing, "cleared-steps")
async def list_reported_clearings(request: web.Request) -> web.Response:
    """Steps that the autopilot cleared alone within the days, those that were committed last first.

    A page looks at a bounded number of events, so that it may be empty and announce another.
    """
    company_id, store = principal_of(request).company_id, request.app[SERVICES].store
    limit, which = page_limit(request), _which(span_of(request), request.query.get("step_id"))
    async with in_turn(request):
        begun = await _begun(request, company_id)
        found, further = await store.read_matching(company_id, begun, which, limit)
        shown = await _of_templates(request, company_id, found)
        items = await rendered(request, shown, limit, lambda one: one)
    if len(items) < len(shown):
        last = shown[len(items) - 1]
        further = next(one.position for one in found if (one.run_id, one.seq) == (last["run_id"], last["seq"]))
    if further is None:
        return list_response(items)
    return list_response(items, next_page(request, to_cursor(CURSOR, store.event_ids.text(company_id, further))))


def _which(span: Span, step_id: str | None) -> HistoryFilter:
    since = datetime.combine(span.first, time.min, UTC)
    until = datetime.combine(span.last + timedelta(days=1), time.min, UTC)
    return HistoryFilter(TYPES, AUTOPILOT, step_id, since, until)


async def _begun(request: web.Request, company_id: str) -> Position:
    """Where the page begins: before the last event of the page before, or at the end."""
    store, text = request.app[SERVICES].store, from_cursor(request, CURSOR)
    if text is None:
        return await store.log_end(company_id)
    found = store.event_ids.parse(company_id, text)
    if found is None:
        raise Problem("malformed_cursor", "The cursor is none that this list has given; begin again without one.")
    return found


async def _of_templates(request: web.Request, company_id: str, found: Sequence[CompanyEvent]) -> list[dict[str, Any]]:
    """The events of the step and the template that are asked for."""
    verticals: dict[str, str | None] = {}
    step_id, vertical = request.query.get("step_id"), request.query.get("vertical")
    shown = []
    for one in found:
        event = one.event
        assert isinstance(event, StepCleared | CallSettled)  # noqa: S101 - they are asked for
        if step_id not in (None, event.step_id):
            continue
        if one.run_id not in verticals:
            run = await current(request.app[SERVICES], (company_id, one.run_id))
            verticals[one.run_id] = None if run is None else run.vertical
        known = verticals[one.run_id]
        if known is not None and vertical in (None, known):
            shown.append(contract.ReportedClearing.view(event, run_id=one.run_id, seq=one.seq, vertical=known))
    return shown
