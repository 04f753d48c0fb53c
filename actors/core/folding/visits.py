"""The visits of a run: which one an event is about, and the run with another in its place."""

from __future__ import annotations

from typing import Any

from actors.core.calls import CallRequest
from actors.core.canonical import json_size
from actors.core.messages import (
    CallSettled,
    GateExpired,
    GateOpened,
    OpenGateEvent,
    PanelEvent,
    ProposalMade,
    StepCleared,
    VerdictGiven,
    WaitBegan,
    WaitEnded,
    kind_of,
)
from actors.core.run import Run, Visit

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
