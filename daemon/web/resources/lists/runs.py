"""The list of runs, with its filters and its search."""

from __future__ import annotations

import re

from aiohttp import web

from daemon.contract import runs as contract
from daemon.contract.lists.rows import RunRow
from daemon.engine.indexing import index_runs
from daemon.model import RunQuery
from daemon.web.bodies import page_limit
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import LISTED, Operation
from daemon.web.parameters import ID
from daemon.web.problems import invalid, pointer
from daemon.web.resources.lists.filters import ROW, SUMMARY, moment, one_of, words
from daemon.web.resources.lists.rows import run_row
from daemon.web.resources.pages import in_turn, page_response
from daemon.web.resources.run_json import run_json, summary_json
from daemon.web.resources.runs import as_read
from daemon.web.responses import from_cursor
from daemon.web.services import SERVICES

_VIEWS = {None: run_json, SUMMARY: summary_json, ROW: run_row}
_FILTERS = ("status", "vertical", "parked_at", "business_key", "id", "created_by", "created_after", "created_before")
_ID_BEGINS = re.compile(r"[0-9a-f-]{1,36}")


@Operation(
    "List runs",
    "read",
    list[contract.Run | contract.RunSummary | RunRow],
    query=(*_FILTERS, "q", "view", *LISTED),
)
@csv_list(contract.Run, "runs", summary=contract.RunSummary, row=RunRow)
async def list_runs(request: web.Request) -> web.Response:
    """All runs of the company, newest first.

    `q` looks for words of what runs started with: id, template, business key, person and input
    values. A run is found within seconds of its start. `view=summary` leaves `inputs`, `facts` and
    `trace` out; `view=row` has what a list shows.
    """
    services, principal, limit = request.app[SERVICES], principal_of(request), page_limit(request)
    view, query = one_of(request, "view", (SUMMARY, ROW)), _query(request, limit)
    async with in_turn(request):
        if query.words is not None or query.created_by is not None:
            await index_runs(services.store, principal.company_id)
        found = await services.store.find(principal.company_id, query)
        for nth, run in enumerate(found):
            found[nth], _ = await as_read(services, run)
        return await page_response(request, found, limit, "runs", name=lambda last: last.id, show=_VIEWS[view])


def _query(request: web.Request, limit: int) -> RunQuery:
    begins = request.query.get("id")
    if begins is not None and not _ID_BEGINS.fullmatch(begins):
        raise invalid((pointer("id"), "has to be the beginning of an id"))
    return RunQuery(
        limit=limit + 1,
        before=from_cursor(request, "runs", ID),
        status=one_of(request, "status", contract.STATUSES),
        vertical=request.query.get("vertical"),
        parked_at=request.query.get("parked_at"),
        business_key=request.query.get("business_key"),
        begins=begins,
        created_after=moment(request, "created_after"),
        created_before=moment(request, "created_before"),
        created_by=request.query.get("created_by"),
        words=words(request),
    )
