"""Actions that are refused by rule, and calls that the agent makes itself, once, when approved."""

from __future__ import annotations

from typing import Any

from actors.core.actions.deciding import ActionFacts
from actors.core.approvals import CHANGED, unsettled
from actors.core.kinds import NODE_KINDS, enter_step, leave
from actors.core.messages import (
    CallConsumed,
    CallFailed,
    CallSettled,
    Consume,
    Failure,
    Rejected,
    ReportOutcome,
    RunEnded,
    kept_kind,
)
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
