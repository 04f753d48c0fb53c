"""Actions: refused by rule, asked about, and handed over to the agent once they are approved."""

from __future__ import annotations

from typing import Any

from actors.core.actions.deciding import ActionFacts
from actors.core.approvals import CHANGED, restated, unsettled
from actors.core.commands.verdicts import may_not, not_here
from actors.core.eligibility import Decider, why_not
from actors.core.kinds import NODE_KINDS, enter_step, leave
from actors.core.messages import (
    AnswerQuestion,
    AskAgent,
    CallConsumed,
    CallFailed,
    CallSettled,
    Consume,
    Failure,
    GateAnswered,
    GateAsked,
    Rejected,
    ReportOutcome,
    RunEnded,
    kept_kind,
)
from actors.core.people import Person
from actors.core.run import Run, Visit
from actors.core.schedule import duration
from actors.core.template import APPROVED, DENIED
from actors.core.turn import Turn

UNUSED = "expired_unused"
OUTCOME_MISSING = "outcome_missing"
ACTION_CHANGED = "action_changed"


def refuse(turn: Turn, action: ActionFacts) -> None:
    """End an action that its rule denies before anybody is asked."""
    reason = action.reason or action.why or f"the rule {action.rule.id} denies it"
    turn.emit(RunEnded(at=turn.at, status="completed", outcome=DENIED, reason=reason, was=turn.run.status))


def granted(run: Run) -> Visit | None:
    """The latest visit whose call was handed over to the agent."""
    return next((one for one in reversed((*run.trace, *run.open)) if one.grant is not None), None)


def reported(run: Run) -> dict[str, Any] | None:
    """What the agent has told of its call; when late, it has settled the gate that asked for it."""
    visit = granted(run)
    if visit is None or visit.grant is None or visit.grant.consumed_at is None:
        return None
    late = [one for one in run.trace if one.visit > visit.visit and one.status == "done" and one.verdict is None]
    found: dict[str, Any] | None = late[-1].output if late else visit.output
    return found


def consume(turn: Turn, message: Consume) -> Rejected | None:
    """Use the approval up; said again with the same key it changes nothing."""
    visit = granted(turn.run)
    if visit is None or visit.grant is None:
        return _not_approved(turn, "The action is not approved.")
    if visit.grant.consumed_at is not None:
        if visit.grant.key_hash == message.key_hash:
            return None
        return Rejected("already_consumed", "The approval was used before, and counts once.", _status(turn))
    if visit.grant.expires_at <= turn.at:
        return Rejected("approval_expired", "The approval has expired.", _status(turn))
    if visit.status != "waiting":
        return _not_approved(turn, "The approval does not stand any more.")
    if (why := unsettled(turn.run, visit, turn.company)) is not None:
        _ask_again(turn, visit, why)
        return _not_approved(turn, f"The approval does not stand any more: {why}.")
    facts = turn.run.action
    assert facts is not None  # noqa: S101 - only calls of actions are handed over
    turn.emit(
        CallConsumed(
            at=turn.at,
            step_id=visit.step_id,
            visit=visit.visit,
            by=message.by,
            by_kind=kept_kind(message.by_kind),
            via=message.via,
            key_hash=message.key_hash,
            until=duration(facts.outcome_within).after(turn.at, turn.company.calendar),
        )
    )
    return None


def _status(turn: Turn) -> dict[str, Any]:
    return {"run_status": turn.run.status}


def _not_approved(turn: Turn, detail: str) -> Rejected:
    return Rejected("not_approved", detail, _status(turn))


def _ask_again(turn: Turn, visit: Visit, why: str) -> None:
    """Ask people once more, since what they approved stands no more; nothing was sent."""
    about: Any = {"at": turn.at, "step_id": visit.step_id, "visit": visit.visit}
    detail = f"{CHANGED}: {why}"
    turn.emit(CallSettled(**about, error=Failure(code=ACTION_CHANGED, detail=detail, maybe_sent=False)))
    again = enter_step(turn, visit.step_id, None)
    turn.park(again, detail, turn.template.decisions(visit.step_id), visit.request)


