"""The start of an action: what its run knows, and the template that it follows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from actors.core.actions.deciding import EXPIRES, OUTCOME_WITHIN, ActionFacts
from actors.core.messages import Start
from actors.core.template import Template, ToolEffect
from daemon.actions.deciding import DecidedCall
from daemon.actions.templates import ActionTemplates
from daemon.identity.tokens import Principal


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
        outcome_within: str = OUTCOME_WITHIN,
        traceparent: str | None = None,
    ) -> tuple[Start, Template]:
        """The start of the action `run_id`, and its template, which is kept by now."""
        call, found, at = decided.call, decided.decision, self._now()
        template = await self._templates.template(principal.company_id, call, found, decided.way, effect)
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
