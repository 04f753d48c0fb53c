"""The start of an action: what its run knows, and the template that it follows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple, get_args

from msgspec.structs import replace

from actors.core.actions.deciding import EXPIRES, OUTCOME_WITHIN, ActionFacts, Call, RuleDecision, Way
from actors.core.canonical import canonical
from actors.core.messages import Start
from actors.core.template import Template, Tier, ToolEffect
from daemon.actions.deciding import DecidedCall
from daemon.identity.tokens import Principal
from daemon.templates.agents.action_rules import action_document
from daemon.templates.catalog import Catalog
from daemon.templates.documents import Document
from daemon.templates.nodes import HANDED


class AgentPatience(NamedTuple):
    """How long an agent waits for a person, as it said it."""

    said: str
    time: timedelta


class Making:
    """Makes the message that starts the run of a call that was decided about."""

    def __init__(self, templates: ActionTemplates, *, now: Callable[[], datetime]) -> None:
        self._templates, self._now = templates, now

    async def start(
        self,
        principal: Principal,
        run_id: str,
        decided: DecidedCall,
        *,
        patience: AgentPatience | None = None,
        effect: ToolEffect | None = None,
        tier: Tier | None = None,
        outcome_within: str = OUTCOME_WITHIN,
        traceparent: str | None = None,
    ) -> tuple[Start, Template]:
        """The start of the action `run_id`, and its template, which is kept by now.

        `effect` and `tier` are what is known of the tool.
        """
        call, found, at = decided.call, decided.decision, self._now()
        template = await self._templates.template(
            principal.company_id, call, found, decided.way, effect=effect, tier=tier
        )
        facts = ActionFacts(
            tool=call.tool,
            server=call.server,
            agent=call.agent,
            agent_id=call.agent_id,
            model=call.model,
            reasoning=call.reasoning,
            context=call.context,
            way=decided.way,
            rule=found.reference,
            decision=found.decision,
            why=found.why,
            reason=found.rule.reason,
            spent=found.spent,
            amount=found.amount,
            budget=found.rule.budget,
            deadline_at=None if patience is None else at + patience.time,
            expires=found.rule.expires or EXPIRES,
            outcome_within=outcome_within,
            editable=found.rule.editable,
            fingerprint=decided.fingerprint,
            timeout=None if patience is None else patience.said,
        )
        message = Start(
            run_id=run_id,
            company_id=principal.company_id,
            by=principal.email,
            by_kind=principal.kind,
            via=principal.via,
            inputs=call.arguments,
            traceparent=traceparent,
            made_by=principal.made_by,
            action=facts,
            at=at,
        )
        return message, template


TEMPLATES_MAX = 1_024
TIERS = get_args(Tier)
_Key = tuple[str, str, int, str, str, str | None, str | None]


def tool_of(call: Call, way: Way) -> str:
    """The tool as the template names it: of a server, or of the agent, it is no connector's."""
    if way == "aap":
        return HANDED + call.tool
    return call.tool if call.server is None else f"{call.server}/{call.tool}"


class ActionTemplates:
    """The template of each rule and tool; those that were used last are in memory."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._digests: OrderedDict[_Key, str] = OrderedDict()

    async def template(
        self,
        company_id: str,
        call: Call,
        decision: RuleDecision,
        way: Way,
        *,
        effect: ToolEffect | None = None,
        tier: Tier | None = None,
    ) -> Template:
        """The template of a call that was decided so.

        What is known of the tool's effect counts, and of its tier where that is above the rule's.
        """
        tool = tool_of(call, way)
        rule = replace(decision.rule, decision=decision.decision, effect=effect or decision.rule.effect)
        if rule.tier == "medium" and (decision.rule.decision != "ask" or decision.why is not None):
            rule = replace(rule, tier=None)  # earned is what the rule asks by its own word, and that alone
        if tier is not None and TIERS.index(tier) > TIERS.index(rule.tier or "high"):
            rule = replace(rule, tier=tier)
        key = (company_id, rule.digest, rule.version, rule.decision, tool, rule.effect, rule.tier)
        if (digest := self._digests.get(key)) is not None:
            self._digests.move_to_end(key)
            return await self._catalog.pinned(company_id, digest)
        document = Document.model_validate(action_document(rule, tool)).normalised()
        template = await self._catalog.keep_action(company_id, canonical(document))
        self._digests[key] = template.digest
        while len(self._digests) > TEMPLATES_MAX:
            self._digests.popitem(last=False)
        return template
