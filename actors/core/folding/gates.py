"""The visits of a run, and what the events of gates make of them."""

from __future__ import annotations

from typing import Any, assert_never

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from actors.core.actions.deciding import ActionFacts, with_arguments
from actors.core.calls import CallRequest, PlannedCall
from actors.core.canonical import json_size
from actors.core.gate_policy import PLAIN, GatePolicy
from actors.core.messages import (
    CallSettled,
    GateAnswered,
    GateAsked,
    GateBlocked,
    GateEscalated,
    GateExpired,
    GateOpened,
    GateReminded,
    GateRescheduled,
    GateUnblocked,
    HandoverEvent,
    OpenGateEvent,
    PanelEvent,
    ProposalMade,
    StepCleared,
    VerdictGiven,
    VerdictWithdrawn,
    WaitBegan,
    WaitEnded,
    attribution,
    kind_of,
)
from actors.core.run import DONE, RETRY, AgentQuestion, Gate, Proposal, Run, Verdict, Visit, VisitStatus
from actors.core.template import APPROVED, DENIED, TRAITS, merged

Changes = dict[str, Any]
VisitEvent = (
    StepCleared
    | CallSettled
    | GateOpened
    | VerdictGiven
    | ProposalMade
    | GateExpired
    | OpenGateEvent
    | PanelEvent
    | WaitBegan
    | WaitEnded
    | HandoverEvent
)


def visit_of(run: Run, event: VisitEvent) -> Visit:
    """The visit that an event is about: open, or over."""
    for visit in (*run.open, *reversed(run.trace)):
        if visit.step_id == event.step_id and visit.visit == event.visit:
            return visit
    message = f"{event.type} names a visit that the run has not made: {event.step_id}:{event.visit}"
    raise ValueError(message)


def open_visit(run: Run, event: VisitEvent) -> Visit:
    """The open visit that an event is about."""
    visit = run.at(event.step_id)
    if visit is None or visit.visit != event.visit:
        message = f"{event.type} names a visit that is not open: {event.step_id}:{event.visit}"
        raise ValueError(message)
    return visit


def staying(run: Run, visit: Visit) -> Changes:
    """This open visit in place of the one before."""
    return {"open": tuple([visit if one.step_id == visit.step_id else one for one in run.open])}


def closing(run: Run, visit: Visit) -> Changes:
    """This visit, which is over, moved to the trace."""
    left = tuple([one for one in run.open if one.step_id != visit.step_id])
    return {"open": left, "trace": (*run.trace, visit)}


def sent(request: CallRequest | None) -> int:
    """How many bytes the body of a call takes."""
    return 0 if request is None or request.body is None else json_size(request.body)


def resolved(event: StepCleared | CallSettled | VerdictGiven | GateExpired) -> Changes:
    """Who resolved a visit."""
    return {"resolved_by": event.by, "resolved_by_kind": kind_of(event)}


JUDGED_CALLS: dict[str, VisitStatus] = {APPROVED: "calling", DONE: "calling", RETRY: "failed", DENIED: "denied"}
"""Where a verdict leads the visit of a step that makes a call."""


def opened(run: Run, event: GateOpened) -> Changes:
    """A gate that opens again keeps its age, its signals, its proposals and its deadline.

    Verdicts lapse where it shows something else than what they were given on.
    """
    visit = open_visit(run, event)
    gate = Gate(
        label=event.label,
        reason=event.reason,
        decisions=event.decisions,
        digest=event.digest,
        opened_at=event.at,
        role=event.role,
        signals=event.signals,
        effects=event.effects,
        missing=event.missing,
        policy=_policy(event),
        question=_given(event.question),
        differences=() if event.differences is UNSET else event.differences,
        due_at=_given(event.due_at),
        remind_at=() if event.remind_at is UNSET else event.remind_at,
        barred=() if event.barred is UNSET else event.barred,
        in_doubt=event.in_doubt is True,
        breach_role=None if event.breach_role is UNSET else event.breach_role,
        function=None if event.function is UNSET else event.function,
    )
    if (before := visit.gate) is not None:
        gate = replace(
            gate,
            opened_at=before.opened_at,
            signals=before.signals,
            proposals=before.proposals,
            proposed=before.proposed,
            due_at=before.due_at,
            remind_at=before.remind_at,
            escalated=before.escalated,
            escalated_at=before.escalated_at,
            breach_role=before.breach_role,
            blocked=before.blocked,
            verdicts=before.verdicts if before.digest == gate.digest else (),
        )
    carried = run.carried + sent(event.request) + sum([sent(one.request) for one in event.effects or ()])
    parked = replace(visit, status="parked", gate=gate, request=event.request, wait=None)
    if run.action is not None:
        return _opened_at(run.action, run, event, parked, carried)
    return {**staying(run, parked), "carried": carried}


