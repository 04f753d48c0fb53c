"""The one function that changes a run: what each event makes of it."""

from __future__ import annotations

from typing import Any, assert_never

from msgspec.structs import replace

from actors.core.calls import PlannedCall, Request
from actors.core.canonical import weigh
from actors.core.inputs import merged
from actors.core.messages import (
    CallSettled,
    Event,
    GateOpened,
    LaterEvent,
    ProposalMade,
    RunEnded,
    RunStarted,
    StepCleared,
    StepEntered,
    VerdictGiven,
    attribution,
    kind_of,
)
from actors.core.run import DONE, RETRY, Gate, Proposal, Run, Verdict, Visit, VisitStatus
from actors.core.template import APPROVED, DENIED, TRAITS

VisitEvent = StepCleared | CallSettled | GateOpened | VerdictGiven | ProposalMade
Changes = dict[str, Any]
JUDGED_CALLS: dict[str, VisitStatus] = {APPROVED: "calling", DONE: "calling", RETRY: "failed", DENIED: "denied"}
"""Where a verdict leads the visit of a step that makes a call."""


def evolve(run: Run | None, event: Event) -> Run:
    """The run after an event; ValueError for a history that no run can have."""
    if isinstance(event, RunStarted):
        if run is not None:
            message = f"run_started again in {run.id}"
            raise ValueError(message)
        return _started(event)
    if run is None:
        message = f"{event.type} before run_started"
        raise ValueError(message)
    changes = _changes(run, event)
    if run.proposed:
        changes.setdefault("proposed", 0)
    return replace(run, version=run.version + 1, updated_at=event.at, **changes)


def _sent(request: Request | None) -> int:
    return 0 if request is None or request.body is None else weigh(request.body)


def _changes(run: Run, event: LaterEvent) -> Changes:
    """The fields of the run that an event changes, with their new values."""
    match event:
        case StepEntered():
            return _entered(run, event)
        case CallSettled():
            return _settled(run, event)
        case StepCleared():
            return _cleared(run, event)
        case GateOpened():
            return _opened(run, event)
        case VerdictGiven():
            return _judged(run, event)
        case ProposalMade():
            return _proposed(run, event)
        case RunEnded():
            return _ended(run, event)
        case _:
            assert_never(event)


def _started(event: RunStarted) -> Run:
    return Run(
        id=event.run_id,
        company_id=event.company_id,
        vertical=event.vertical,
        template_version=event.template_version,
        template_digest=event.template_digest,
        inputs=event.inputs,
        auto_resolve=event.auto_resolve,
        traceparent=event.traceparent,
        created_by=event.by,
        created_by_kind=kind_of(event),
        created_at=event.at,
        updated_at=event.at,
        carried=weigh(event.inputs),
    )


def _entered(run: Run, event: StepEntered) -> Changes:
    """A waiting join stays one visit; any other open visit of the step is over."""
    visit, trace = run.at(event.step_id), run.trace
    others = tuple([one for one in run.open if one.step_id != event.step_id])
    if visit is not None and visit.visit != event.visit:
        if visit.status == "calling" and visit.request is None:  # what it asked for is asked anew
            visit = replace(visit, status="cancelled", ended_at=event.at)
        trace, visit = (*trace, visit), None
    status: VisitStatus = "waiting" if event.waiting else "ready"
    arrived = () if event.source is None else (event.source,)
    if visit is None:
        visit = Visit(event.step_id, event.visit, event.kind, event.tier, status, event.at, arrived=arrived)
    else:
        visit = replace(visit, status=status, arrived=(*visit.arrived, *arrived))
    return {"visits": {**run.visits, event.step_id: event.visit}, "open": (*others, visit), "trace": trace}


def _cleared(run: Run, event: StepCleared) -> Changes:
    visit = _open_visit(run, event)
    if visit.calls:
        calling = replace(visit, status="calling", reason=event.reason, request=event.request, **_resolved(event))
        return {**_staying(run, calling), "carried": run.carried + _sent(event.request)}
    output = {} if event.branch is None else {"branch": event.branch}
    return _closing(
        run, replace(visit, status="done", ended_at=event.at, reason=event.reason, output=output, **_resolved(event))
    )


def _settled(run: Run, event: CallSettled) -> Changes:
    if run.ended is not None:
        late = visit_of(run, event)
        return {"trace": tuple([_outcome(one, event) if one is late else one for one in run.trace])}
    visit = _outcome(_open_visit(run, event), event)
    if event.error is not None:
        return _staying(run, visit)
    changes = {**_closing(run, visit), "facts": {**run.facts, event.step_id: _fact(event)}}
    changes["carried"] = run.carried + 2 * weigh(event.output) + _sent(event.request)  # it is a fact, too
    return {**changes, "signals": (*run.signals, event.step_id)} if event.signal is True else changes


def _outcome(visit: Visit, event: CallSettled) -> Visit:
    """A visit with what came of its call; a failed one stays open."""
    settled = replace(
        visit,
        status="done" if event.error is None else "failed",
        ended_at=event.at,
        output=event.output,
        attempts=event.attempts,
        error=event.error,
    )
    if event.by is None:
        return settled
    return replace(settled, reason=event.reason, request=event.request, **_resolved(event))


