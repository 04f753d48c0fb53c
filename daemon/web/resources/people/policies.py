"""Policies: what a company asks of its people."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from daemon.contract import company as contract
from daemon.identity.accounts import Principal
from daemon.model.events.company import Policy
from daemon.web.bodies import read
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import Operation
from daemon.web.problems import invalid, not_found, pointer
from daemon.web.responses import json_response
from daemon.web.services import SERVICES


@Operation("Get the policy", "read", contract.Policy)
async def get_policy(request: web.Request) -> web.Response:
    """What the company asks of its people."""
    principal = member_of(request)
    policy = await request.app[SERVICES].identity.policies.for_company(principal.company_id)
    return json_response(_json(policy))


@Operation("Change the policy", "policy", contract.Policy, request=contract.PolicyChange, problems=(403, 409))
async def put_policy(request: web.Request) -> web.Response:
    """Changes members of the policy; those that are left out stay as they are.

    From this answer on it counts on every daemon, for tokens that are out already, too: a person
    who lacks the second factor or the single sign-on that is asked for gets 403 everywhere but
    under `/auth/`.
    """
    principal = member_of(request)
    body = await read(request, contract.PolicyChange)
    changes = body.model_dump(exclude_unset=True)
    if "templates" in changes:
        changes["templates"] = await _templates(request, principal.company_id, body.templates)
    policy = await request.app[SERVICES].identity.policies.change(principal, changes)
    return json_response(_json(policy))


async def _templates(request: web.Request, company_id: str, named: list[str]) -> tuple[str, ...]:
    """The verticals, each once; 422 for one that the company has not."""
    catalog = request.app[SERVICES].catalog
    wrong = [place for place, one in enumerate(named) if not await catalog.has(company_id, one)]
    if wrong:
        raise invalid(*((pointer("templates", place), "is no template of the company") for place in wrong))
    return tuple(dict.fromkeys(named))


def _json(policy: Policy) -> dict[str, Any]:
    return contract.Policy.view(policy, passwords=policy.takes_passwords, templates=policy.uses)


def member_of(request: web.Request) -> Principal:
    """Who asks for something of their own company; 404 for any other."""
    principal = principal_of(request)
    if request.match_info["company_id"] != principal.company_id:
        raise not_found()
    return principal
