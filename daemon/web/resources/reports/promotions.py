"""Runs in shadow beside the live runs that made them again, read from the events themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from actors.core.calls import shown
from actors.core.commands.promotions import ComparedCall, compared
from actors.core.messages import RunPromoted
from daemon.contract.reports import entries as contract
from daemon.model.event_log import CompanyEvent, Position
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import LISTED, Operation
from daemon.web.resources.reports.asked import DAYS
from daemon.web.resources.reports.matching import matching_page
from daemon.web.resources.run_commands import current
from daemon.web.services import SERVICES

CURSOR = "report-promotions"
TYPES = ("run_promoted",)


@Operation(
    "Compare promoted runs with what shadow recorded",
    "read",
    list[contract.ReportedPromotion],
    query=(*LISTED, *DAYS, "vertical"),
)
@csv_list(contract.ReportedPromotion, "promotions")
async def list_reported_promotions(request: web.Request) -> web.Response:
    """What each run in shadow would have sent, and what its live run sent, where they differ.

    The last promotion first. A page looks at a bounded number of events, so that it may be empty
    and announce another.
    """
    return await matching_page(request, CURSOR, TYPES, _compared)


async def _compared(request: web.Request, found: Sequence[CompanyEvent]) -> list[tuple[Position, dict[str, Any]]]:
    """The promotions of the template that is asked for, newest first."""
    company_id, vertical = principal_of(request).company_id, request.query.get("vertical")
    rows = []
    for one in found:
        assert isinstance(one.event, RunPromoted)  # noqa: S101 - it is asked for
        run = await current(request.app[SERVICES], (company_id, one.event.promoted_to))
        if run is None or vertical not in (None, run.vertical):
            continue
        calls = compared(run)
        row = contract.ReportedPromotion.view(
            one.event,
            run_id=run.id,
            promoted_from=one.run_id,
            vertical=run.vertical,
            status=run.status,
            compared=len(calls),
            differing=sum(1 for call in calls if call.differences),
            calls=[_call_json(call) for call in calls],
        )
        rows.append((one.position, row))
    return rows


def _call_json(call: ComparedCall) -> dict[str, Any]:
    both = {"recorded": shown(call.recorded), "sent": shown(call.sent)}
    return contract.ComparedCall.view(call, **both)