def _resolved(event: StepCleared | CallSettled | VerdictGiven) -> Changes:
    return {"resolved_by": event.by, "resolved_by_kind": kind_of(event)}


def _fact(event: CallSettled) -> Any:
    """What a call is known by from now on: its output, and what its signal said."""
    if event.signal is None:
        return event.output
    return {**(event.output if isinstance(event.output, dict) else {"output": event.output}), "signal": event.signal}


def _opened(run: Run, event: GateOpened) -> Changes:
    """A gate that opens again keeps its age, its signals and its proposals."""
    visit = _open_visit(run, event)
    before = visit.gate
    gate = Gate(
        label=event.label,
        reason=event.reason,
        decisions=event.decisions,
        digest=event.digest,
        opened_at=event.at if before is None else before.opened_at,
        role=event.role,
        signals=event.signals if before is None else before.signals,
        effects=event.effects,
        missing=event.missing,
        proposals=() if before is None else before.proposals,
        proposed=0 if before is None else before.proposed,
    )
    carried = run.carried + _sent(event.request) + sum([_sent(one.request) for one in event.effects or ()])
    return {**_staying(run, replace(visit, status="parked", gate=gate, request=event.request)), "carried": carried}


def _judged(run: Run, event: VerdictGiven) -> Changes:
    visit = _open_visit(run, event)
    changes: Changes = {
        "signals": _undecided(run, visit),
        "traceparent": event.traceparent or run.traceparent,
        "approved": _approved(run, visit, event.decision),
        "inputs": run.inputs if event.inputs is None else merged(run.inputs, event.inputs),
    }
    if event.inputs is not None:
        changes["carried"] = run.carried + 2 * weigh(event.inputs)
    who = attribution(event)
    verdict = Verdict(event.decision, event.by, event.at, event.comment, event.inputs, who.by_kind, who.on_behalf_of)
    visit = replace(visit, verdict=verdict, request=event.request, **_resolved(event))
    if visit.calls:
        status = JUDGED_CALLS.get(event.decision, "done")
        if status == "calling":
            return {**changes, **_staying(run, replace(visit, status=status))}
        return {**changes, **_closing(run, replace(visit, status=status, ended_at=event.at))}
    output = {"decision": event.decision, "comment": event.comment}
    over = replace(visit, status="denied" if event.decision == DENIED else "done", ended_at=event.at, output=output)
    return {**changes, **_closing(run, over), "facts": {**run.facts, event.step_id: output}}


def _proposed(run: Run, event: ProposalMade) -> Changes:
    """A newer proposal takes the place of an earlier one of the same proposer."""
    visit, who = _open_visit(run, event), attribution(event)
    assert visit.gate is not None  # noqa: S101 - proposals are made at gates
    made = Proposal(who.by, who.by_kind, event.decision, event.comment, event.confidence, event.form, event.at)
    others = [one for one in visit.gate.proposals if (one.by, one.by_kind) != (made.by, made.by_kind)]
    gate = replace(visit.gate, proposals=(*others, made), proposed=visit.gate.proposed + 1)
    carried = run.carried + 2 * (weigh(event.form) + weigh(event.comment))
    return {**_staying(run, replace(visit, gate=gate)), "carried": carried, "proposed": run.proposed + 1}


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


def _ended(run: Run, event: RunEnded) -> Changes:
    """A failed visit stays failed, a reached end is done, every other visit is cancelled."""
    return {"ended": event, "open": (), "trace": (*run.trace, *[_over(visit, event) for visit in run.open])}


def _over(visit: Visit, event: RunEnded) -> Visit:
    if visit.status == "failed":
        return visit
    reached = TRAITS[visit.kind].ends and event.status == "completed"
    return replace(visit, status="done" if reached else "cancelled", ended_at=event.at)


def visit_of(run: Run, event: VisitEvent) -> Visit:
    """The visit that an event is about: open, or over."""
    for visit in (*run.open, *reversed(run.trace)):
        if visit.step_id == event.step_id and visit.visit == event.visit:
            return visit
    message = f"{event.type} names a visit that the run has not made: {event.step_id}:{event.visit}"
    raise ValueError(message)


def _open_visit(run: Run, event: VisitEvent) -> Visit:
    """The open visit that an event is about."""
    visit = run.at(event.step_id)
    if visit is None or visit.visit != event.visit:
        message = f"{event.type} names a visit that is not open: {event.step_id}:{event.visit}"
        raise ValueError(message)
    return visit


def _staying(run: Run, visit: Visit) -> Changes:
    """This open visit in place of the one before."""
    return {"open": tuple([visit if one.step_id == visit.step_id else one for one in run.open])}


def _closing(run: Run, visit: Visit) -> Changes:
    """This visit, which is over, moved to the trace."""
    left = tuple([one for one in run.open if one.step_id != visit.step_id])
    return {"open": left, "trace": (*run.trace, visit)}
