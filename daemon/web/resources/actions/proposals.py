"""From an action that people were asked about to a rule that allows such calls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from aiohttp import web

from actors.core.actions.deciding import ActionRule
from actors.core.run import Run
from actors.ports import Asker
from daemon.actions.proposals import NotProposable, ProposedRule, let_through, proposed
from daemon.contract import company as contract
from daemon.contract.base import Empty
from daemon.identity.company.changes import ChangeForm
from daemon.model.actions import ActionQuery
from daemon.model.people.changes import ChangeDecision
from daemon.web.bodies import parse, path_key
from daemon.web.idempotency import IdempotencyKey, idempotent
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import KEYED, Operation
from daemon.web.problems import HttpProblem, not_found
from daemon.web.resources.changes import ask_for
from daemon.web.resources.run_commands import current, readable, sight_of
from daemon.web.responses import StoredResponse
from daemon.web.services import SERVICES, Services

LOOKED_AT = 100
"""So many of the agent's newest calls of the tool are looked at."""


@Operation(
    "Propose a rule that allows such calls",
    "decide",
    contract.GatedChange,
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
