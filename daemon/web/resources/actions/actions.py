"""Actions: one call that an agent wants to make, asked for, listed, read and cancelled."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import timedelta
from functools import partial
from typing import Any

from aiohttp import web

from actors.core.actions.deciding import Call
from actors.core.canonical import digest
from actors.core.messages import Cancel
from actors.core.people import ACTIONS
from actors.core.run import Run
from actors.core.schedule import duration
from daemon.actions.deciding import Held
from daemon.actions.making import AgentPatience
from daemon.actions.views import action_json, action_summary
from daemon.connectors.servers import effect_of, tier_of
from daemon.contract import actions as contract
from daemon.contract import runs as runs_contract
from daemon.identity.tokens import Principal
from daemon.model.actions import ActionQuery, ActionRow
from daemon.model.budgets import BudgetExceeded
from daemon.model.events.company import Pause
from daemon.model.pages import Page
from daemon.runtime.clock import new_id
from daemon.runtime.json_codec import dumps
from daemon.web.bodies import has_already, idempotency_key, if_match, page_limit, parse, path_key, prefer, traceparent
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.auth import check, principal_of
from daemon.web.operations import KEYED, LISTED, Operation
from daemon.web.parameters import ID
from daemon.web.problems import HttpProblem, etag, invalid, not_found
from daemon.web.resources.pages import SUMMARY, in_turn, one_of, page_response
from daemon.web.resources.run_commands import (
    ACCEPTED,
    Responder,
    RunCommand,
    command,
    current,
    default_wait,
    readable,
    sight_of,
)
from daemon.web.resources.run_json import gate_json
from daemon.web.resources.runs import as_read
from daemon.web.responses import StoredResponse, from_cursor, run_response
from daemon.web.services import SERVICES, Services

PAUSED_RETRY_S = 30
LOADED_AT_ONCE = 25


class ActionResponder(Responder):
    """Answers with the action, and waits for people, too, where a caller says how long."""

    path = "/actions/"
    cached, of_action = False, True

    def __init__(self, request: web.Request, wait_s: float | None, command: RunCommand | None = None) -> None:
        super().__init__(request, wait_s, command)
        if prefer(request, 0.0):
            self.rests = _over

    def run(self, run: Run, _: bytes | None = None) -> StoredResponse:
        later = self.wait_s is None or not _over(run)
        body = action_body(self.shown(run))
        return run_response(run, body, ACCEPTED if later else self._status, headers=self._headers)


def _over(run: Run) -> bool:
    return run.ended is not None or run.status == "failed"


def action_shown(run: Run) -> dict[str, Any]:
    """An action with its open gate, for JSON."""
    return action_json(run, gate_json(run.parked[0], run) if run.parked else None)


def action_body(run: Run) -> bytes:
    """The JSON of an action."""
    return dumps(action_shown(run))


_FILTERS = ("agent", "tool", "server", "status", "outcome", "rule")


@Operation(
    "Ask for an action",
    "act",
    contract.Action,
    201,
    contract.AskAction,
    headers=(*KEYED, "Prefer", "traceparent"),
    problems=(400, 409, 503, 507),
)
@command(required=True, responder=ActionResponder)
async def request_action(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Decides by the company's rules about one call: to make it, to ask people first, or never.

    201 when it has ended, by a rule's denial too; 202 while it waits. With `Prefer: wait=N` the
    answer waits that long for people, too. The `Idempotency-Key` is required. 503 `paused` while
    the agent is stopped: nothing was decided then.
    """
    services, principal = request.app[SERVICES], principal_of(request)
    body = await parse(request, contract.AskAction, raw)
    patience, run_id = _patience(body.timeout), new_id()
    call = Call(
        tool=body.tool,
        server=body.server,
        arguments=body.arguments,
        agent=principal.email,
        agent_id=agent_id(principal),
        reasoning=body.reasoning,
        context=body.context,
    )
    asked = digest([principal.user_id, idempotency_key(request)])
    servers, server = services.connector_service.servers, None
    if call.server is not None:
        server = await servers.one(principal.company_id, call.server)
    effect = None if server is None else effect_of(server, call.tool)
    decided = await services.deciding.decide(
        principal, call, run_id=run_id, way="penstock", effect=effect, request=asked
    )
    if isinstance(decided, Held):
        raise paused(decided.pause)
    run_id = decided.run_id
    try:
        await services.stored.begin_run(principal.company_id, run_id)
    except BudgetExceeded:
        await services.deciding.give_back(principal.company_id, run_id)
        raise
    message, template = await services.making.start(
        principal,
        run_id,
        decided,
        patience=patience,
        effect=effect,
        tier=None if server is None else tier_of(server, call.tool),
        traceparent=traceparent(request),
    )
    return RunCommand((message.company_id, run_id), message, template)


