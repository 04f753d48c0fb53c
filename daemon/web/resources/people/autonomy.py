"""Autonomy: what a company lets be cleared without a human."""

from __future__ import annotations

from aiohttp import web

from actors.core.autonomy import Autonomy, Learnable
from daemon.contract import company as contract
from daemon.identity.accounts import Principal
from daemon.templates.catalog import Retired
from daemon.templates.loading import CatalogEntry
from daemon.web.bodies import read
from daemon.web.operations import Operation
from daemon.web.problems import invalid, pointer
from daemon.web.resources.people.policies import member_of
from daemon.web.responses import json_response
from daemon.web.services import SERVICES, Services


@Operation("Get the autonomy", "read", contract.Autonomy)
async def get_autonomy(request: web.Request) -> web.Response:
    """What the company lets be cleared without a human."""
    principal = member_of(request)
    return _response(await request.app[SERVICES].identity.autonomies.for_company(principal.company_id))


@Operation(
    "Change the autonomy", "policy", contract.Autonomy, request=contract.AutonomyChange, problems=(403, 409, 507)
)
async def put_autonomy(request: web.Request) -> web.Response:
    """Changes members of the settings; those that are left out stay as they are.

    From this answer on they count on every daemon. Without `auto_resolve` no step is cleared any
    more, in runs in flight neither, and a start that asks for it does not get it. A step that is
    added to the learnable ones has to be of the tier `medium`.
    """
    principal, services = member_of(request), request.app[SERVICES]
    body = await read(request, contract.AutonomyChange)
    await _check_steps(services, principal, body)
    await services.stored.store_more(principal.company_id)
    changes = body.model_dump(exclude_unset=True, exclude={"learnable"})
    if "learnable" in body.model_fields_set:
        changes["learnable"] = {
            name: Learnable(one.threshold, one.sample_one_in) for name, one in sorted(body.learnable.items())
        }
    return _response(await services.identity.autonomies.change(principal, changes))


async def _check_steps(services: Services, principal: Principal, body: contract.AutonomyChange) -> None:
    """422 for a new step that no template of the company has, or that is of another tier.

    Those that are stored already may stay, whatever became of their templates: nothing else in the
    settings waits for them.
    """
    wrong = []
    stored = (await services.identity.autonomies.for_company(principal.company_id)).learnable
    for name in sorted(body.learnable.keys() - stored.keys()):
        vertical, step_id = name.split("/")
        found = await _current(services, principal, vertical)
        if found is None or not found.template.has(step_id):
            wrong.append((pointer("learnable", name), "is no step of a template of the company"))
        elif found.template.node(step_id).tier != "medium" or found.template.node(step_id).gate:
            wrong.append((pointer("learnable", name), "is not of the tier medium, and so is never cleared by a panel"))
    if wrong:
        raise invalid(*wrong)


async def _current(services: Services, principal: Principal, vertical: str) -> CatalogEntry | None:
    try:
        return await services.catalog.current(principal.company_id, vertical)
    except Retired:
        return None


def _response(one: Autonomy) -> web.Response:
    learnable = {name: contract.Learnable.view(each) for name, each in one.learnable.items()}
    return json_response(contract.Autonomy.view(one, learnable=learnable))
