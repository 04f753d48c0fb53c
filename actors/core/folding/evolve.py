"""The one function that changes a run: what each event makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from actors.core.canonical import json_size
from actors.core.folding import clocks, gates, waits
from actors.core.folding.gates import Changes, closing, open_visit, resolved, sent, staying, visit_of
from actors.core.messages import (
    CallConsumed,
    CallGranted,
    CallSettled,
    ClockBreached,
    ClockExtended,
    ClockPaused,
    ClockRescheduled,
    ClockResumed,
    ClockStarted,
    ClockStopped,
    ClockWarned,
    CompensationBegan,
    Event,
    EventBase,
    GateAnswered,
    GateAsked,
    GateBlocked,
    GateEscalated,
    GateExpired,
    GateOpened,
    GateReminded,
    GateRescheduled,
    GateUnblocked,
    GlassBroken,
    GlassMended,
    JudgeAnswered,
    MessageReceived,
    PanelAsked,
    PanelDecided,
    ProposalMade,
    RunEnded,
    RunMigrated,
    RunPromoted,
    RunStarted,
    StepCleared,
    StepEntered,
    VerdictGiven,
    VerdictWithdrawn,
    WaitBegan,
    WaitEnded,
    kind_of,
)
from actors.core.run import BrokenGlass, Run, Visit, VisitStatus
from actors.core.template import TRAITS


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
    changes = FOLDS[type(event)](run, event)
    if run.proposed:
        changes.setdefault("proposed", 0)
    return replace(run, version=run.version + 1, updated_at=event.at, **changes)


def _started(event: RunStarted) -> Run:
    recorded, carried = event.recorded, json_size(event.inputs)
    if recorded is not UNSET:
        carried += sum([sent(one.request) for one in recorded])
    return Run(
        id=event.run_id,
        company_id=event.company_id,
        vertical=event.vertical,
        template_version=event.template_version,
        template_digest=event.template_digest,
        inputs=event.inputs,
        auto_resolve=event.auto_resolve,
        business_key=None if event.business_key is UNSET else event.business_key,
        traceparent=event.traceparent,
        created_by=event.by,
        created_by_kind=kind_of(event),
        created_at=event.at,
        updated_at=event.at,
        carried=carried,
        promoted_from=None if event.promoted_from is UNSET else event.promoted_from,
        recorded=() if recorded is UNSET else recorded,
        made_by=None if event.made_by is UNSET else event.made_by,
        on_behalf_of=None if event.on_behalf_of is UNSET else event.on_behalf_of,
        action=None if event.action is UNSET else event.action,
    )


def _entered(run: Run, event: StepEntered) -> Changes:
    """A waiting join stays one visit; any other open visit of the step is over.

    So is the failed one that an error leads away from.
    """
    visit, trace = run.at(event.step_id), run.trace
    others = tuple([one for one in run.open if one.step_id != event.step_id])
    changes: Changes = {}
    for failed in [one for one in others if one.status == "failed" and one.step_id == event.source]:
        trace, others = (*trace, failed), tuple([one for one in others if one is not failed])
        changes["facts"] = {**run.facts, failed.step_id: {"error": _known(failed)}}
    if visit is not None and visit.visit != event.visit:
        asked = visit.status == "judging" or (visit.status == "calling" and visit.request is None)
        if asked:  # what it asked for is asked anew
            visit = replace(visit, status="cancelled", ended_at=event.at)
        trace, visit = (*trace, visit), None
    status: VisitStatus = "waiting" if event.waiting else "ready"
    arrived = () if event.source is None else (event.source,)
    if visit is None:
        undoes = None if event.undoes is UNSET else event.undoes
        where = (event.step_id, event.visit, event.kind, event.tier)
        visit = Visit(*where, status, event.at, arrived=arrived, undoes=undoes)
    else:
        visit = replace(visit, status=status, arrived=(*visit.arrived, *arrived))
    visits = {**run.visits, event.step_id: event.visit}
    return {**changes, "visits": visits, "open": (*others, visit), "trace": trace}


def _known(failed: Visit) -> dict[str, str]:
    """What conditions may read of a failure."""
    return {} if failed.error is None else {"code": failed.error.code, "detail": failed.error.detail}


def _cleared(run: Run, event: StepCleared) -> Changes:
    visit = open_visit(run, event)
    if visit.calls:
        calling = replace(visit, status="calling", reason=event.reason, request=event.request, **resolved(event))
        return {**staying(run, calling), "carried": run.carried + sent(event.request)}
    output = {} if event.branch is None else {"branch": event.branch}
    return closing(
        run, replace(visit, status="done", ended_at=event.at, reason=event.reason, output=output, **resolved(event))
    )


def _settled(run: Run, event: CallSettled) -> Changes:
    if run.ended is not None:
        late = visit_of(run, event)
        return {"trace": tuple([_outcome(one, event) if one is late else one for one in run.trace])}
    visit = _outcome(open_visit(run, event), event)
    if event.error is not None:
        given_up = run.compensating is not None and visit.undoes is None
        return closing(run, visit) if given_up else staying(run, visit)
    if visit.undoes is not None:
        return {**closing(run, visit), "carried": run.carried + json_size(event.output) + sent(event.request)}
    changes = {**closing(run, visit), "facts": {**run.facts, event.step_id: _fact(visit, event)}}
    changes["carried"] = run.carried + 2 * json_size(event.output) + sent(event.request)  # it is a fact, too
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
        wait=None,
    )
    if event.by is None:
        return settled
    return replace(settled, reason=event.reason, request=event.request, **resolved(event))


def _fact(visit: Visit, event: CallSettled) -> Any:
    """What a call is known by from now on: its output, its signal, and the form of its verdict."""
    form = None if visit.verdict is None else visit.verdict.form
    if event.signal is None and form is None:
        return event.output
    fact = {**event.output} if isinstance(event.output, dict) else {"output": event.output}
    if event.signal is not None:
        fact["signal"] = event.signal
    if form is not None:
        fact["form"] = form
    return fact


def _migrated(_: Run, event: RunMigrated) -> Changes:
    """What was approved before was shown by another template."""
    return {
        "template_version": event.template_version,
        "template_digest": event.template_digest,
        "approved": (),
        "loosened": () if event.loosened is UNSET else event.loosened,
    }


def _promoted(_: Run, event: RunPromoted) -> Changes:
    return {"promoted_to": event.promoted_to}


def _glass_broken(run: Run, event: GlassBroken) -> Changes:
    """Somebody who breaks it again has it from then on."""
    others = tuple([one for one in run.glass if one.by != event.by])
    return {"glass": (*others, BrokenGlass(event.by, event.at, event.until)), "proposed": run.proposed + 1}


def _glass_mended(run: Run, event: GlassMended) -> Changes:
    return {"glass": tuple([one for one in run.glass if one.by != event.reader]), "proposed": run.proposed + 1}


def _ended(run: Run, event: RunEnded) -> Changes:
    """A failed visit stays failed, a reached end is done, every other visit is cancelled."""
    return {"ended": event, "open": (), "trace": (*run.trace, *[_over(visit, event) for visit in run.open])}


def _over(visit: Visit, event: RunEnded) -> Visit:
    if visit.status == "failed":
        return visit
    reached = TRAITS[visit.kind].ends and event.status == "completed"
    return replace(visit, status="done" if reached else "cancelled", ended_at=event.at)


FOLDS: dict[type[EventBase], Callable[[Run, Any], Changes]] = {
    StepEntered: _entered,
    CallSettled: _settled,
    StepCleared: _cleared,
    PanelAsked: waits.panel_asked,
    JudgeAnswered: waits.judge_answered,
    PanelDecided: waits.panel_decided,
    GateOpened: gates.opened,
    VerdictGiven: gates.judged,
    ProposalMade: gates.proposed,
    GateExpired: gates.expired,
    VerdictWithdrawn: gates.stays_open,
    GateReminded: gates.stays_open,
    GateEscalated: gates.stays_open,
    GateRescheduled: gates.stays_open,
    GateBlocked: gates.stays_open,
    GateUnblocked: gates.stays_open,
    GateAsked: gates.stays_open,
    GateAnswered: gates.stays_open,
    CallGranted: waits.granted,
    CallConsumed: waits.consumed,
    WaitBegan: waits.wait_began,
    WaitEnded: waits.wait_ended,
    MessageReceived: waits.message_received,
    CompensationBegan: waits.compensation_began,
    ClockStarted: clocks.started,
    **dict.fromkeys(
        (ClockPaused, ClockResumed, ClockExtended, ClockRescheduled, ClockWarned, ClockStopped), clocks.went_on
    ),
    ClockBreached: clocks.breached,
    RunMigrated: _migrated,
    RunPromoted: _promoted,
    GlassBroken: _glass_broken,
    GlassMended: _glass_mended,
    RunEnded: _ended,
}
"""What each later event changes: fields of the run with their new values."""