def agent_id(principal: Principal) -> str:
    """The id that an action has of who asks for it: of the member, or of the key."""
    return principal.member_id or principal.user_id


def paused(pause: Pause) -> HttpProblem:
    """What an agent is told that is stopped; nothing was decided."""
    more = {"reason": pause.reason, "paused_at": pause.at, "outcome": "not_applied"}
    detail = f"The actions of this agent are stopped: {pause.reason.rstrip('.')}."
    return HttpProblem("paused", detail, more, {"Retry-After": str(PAUSED_RETRY_S)})


def _patience(said: str | None) -> AgentPatience | None:
    if said is None:
        return None
    try:
        found = duration(said)
    except ValueError as refused:
        raise invalid(("/timeout", str(refused))) from None
    if found.months or found.business_days or found.exact <= timedelta():
        raise invalid(("/timeout", "has to be a fixed time such as PT10M or P1D"))
    return AgentPatience(said, found.exact)


@Operation(
    "Cancel an action",
    "act",
    contract.Action,
    request=contract.CancelAction,
    headers=(*KEYED, "If-Match"),
    problems=(404, 409, 412),
)
@command(optional=True, wait=default_wait, responder=ActionResponder)
async def cancel_action(request: web.Request, raw: dict[str, Any]) -> RunCommand:
    """Cancels an action that one has asked for oneself; whoever may cancel runs cancels any."""
    principal, run_key = principal_of(request), path_key(request, "action_id")
    body = await parse(request, contract.CancelAction, raw)
    run = _action(await current(request.app[SERVICES], run_key))
    if run.action is None or run.action.agent_id != agent_id(principal):
        await readable(request, run_key)
        check(principal, ACTIONS["cancel"])
    message = Cancel(
        by=principal.email,
        by_kind=principal.kind,
        via=principal.via,
        reason=body.reason,
        tags=if_match(request),
        at=request.app[SERVICES].now(),
    )
    return RunCommand(run_key, message)


def _action(run: Run | None) -> Run:
    if run is None or run.action is None:
        raise not_found()
    return run


@Operation("Get an action", "read", contract.Action, headers=("If-None-Match",))
async def get_action(request: web.Request) -> web.Response:
    """An action, with the gate at which it waits and what came of it."""
    services = request.app[SERVICES]
    run = _action(await readable(request, path_key(request, "action_id")))
    retained = await services.store.retained(run.company_id, run.id)
    if retained.archived is not None:
        run = _action(retained.archived.run)
    stands, tag = await as_read(services, run)
    if has_already(request, etag(tag)):
        return web.Response(status=304, headers={"ETag": etag(tag)})
    body = await services.offload.run_by_size(run.company_id, run.size_bytes, partial(action_body, stands))
    return run_response(run, body, 200, tag=tag).response()


@Operation(
    "List actions",
    "read",
    list[contract.Action | contract.ActionSummary],
    query=(*_FILTERS, "view", *LISTED),
)
@csv_list(contract.Action, "actions", summary=contract.ActionSummary)
async def list_actions(request: web.Request) -> web.Response:
    """The actions of the company, newest first; `outcome=unknown` are those that are in doubt.

    `view=summary` leaves out what they were to do and what came of it.
    """
    services, company_id, limit = request.app[SERVICES], principal_of(request).company_id, page_limit(request)
    view, query = one_of(request, "view", (SUMMARY,)), _query(request, limit)
    async with in_turn(request):
        query = dataclasses.replace(query, sight=await sight_of(request))
        rows = await services.store.actions(company_id, query)
        if view == SUMMARY:
            shown: Any = action_summary
            return await page_response(request, rows, limit, "actions", name=lambda row: row.run_id, show=shown)
        found = await _runs(services, rows)
        return await page_response(request, found, limit, "actions", name=lambda run: run.id, show=action_shown)


def _query(request: web.Request, limit: int) -> ActionQuery:
    return ActionQuery(
        limit=limit + 1,
        before=from_cursor(request, "actions", ID),
        agent=request.query.get("agent"),
        tool=request.query.get("tool"),
        server=request.query.get("server"),
        status=one_of(request, "status", runs_contract.STATUSES),
        outcome=request.query.get("outcome"),
        rule=request.query.get("rule"),
    )


async def _runs(services: Services, rows: Page[ActionRow]) -> Page[Run]:
    """The runs of a page, as they stand, as many as it holds by their bytes."""
    found: Page[Run] = Page()
    for first in range(0, len(rows), LOADED_AT_ONCE):
        keys = [(row.company_id, row.run_id) for row in rows[first : first + LOADED_AT_ONCE]]
        for run in await asyncio.gather(*(current(services, key) for key in keys)):
            if run is None:  # it was deleted just now
                continue
            stands, _ = await as_read(services, run)
            if not found.add(stands, run.size_bytes):
                return found
    return found
