"""What a company sets for itself: its policy, its autonomy, its calendar."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from aiohttp import web
from msgspec import UNSET, UnsetType, convert

from actors.core.autonomy import CompanyAutonomy, LearnableTerms
from actors.core.people import ReaderRule
from actors.core.schedule import duration
from daemon.contract import company as contract
from daemon.contract.company import COUNTRY, SUBDIVISION, YEAR_MAX, YEAR_MIN
from daemon.identity.accounts import Principal
from daemon.identity.company.changes import PolicyGated, policy_form, refuse_looser
from daemon.identity.company.settings import UnknownCountry, UnknownSubdivision, public_holidays
from daemon.model.events.company import ChangeGates, CompanyPolicy, OutcomeTerms
from daemon.model.people.changes import ChangeDecision
from daemon.templates.catalog import Retired
from daemon.templates.documents import ACTION_VERTICAL
from daemon.templates.loading import CatalogEntry
from daemon.web.bodies import read
from daemon.web.operations import Operation
from daemon.web.problems import invalid, pointer
from daemon.web.resources.changes import ask_for, member_of
from daemon.web.responses import json_response
from daemon.web.services import SERVICES, Services

OUTCOME_WITHIN_MAX = timedelta(days=30)


@Operation("Get the policy", "read", contract.Policy)
async def get_policy(request: web.Request) -> web.Response:
    """What the company asks of its people."""
    principal = member_of(request)
    policy = await request.app[SERVICES].identity.policies.for_company(principal.company_id)
    return json_response(_json(policy))


@Operation(
    "Change the policy",
    "policy",
    contract.Policy,
    request=contract.PolicyChange,
    problems=(403, 409, 507),
    pending=contract.GatedChange,
)
async def put_policy(request: web.Request) -> web.Response:
    """Changes members of the policy; those that are left out stay as they are.

    From this answer on it counts on every daemon, for tokens that are out already, too: a person
    who lacks the second factor or the single sign-on that is asked for gets 403 everywhere but
    under `/auth/`. Where the company has `change_gates`, one that turns off what protects waits for
    another person: 202.
    """
    principal = member_of(request)
    body = await read(request, contract.PolicyChange)
    changes = body.model_dump(exclude_unset=True)
    if "templates" in changes:
        changes["templates"] = await _templates(request, principal.company_id, body.templates)
    if "readers" in changes:
        changes["readers"] = await _readers(request, principal.company_id, body.readers)
    if "change_gates" in changes:
        changes["change_gates"] = _gates(body.change_gates)
    if "actions" in changes:
        changes["actions"] = _actions(body.actions)
    try:
        policy = await _change(request.app[SERVICES], principal, changes)
    except PolicyGated as gated:
        return (await ask_for(request, policy_form(gated.after, gated.stands_on))).response()
    return json_response(_json(policy))


async def _change(services: Services, principal: Principal, changes: dict[str, Any]) -> CompanyPolicy:
    """The changed policy; PolicyGated where another person approves the change."""
    identity = services.identity
    gates = identity.policies.change_gates(principal.company_id)
    if gates is None or not await identity.changes.has_two(principal.company_id):
        return await identity.policies.change(principal, changes)
    return await identity.policies.change(principal, changes, refuse_looser)


def _gates(one: contract.ChangeGates | None) -> ChangeGates | UnsetType:
    return UNSET if one is None else ChangeGates(acts=tuple(sorted(set(one.acts))), function=one.function)


def _actions(one: contract.ActionTerms | None) -> OutcomeTerms | UnsetType:
    """The terms; 422 for a time that is of no fixed length."""
    if one is None:
        return UNSET
    try:
        within = duration(one.outcome_within)
    except ValueError as refused:
        raise invalid((pointer("actions", "outcome_within"), str(refused))) from None
    if within.business_days or within.months or not timedelta() < within.exact <= OUTCOME_WITHIN_MAX:
        raise invalid(
            (pointer("actions", "outcome_within"), "has to be a fixed time such as PT10M, of 30 days at most")
        )
    return OutcomeTerms(outcome_within=one.outcome_within)


async def approve_policy(services: Services, decision: ChangeDecision, asked: Mapping[str, Any]) -> None:
    """Set the policy that was asked for."""
    caller = await services.identity.changes.asker(decision.change)
    await services.identity.policies.approve(decision, convert(asked["policy"], CompanyPolicy), caller)


async def _templates(request: web.Request, company_id: str, named: list[str]) -> tuple[str, ...]:
    """The verticals, each once; 422 for one that the company has not."""
    catalog = request.app[SERVICES].catalog
    wrong = [place for place, one in enumerate(named) if not await catalog.has(company_id, one)]
    if wrong:
        raise invalid(*((pointer("templates", place), "is no template of the company") for place in wrong))
    return tuple(dict.fromkeys(named))


async def _readers(
    request: web.Request, company_id: str, named: Mapping[str, contract.NamedReaders]
) -> dict[str, ReaderRule]:
    """The rules by vertical; 422 for a vertical that the company has not."""
    catalog = request.app[SERVICES].catalog
    wrong = [one for one in named if not await catalog.has(company_id, one)]
    if wrong:
        raise invalid(*((pointer("readers", one), "is no template of the company") for one in wrong))
    return {
        vertical: ReaderRule(tuple(one.functions), tuple(one.groups), one.role, one.starter)
        for vertical, one in sorted(named.items())
    }


def _json(policy: CompanyPolicy) -> dict[str, Any]:
    functions = "required" if policy.requires_functions else "optional"
    shown: dict[str, Any] = {"passwords": policy.takes_passwords, "templates": policy.uses, "functions": functions}
    readers = {vertical: contract.ReadersShown.view(one) for vertical, one in policy.narrowed.items()}
    gates = None if not policy.change_gates else contract.ChangeGateTerms.view(policy.change_gates)
    actions = {"outcome_within": policy.outcome_within}
    return contract.Policy.view(policy, **shown, readers=readers, change_gates=gates, actions=actions)


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
            name: LearnableTerms(one.threshold, one.sample_one_in) for name, one in sorted(body.learnable.items())
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
        if vertical == ACTION_VERTICAL:
            if not await _earns(services, principal, step_id):
                wrong.append((pointer("learnable", name), "is no rule of actions that asks and is of the tier medium"))
            continue
        found = await _current(services, principal, vertical)
        if found is None or not found.template.has(step_id):
            wrong.append((pointer("learnable", name), "is no step of a template of the company"))
        elif found.template.node(step_id).tier != "medium" or found.template.node(step_id).gate:
            wrong.append((pointer("learnable", name), "is not of the tier medium, and so is never cleared by a panel"))
    if wrong:
        raise invalid(*wrong)


async def _earns(services: Services, principal: Principal, rule_id: str) -> bool:
    """Whether the actions of a rule may be cleared on what people decided about others of them."""
    rules = (await services.deciding.rules.for_company(principal.company_id)).rules
    return any((one.id, one.decision, one.tier) == (rule_id, "ask", "medium") for one in rules)


async def _current(services: Services, principal: Principal, vertical: str) -> CatalogEntry | None:
    try:
        return await services.catalog.current(principal.company_id, vertical)
    except Retired:
        return None


def _response(one: CompanyAutonomy) -> web.Response:
    learnable = {name: contract.Learnable.view(each) for name, each in one.learnable.items()}
    return json_response(contract.Autonomy.view(one, learnable=learnable))


@Operation("Get the calendar", "read", contract.Calendar)
async def get_calendar(request: web.Request) -> web.Response:
    """The company's time zone, weekend and holidays, by which business days are counted."""
    principal = member_of(request)
    form = await request.app[SERVICES].identity.calendars.for_company(principal.company_id)
    return json_response(contract.Calendar.view(form))


