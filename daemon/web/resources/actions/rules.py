"""The rules for the calls of agents, what they say of one, and the switch that stops agents."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
from aiohttp import web

from actors.core.actions.deciding import UNRULED_ID, ActionRule, BudgetRule, Call
from actors.core.run import Run
from actors.ports import Asker
from daemon.actions.pauses import PAUSED_AGENTS_MAX, TooManyPauses
from daemon.actions.rules import NotProposable, ProposedRule, RulesChanged, RulesRefused, let_through, proposed
from daemon.contract import actions as contract
from daemon.contract.base import Empty
from daemon.contract.company import GatedChange
from daemon.identity.company.changes import ChangeForm
from daemon.model.actions import ActionQuery
from daemon.model.events.company import ActionRuleSet
from daemon.model.people.changes import ChangeDecision
from daemon.web.bodies import ERRORS_MAX, if_match, parse, path_key, read
from daemon.web.idempotency import IdempotencyKey, idempotent
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, Operation
from daemon.web.problems import HttpProblem, etag, invalid, not_found, pointer
from daemon.web.resources.changes import ask_for, member_of
from daemon.web.resources.run_commands import current, readable, sight_of
from daemon.web.responses import StoredResponse, json_response
from daemon.web.services import SERVICES, Services

HITS_SINCE = timedelta(days=30)
EDITABLE = "editable"


@Operation("Get the rules for actions", "read", contract.ActionRules)
async def get_action_rules(request: web.Request) -> web.Response:
    """The rules that decide about the calls of agents, with how often each did of late.

    Calls that the caller may not read are not counted.
    """
    rules = await request.app[SERVICES].deciding.rules.for_company(member_of(request).company_id)
    return await _response(request, rules)


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
    return await _response(request, found)


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


async def _response(request: web.Request, found: ActionRuleSet) -> web.Response:
    services, company_id = request.app[SERVICES], principal_of(request).company_id
    hits = await services.store.rule_hits(company_id, services.now() - HITS_SINCE, await sight_of(request))
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


LOOKED_AT = 100
"""So many of the agent's newest calls of the tool are looked at."""


@Operation(
    "Propose a rule that allows such calls",
    "decide",
    GatedChange,
    202,
    Empty,
    headers=KEYED,
    problems=(403, 404, 409, 507),
)
@idempotent(optional=True)
async def propose_action_rule(request: web.Request, raw: dict[str, Any], key: IdempotencyKey | None) -> StoredResponse:
    """Proposes always to allow what the action asks: of its tool, server, agent and model alone.

    The rule stands right before the one that asked and has its condition. `asked` has it, with the
    past calls that it would have let through. It waits until an admin accepts it; before that, and
    by anybody else, nothing changes.
    """
    await parse(request, Empty, raw)
    services, run = request.app[SERVICES], await readable(request, path_key(request, "action_id"))
    if run.action is None:
        raise not_found()
    rules = await services.deciding.rules.for_company(run.company_id)
    try:
        found = proposed(rules, run.action)
    except NotProposable as refused:
        raise HttpProblem("not_proposable", str(refused)) from None
    after = found.among(rules.rules)
    through = await _through(request, run, after, found.rule)
    body = {
        "rule": msgspec.to_builtins(found.rule),
        "place": found.place,
        "action": run.id,
        "looked_at": LOOKED_AT,
        "through": [_shown(one) for one in through],
    }
    return await ask_for(request, ChangeForm("action_rule", found.rule.tool, body, rules.number), key)


async def _through(request: web.Request, run: Run, rules: tuple[ActionRule, ...], rule: ActionRule) -> list[Run]:
    """The newest calls of the agent that the rule would have allowed."""
    services, facts = request.app[SERVICES], run.action
    assert facts is not None  # noqa: S101 - it is an action
    query = ActionQuery(LOOKED_AT, agent=facts.agent, tool=facts.tool, sight=await sight_of(request))
    rows = await services.store.actions(principal_of(request).company_id, query)
    found = [await current(services, (row.company_id, row.run_id)) for row in rows]
    runs = [one for one in found if one is not None]
    work, size = partial(let_through, rules, rule, runs), sum(one.size_bytes for one in runs)
    allowed = await services.evaluator.evaluated(Asker(run.company_id), size, work)
    return [one for one, through in zip(runs, allowed, strict=True) if through]


def _shown(run: Run) -> dict[str, Any]:
    outcome = None if run.ended is None else run.ended.outcome or run.ended.status
    return {"id": run.id, "arguments": run.inputs, "outcome": outcome, "created_at": run.created_at.isoformat()}


async def approve_action_rule(services: Services, decision: ChangeDecision, asked: Mapping[str, Any]) -> None:
    """Add the rule that was proposed."""
    rule = ProposedRule(msgspec.convert(asked["rule"], ActionRule), asked["place"])
    await services.deciding.rules.accept(decision, rule)
