"""The functions of a company: which its templates name, and who fills them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web
from msgspec import UNSET

from actors.core.people import Company
from daemon.contract import company as contract
from daemon.identity.company.settings import BOUND_MAX, BOUND_TO_MAX, TooManyFunctions
from daemon.identity.tokens import Principal
from daemon.model.events.company import BindingForm
from daemon.runtime.json_codec import dumps
from daemon.templates.loading import FunctionUse
from daemon.web.bodies import read
from daemon.web.operations import Operation
from daemon.web.problems import HttpProblem, invalid, pointer
from daemon.web.resources.changes import member_of
from daemon.web.services import SERVICES, Services


@Operation("Get the functions", "read", contract.Functions)
async def get_functions(request: web.Request) -> web.Response:
    """The functions that the company's templates name, and those that are bound, by id.

    Who fills a bound function decides alone at the gates that ask for it, whatever the role. For
    one that is not bound the role decides that its template gives.
    """
    return await _response(request.app[SERVICES], member_of(request))


@Operation("Bind functions", "policy", contract.Functions, request=contract.FunctionsChange, problems=(403, 409, 507))
async def put_functions(request: web.Request) -> web.Response:
    """Binds the named functions to groups and members; those that are left out stay as they are.

    From this answer on it counts on every daemon, at gates that are open, too. One that is sent
    with empty lists is bound no more.
    """
    principal, services = member_of(request), request.app[SERVICES]
    body = await read(request, contract.FunctionsChange)
    changes = {
        name: BindingForm(groups=tuple(one.groups), members=tuple(one.members))
        for name, one in body.__pydantic_extra__.items()
    }
    await _check(services, principal, changes)
    await services.stored.store_more(principal.company_id)
    try:
        await services.identity.functions.change(principal, changes)
    except TooManyFunctions:
        most = f"{BOUND_MAX} functions to {BOUND_TO_MAX:,} groups and members"
        raise invalid(("", f"a company binds at most {most}")) from None
    return await _response(services, principal)


async def _check(services: Services, principal: Principal, changes: Mapping[str, BindingForm]) -> None:
    """422 for groups and active members that are not there; those that are bound may stay."""
    bound = (await services.identity.functions.for_company(principal.company_id)).functions
    groups = {one.name for one in await services.store.groups(principal.company_id)}
    company = await services.identity.companies.load(principal.company_id)
    wrong = []
    for name, one in changes.items():
        before = bound.get(name, BindingForm())
        for place, group in enumerate(one.groups):
            if group not in groups and group not in before.groups:
                wrong.append((pointer(name, "groups", place), "is no group of the company"))
        for place, member_id in enumerate(one.members):
            if company.member(member_id) is None and member_id not in before.members:
                wrong.append((pointer(name, "members", place), "is no active member of the company"))
    if wrong:
        raise invalid(*wrong)


async def _response(services: Services, principal: Principal) -> web.Response:
    company_id = principal.company_id
    company = await services.identity.companies.load(company_id)
    bound = (await services.identity.functions.for_company(company_id)).functions
    uses = await _uses(services, company_id)
    found = {name: _json(bound.get(name, BindingForm()), uses.get(name, []), name) for name in sorted({*bound, *uses})}
    return await _counted(services, company_id, company, found)


async def _counted(
    services: Services, company_id: str, company: Company, found: dict[str, dict[str, Any]]
) -> web.Response:
    """The functions with how many people fill each; of a large company beside the loop."""

    def count() -> bytes:
        for name, one in found.items():
            binding = company.binding(name)
            one["people"] = sum(map(binding.filled_by, company.people.values())) if binding.bound else 0
        return dumps(found)

    weight = len(company.people) * PERSON_BYTES * len(company.functions)
    return web.Response(
        body=await services.offload.run_by_size(company_id, weight, count), content_type="application/json"
    )


PERSON_BYTES = 16
"""To look at a person takes as long as to write so much."""


def _json(one: BindingForm, uses: list[tuple[str, FunctionUse]], name: str) -> dict[str, Any]:
    used_by = [contract.FunctionUse.view(use, vertical=vertical) for vertical, use in uses]
    label, role = (uses[0][1].label, uses[0][1].role) if uses else (name, None)
    return contract.Function.view(one, label=label, role=role, bound=one != BindingForm(), people=0, used_by=used_by)


async def _uses(services: Services, company_id: str) -> dict[str, list[tuple[str, FunctionUse]]]:
    """The functions that the templates name which the company can start, by id and vertical."""
    found: dict[str, list[tuple[str, FunctionUse]]] = {}
    for one in await services.catalog.entries(company_id):
        for use in () if one.header.functions is UNSET else one.header.functions:
            found.setdefault(use.id, []).append((one.header.vertical, use))
    return found


async def check_bound(services: Services, company_id: str, tool_id: str) -> HttpProblem | None:
    """Why a connector may not go live: functions around its tool that are required and unbound."""
    if not (await services.identity.policies.for_company(company_id)).requires_functions:
        return None
    company = await services.identity.companies.load(company_id)
    unbound = [
        {"id": use.id, "label": use.label, "vertical": one.header.vertical}
        for one in await services.catalog.entries(company_id)
        if tool_id in one.header.calls
        for use in (() if one.header.functions is UNSET else one.header.functions)
        if not company.binding(use.id).bound
    ]
    if not unbound:
        return None
    names = ", ".join(dict.fromkeys(one["id"] for one in unbound))
    detail = f"The company asks for functions to be bound before a connector goes live, and these are not: {names}."
    return HttpProblem("functions_unbound", detail, {"functions": unbound})