@Operation(
    "Change the calendar", "policy", contract.Calendar, request=contract.CalendarChange, problems=(403, 409, 507)
)
async def put_calendar(request: web.Request) -> web.Response:
    """Changes members of the calendar; those that are left out stay as they are.

    Deadlines in business days that are open move with it.
    """
    principal, services = member_of(request), request.app[SERVICES]
    body = await read(request, contract.CalendarChange)
    await services.stored.store_more(principal.company_id)
    changes = {name: tuple(one) if isinstance(one, list) else one for name, one in _given(body).items()}
    form = await services.identity.calendars.change(principal, changes)
    return json_response(contract.Calendar.view(form))


@Operation("List the holidays of a country", "read", contract.Holidays, query=("country", "year", "subdivision"))
async def list_holidays(request: web.Request) -> web.Response:
    """The public holidays of a country in a year, for a calendar; nothing is stored.

    `country` is an ISO 3166-1 code, `subdivision` the code of one of its parts, such as a state.
    """
    principal, services = member_of(request), request.app[SERVICES]
    country, year, part = _country(request), _year(request), _subdivision(request)
    try:
        found = await services.offload.run(principal.company_id, lambda: public_holidays(country, part, year))
    except UnknownCountry:
        raise invalid(("/country", "is no country whose holidays are known")) from None
    except UnknownSubdivision as unknown:
        raise invalid(("/subdivision", f"is no part of that country; those are: {unknown}")) from None
    days = [{"date": day, "name": name} for day, name in found]
    return json_response({"country": country, "subdivision": part, "year": year, "holidays": days})


def _given(body: contract.CalendarChange) -> dict[str, object]:
    return body.model_dump(exclude_unset=True)


def _country(request: web.Request) -> str:
    text = request.query.get("country", "")
    if not re.fullmatch(COUNTRY, text):
        raise invalid(("/country", "has to be an ISO 3166-1 code in capitals, such as AT"))
    return text


def _year(request: web.Request) -> int:
    text = request.query.get("year", "")
    if not re.fullmatch(r"[0-9]{4}", text) or not YEAR_MIN <= int(text) <= YEAR_MAX:
        raise invalid(("/year", f"has to be a year from {YEAR_MIN} to {YEAR_MAX}"))
    return int(text)


def _subdivision(request: web.Request) -> str | None:
    text = request.query.get("subdivision") or None
    if text is not None and not re.fullmatch(SUBDIVISION, text):
        raise invalid(("/subdivision", "has to be the code of a part of that country"))
    return text