def report(turn: Turn, message: ReportOutcome) -> Rejected | None:
    """Take what came of the call, once; a late outcome settles the gate that asks for it."""
    visit = granted(turn.run)
    if visit is None or visit.grant is None or visit.grant.consumed_at is None:
        return Rejected("not_consumed", "The approval was not used, so that it has no outcome.", _status(turn))
    output: dict[str, Any] = {"status": message.status}
    if message.note is not None:
        output["note"] = message.note
    if (known := reported(turn.run)) is not None:
        if {name: one for name, one in known.items() if name != "late"} == output:
            return None
        return Rejected("outcome_conflict", "Another outcome was told before.", _status(turn))
    asked = turn.run.at(visit.step_id)
    late = asked is not None and asked.status == "parked"
    about = visit if asked is None else asked
    if late:
        output["late"] = True
    turn.emit(CallSettled(at=turn.at, step_id=about.step_id, visit=about.visit, output=output, attempts=1))
    if turn.run.ended is None:
        leave(turn, visit.step_id, APPROVED)
    return None


def lapse(turn: Turn, visit: Visit) -> None:
    """The time is over: an approval that was not used counts no more, and a call is in doubt."""
    assert visit.grant is not None and turn.run.action is not None  # noqa: S101, PT018 - it was granted
    if visit.grant.consumed_at is None:
        turn.emit(RunEnded(at=turn.at, status="completed", outcome=UNUSED, was=turn.run.status))
        return
    detail = f"{visit.grant.consumed_by} took {turn.run.action.tool} and did not tell its outcome in time."
    error = Failure(code=OUTCOME_MISSING, detail=detail, step_id=visit.step_id, attempts=1, maybe_sent=True)
    taken = NODE_KINDS[visit.kind].on_outcome
    assert taken is not None  # noqa: S101 - steps of this kind make calls
    taken(turn, visit, CallFailed(step_id=visit.step_id, visit=visit.visit, error=error, unknown=True, at=turn.at))


ASKED_MAX = 20
"""Questions that are asked at a gate."""


def ask(turn: Turn, message: AskAgent) -> Rejected | None:
    """Ask the agent something; the gate stays open."""
    visit = next((one for one in turn.run.parked if one.step_id == message.gate), None)
    if visit is None or visit.gate is None:
        return not_here(turn.run, message.gate)
    action = turn.run.action
    if action is None:
        errors = [{"pointer": "/to", "detail": "names the agent of an action, and this run is none"}]
        return Rejected("invalid", "Not valid at /to: only the agent of an action is asked.", {"errors": errors})
    if action.way == "aap":
        return Rejected("not_for_aap", "Only an agent that waits for its action here can be asked.")
    known = turn.company.people.get(message.by)
    person = Person("", message.by, message.role) if known is None else known
    if (why := why_not(Decider(person, message.by_kind), visit, turn.run, turn.setting)) is not None:
        return may_not(why, visit.gate)
    if len(visit.gate.questions) >= ASKED_MAX:
        detail = f"{ASKED_MAX} questions were asked at this gate, which is all it takes."
        return Rejected("quota_exceeded", detail, {"budget": "questions", "limit": ASKED_MAX})
    turn.emit(
        GateAsked(
            at=turn.at,
            step_id=visit.step_id,
            visit=visit.visit,
            by=message.by,
            by_kind=kept_kind(message.by_kind),
            via=message.via,
            question=message.question,
            text=message.text,
        )
    )
    return None


def answer(turn: Turn, message: AnswerQuestion) -> Rejected | None:
    """Take the agent's answer, once: the gate shows it, and verdicts before it lapse."""
    asked = [one for one in turn.run.parked if one.gate is not None and one.step_id == message.gate]
    found = [(one, each) for one in asked if one.gate for each in one.gate.questions if each.id == message.question]
    if not found or turn.run.action is None or turn.run.action.agent_id != message.agent_id:
        return Rejected("not_found", "There is no such question to this agent.")
    visit, question = found[0]
    if question.answer is not None:
        return Rejected("already_answered", "The question was answered before.")
    turn.emit(
        GateAnswered(
            at=turn.at,
            step_id=visit.step_id,
            visit=visit.visit,
            by=message.by,
            by_kind=kept_kind(message.by_kind),
            via=message.via,
            question=message.question,
            text=message.text,
        )
    )
    visit = turn.run.at(visit.step_id) or visit
    turn.reopen(visit, restated(turn.run, visit, turn.template, turn.connectors, turn.company))
    return None
