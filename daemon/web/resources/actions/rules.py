"""The rules for the calls of agents, what they say of one, and the switch that stops agents."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from aiohttp import web

from actors.core.actions.deciding import UNRULED_ID, ActionRule, BudgetRule, Call
from daemon.actions.pauses import PAUSED_AGENTS_MAX, TooManyPauses
from daemon.actions.rules import RulesChanged, RulesRefused
from daemon.contract import actions as contract
from daemon.model.events.company import ActionRuleSet
from daemon.web.bodies import ERRORS_MAX, if_match, read
from daemon.web.operations import Operation
from daemon.web.problems import HttpProblem, etag, invalid, pointer
from daemon.web.resources.changes import member_of
from daemon.web.responses import json_response
from daemon.web.services import SERVICES, Services

HITS_SINCE = timedelta(days=30)
EDITABLE = "editable"


@Operation("Get the rules for actions", "read", contract.ActionRules)
async def get_action_rules(request: web.Request) -> web.Response:
    """The rules that decide about the calls of agents, with how often each did of late."""
    services, company_id = request.app[SERVICES], member_of(request).company_id
    return await _response(services, company_id, await services.deciding.rules.for_company(company_id))


@Operation(
    "Replace the rules for actions",
    "policy",
    contract.ActionRules,
    request=contract.ActionRulesForm,
    headers=("If-Match",),
    problems=(412, 507),
)
async def put_action_rules(request: web.Request) -> web.Response:
    """Replaces all rules; with `If-Match` only those that were seen.

    From this answer on they count on every daemon. A rule that says what it said before keeps its
    version; where one has changed, what was approved by it and is not made yet is asked again.
    """
    principal, services = member_of(request), request.app[SERVICES]
    body = await read(request, contract.ActionRulesForm)
    await services.stored.store_more(principal.company_id)
    tags = if_match(request)
    seen = None if tags is None else frozenset(int(one) for one in tags if one.isdecimal())
    try:
        found = await services.deciding.rules.put(
            principal, [_rule(place, one) for place, one in enumerate(body.rules)], seen
        )
    except RulesRefused as refused:
        raise invalid(*refused.wrong[:ERRORS_MAX]) from None
    except RulesChanged as changed:
        detail = "The rules have changed since they were seen; read them again."
        raise HttpProblem("stale", detail, {"etag": etag(str(changed.number))}) from None
    return await _response(services, principal.company_id, found)


@Operation("Try the rules for actions", "policy", contract.ActionTrialResult, request=contract.ActionTrial)
async def try_action_rules(request: web.Request) -> web.Response:
    """What the rules say of a call of an agent; nothing is counted, held or asked."""
    principal, services = member_of(request), request.app[SERVICES]
    body = await read(request, contract.ActionTrial)
    call = Call(
        tool=body.tool,
        server=body.server,
        arguments=body.arguments,
        agent=body.agent,
        agent_id="",
        model=body.model,
        context=body.context,
    )
    found = await services.deciding.tried(principal.company_id, call)
    shown = {"rule": found.rule.id, "version": found.rule.version}
    return json_response(contract.ActionTrialResult.view(found, **shown))


@Operation("Stop agents", "stop", contract.ActionPauses, request=contract.ActionPauseForm, problems=(507,))
async def put_action_pause(request: web.Request) -> web.Response:
    """Stops one agent, or all without a name.

    From this answer on no daemon begins or makes an action of it: a new one is refused, what is
    approved and not made yet is held, and what waits for people stays.
    """
    principal, services = member_of(request), request.app[SERVICES]
    body = await read(request, contract.ActionPauseForm)
    await services.stored.store_more(principal.company_id)
    try:
        found = await services.deciding.pauses.pause(principal, body.agent, body.reason)
    except TooManyPauses:
        raise invalid(("/agent", f"a company stops at most {PAUSED_AGENTS_MAX:,} agents one by one")) from None
    return json_response(contract.ActionPauses.view(found))


@Operation("Let agents go on", "stop", status=204, query=("agent",))
async def delete_action_pause(request: web.Request) -> web.Response:
    """Lets one agent go on, or lifts what stops all of them."""
    agent = request.query.get("agent")
    await request.app[SERVICES].deciding.pauses.lift(member_of(request), agent)
    return web.Response(status=204)


def _rule(place: int, form: contract.ActionRuleForm) -> ActionRule:
    said = form.model_dump(exclude={"gate", "budget"})
    gate = {name: one for name, one in (form.gate or {}).items() if name != EDITABLE}
    editable = (form.gate or {}).get(EDITABLE) or ()
    if not isinstance(editable, list | tuple) or not all(isinstance(one, str) for one in editable):
        raise invalid((pointer("rules", place, "gate", EDITABLE), "has to be an array of JSON pointers"))
    budget = None if form.budget is None else BudgetRule(**form.budget.model_dump())
    return ActionRule(**said, gate=gate or None, editable=tuple(map(str, editable)), budget=budget)


async def _response(services: Services, company_id: str, found: ActionRuleSet) -> web.Response:
    hits = await services.store.rule_hits(company_id, services.now() - HITS_SINCE)
    body = contract.ActionRules.view(
        found,
        rules=[_json(one, hits.get(one.id, {})) for one in found.rules],
        version=found.number,
        unruled=sum(hits.get(UNRULED_ID, {}).values()),
        paused=contract.ActionPauses.view(await services.deciding.pauses.for_company(company_id)),
    )
    return json_response(body, headers={"ETag": etag(str(found.number))})


def _json(one: ActionRule, hits: Mapping[str, int]) -> dict[str, Any]:
    gate = {**(one.gate or {}), **({EDITABLE: one.editable} if one.editable else {})}
    budget = None if one.budget is None else contract.RuleBudget.view(one.budget)
    counted = {name: hits.get(name, 0) for name in contract.RuleHits.model_fields}
    return contract.ActionRule.view(one, gate=gate or None, budget=budget, hits=counted)
