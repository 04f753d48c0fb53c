"""Changes that wait for another person: how they are asked for, shown, and told to others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from aiohttp import web
from msgspec import convert

from actors.core.calls import Connector
from actors.core.people import ADMIN, rank
from daemon.contract import company as contract
from daemon.contract.connectors import Target, masked_query
from daemon.identity.company.changes import ChangeForm, Refusal, deciders
from daemon.identity.tokens import Principal
from daemon.mail.texts import ChangeMail
from daemon.model.budgets import BudgetExceeded
from daemon.model.people.changes import OPEN_CHANGES_MAX, StoredChange, TooManyChanges
from daemon.runtime.json_codec import dumps
from daemon.web.idempotency import IdempotencyKey, receipt_maker
from daemon.web.middleware.auth import principal_of
from daemon.web.problems import existing, not_found
from daemon.web.rate_limits import RATE_LIMITS
from daemon.web.responses import JSON, StoredResponse
from daemon.web.services import SERVICES

URLS = ("base_url", "path", "token_url")


def member_of(request: web.Request) -> Principal:
    """Who asks for something of their own company; 404 for any other."""
    principal = principal_of(request)
    if request.match_info["company_id"] != principal.company_id:
        raise not_found()
    return principal


async def ask_for(request: web.Request, form: ChangeForm, key: IdempotencyKey | None = None) -> StoredResponse:
    """Keep a change until another person approves it, and tell those who can."""
    services, principal = request.app[SERVICES], principal_of(request)
    await services.stored.store_more(principal.company_id)
    try:
        one = await services.identity.changes.request(principal, form, receipt_maker(key, _accepted(request)))
    except TooManyChanges:
        detail = f"At most {OPEN_CHANGES_MAX} changes of a company wait for approval at once."
        raise BudgetExceeded("company_changes", OPEN_CHANGES_MAX, detail) from None
    await tell(request, one)
    return _accepted(request)(one)


def _accepted(request: web.Request) -> Callable[[StoredChange], StoredResponse]:
    return lambda one: StoredResponse(202, dumps(change_json(request, one, "asked")), {"Content-Type": JSON})


def change_response(request: web.Request, one: StoredChange) -> StoredResponse:
    return StoredResponse(200, dumps(change_json(request, one)), {"Content-Type": JSON})


def change_json(request: web.Request, one: StoredChange, why: Refusal | None = None) -> dict[str, Any]:
    """A change, and while it is open why the caller may not decide it."""
    expired = one.status == "open" and one.expires_at <= request.app[SERVICES].now()
    status = "expired" if expired else one.status
    shown = {"asked": _asked(one), "status": status, "why_not": why if status == "open" else None}
    return contract.GatedChange.view(one, by=one.requested_by, at=one.requested_at, **shown)


def _asked(one: StoredChange) -> dict[str, Any]:
    """What would be done, as its own kind of thing is shown: no secret stands in it."""
    said: dict[str, Any] = json.loads(one.body)
    if "server" in said:
        said["server"]["url"] = masked_query(said["server"]["url"])
    elif one.act == "go_live":
        connector = convert(said["connector"], Connector)
        urls = {name: masked_query(getattr(connector, name)) for name in URLS}
        said["connector"] = Target.view(connector, **urls)
    return {name: value for name, value in said.items() if name not in ("act", "what", "stands_on")}


async def tell(request: web.Request, one: StoredChange) -> None:
    """Tell open pages that a change was asked for, or decided, and mail it to who can decide it."""
    services, principal = request.app[SERVICES], principal_of(request)
    services.feed.people_changed(one.company_id)
    if services.mails is None or not await request.app[RATE_LIMITS].may_tell(one.company_id):
        return
    name = existing(await services.store.company(one.company_id)).name
    company = await services.identity.companies.load(one.company_id)
    mail = ChangeMail(one.company_id, name, one.act, one.what, one.status, one.requested_by, principal.email)
    told = {each.email for each in deciders(company, one, services.identity.policies.change_gates(one.company_id))}
    told |= {each.email for each in company.people.values() if rank(each.role) >= rank(ADMIN)}
    for email in sorted(told - {principal.email}):
        services.mails.change_told(email, mail)
