"""The one function that changes a run: what each event makes of it.

Events are absorbed by a draft. It has lists of its own where the run has tuples, and its open visits are drafts, too; a
visit that ends is final from then on. Its facts are the run's: a call that was fixed may hold them, so they are never
changed in place.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Protocol, assert_never

from actors.core.calls import PlannedCall
from actors.core.inputs import merged
from actors.core.messages import (
    CallSettled,
    Event,
    GateOpened,
    LaterEvent,
    RunEnded,
    RunStarted,
    StepCleared,
    StepEntered,
    VerdictGiven,
)
from actors.core.run import DONE, RETRY, Gate, Run, Verdict, Visit, VisitStatus
from actors.core.template import APPROVED, DENIED
from actors.core.values import changed, draft, drafter, final, maker

AboutVisit = StepCleared | CallSettled | GateOpened | VerdictGiven
_begin_run, _begin_visit = drafter(Run), drafter(Visit)
_new_gate, _new_verdict = maker(Gate), maker(Verdict)


class Draft(Protocol):
    """A run that is not final yet, with what events change of it."""

    version: int
    updated_at: datetime
    inputs: dict[str, Any]
    facts: dict[str, Any]
    signals: tuple[str, ...]
    approved: tuple[PlannedCall, ...]
    visits: dict[str, int]
    open: list[Any]
    trace: list[Visit]
    traceparent: str | None
    ended: RunEnded | None

    def at(self, step_id: str) -> Any:
        """The open visit of that step, if there is one."""


def evolve(run: Run | None, event: Event) -> Run:
    """The run after an event. A fact is never refused; ValueError means a history that no run can have."""
    if isinstance(event, RunStarted):
        if run is not None:
            message = f"run_started again in {run.id}"
            raise ValueError(message)
        return finished(begun(event))
    if run is None:
        message = f"{event.type} before run_started"
        raise ValueError(message)
    later = drafted(run)
    absorb(later, event)
    return finished(later)


def begun(event: RunStarted) -> Run:
    """The draft of a run that has just started."""
    made: Any = _begin_run(
        id=event.run_id,
        company_id=event.company_id,
        vertical=event.vertical,
        template_version=event.template_version,
        template_digest=event.template_digest,
        inputs=event.inputs,
        auto_resolve=event.auto_resolve,
        traceparent=event.traceparent,
        created_by=event.by,
        created_at=event.at,
        updated_at=event.at,
    )
    made.open, made.trace = [], []
    run: Run = made
    return run


def drafted(run: Run) -> Run:
    """A draft that absorbs events and leaves the run as it was."""
    made: Any = draft(run)
    made.visits, made.trace = {**run.visits}, [*run.trace]
    made.open = [draft(visit) for visit in run.open]
    later: Run = made
    return later


def finished(made: Any) -> Run:
    """Make a draft the run that it stands for; from here on nothing absorbs events in it."""
    made.open, made.trace = tuple([final(visit) for visit in made.open]), tuple(made.trace)
    run: Run = final(made)
    return run


def absorb(run: Any, event: LaterEvent) -> None:
    """Evolve a draft in place."""
    match event:
        case StepEntered():
            _entered(run, event)
        case CallSettled():
            _settled(run, event)
        case StepCleared():
            _cleared(run, event)
        case GateOpened():
            _opened(run, event)
        case VerdictGiven():
            _judged(run, event)
        case RunEnded():
            _ended(run, event)
        case _:
            assert_never(event)
    run.version += 1
    run.updated_at = event.at


def _entered(run: Draft, event: StepEntered) -> None:
    """A join stays one visit while its branches come to it; any other open visit of the step is over."""
    run.visits[event.step_id] = event.visit
    visit = run.at(event.step_id)
    if visit is not None:
        run.open.remove(visit)
        if visit.visit != event.visit:
            if visit.status == "calling" and visit.request is None:  # what it asked for is asked anew
                visit.status, visit.ended_at = "cancelled", event.at
            run.trace.append(final(visit))
            visit = None
    if visit is None:
        visit = _begin_visit(event.step_id, event.visit, event.kind, event.tier, "ready", event.at)
    visit.status = "waiting" if event.waiting else "ready"
    if event.source is not None:
        visit.arrived = (*visit.arrived, event.source)
    run.open.append(visit)


def _cleared(run: Draft, event: StepCleared) -> None:
    visit = _open_visit(run, event)
    visit.resolved_by, visit.reason = event.by, event.reason
    if visit.kind == "task":
        visit.status, visit.request = "calling", event.request
    else:
        visit.output = {} if event.branch is None else {"branch": event.branch}
        _close(run, visit, "done", event.at)


def _settled(run: Draft, event: CallSettled) -> None:
    if run.ended is not None:
        late = visit_of(run, event)
        run.trace[run.trace.index(late)] = final(_outcome(draft(late), event))
        return
    visit = _outcome(_open_visit(run, event), event)
    if event.error is None:
        _close(run, visit, "done", event.at)
        run.facts = {**run.facts, event.step_id: _fact(event)}
        if event.signal is True:
            run.signals = (*run.signals, event.step_id)


def _outcome(visit: Any, event: CallSettled) -> Any:
    """The draft of a visit, with what came of its call; a failed one stays open."""
    visit.status = "done" if event.error is None else "failed"
    visit.ended_at, visit.output, visit.attempts, visit.error = event.at, event.output, event.attempts, event.error
    if event.by is not None:
        visit.resolved_by, visit.reason, visit.request = event.by, event.reason, event.request
    return visit


def _fact(event: CallSettled) -> Any:
    """What a call is known by from now on: its output, and what its signal said."""
    if event.signal is None:
        return event.output
    return {**(event.output if isinstance(event.output, dict) else {"output": event.output}), "signal": event.signal}


def _opened(run: Draft, event: GateOpened) -> None:
    """A gate that opens again shows something else, but it is as old as it was, and decides on no later hit."""
    visit = _open_visit(run, event)
    gate = _new_gate(
        *(event.label, event.reason, event.decisions, event.digest, event.at),
        *(event.role, event.signals, event.effects, event.missing),
    )
    if visit.gate is not None:
        gate = changed(gate, opened_at=visit.gate.opened_at, signals=visit.gate.signals)
    visit.status, visit.gate, visit.request = "parked", gate, event.request


def _judged(run: Draft, event: VerdictGiven) -> None:
    visit = _open_visit(run, event)
    run.signals, run.traceparent = _undecided(run, visit), event.traceparent or run.traceparent
    run.approved = _approved(run, visit, event.decision)
    visit.verdict = _new_verdict(event.decision, event.by, event.at, event.comment, event.inputs)
    if event.inputs is not None:
        run.inputs = merged(run.inputs, event.inputs)
    visit.resolved_by, visit.request = event.by, event.request
    status: VisitStatus = "denied" if event.decision == DENIED else "done"
    if visit.kind == "task":
        if event.decision in (APPROVED, DONE):
            visit.status = "calling"
        else:
            _close(run, visit, "failed" if event.decision == RETRY else status, event.at)
    else:
        visit.output = {"decision": event.decision, "comment": event.comment}
        _close(run, visit, status, event.at)
        run.facts = {**run.facts, event.step_id: visit.output}


def _undecided(run: Draft, visit: Visit) -> tuple[str, ...]:
    """The hits that a verdict leaves undecided: those that came after its gate had opened."""
    left = list(run.signals)
    for step_id in visit.gate.signals if visit.gate is not None else ():
        if step_id in left:
            left.remove(step_id)
    return tuple(left)


def _approved(run: Draft, visit: Visit, decision: str) -> tuple[PlannedCall, ...]:
    """The calls that verdicts so far were shown; what this one was shown of a step replaces what an earlier one was."""
    effects = visit.gate.effects if visit.gate is not None else None
    shown = tuple(one for one in effects or () if decision in one.decisions)
    if not shown:
        return run.approved
    steps = {one.step_id for one in shown}
    return (*(one for one in run.approved if one.step_id not in steps), *shown)


def _ended(run: Draft, event: RunEnded) -> None:
    """What failed stays failed, an end that was reached is done, and whatever else is open is cancelled."""
    run.ended = event
    for visit in [*run.open]:
        if visit.status == "failed":
            _close(run, visit, "failed", visit.ended_at)
        else:
            reached = visit.kind == "end" and event.status == "completed"
            _close(run, visit, "done" if reached else "cancelled", event.at)


def visit_of(run: Run | Draft, event: AboutVisit) -> Visit:
    """The visit that an event is about: open, or over."""
    for visits in (run.open, reversed(run.trace)):
        for visit in visits:
            if visit.step_id == event.step_id and visit.visit == event.visit:
                return visit
    message = f"{event.type} names a visit that the run has not made: {event.step_id}:{event.visit}"
    raise ValueError(message)


def _open_visit(run: Draft, event: AboutVisit) -> Any:
    """The draft of the visit that an event is about; only the outcome of a call may come when its visit is over."""
    for visit in run.open:
        if visit.step_id == event.step_id and visit.visit == event.visit:
            return visit
    message = f"{event.type} names a visit that is not open: {event.step_id}:{event.visit}"
    raise ValueError(message)


def _close(run: Draft, visit: Any, status: VisitStatus, at: datetime) -> None:
    """Put a visit that has ended into the trace."""
    visit.status, visit.ended_at = status, at
    run.open.remove(visit)
    run.trace.append(final(visit))