def _opened_at(action: ActionFacts, run: Run, event: GateOpened, parked: Visit, carried: int) -> Changes:
    """The same at an action, perhaps with other arguments; its start has what was asked for."""
    visit, arguments = open_visit(run, event), event.arguments
    questions = () if visit.gate is None else visit.gate.questions
    assert parked.gate is not None  # noqa: S101 - it has opened
    gate = replace(parked.gate, changed=_given(event.changed), questions=questions)
    changes = {**staying(run, replace(parked, gate=gate)), "carried": carried}
    if arguments is UNSET:
        return changes
    asked = with_arguments(action, run.inputs, arguments)
    return {**changes, "inputs": arguments, "action": asked, "carried": carried + json_size(arguments)}


def _policy(event: GateOpened) -> GatePolicy:
    if event.policy is not UNSET:
        return event.policy
    return PLAIN if event.role in (None, PLAIN.role) else replace(PLAIN, role=event.role)


def _given(value: Any | UnsetType) -> Any:
    return None if value is UNSET else value


def judged(run: Run, event: VerdictGiven) -> Changes:
    """A verdict is noted at its gate, and closes it if it does."""
    visit, who = open_visit(run, event), attribution(event)
    verdict = Verdict(
        decision=event.decision,
        by=event.by,
        at=event.at,
        comment=event.comment,
        inputs=event.inputs,
        by_kind=who.by_kind,
        on_behalf_of=who.on_behalf_of,
        verdict_id=_given(event.verdict_id),
        code=_given(event.code),
        form=_given(event.form),
        solo=event.solo is True,
        batch=_given(event.batch),
    )
    assert visit.gate is not None  # noqa: S101 - a verdict is given at an open gate
    visit = replace(visit, gate=replace(visit.gate, verdicts=(*visit.gate.verdicts, verdict)))
    if event.open is True:
        carried = run.carried + 2 * (json_size(verdict.form) + json_size(verdict.comment))
        return {**staying(run, visit), "carried": carried, "proposed": run.proposed + 1}
    changes: Changes = {
        "signals": _undecided(run, visit),
        "traceparent": event.traceparent or run.traceparent,
        "approved": _approved(run, visit, event.decision),
        "inputs": run.inputs if event.inputs is None else merged(run.inputs, event.inputs),
    }
    if event.inputs is not None:
        changes["carried"] = run.carried + 2 * json_size(event.inputs)
    visit = replace(visit, verdict=verdict, request=event.request, **resolved(event))
    output: dict[str, Any] = {"decision": event.decision, "comment": event.comment}
    if event.code is not UNSET:
        output["code"] = event.code
    if event.form is not UNSET:
        output["form"] = event.form
    if event.forms is not UNSET:
        output["forms"] = event.forms
    return {**changes, **_left(run, visit, event, output)}


def _left(run: Run, visit: Visit, event: VerdictGiven | GateExpired, output: dict[str, Any]) -> Changes:
    """Where a decision leads the visit of its gate."""
    if visit.calls:
        status = JUDGED_CALLS.get(event.decision, "done")
        if status == "calling":
            return staying(run, replace(visit, status=status))
        return closing(run, replace(visit, status=status, ended_at=event.at))
    if TRAITS[visit.kind].begins and event.decision == APPROVED:
        return staying(run, replace(visit, status="ready"))
    over = replace(visit, status="denied" if event.decision == DENIED else "done", ended_at=event.at, output=output)
    return {**closing(run, over), "facts": {**run.facts, event.step_id: output}}


