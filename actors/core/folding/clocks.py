"""What the events of clocks make of a run; none of them changes what is decided on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, assert_never

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from actors.core.folding.gates import Changes
from actors.core.messages import (
    ClockBreached,
    ClockExtended,
    ClockPaused,
    ClockRescheduled,
    ClockResumed,
    ClockStarted,
    ClockStopped,
    ClockWarned,
)
from actors.core.people import rank
from actors.core.run import Clock, Run, Visit
from actors.core.schedule import duration

LaterTimedEvent = (
    ClockPaused | ClockResumed | ClockExtended | ClockRescheduled | ClockWarned | ClockBreached | ClockStopped
)


def started(run: Run, event: ClockStarted) -> Changes:
    """A clock begins, once in a run."""
    if run.clock(event.clock) is not None:
        message = f"{event.type} again: {event.clock}"
        raise ValueError(message)
    clock = Clock(
        id=event.clock,
        label=event.label,
        started_at=event.started_at,
        counts_from=event.started_at,
        spans=() if event.within is UNSET else (duration(event.within),),
        due_at=_given(event.due_at),
        warn_at=() if event.warn_at is UNSET else event.warn_at,
        source=_given(event.source),
        assumed=() if event.assumed is UNSET else event.assumed,
    )
    return {"clocks": (*run.clocks, clock), "proposed": run.proposed + 1}


def went_on(run: Run, event: LaterTimedEvent) -> Changes:
    """The clock with what an event says of it, in place of the one before."""
    clock = run.clock(event.clock)
    if clock is None or clock.stopped_at is not None:
        message = f"{event.type} names a clock that does not go: {event.clock}"
        raise ValueError(message)
    now = _with(clock, event)
    clocks = tuple([now if one is clock else one for one in run.clocks])
    return {"clocks": clocks, "proposed": run.proposed + 1}


def breached(run: Run, event: ClockBreached) -> Changes:
    """The gates in its way are open to one role more."""
    changes = went_on(run, event)
    if event.escalate is UNSET:
        return changes
    role = event.escalate
    gates = () if event.gates is UNSET else event.gates
    return {**changes, "open": tuple([_open_to(one, role) if one.step_id in gates else one for one in run.open])}


def _open_to(visit: Visit, role: str) -> Visit:
    gate = visit.gate
    if gate is None:
        return visit
    least = role if gate.breach_role is None else min(role, gate.breach_role, key=rank)
    return replace(visit, gate=replace(gate, breach_role=least))


def _with(clock: Clock, event: LaterTimedEvent) -> Clock:
    match event:
        case ClockPaused():
            return replace(clock, paused_at=event.at, spans=event.remaining)
        case ClockResumed():
            return replace(
                clock,
                paused_at=None,
                paused=clock.paused_until(event.at),
                counts_from=max(event.at, clock.counts_from),
                spans=clock.spans if event.remaining is UNSET else event.remaining,
                due_at=_given(event.due_at),
                warn_at=event.warn_at,
            )
        case ClockExtended():
            return replace(
                clock,
                spans=(*clock.spans, duration(event.extended_by)),
                extended_by=(*clock.extended_by, event.extended_by),
                due_at=_given(event.due_at),
                warn_at=event.warn_at,
            )
        case ClockRescheduled():
            return _rescheduled(clock, event)
        case ClockWarned():
            return replace(clock, warn_at=event.left)
        case ClockBreached():
            return replace(clock, breached_at=event.due_at, warn_at=())
        case ClockStopped():
            return replace(
                clock,
                stopped_at=event.at,
                stopped_by=_given(event.stopped_by),
                reason=_given(event.reason),
                due_at=_given(event.due_at),
                warn_at=(),
            )
        case _:
            assert_never(event)


def _rescheduled(clock: Clock, event: ClockRescheduled) -> Clock:
    """The clock by the calendar of today; one that counts anew has its pauses and extensions."""
    now = replace(
        clock,
        due_at=_given(event.due_at),
        warn_at=event.warn_at,
        label=clock.label if event.label is UNSET else event.label,
        source=clock.source if event.source is UNSET else event.source,
    )
    if event.started_at is UNSET:
        return now
    return replace(now, assumed=() if event.assumed is UNSET else event.assumed, **_counted_anew(clock, event))


def _counted_anew(clock: Clock, event: ClockRescheduled) -> dict[str, Any]:
    """Where a clock counts from that is told its start and length: its pauses lie behind it."""
    assert event.started_at is not UNSET  # noqa: S101 - it counts anew
    first = () if event.within is UNSET else (event.within,)
    return {
        "started_at": event.started_at,
        "counts_from": event.started_at + max(timedelta(), clock.paused),
        "spans": tuple([duration(one) for one in (*first, *(clock.extended_by if first else ()))]),
    }


def _given(value: Any | UnsetType) -> Any:
    return None if value is UNSET else value
