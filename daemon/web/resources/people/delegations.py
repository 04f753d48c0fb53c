"""Delegations: who may decide as another member for a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from aiohttp import web

from daemon.contract import people as contract
from daemon.identity.delegations import DelegationDraft, UnknownDelegation
from daemon.model.budgets import BudgetExceeded
from daemon.model.people.companies import NotActive, StoredDelegation, TooManyDelegations
from daemon.runtime.json_codec import dumps
from daemon.web.bodies import page_limit, parse
from daemon.web.idempotency import IdempotencyKey, idempotent, receipt_maker
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, PAGED, Operation
from daemon.web.parameters import ID
from daemon.web.problems import invalid, not_found, pointer
from daemon.web.resources.accounts import refusing
from daemon.web.resources.pages import page_response
from daemon.web.responses import JSON, StoredResponse, from_cursor
from daemon.web.services import SERVICES

LONGEST = timedelta(days=366)
_NO_MEMBER = ("/to", "is no other active member of the company")


@Operation(
    "Delegate one's decisions",
    "delegate",
    contract.Delegation,
    201,
    contract.NewDelegation,
    headers=KEYED,
    problems=(403, 409, 507),
)
@idempotent()
async def create_delegation(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Lets another member decide as the caller for a time, of at most a year.

    That member sends `on_behalf_of` with a verdict. Four eyes and quorum count both as one person.
    """
    services, principal = request.app[SERVICES], principal_of(request)
    draft = await _draft(request, await parse(request, contract.NewDelegation, raw))
    await services.stored.store_more(principal.company_id)
    try:
        return _created(await services.identity.delegations.add(principal, draft, receipt_maker(key, _created)))
    except NotActive:
        raise invalid(_NO_MEMBER) from None
    except TooManyDelegations:
        most = services.settings.company_delegations_max
        raise BudgetExceeded("company_delegations", most, f"A company has at most {most} delegations.") from None


@Operation("List the delegations", "read", list[contract.Delegation], query=PAGED)
async def list_delegations(request: web.Request) -> web.Response:
    """Those that have not ended: given by the caller and to the caller; an admin sees all."""
    limit, after = page_limit(request), from_cursor(request, "delegations", ID) or ""
    every = await request.app[SERVICES].identity.delegations.visible(principal_of(request))
    found = [one for one in every if one.id > after]
    return await page_response(request, found, limit, "delegations", name=lambda last: last.id, show=_json)


@Operation("End a delegation", "account", status=204, problems=(403, 404, 409))
async def end_delegation(request: web.Request) -> web.Response:
    """Ends a delegation before its time. Its giver may, and admins."""
    with refusing():
        try:
            await request.app[SERVICES].identity.delegations.end(
                principal_of(request), request.match_info["delegation_id"]
            )
        except UnknownDelegation:
            raise not_found() from None
    return web.Response(status=204)


async def _draft(request: web.Request, body: contract.NewDelegation) -> DelegationDraft:
    """The wanted delegation; 422 for one that cannot be."""
    services, wrong = request.app[SERVICES], []
    if body.to == principal_of(request).member_id:
        wrong.append(_NO_MEMBER)
    if body.until <= body.begins:
        wrong.append(("/until", "has to be after from"))
    elif body.until - body.begins > LONGEST:
        wrong.append(("/until", "has to be within a year after from"))
    elif body.until <= services.now():
        wrong.append(("/until", "is past"))
    verticals = tuple(body.verticals or ())
    for place, vertical in enumerate(verticals):
        if not await services.catalog.has(principal_of(request).company_id, vertical):
            wrong.append((pointer("verticals", place), "is no process template"))
    if wrong:
        raise invalid(*wrong)
    return DelegationDraft(body.to, body.begins, body.until, tuple(sorted(set(verticals))))


def _created(one: StoredDelegation) -> StoredResponse:
    return StoredResponse(201, dumps(_json(one)), {"Content-Type": JSON, "Location": f"/delegations/{one.id}"})


def _json(one: StoredDelegation) -> dict[str, Any]:
    when = {"from": one.begins_at, "until": one.ends_at}
    verticals = list(one.verticals) or None
    who = {"id": one.id, "giver": one.giver, "to": one.recipient}
    return {**who, **when, "verticals": verticals, "created_at": one.created_at}
