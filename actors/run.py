"""The run: the state that a template's execution has reached, and the one function that changes it."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import Any, Literal, Protocol, assert_never

from actors.calls import Request
from actors.messages import (
    CallSettled,
    Event,
    Failure,
    GateOpened,
    LaterEvent,
    RunEnded,
    RunStarted,
    StepCleared,
    StepEntered,
    VerdictGiven,
)
from actors.template import APPROVED, DENIED, Kind, Tier
from actors.values import changed, draft, final, maker, value

Status = Literal["executing", "parked", "completed", "failed", "cancelled"]
VisitStatus = Literal["waiting", "ready", "calling", "parked", "done", "denied", "failed", "cancelled"]
RETRY = "retry"
DONE = "done"


@value
class Gate:
    """What a human is asked at a visit; `signals` are the hits that stood when the gate opened."""

    label: str
    reason: str
    decisions: tuple[str, ...]
    digest: str
    opened_at: datetime
    role: str | None = None
    signals: tuple[str, ...] = ()


@value
class Verdict:
    """What a human answered."""

    decision: str
    by: str
    at: datetime
    comment: str | None = None


@value
class Visit:
    """One entry of the run into a step, from entering it to leaving it."""

    step_id: str
    visit: int
    kind: Kind
    tier: Tier
    status: VisitStatus
    started_at: datetime
    ended_at: datetime | None = None
    resolved_by: str | None = None
    reason: str | None = None
    request: Request | None = None
    output: Any = None
    attempts: int = 0
    error: Failure | None = None
    gate: Gate | None = None
    verdict: Verdict | None = None
    arrived: tuple[str, ...] = ()


_new_visit = maker(Visit)


@value
class Run:
    """One execution of a template; `version` counts its events, `open` holds the visits that have not ended."""

    id: str
    company_id: str
    vertical: str
    template_version: int
    template_digest: str
    inputs: dict[str, Any]
    auto_resolve: bool
    created_by: str
    created_at: datetime
    updated_at: datetime
    traceparent: str | None = None
    version: int = 1
    facts: dict[str, Any] = field(default_factory=dict)
    signals: tuple[str, ...] = ()
    visits: dict[str, int] = field(default_factory=dict)
    open: tuple[Visit, ...] = ()
    trace: tuple[Visit, ...] = ()
    ended: RunEnded | None = None

    @property
    def status(self) -> Status:
        """Where the run stands; a failed branch comes before a parked one, a parked one before a running one."""
        if self.ended is not None:
            return self.ended.status
        found = {visit.status for visit in self.open}
        if "failed" in found:
            return "failed"
        return "parked" if "parked" in found else "executing"

    @property
    def parked(self) -> tuple[Visit, ...]:
        """The visits at which a human is asked, the first opened first; none unless the run is parked."""
        return tuple(v for v in self.open if v.status == "parked") if self.status == "parked" else ()

    @property
    def ready(self) -> Visit | None:
        """The first visit whose next move has yet to be chosen, if there is one."""
        for visit in self.open:
            if visit.status == "ready":
                return visit
        return None

    @property
    def resting(self) -> bool:
        """Whether the run wants nothing done: it has ended, or only waits for people."""
        return not any(visit.status in ("ready", "calling") for visit in self.open)

    @property
    def error(self) -> Failure | None:
        """Why the run failed, while it is failed."""
        if self.ended is not None:
            return self.ended.error
        return next((visit.error for visit in self.open if visit.status == "failed"), None)

    @property
    def steps(self) -> int:
        """How many steps the run has entered."""
        return sum(self.visits.values())

    def at(self, step_id: str) -> Visit | None:
        """The open visit of that step, if there is one."""
        for visit in self.open:
            if visit.step_id == step_id:
                return visit
        return None

    def decided(self, step_id: str) -> Visit | None:
        """The latest visit of that step that a verdict closed, if there is one."""
        visits = (visit for visit in reversed((*self.trace, *self.open)) if visit.step_id == step_id)
        return next((visit for visit in visits if visit.verdict is not None), None)


def evolve(run: Run | None, event: Event) -> Run:
    """The run after an event. A fact is never refused; ValueError means a history that no run can have."""
    if isinstance(event, RunStarted):
        if run is not None:
            message = f"run_started again in {run.id}"
            raise ValueError(message)
        return _started(event)
    if run is None:
        message = f"{event.type} before run_started"
        raise ValueError(message)
    later = draft(run)
    absorb(later, event)
    return final(later)


class Draft(Protocol):
    """A run that is not final yet, with what events change of it."""

    version: int
    updated_at: datetime
    facts: dict[str, Any]
    signals: tuple[str, ...]
    visits: dict[str, int]
    open: tuple[Visit, ...]
    trace: tuple[Visit, ...]
    traceparent: str | None
    ended: RunEnded | None

    def at(self, step_id: str) -> Visit | None:
        """The open visit of that step, if there is one."""


def absorb(run: Any, event: LaterEvent) -> None:
    """Evolve a run in place: only for a draft, as a turn makes one for itself."""
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
        created_at=event.at,
        updated_at=event.at,
    )


def _entered(run: Draft, event: StepEntered) -> None:
    status: VisitStatus = "waiting" if event.waiting else "ready"
    arrived = (event.source,) if event.source is not None else ()
    run.visits = {**run.visits, event.step_id: event.visit}
    entered, here = None, run.at(event.step_id)
    if here is not None:
        run.open = _but(run.open, here)
        if here.visit == event.visit:
            entered = changed(here, status=status, arrived=(*here.arrived, *arrived))
        else:
            run.trace = (*run.trace, here)
    if entered is None:
        entered = _new_visit(event.step_id, event.visit, event.kind, event.tier, status, event.at, arrived=arrived)
    run.open = (*run.open, entered)


def _cleared(run: Draft, event: StepCleared) -> None:
    visit = visit_of(run, event)
    if visit.kind == "task":
        allowed = changed(visit, status="calling", resolved_by=event.by, reason=event.reason, request=event.request)
        _stay(run, allowed)
        return
    output = {} if event.branch is None else {"branch": event.branch}
    passed = changed(visit, status="done", resolved_by=event.by, reason=event.reason, ended_at=event.at, output=output)
    _close(run, passed)


def _settled(run: Draft, event: CallSettled) -> None:
    visit = visit_of(run, event)
    failed, cleared = event.error is not None, event.by is not None
    visit = _new_visit(
        visit.step_id,
        visit.visit,
        visit.kind,
        visit.tier,
        "failed" if failed else "done",
        visit.started_at,
        ended_at=event.at,
        resolved_by=event.by if cleared else visit.resolved_by,
        reason=event.reason if cleared else visit.reason,
        request=event.request if cleared else visit.request,
        output=event.output,
        attempts=event.attempts,
        error=event.error,
        gate=visit.gate,
        verdict=visit.verdict,
        arrived=visit.arrived,
    )
    if run.ended is not None:
        run.trace = tuple(visit if _same(visit, v) else v for v in run.trace)
    elif failed:
        _stay(run, visit)
    else:
        _close(run, visit)
        run.facts = {**run.facts, event.step_id: _fact(event)}
        if event.signal is True:
            run.signals = (*run.signals, event.step_id)


def _fact(event: CallSettled) -> Any:
    """What a call is known by from now on: its output, and what its signal said."""
    if event.signal is None:
        return event.output
    return {**(event.output if isinstance(event.output, dict) else {"output": event.output}), "signal": event.signal}


def _opened(run: Draft, event: GateOpened) -> None:
    """A gate that opens again shows something else, but it is as old as it was, and decides on no later hit."""
    visit = visit_of(run, event)
    gate = Gate(event.label, event.reason, event.decisions, event.digest, event.at, event.role, event.signals)
    if visit.gate is not None:
        gate = changed(gate, opened_at=visit.gate.opened_at, signals=visit.gate.signals)
    _stay(run, changed(visit, status="parked", gate=gate, request=event.request))


def _judged(run: Draft, event: VerdictGiven) -> None:
    visit, verdict = visit_of(run, event), Verdict(event.decision, event.by, event.at, event.comment)
    run.signals, run.traceparent = _undecided(run, visit), event.traceparent or run.traceparent
    known: dict[str, Any] = {"verdict": verdict, "resolved_by": event.by, "request": event.request}
    if visit.kind == "task" and event.decision in (APPROVED, DONE):
        _stay(run, changed(visit, status="calling", **known))
        return
    status: VisitStatus = "denied" if event.decision == DENIED else "done"
    if visit.kind == "task":
        status = "failed" if event.decision == RETRY else status
        _close(run, changed(visit, status=status, ended_at=event.at, **known))
        return
    said = {"decision": event.decision, "comment": event.comment}
    _close(run, changed(visit, status=status, ended_at=event.at, output=said, **known))
    run.facts = {**run.facts, event.step_id: said}


def _undecided(run: Draft, visit: Visit) -> tuple[str, ...]:
    """The hits that a verdict leaves undecided: those that came after its gate had opened."""
    left = list(run.signals)
    for step_id in visit.gate.signals if visit.gate is not None else ():
        if step_id in left:
            left.remove(step_id)
    return tuple(left)


def _ended(run: Draft, event: RunEnded) -> None:
    run.trace = (*run.trace, *(_dropped(visit, event) for visit in run.open))
    run.open, run.ended = (), event


def _dropped(visit: Visit, event: RunEnded) -> Visit:
    """An open visit as the end of the run leaves it: what failed stays failed, an end that was reached is done."""
    if visit.status == "failed":
        return visit
    reached = visit.kind == "end" and event.status == "completed"
    return changed(visit, status="done" if reached else "cancelled", ended_at=event.at)


def visit_of(run: Run | Draft, event: StepCleared | CallSettled | GateOpened | VerdictGiven) -> Visit:
    """The visit that an event is about: open, or of a run that ended while its call was out."""
    for visits in (run.open, reversed(run.trace)):
        for visit in visits:
            if visit.step_id == event.step_id and visit.visit == event.visit:
                return visit
    message = f"{event.type} names a visit that the run has not made: {event.step_id}:{event.visit}"
    raise ValueError(message)


def _same(one: Visit, other: Visit) -> bool:
    return one.step_id == other.step_id and one.visit == other.visit


def _but(visits: tuple[Visit, ...], gone: Visit) -> tuple[Visit, ...]:
    """The open visits without one; a step has at most one that is open."""
    return tuple([visit for visit in visits if visit.step_id != gone.step_id])


def _stay(run: Draft, visit: Visit) -> None:
    """Keep a visit open as it is now."""
    run.open = tuple([visit if one.step_id == visit.step_id else one for one in run.open])


def _close(run: Draft, visit: Visit) -> None:
    """Put a visit that has ended into the trace."""
    run.open = _but(run.open, visit)
    run.trace = (*run.trace, visit)
