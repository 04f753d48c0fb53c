"""What is proposed to the human who decides."""

from __future__ import annotations

from actors.core.commands.refusals import no_such_decision, not_here
from actors.core.messages import ProposalMade, Propose, Rejected, kept_kind
from actors.core.people import ACTIONS, refusal
from actors.core.run import Gate
from actors.core.turn import Turn

PROPOSALS_MAX = 20
"""Proposals that a gate shows at a visit: one of each proposer."""

PROPOSED_MAX = 100
"""Proposals that are made at a visit, with those that newer ones have replaced."""


def make_proposal(turn: Turn, message: Propose) -> Rejected | None:
    """Add a proposal to an open gate, or say why it is refused; nothing else changes."""
    if (refused := refusal(message.role, message.by_kind, ACTIONS["propose"])) is not None:
        more = {"required": refused.required, "reason": refused.reason}
        return Rejected("forbidden", f"A proposal needs the role {refused.required}.", more)
    visit = next((one for one in turn.run.parked if one.step_id == message.gate), None)
    if visit is None or visit.gate is None:
        return not_here(turn.run, message.gate)
    gate = visit.gate
    if message.digest not in (None, turn.stands(visit).digest):
        detail = "What was proposed on is not what stands at this gate now; read the run and propose again."
        return Rejected("stale", detail, {"parked_at": turn.run.parked[0].step_id, "tag": turn.tag()})
    if message.decision not in gate.decisions:
        return no_such_decision(visit.step_id, gate)
    if (full := _full(gate, message)) is not None:
        return full
    turn.emit(
        ProposalMade(
            at=turn.at,
            step_id=visit.step_id,
            visit=visit.visit,
            decision=message.decision,
            by=message.by,
            by_kind=kept_kind(message.by_kind),
            via=message.via,
            comment=message.comment,
            confidence=message.confidence,
            digest=message.digest,
            form=message.form,
        )
    )
    return None


def _full(gate: Gate, message: Propose) -> Rejected | None:
    """Whether the gate has as many proposals as it takes."""
    replaces = any((one.by, one.by_kind) == (message.by, message.by_kind) for one in gate.proposals)
    if not replaces and len(gate.proposals) >= PROPOSALS_MAX:
        limit, detail = PROPOSALS_MAX, f"The gate shows {PROPOSALS_MAX} proposals already, which is all it takes."
    elif gate.proposed >= PROPOSED_MAX:
        limit, detail = PROPOSED_MAX, f"{PROPOSED_MAX} proposals were made at this gate, which is all it takes."
    else:
        return None
    return Rejected("quota_exceeded", detail, {"budget": "proposals", "limit": limit})