def expired(run: Run, event: GateExpired) -> Changes:
    """The deadline decides; calls that an earlier verdict was shown count no more."""
    visit, who = open_visit(run, event), attribution(event)
    verdict = Verdict(event.decision, event.by, event.at, by_kind=who.by_kind)
    shown = {one.step_id for one in (visit.gate.effects if visit.gate is not None else None) or ()}
    changes: Changes = {
        "signals": _undecided(run, visit),
        "approved": tuple([one for one in run.approved if one.step_id not in shown]),
    }
    visit = replace(visit, verdict=verdict, **resolved(event))
    return {**changes, **_left(run, visit, event, {"decision": event.decision, "comment": None})}


def proposed(run: Run, event: ProposalMade) -> Changes:
    """A newer proposal takes the place of an earlier one of the same proposer."""
    visit, who = open_visit(run, event), attribution(event)
    assert visit.gate is not None  # noqa: S101 - proposals are made at gates
    made = Proposal(who.by, who.by_kind, event.decision, event.comment, event.confidence, event.form, event.at)
    others = [one for one in visit.gate.proposals if (one.by, one.by_kind) != (made.by, made.by_kind)]
    gate = replace(visit.gate, proposals=(*others, made), proposed=visit.gate.proposed + 1)
    carried = run.carried + 2 * (json_size(event.form) + json_size(event.comment))
    return {**staying(run, replace(visit, gate=gate)), "carried": carried, "proposed": run.proposed + 1}


def stays_open(run: Run, event: OpenGateEvent) -> Changes:
    """The gate with what an event says of it, as open as before."""
    visit = open_visit(run, event)
    assert visit.gate is not None  # noqa: S101 - the event is about a gate
    gate = _with(visit.gate, event)
    return {**staying(run, replace(visit, gate=gate)), "proposed": run.proposed + 1}


def _with(gate: Gate, event: OpenGateEvent) -> Gate:
    match event:
        case VerdictWithdrawn():
            return replace(gate, verdicts=tuple([one for one in gate.verdicts if one.by != event.giver]))
        case GateReminded():
            return replace(gate, remind_at=event.left)
        case GateEscalated():
            return replace(gate, escalated=event.to, escalated_at=event.at, due_at=_given(event.due_at))
        case GateRescheduled():
            return replace(gate, due_at=_given(event.due_at), remind_at=event.remind_at)
        case GateBlocked():
            return replace(gate, blocked=event)
        case GateUnblocked():
            return replace(gate, blocked=None)
        case GateAsked():
            return replace(
                gate, questions=(*gate.questions, AgentQuestion(event.question, event.text, event.by, event.at))
            )
        case GateAnswered():
            said: Any = {"answer": event.text, "answered_by": event.by, "answered_at": event.at}
            answered = [replace(one, **said) if one.id == event.question else one for one in gate.questions]
            return replace(gate, questions=tuple(answered))
        case _:
            assert_never(event)


def _undecided(run: Run, visit: Visit) -> tuple[str, ...]:
    """The hits that a verdict leaves undecided: those that came after its gate had opened."""
    left = list(run.signals)
    for step_id in visit.gate.signals if visit.gate is not None else ():
        if step_id in left:
            left.remove(step_id)
    return tuple(left)


def _approved(run: Run, visit: Visit, decision: str) -> tuple[PlannedCall, ...]:
    """The calls that verdicts were shown; for each step the latest counts."""
    effects = visit.gate.effects if visit.gate is not None else None
    shown = tuple(one for one in effects or () if decision in one.decisions)
    if not shown:
        return run.approved
    steps = {one.step_id for one in shown}
    return (*(one for one in run.approved if one.step_id not in steps), *shown)
