"""What is due: reminders, escalations and deadlines of gates, and the ends of waits."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import UNSET

from actors.core.approvals import differs
from actors.core.commands import callbacks, clocks, handovers
from actors.core.gate_policy import Escalation
from actors.core.kinds import TURN_STEPS_MAX, begin_wait, end_wait, flow, leave, wait_until
from actors.core.messages import (
    GateEscalated,
    GateExpired,
    GateReminded,
    GateRescheduled,
    RunEnded,
)
from actors.core.run import Gate, Visit
from actors.core.schedule import duration
from actors.core.template import DENIED
from actors.core.turn import Turn, lapse, review

DEADLINE = "deadline"
EXPIRED = "expired"
"""How an action ends that nobody decided on in time."""


def expire(turn: Turn) -> None:
    """Do all that is due by now, one after the other, with what follows from each.

    What a changed calendar has moved is due when it says. A clock is due last of its moment.
    """
    clocks.follow_calendar(turn)
    for visit in turn.run.open:
        _follow_calendar(turn, visit)
    stood = {(visit.step_id, visit.visit) for visit in turn.run.open}
    for _ in range(TURN_STEPS_MAX + len(stood)):
        # A gate that opens just as its time ends is open until the next timer.
        due = [(at, one) for at, one in _due(turn) if at < turn.at or (one.step_id, one.visit) in stood]
        if not due:
            break
        due_at, visit = due[0]
        clocks.expire(turn, due_at)
        _happen(turn, turn.run.at(visit.step_id) or visit)
        flow(turn)
    if turn.run.ready is None and not _due(turn):
        clocks.expire_last(turn)


def _due(turn: Turn) -> list[tuple[datetime, Visit]]:
    """The open visits at which something is due by now, in the order of the times that it was."""
    found = [(at, visit) for visit in turn.run.open if (at := visit.wake_at) is not None and at <= turn.at]
    return sorted(found, key=lambda one: one[0])


def _happen(turn: Turn, visit: Visit) -> None:
    """Do what is due at a visit."""
    if visit.wait is None:
        _gate(turn, visit)
    elif visit.calls:
        (callbacks.give_up if visit.grant is None else handovers.lapse)(turn, visit)
    else:
        end_wait(turn, visit, "elapsed" if visit.wait.message is None else "timeout")


def review_gates(turn: Turn) -> None:
    """Look at the open gates again: people or the calendar of the company have changed."""
    clocks.reschedule(turn)
    expire(turn)
    for visit in turn.run.parked if turn.run.action is not None else ():
        if differs(visit, now := turn.stands(visit)):
            turn.reopen(visit, now)
    for visit in turn.run.parked:
        if visit.gate is not None and visit.gate.asks_people:
            lapse(turn, visit)
            review(turn, turn.run.at(visit.step_id) or visit)


def _follow_calendar(turn: Turn, visit: Visit) -> None:
    """Give a visit the times that the calendar of today gives it."""
    node = turn.template.node(visit.step_id)
    if visit.wait is not None:
        until = visit.wait.until if visit.calls else wait_until(turn, node, visit.wait.since)
        if until != visit.wait.until:
            begin_wait(turn, visit, node, until)
    elif visit.status == "parked" and visit.gate is not None and visit.gate.wake_at is not None:
        _reschedule(turn, visit, visit.gate)


def _gate(turn: Turn, visit: Visit) -> None:
    gate = visit.gate
    assert gate is not None  # noqa: S101 - the caller has looked
    about: Any = {"at": turn.at, "step_id": visit.step_id, "visit": visit.visit, "by_kind": DEADLINE}
    past = [one for one in gate.remind_at if one <= turn.at]
    if past:
        left = gate.remind_at[len(past) :]
        turn.emit(GateReminded(**about, due_at=gate.due_at or UNSET, left=left))
    if gate.due_at is None or gate.due_at > turn.at:
        return
    outcome, answer_by = gate.policy.on_deadline, None if gate.in_doubt else turn.answer_by(None)
    if answer_by is not None and answer_by <= gate.due_at:
        # Nobody has answered for as long as the agent waits: the action is not made.
        turn.emit(GateExpired(**about, by=DEADLINE, decision=DENIED))
        turn.emit(RunEnded(at=turn.at, status="completed", outcome=EXPIRED, was=turn.run.status))
        return
    if isinstance(outcome, Escalation):
        if gate.escalated is None:
            then = None if outcome.again is None else duration(outcome.again).after(turn.at, turn.company.calendar)
            due_at = then if answer_by is None else min(then or answer_by, answer_by)
            turn.emit(GateEscalated(**about, to=outcome.escalate, due_at=due_at or UNSET))
            if gate.asks_people:
                review(turn, turn.run.at(visit.step_id) or visit)
            return
        outcome = outcome.then
    if outcome is not None and outcome in gate.decisions:
        turn.emit(GateExpired(**about, by=DEADLINE, decision=outcome))
        leave(turn, visit.step_id, outcome)
    else:  # by the policy nothing more is due here
        turn.emit(GateRescheduled(**about, due_at=answer_by or UNSET, remind_at=gate.remind_at))


def _reschedule(turn: Turn, visit: Visit, gate: Gate) -> None:
    if not gate.policy.counts_business_days:
        return
    due_at, remind_at = turn.deadlines(gate.policy, gate.opened_at)
    outcome = gate.policy.on_deadline
    if gate.due_at is None:
        due_at = None
    elif gate.escalated_at is not None and isinstance(outcome, Escalation) and outcome.again is not None:
        due_at = duration(outcome.again).after(gate.escalated_at, turn.company.calendar)
    left = remind_at[len(remind_at) - len(gate.remind_at) :]
    due_at = due_at if gate.in_doubt else turn.answer_by(due_at)
    if (due_at, left) != (gate.due_at, gate.remind_at):
        about: Any = {"at": turn.at, "step_id": visit.step_id, "visit": visit.visit, "by_kind": DEADLINE}
        turn.emit(GateRescheduled(**about, due_at=due_at or UNSET, remind_at=left))
