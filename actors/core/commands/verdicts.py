"""What a human's verdict does, and what is proposed to the human who decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actors.core.approvals import Standing, differs
from actors.core.calls import Missing, Request, sendable
from actors.core.commands.supplied import completed, unseen
from actors.core.kinds import end_run, enter, leave, perform
from actors.core.messages import CallSettled, ProposalMade, Propose, Rejected, Resume, VerdictGiven, kept_kind
from actors.core.people.authority import ACTIONS, refusal
from actors.core.run import DONE, RETRY, Gate, Run, Visit
from actors.core.template import APPROVED, DENIED, Kind
from actors.core.turn import COMPLETE, Turn

Follow = Callable[[Turn, Visit, Resume, Request | Missing | None], None]
PROPOSALS_MAX = 20
"""Proposals that a gate shows at a visit: one of each proposer."""

PROPOSED_MAX = 100
"""Proposals that are made at a visit, with those that newer ones have replaced."""


def give_verdict(turn: Turn, message: Resume) -> Rejected | None:
    """Close the gate and go where the verdict leads, or say why it does not count."""
    run = turn.run
    visit = next((v for v in run.parked if v.step_id == message.gate), None)
    if visit is None or visit.gate is None:
        return _not_here(run, message.gate)
    gate, now = visit.gate, turn.stands(visit)
    if (refused := refusal(message.role, message.by_kind, ACTIONS["decide"], gate.role)) is not None:
        more = {"required": refused.required, "reason": refused.reason}
        if refused.reason == "machine":
            return Rejected("forbidden", "Only people decide at a gate; an API key may propose.", more)
        return Rejected("forbidden", f"A decision here needs the role {refused.required}.", more)
    if (stale := _stale(turn, message, visit, now)) is not None:
        return stale
    if message.decision not in gate.decisions:
        return _no_such_decision(visit.step_id, gate)
    wrong, request = completed(turn, visit, message, now.request)
    if wrong is not None:
        return wrong
    if differs(visit, now):
        visit = turn.reopen(visit, now)
    anew = unseen(turn, visit, message, request)
    turn.emit(
        VerdictGiven(
            at=turn.at,
            step_id=visit.step_id,
            visit=visit.visit,
            decision=message.decision,
            by=message.by,
            via=message.via,
            comment=message.comment,
            inputs=message.inputs or None,
            request=None if anew else sendable(request),
            traceparent=message.traceparent,
        )
    )
    if anew:
        turn.park(enter(turn, visit.step_id, None), COMPLETE, gate.decisions, request)
    else:
        follow = VERDICTS.get((visit.kind, message.decision), _go_on)
        follow(turn, visit, message, sendable(request) or request)
    return None


def _no_such_decision(step_id: str, gate: Gate) -> Rejected:
    detail = f"At {step_id} the decision is one of: {', '.join(gate.decisions)}."
    return Rejected("decision_not_allowed", detail, {"decisions": list(gate.decisions)})


def _not_here(run: Run, gate: str) -> Rejected:
    """Why nothing is decided at that gate: the run is not parked, or parked elsewhere."""
    more: dict[str, Any] = {"run_status": run.status, "parked_at": None, "decided": None}
    closed = run.decided(gate)
    if closed is not None and closed.verdict is not None:
        verdict = closed.verdict
        more["decided"] = {
            "gate": gate,
            "visit": closed.visit,
            "decision": verdict.decision,
            "by": verdict.by,
            "by_kind": verdict.by_kind,
            "on_behalf_of": verdict.on_behalf_of,
            "at": verdict.at,
        }
    if not run.parked:
        return Rejected("not_parked", f"The run is {run.status}, so there is no gate to decide on.", more)
    more["parked_at"] = run.parked[0].step_id
    return Rejected("gate_mismatch", f"The run is parked at {more['parked_at']}, not at the gate that was named.", more)


def _stale(turn: Turn, message: Resume, visit: Visit, now: Standing) -> Rejected | None:
    """Refuse a verdict on another state than what stands; the gate opens again with that.

    Who does not say what was seen has seen what the gate showed when it opened.
    """
    if message.digest is None and message.tags is None:
        fits = not differs(visit, now)
    else:
        fits = message.digest in (None, now.digest) and turn.seen(message.tags)
    if fits:
        return None
    if differs(visit, now):
        turn.reopen(visit, now)
    detail = "What was decided on is not what stands at this gate now; read the run and decide again."
    return Rejected("stale", detail, {"parked_at": turn.run.parked[0].step_id, "tag": turn.tag()})


def _go_on(turn: Turn, visit: Visit, message: Resume, _: Request | Missing | None) -> None:
    leave(turn, visit.step_id, message.decision)


def _end(turn: Turn, visit: Visit, _message: Resume, _: Request | Missing | None) -> None:
    end_run(turn, visit.step_id)


def _send(turn: Turn, visit: Visit, _: Resume, request: Request | Missing | None) -> None:
    assert request is not None  # noqa: S101 - a task has a call
    perform(turn, visit, request)


def _send_again(turn: Turn, visit: Visit, message: Resume, request: Request | Missing | None) -> None:
    assert request is not None  # noqa: S101 - a task has a call
    again = enter(turn, visit.step_id, None, message)
    perform(turn, again, request, f"{message.by} decided to send the call again", message.by)


def _take_as_done(turn: Turn, visit: Visit, message: Resume, _: Request | Missing | None) -> None:
    """The call of unknown outcome has happened: a human saw what it answered."""
    output = {} if message.output is None else message.output
    signal = turn.signal(visit.step_id, output)
    turn.emit(CallSettled(at=turn.at, step_id=visit.step_id, visit=visit.visit, output=output, signal=signal))
    leave(turn, visit.step_id, APPROVED)


VERDICTS: dict[tuple[Kind, str], Follow] = {
    ("task", APPROVED): _send,
    ("task", RETRY): _send_again,
    ("task", DONE): _take_as_done,
    ("end", APPROVED): _end,
    ("end", DENIED): _end,
}
"""Where a decision at a node of a kind leads, if not over the edges of that branch."""


def make_proposal(turn: Turn, message: Propose) -> Rejected | None:
    """Add a proposal to an open gate, or say why it is refused; nothing else changes."""
    if (refused := refusal(message.role, message.by_kind, ACTIONS["propose"])) is not None:
        more = {"required": refused.required, "reason": refused.reason}
        return Rejected("forbidden", f"A proposal needs the role {refused.required}.", more)
    visit = next((one for one in turn.run.parked if one.step_id == message.gate), None)
    if visit is None or visit.gate is None:
        return _not_here(turn.run, message.gate)
    gate = visit.gate
    if message.digest not in (None, turn.stands(visit).digest):
        detail = "What was proposed on is not what stands at this gate now; read the run and propose again."
        return Rejected("stale", detail, {"parked_at": turn.run.parked[0].step_id, "tag": turn.tag()})
    if message.decision not in gate.decisions:
        return _no_such_decision(visit.step_id, gate)
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
