"""The company's log with its hash chain: log-ins, and what people changed outside of runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from aiohttp import web

from daemon.audit.evidence import walked
from daemon.contract import audit as contract
from daemon.model.chain import ChainWalk, genesis
from daemon.model.events.history_filter import HistoryFilter
from daemon.model.evidence import SealedCommit
from daemon.web.bodies import page_limit
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import LISTED, Operation
from daemon.web.resources.lists.filters import HISTORY, history_filter
from daemon.web.resources.pages import in_turn
from daemon.web.responses import from_number, list_response, next_page, to_cursor
from daemon.web.services import SERVICES


@Operation("List the company's log", "read", list[contract.ChainedEvent], query=(*HISTORY, *LISTED), problems=(403,))
@csv_list(contract.ChainedEvent, "audit-log")
async def list_audit_log(request: web.Request) -> web.Response:
    """Log-ins and changes of connectors and webhooks in their hash chain, newest first.

    `type`, `by`, `since`, `until` and `q` narrow it down.
    """
    limit, before = page_limit(request), from_number(request, "log")
    which = history_filter(request)
    async with in_turn(request):
        if which.asks:
            shown, last = await _matching(request, before, which, limit)
        else:
            shown, last = await _all(request, before, limit)
    more = next_page(request, to_cursor("log", str(last))) if last > 1 and shown else {}
    return list_response(shown, more)


async def _all(request: web.Request, before: int | None, limit: int) -> tuple[Sequence[bytes], int]:
    """The newest events, and the number of the oldest of them."""
    company_id = principal_of(request).company_id
    # One commit more than events are shown: its head is what the others are chained to.
    found = await request.app[SERVICES].store.logged(company_id, before, limit + 1)
    size, look = sum(len(one.events) for one in found), partial(_newest, company_id, found, limit, before)
    newest, shown = await request.app[SERVICES].offload.sized(company_id, size, look)
    return shown, newest - len(shown) + 1


async def _matching(
    request: web.Request, before: int | None, which: HistoryFilter, limit: int
) -> tuple[Sequence[bytes], int]:
    """The newest events that match, and the number to go on before; 0 when none are left."""
    company_id = principal_of(request).company_id
    found = await request.app[SERVICES].store.logged_matching(company_id, before, which, limit + 1)
    size, look = sum(len(one.events) for one, _ in found), partial(_shown, company_id, found[:limit], which)
    shown = await request.app[SERVICES].offload.sized(company_id, size, look)
    return shown, found[limit - 1][0].version if len(found) > limit else 0


def _shown(
    company_id: str, found: Sequence[tuple[SealedCommit, bytes | None]], which: HistoryFilter
) -> Sequence[bytes]:
    shown: list[bytes] = []
    for one, previous in found:
        event = json.loads(one.events)
        if which.takes(event["type"], event.get("by"), datetime.fromisoformat(event["at"]), one.events):
            walk = ChainWalk(company_id, previous or genesis(company_id, company_id), one.first_seq - 1)
            shown += walked(walk, [one])
    return shown


def _newest(
    company_id: str, found: Sequence[SealedCommit], limit: int, before: int | None
) -> tuple[int, Sequence[bytes]]:
    """The number of the newest event before another, and at most `limit` events from there back."""
    if not found:
        return 0, ()
    *newer, oldest = found
    if oldest.first_seq == 1:
        walk, commits = ChainWalk(company_id, genesis(company_id, company_id)), found
    else:
        walk, commits = ChainWalk(company_id, oldest.head or b"", oldest.version), newer
    begun = walk.seq
    events = list(walked(walk, reversed(commits)))[: None if before is None else before - 1 - begun]
    return begun + len(events), events[::-1][:limit]
