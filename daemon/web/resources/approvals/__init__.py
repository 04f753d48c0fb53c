"""Decisions about changes that wait for another person: approved, denied, or stale by then."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from aiohttp import web

from actors.ports import Receipt
from daemon.contract import company as contract
from daemon.identity.company.changes import MayNotDecide, why_not
from daemon.model.own_templates import DraftChanged
from daemon.model.people.changes import ChangeDecided, ChangeDecision, ChangeStale, StoredChange
from daemon.web.bodies import page_limit, parse
from daemon.web.idempotency import IdempotencyKey, idempotent, receipt_maker
from daemon.web.operations import KEYED, PAGED, Operation
from daemon.web.parameters import ID
from daemon.web.problems import HttpProblem, existing
from daemon.web.resources.actions.mcp_servers import approve_server
from daemon.web.resources.actions.rules import approve_action_rule
from daemon.web.resources.changes import change_json, change_response, member_of, tell
from daemon.web.resources.connectors import approve_connector
from daemon.web.resources.pages import page_response
from daemon.web.resources.people.settings import approve_policy
from daemon.web.resources.templates.versions import approve_version
from daemon.web.responses import StoredResponse, from_cursor
from daemon.web.services import SERVICES


@Operation("List the changes that wait for approval", "approve", list[contract.GatedChange], query=PAGED)
async def list_changes(request: web.Request) -> web.Response:
    """Those that wait for another person and those that were decided, newest first."""
    principal = member_of(request)
    limit, before = page_limit(request), from_cursor(request, "gated-changes", ID) or ""
    services = request.app[SERVICES]
    found = await services.store.gated_changes(principal.company_id, before, limit + 1)
    company = await services.identity.companies.load(principal.company_id)
    gates = services.identity.policies.change_gates(principal.company_id)

    def show(one: StoredChange) -> dict[str, Any]:
        return change_json(request, one, why_not(company, one, principal, gates) if one.status == "open" else None)

    return await page_response(request, found, limit, "gated-changes", name=lambda last: last.id, show=show)


@Operation(
    "Approve a change",
    "approve",
    contract.GatedChange,
    request=contract.ChangeVerdict,
    headers=KEYED,
    problems=(403, 409, 410, 412, 507),
)
@idempotent()
async def approve_change(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Does exactly what was asked for, in the name of who asked; the approval is kept with it.

    Who asked never approves, nor who made the key that asked. Where what the change stood on is
    another by now it is closed: 412 `changed`.
    """
    one, body = await _open(request, raw)
    decision = await _decided(
        request, one, body.comment, receipt_maker(key, partial(change_response, request)), approved=True
    )
    try:
        await _do(request, decision)
    except (ChangeStale, DraftChanged):
        await _close(request, await _decided(request, one, body.comment, stale=True))
        raise _changed() from None
    except ChangeDecided:
        raise await _already(request, one) from None
    await tell(request, decision.change)
    return change_response(request, decision.change)


@Operation(
    "Deny a change",
    "approve",
    contract.GatedChange,
    request=contract.ChangeVerdict,
    headers=KEYED,
    problems=(403, 409, 410, 412),
)
@idempotent()
async def deny_change(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Closes a change without doing it; who asked for it may ask again."""
    one, body = await _open(request, raw)
    decision = await _decided(request, one, body.comment, receipt_maker(key, partial(change_response, request)))
    await _close(request, decision)
    return change_response(request, decision.change)


async def _open(request: web.Request, raw: dict[str, Any]) -> tuple[StoredChange, contract.ChangeVerdict]:
    """The open change that is decided; 409, 410 or 412 for one that is not, or another digest."""
    principal = member_of(request)
    body = await parse(request, contract.ChangeVerdict, raw)
    services = request.app[SERVICES]
    one = existing(await services.store.gated_change(principal.company_id, request.match_info["change_id"]))
    if body.digest != one.digest:
        raise HttpProblem("stale", "The digest is not that of this change; look at it again.")
    if one.status == "stale":
        raise _changed()
    if one.status != "open":
        raise await _already(request, one)
    if one.expires_at <= services.now():
        raise HttpProblem("change_expired", "The change has waited for longer than it counts; ask for it again.")
    return one, body


async def _decided(
    request: web.Request,
    one: StoredChange,
    comment: str | None,
    receipt: Callable[[StoredChange], Receipt | None] = lambda _: None,
    *,
    approved: bool = False,
    stale: bool = False,
) -> ChangeDecision:
    """A change as the caller decides it; 403 for who may not."""
    changes = request.app[SERVICES].identity.changes
    try:
        return await changes.decided(member_of(request), one, comment, receipt, approved=approved, stale=stale)
    except MayNotDecide as refused:
        asked = "You asked for this change, or made the key that did: another person decides it."
        other = "Those decide this change who fill the function that the company names, or else admins."
        detail = asked if refused.reason == "asked" else other
        raise HttpProblem("forbidden", detail, {"required": None, "reason": refused.reason}) from None


async def _do(request: web.Request, decision: ChangeDecision) -> None:
    """Do what was asked for together with its approval, by the service of its kind."""
    services, asked = request.app[SERVICES], json.loads(decision.change.body)
    match decision.change.act:
        case "publish_laxer":
            await approve_version(request, decision, asked)
        case "go_live" if "server" in asked:
            await approve_server(request, decision, asked)
        case "go_live":
            await approve_connector(request, decision, asked)
        case "policy_off":
            await approve_policy(services, decision, asked)
        case "action_rule":
            await approve_action_rule(services, decision, asked)


async def _close(request: web.Request, decision: ChangeDecision) -> None:
    """Close a change without doing it; 409 where somebody else was first."""
    try:
        await request.app[SERVICES].store.decide_change(decision)
    except ChangeDecided:
        raise await _already(request, decision.change) from None
    await tell(request, decision.change)


async def _already(request: web.Request, one: StoredChange) -> HttpProblem:
    found = await request.app[SERVICES].store.gated_change(one.company_id, one.id) or one
    decided = {"decision": found.status, "decided_at": found.decided_at, "decided_by": found.decided_by}
    return HttpProblem("already_decided", f"This change was {found.status} by {found.decided_by}.", decided)


def _changed() -> HttpProblem:
    return HttpProblem("changed", "What the change stood on is another by now, so it was closed; ask for it again.")
