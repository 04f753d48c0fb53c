"""The steps that the autopilot cleared alone, read from the events themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from actors.core.messages import AUTOPILOT, CallSettled, StepCleared
from daemon.contract.reports import entries as contract
from daemon.model.event_log import CompanyEvent, Position
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import LISTED, Operation
from daemon.web.resources.reports.asked import DAYS
from daemon.web.resources.reports.matching import matching_page
from daemon.web.resources.run_commands import current
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
    return await matching_page(request, CURSOR, TYPES, _of_templates, by=AUTOPILOT, text=request.query.get("step_id"))


async def _of_templates(request: web.Request, found: Sequence[CompanyEvent]) -> list[tuple[Position, dict[str, Any]]]:
    """The events of the step and the template that are asked for."""
    company_id = principal_of(request).company_id
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
            row = contract.ReportedClearing.view(event, run_id=one.run_id, seq=one.seq, vertical=known)
            shown.append((one.position, row))
    return shown
