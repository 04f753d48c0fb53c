"""What is due: reminders, escalations and deadlines of gates, and the ends of waits."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from actors.core.commands import callbacks, clocks
from actors.core.gate_policy import Escalation
from actors.core.kinds import begin_wait, end_wait, leave, wait_until
from actors.core.messages import (
    GateEscalated,
    GateExpired,
    GateReminded,
    GateRescheduled,
)
from actors.core.run import Gate, Visit
from actors.core.schedule import duration
from actors.core.turn import Turn, lapse, review

DEADLINE = "deadline"


def expire(turn: Turn) -> None:
    """Do all that is due by now; what a changed calendar has moved is due later."""
    if turn.run.clocks:
        clocks.expire(turn)
    for visit in turn.run.open:
        if visit.wait is not None and visit.calls:
            if visit.wait.until is not None and visit.wait.until <= turn.at:
                callbacks.give_up(turn, visit)
        elif visit.wait is not None:
            _wait(turn, visit)
        elif visit.status == "parked" and visit.gate is not None and visit.gate.wake_at is not None:
            _gate(turn, visit)


def review_gates(turn: Turn) -> None:
    """Look at the open gates again: people or the calendar of the company have changed."""
    if turn.run.clocks:
        clocks.reschedule(turn)
    expire(turn)
    for visit in turn.run.parked:
        if visit.gate is not None and visit.gate.asks_people:
            lapse(turn, visit)
            review(turn, turn.run.at(visit.step_id) or visit)


def _wait(turn: Turn, visit: Visit) -> None:
    wait, node = visit.wait, turn.template.node(visit.step_id)
    assert wait is not None  # noqa: S101 - the caller has looked
    until = wait_until(turn, node, wait.since)
    if until is None:
        return
    if until != wait.until:
        begin_wait(turn, visit, node, until)
        visit = turn.run.at(visit.step_id) or visit
    if until <= turn.at:
        end_wait(turn, visit, "elapsed" if wait.message is None else "timeout")


def _gate(turn: Turn, visit: Visit) -> None:
    gate = _rescheduled(turn, visit)
    about: Any = {"at": turn.at, "step_id": visit.step_id, "visit": visit.visit, "by_kind": DEADLINE}
    past = [one for one in gate.remind_at if one <= turn.at]
    if past:
        left = gate.remind_at[len(past) :]
        turn.emit(GateReminded(**about, due_at=gate.due_at or UNSET, left=left))
    if gate.due_at is None or gate.due_at > turn.at:
        return
    outcome = gate.policy.on_deadline
    if isinstance(outcome, Escalation):
        if gate.escalated is None:
            then = None if outcome.again is None else duration(outcome.again).after(turn.at, turn.company.calendar)
            turn.emit(GateEscalated(**about, to=outcome.escalate, due_at=then or UNSET))
            if gate.asks_people:
                review(turn, turn.run.at(visit.step_id) or visit)
            return
        outcome = outcome.then
    if outcome is not None and outcome in gate.decisions:
        turn.emit(GateExpired(**about, by=DEADLINE, decision=outcome))
        leave(turn, visit.step_id, outcome)
    else:  # nothing more is due here
        turn.emit(GateRescheduled(**about, remind_at=gate.remind_at))


def _rescheduled(turn: Turn, visit: Visit) -> Gate:
    """The gate with the times that the calendar of today gives it."""
    gate = visit.gate
    assert gate is not None  # noqa: S101 - the caller has looked
    if not gate.policy.counts_business_days:
        return gate
    due_at, remind_at = turn.deadlines(gate.policy, gate.opened_at)
    outcome = gate.policy.on_deadline
    if gate.due_at is None:
        due_at = None
    elif gate.escalated_at is not None and isinstance(outcome, Escalation) and outcome.again is not None:
        due_at = duration(outcome.again).after(gate.escalated_at, turn.company.calendar)
    left = remind_at[len(remind_at) - len(gate.remind_at) :]
    if (due_at, left) == (gate.due_at, gate.remind_at):
        return gate
    about: Any = {"at": turn.at, "step_id": visit.step_id, "visit": visit.visit, "by_kind": DEADLINE}
    turn.emit(GateRescheduled(**about, due_at=due_at or UNSET, remind_at=left))
    visit = turn.run.at(visit.step_id) or visit
    assert visit.gate is not None  # noqa: S101 - it stays open
    return visit.gate
