"""Clocks of the law: when they begin, stand still, get more time, are breached, and stop."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from actors.core.gate_policy import AnchoredDeadline
from actors.core.kinds import begin_wait, wait_until
from actors.core.messages import (
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
    GateExpired,
    GateRescheduled,
    LaterEvent,
    RunEnded,
    StepCleared,
    VerdictGiven,
    WaitEnded,
)
from actors.core.people import ByKind
from actors.core.rules.conditions import clocks_named
from actors.core.run import Clock, Run, Visit
from actors.core.schedule import duration, durations_in
from actors.core.template import ClockExtension, ClockRule, ConditionFailed, Node, Template
from actors.core.turn import Turn, review

DEADLINE: ByKind = "deadline"
YEARS = range(1900, 9000)
"""A time of any other year is none that a case counts from."""
WHY_CHARS_MAX = 200
_CLOSING = (CallSettled, StepCleared, VerdictGiven, GateExpired, WaitEnded)
"""Events with which a visit may be over, and done."""


def begin(turn: Turn) -> None:
    """Start the clocks of a run that begins."""
    turn.follow = follow
    for rule in turn.template.clocks:
        if rule.from_step is None:
            _start(turn, rule, turn.run.created_at)


def follow(turn: Turn, event: LaterEvent) -> None:
    """Add an event, and what the clocks make of it: whatever ends the run closes them before."""
    if isinstance(event, RunEnded) or (isinstance(event, CompensationBegan) and event.status == "completed"):
        _close(turn, event)
    turn.add(event)
    if turn.run.ended is not None:
        return
    if isinstance(event, _CLOSING):
        _clarify(turn)
        if (done := _done(turn.run, event)) is not None:
            _step_done(turn, done.step_id)
    for rule, clock in _open(turn):
        _hold_or_go_on(turn, rule, clock)


def expire(turn: Turn, before: datetime) -> None:
    """Warn, and note breaches of what was due before a time, by the calendar of today."""
    for rule, clock in _open(turn):
        now = _caught_up(turn, rule, clock, before)
        past = [one for one in now.warn_at if one <= turn.at] if now.state == "running" else []
        if past and now.due_at is not None and now.due_at > turn.at:
            left = now.warn_at[len(past) :]
            turn.add(ClockWarned(at=turn.at, by_kind=DEADLINE, clock=rule.id, due_at=now.due_at, left=left))


def expire_last(turn: Turn) -> None:
    """The same with what is due at this very moment, once all else of that moment has happened."""
    expire(turn, turn.at + timedelta.resolution)


def follow_calendar(turn: Turn) -> None:
    """Let clocks follow a calendar that may have changed."""
    for rule, clock in _open(turn):
        _by_calendar(turn, rule, clock)


def reschedule(turn: Turn) -> None:
    """The same with all that hangs on them, whether they have moved or not."""
    follow_calendar(turn)
    for rule, _ in _open(turn):
        _moved(turn, rule.id)


def migrate(turn: Turn, before: Template) -> None:
    """Go on with the clocks of another version: those of both keep their start and their pauses.

    One that the version lacks is closed, and one whose act is done already stops. A new one begins,
    unless its act is done already.
    """
    turn.follow = follow if turn.template.clocks or turn.run.clocks else None
    for clock in turn.run.clocks:
        rule = turn.template.clock(clock.id)
        if clock.stopped_at is None and rule is None:
            why = f"version {turn.template.version} has no such clock"
            _stop(turn, ClockRule(id=clock.id, label="", within="", stops=()), clock, reason=why)
        elif clock.stopped_at is None and rule is not None:
            _by_rule(turn, rule, clock, before.clock(clock.id))
    for rule in turn.template.clocks:
        if turn.run.clock(rule.id) is None and not any(_done_at(turn.run, one) for one in rule.stops):
            begun = turn.run.created_at if rule.from_step is None else _done_at(turn.run, rule.from_step)
            if begun is not None:
                _start(turn, rule, begun)
    for rule, clock in _open(turn):
        since = None if rule.from_step is None else clock.started_at
        act = next((one for one in rule.stops if _done_at(turn.run, one, since) is not None), None)
        if act is not None:
            _stop(turn, rule, clock, by=act)
        else:
            _hold_or_go_on(turn, rule, clock)


# ------------------------------------------------------------------------------------- beginning


class _Length(NamedTuple):
    """From when a clock counts and for how long, and what of it is assumed."""

    started_at: datetime
    within: str | None
    assumed: tuple[str, ...] = ()
    why: str | None = None


def _measure(turn: Turn, rule: ClockRule, default: datetime) -> _Length:
    """From when a clock counts, and for how long, as the facts are.

    Without a clear answer it counts from `default`, and for the shortest time that the expression
    names: a law lets nobody wait for an answer.
    """
    found, why = _Length(default, rule.within if isinstance(rule.within, str) else None), []
    if rule.since is not None:
        try:
            found = found._replace(started_at=_checked(rule.since.time(turn.run.inputs, turn.run.facts, {})))
        except ConditionFailed as failed:
            why.append(str(failed))
            found = found._replace(assumed=("from",))
    if not isinstance(rule.within, str):
        try:
            found = found._replace(within=rule.within.duration(turn.run.inputs, turn.run.facts))
        except ConditionFailed as failed:
            why.append(str(failed))
            found = found._replace(within=_shortest(turn, rule.within.text), assumed=(*found.assumed, "within"))
    return found._replace(why="; ".join(why)[:WHY_CHARS_MAX] or None)


def _checked(at: datetime) -> datetime:
    if at.year not in YEARS:
        raise ConditionFailed(f"the year {at.year} is none that a case counts from")
    return at


def _shortest(turn: Turn, text: str) -> str | None:
    """The shortest of the durations that an expression names."""
    calendar = turn.company.calendar
    return min(durations_in(text), key=lambda one: duration(one).after(turn.at, calendar), default=None)


def _start(turn: Turn, rule: ClockRule, default: datetime) -> None:
    length = _measure(turn, rule, default)
    spans = () if length.within is None else (duration(length.within),)
    clock = Clock(rule.id, rule.label, length.started_at, length.started_at, spans)
    due_at = clock.due_if(length.started_at, turn.company.calendar)
    turn.add(
        ClockStarted(
            at=turn.at,
            clock=rule.id,
            label=rule.label,
            started_at=length.started_at,
            within=length.within or UNSET,
            due_at=due_at or UNSET,
            warn_at=_warnings(turn, rule, due_at) or UNSET,
            source=rule.source or UNSET,
            from_step=rule.from_step or UNSET,
            assumed=length.assumed or UNSET,
            why=length.why or UNSET,
        )
    )
    _moved(turn, rule.id)


def _clarify(turn: Turn) -> None:
    """Ask again what had no clear answer: facts may have changed."""
    for rule, clock in _open(turn):
        if clock.assumed:
            default = clock.started_at if rule.from_step is not None else turn.run.created_at
            length = _measure(turn, rule, default)
            if length.assumed != clock.assumed:
                _count_anew(turn, rule, clock, length)


def _by_rule(turn: Turn, rule: ClockRule, clock: Clock, before: ClockRule | None) -> None:
    """Let a clock follow the rule of another version, from the start that it has."""
    as_long = before is not None and _written(before) == _written(rule)
    if clock.state != "breached" and not as_long:
        length = _measure(turn, replace(rule, since=None), clock.started_at)
        kept = tuple([one for one in clock.assumed if one == "from" and rule.since is not None])
        _count_anew(turn, rule, clock, length._replace(assumed=(*kept, *length.assumed)))
        return
    warn_at = clock.warn_at
    if clock.state != "breached" and before is not None and before.warn != rule.warn:
        due_at = clock.as_of(turn.at, turn.company.calendar).due_at
        warn_at = tuple([one for one in _warnings(turn, rule, due_at) if one > turn.at])
    if (rule.label, rule.source, warn_at) != (clock.label, clock.source, clock.warn_at):
        about: Any = {"due_at": clock.due_at or UNSET, "warn_at": warn_at}
        turn.add(ClockRescheduled(at=turn.at, clock=rule.id, label=rule.label, source=rule.source or UNSET, **about))


def _written(rule: ClockRule) -> str:
    """How long a clock is, as its template says it."""
    return rule.within if isinstance(rule.within, str) else rule.within.text


def _count_anew(turn: Turn, rule: ClockRule, clock: Clock, length: _Length) -> None:
    """Count from another start, or for another length; time that it stood still is added."""
    if clock.state == "breached":
        return
    clock = _gone_on(turn, rule, clock)
    spans = () if length.within is None else tuple([duration(one) for one in (length.within, *clock.extended_by)])
    anew = replace(clock, counts_from=length.started_at + clock.paused, spans=spans)
    due_at = anew.due_if(anew.counts_from, turn.company.calendar)
    turn.add(
        ClockRescheduled(
            at=turn.at,
            clock=rule.id,
            label=rule.label,
            source=rule.source or UNSET,
            started_at=length.started_at,
            within=length.within or UNSET,
            due_at=due_at or UNSET,
            warn_at=_warnings(turn, rule, due_at),
            assumed=length.assumed or UNSET,
        )
    )
    _moved(turn, rule.id)
    _hold_or_go_on(turn, rule, _clock(turn, rule))


# ---------------------------------------------------------------------------------- going on


def _open(turn: Turn) -> Iterator[tuple[ClockRule, Clock]]:
    """The clocks that have begun and not stopped, each as it is by then, with its rule."""
    for rule in turn.template.clocks if turn.run.clocks else ():
        clock = turn.run.clock(rule.id)
        if clock is not None and clock.stopped_at is None:
            yield rule, clock


def _clock(turn: Turn, rule: ClockRule) -> Clock:
    clock = turn.run.clock(rule.id)
    assert clock is not None  # noqa: S101 - it has begun
    return clock


def _hold_or_go_on(turn: Turn, rule: ClockRule, clock: Clock) -> None:
    """Let a clock stand still while something is open that it waits for, however many of them."""
    during = next((one for one in rule.pauses if _is_open(turn.run, one)), None)
    if during is None:
        _gone_on(turn, rule, clock)
    elif clock.state == "running" and (clock := _caught_up(turn, rule, clock, turn.at)).state == "running":
        remaining = clock.left(turn.at, turn.company.calendar)
        turn.add(ClockPaused(at=turn.at, clock=rule.id, during=during, remaining=remaining))
        _moved(turn, rule.id)


def _is_open(run: Run, pause: str) -> bool:
    """Whether the run waits at a step of that id. Questions of a gate are none so far."""
    visit = run.at(pause)
    return visit is not None and visit.wait is not None and not visit.calls


def _gone_on(turn: Turn, rule: ClockRule, clock: Clock) -> Clock:
    """The clock, which goes on if it stood still."""
    if clock.state != "paused":
        return clock
    due_at, left = clock.due_if(turn.at, turn.company.calendar), clock.remaining(turn.at, turn.company.calendar)
    turn.add(
        ClockResumed(
            at=turn.at,
            clock=rule.id,
            due_at=due_at or UNSET,
            remaining=UNSET if left == clock.spans else left,
            warn_at=_warnings(turn, rule, due_at, clock),
            paused_s=clock.paused_until(turn.at).total_seconds(),
        )
    )
    _moved(turn, rule.id)
    return _clock(turn, rule)


def _warnings(turn: Turn, rule: ClockRule, due_at: datetime | None, clock: Clock | None = None) -> tuple[datetime, ...]:
    """When it warns before it is due; as many are left as were to come."""
    if due_at is None:
        return ()
    every = sorted(duration(one).before(due_at, turn.company.calendar) for one in rule.warn)
    return tuple(every if clock is None else every[max(0, len(every) - len(clock.warn_at)) :])


def _by_calendar(turn: Turn, rule: ClockRule, clock: Clock) -> Clock:
    """The clock as the calendar of today has it."""
    if clock.state != "running" or not clock.counts_business_days:
        return clock
    due_at = clock.due_if(clock.counts_from, turn.company.calendar)
    warn_at = _warnings(turn, rule, due_at, clock)
    if (due_at, warn_at) == (clock.due_at, clock.warn_at):
        return clock
    turn.add(ClockRescheduled(at=turn.at, clock=rule.id, due_at=due_at or UNSET, warn_at=warn_at))
    _moved(turn, rule.id)
    return _clock(turn, rule)


def _caught_up(turn: Turn, rule: ClockRule, clock: Clock, before: datetime) -> Clock:
    """The clock, breached if it was due before a time: who acts as it is due comes in time."""
    clock = _by_calendar(turn, rule, clock)
    if clock.state != "running" or clock.due_at is None or clock.due_at >= before:
        return clock
    gates = [one for one in turn.run.parked if _in_the_way(turn, one, rule)] if rule.escalate is not None else []
    turn.add(
        ClockBreached(
            at=turn.at,
            by_kind=DEADLINE,
            clock=rule.id,
            due_at=clock.due_at,
            escalate=rule.escalate or UNSET,
            gates=tuple([one.step_id for one in gates]) or UNSET,
        )
    )
    for visit in gates:
        if visit.gate is not None and visit.gate.asks_people:
            review(turn, turn.run.at(visit.step_id) or visit)
    return _clock(turn, rule)


def _in_the_way(turn: Turn, visit: Visit, rule: ClockRule) -> bool:
    """Whether an act of a clock is at a gate, or behind it."""
    return not turn.template.downstream(visit.step_id).isdisjoint(rule.stops)


def _moved(turn: Turn, clock_id: str) -> None:
    """Move the deadlines and the waits that hang on a clock."""
    for visit in turn.run.open:
        gate, node = visit.gate, turn.template.node(visit.step_id)
        if visit.status == "parked" and gate is not None:
            anchor = gate.policy.deadline
            if isinstance(anchor, AnchoredDeadline) and anchor.clock == clock_id and gate.escalated is None:
                _move_gate(turn, visit)
        elif visit.wait is not None and not visit.calls:
            _move_wait(turn, visit, node, clock_id)


def _move_gate(turn: Turn, visit: Visit) -> None:
    gate = visit.gate
    assert gate is not None  # noqa: S101 - the caller has looked
    due_at, _ = turn.deadlines(gate.policy, gate.opened_at)
    if due_at != gate.due_at:
        about: Any = {"at": turn.at, "step_id": visit.step_id, "visit": visit.visit, "by_kind": DEADLINE}
        turn.add(GateRescheduled(**about, due_at=due_at or UNSET, remind_at=gate.remind_at))


def _move_wait(turn: Turn, visit: Visit, node: Node, clock_id: str) -> None:
    moment = None if node.wait is None else node.wait.until
    if moment is None or visit.wait is None or clock_id not in clocks_named(moment.text):
        return
    until = wait_until(turn, node, visit.wait.since)
    if until != visit.wait.until:
        begin_wait(turn, visit, node, until)


# ------------------------------------------------------------------------------------- acts


def _done(run: Run, event: CallSettled | StepCleared | VerdictGiven | GateExpired | WaitEnded) -> Visit | None:
    """The visit that an event has brought to its end, with the step done.

    A call is done once it has settled without an error, a gate once it is approved or a branch is
    chosen; what was denied, has failed, or undoes something is not done.
    """
    visit = run.trace[-1] if run.trace else None
    over = visit is not None and (visit.step_id, visit.visit) == (event.step_id, event.visit)
    return visit if over and visit is not None and _is_done(visit) else None


def _is_done(visit: Visit) -> bool:
    return visit.status == "done" and visit.undoes is None


def _done_at(run: Run, step_id: str, since: datetime | None = None) -> datetime | None:
    """When a step was first done, or so since a time."""
    done = (one.ended_at for one in run.trace if one.step_id == step_id and _is_done(one))
    return next((at for at in done if since is None or (at is not None and at > since)), None)


def _step_done(turn: Turn, step_id: str) -> None:
    """A step was done: a clock begins, stops, or gets more time."""
    for rule in turn.template.clocks:
        clock, extend = turn.run.clock(rule.id), rule.extend
        if clock is None:
            if rule.from_step == step_id:
                _start(turn, rule, turn.at)
        elif clock.stopped_at is not None:
            continue
        elif step_id in rule.stops:
            _stop(turn, rule, clock, by=step_id)
        elif extend is not None and step_id == extend.once_done and not clock.extended_by:
            _extend(turn, rule, extend, clock)


def _extend(turn: Turn, rule: ClockRule, extend: ClockExtension, clock: Clock) -> None:
    """Give more time for a notice that was decided on and came before the clock was due."""
    clock = _caught_up(turn, rule, clock, turn.at)
    decided = any(one.step_id == extend.at and _decision(one) == extend.decision for one in turn.run.trace)
    if clock.state == "breached" or not decided or not clock.spans:
        return
    more = replace(clock, spans=(*clock.spans, duration(extend.by)))
    due_at = more.due_if(clock.paused_at or clock.counts_from, turn.company.calendar)
    turn.add(
        ClockExtended(
            at=turn.at,
            clock=rule.id,
            extended_by=extend.by,
            once_done=extend.once_done,
            due_at=due_at or UNSET,
            warn_at=_warnings(turn, rule, due_at, clock),
        )
    )
    _moved(turn, rule.id)


def _decision(visit: Visit) -> str | None:
    """How a gate was decided, or a gateway by itself."""
    if visit.verdict is not None:
        return visit.verdict.decision
    return visit.output.get("branch") if isinstance(visit.output, dict) and not visit.calls else None


def _stop(turn: Turn, rule: ClockRule, clock: Clock, *, by: str | None = None, reason: str | None = None) -> None:
    """Stop a clock, late or in time."""
    clock = _gone_on(turn, rule, _caught_up(turn, rule, clock, turn.at))
    turn.add(
        ClockStopped(
            at=turn.at,
            clock=rule.id,
            stopped_by=by or UNSET,
            reason=reason or UNSET,
            due_at=clock.due_at or UNSET,
        )
    )
    _moved(turn, rule.id)


def _close(turn: Turn, event: RunEnded | CompensationBegan) -> None:
    """Stop what still goes as the run ends, by the end that it has reached or for a reason."""
    reached = event.status == "completed"
    ends = (one for one in (*turn.run.open, *reversed(turn.run.trace)) if one.kind == "end" and reached)
    end = next(ends, None)
    told = {} if end is None else turn.template.node(end.step_id).ends_clocks
    for rule, clock in _open(turn):
        if end is not None and end.step_id in rule.stops:
            _stop(turn, rule, clock, by=end.step_id)
        else:
            _stop(turn, rule, clock, reason=told.get(rule.id, f"the run has ended: {event.status}"))
