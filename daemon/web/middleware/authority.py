"""Authority: whether who makes a request may do what it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from actors.core.people import ACTIONS, Action, Refusal, refusal
from actors.core.run import Run
from daemon.identity.accounts import Principal
from daemon.web.middleware.auth import authenticate_again, principal_of
from daemon.web.operations import Endpoint
from daemon.web.problems import Problem
from daemon.web.services import SERVICES

MACHINE, DECIDE = "machine", "decide"

AUTHORITY = web.AppKey("authority", Mapping[Any, Action])
"""The action of each handler; those without an entry need no token."""


def needed_by(endpoint: Endpoint) -> Action:
    return ACTIONS[endpoint.operation.action]


async def permit(request: web.Request) -> None:
    """403 for a role or kind of principal that may not do this, a repeat neither.

    What may be done with own runs alone is checked where the run is known: `check_own`.
    """
    action = request.app[AUTHORITY].get(request.match_info.handler)
    if action is not None:
        await _permit(request, action)


async def permit_again(request: web.Request) -> None:
    """403 as `permit`, or 401, after a request has waited: what changed meanwhile counts."""
    action = request.app[AUTHORITY].get(request.match_info.handler)
    if action is not None:
        await authenticate_again(request)
        await _permit(request, action)


async def _permit(request: web.Request, action: Action) -> None:
    principal = principal_of(request)
    refused = refusal(principal.role, principal.kind, action, own=True)
    if refused is None:
        return
    if action.name != DECIDE or principal.kind != "person" or not await _has_givers(request, principal):
        raise forbidden(action, refused)


async def _has_givers(request: web.Request, principal: Principal) -> bool:
    """Whether others let this person decide in their place, whose rights count then."""
    services = request.app[SERVICES]
    company = await services.identity.companies.of(principal.company_id)
    person = company.people.get(principal.email)
    return person is not None and bool(company.givers(person, services.now()))


def check_own(principal: Principal, action: Action, run: Run | None) -> None:
    """403 for who may do this with their own runs alone, and where there is no such run."""
    own = run is not None and (run.created_by, run.created_by_kind) == (principal.email, principal.kind)
    check(principal, action, own=own)


def check(principal: Principal, action: Action, *, own: bool = False) -> None:
    """403 for a role or kind of principal that may not do an action."""
    refused = refusal(principal.role, principal.kind, action, own=own)
    if refused is not None:
        raise forbidden(action, refused)


def forbidden(action: Action, refused: Refusal) -> Problem:
    more = {"required": refused.required, "reason": refused.reason}
    if refused.reason == MACHINE:
        whose = "an agent" if "service" in action.kinds else "a machine"
        return Problem("forbidden", f"The API key of {whose} may not do this: {action.summary.lower()}.", more)
    return Problem("forbidden", f"This needs the role {refused.required}: {action.summary.lower()}.", more)
