"""What holds of a conversation after every message, whatever was said."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from itertools import pairwise, takewhile
from typing import TypeGuard

from actors.core.calls import CallRequest, PlannedCall
from actors.core.decider import TurnResult, outstanding, step
from actors.core.folding.evolve import evolve
from actors.core.messages import (
    AUTOPILOT,
    CallEffect,
    CallSettled,
    ClockBreached,
    ClockPaused,
    ClockResumed,
    ClockStarted,
    ClockStopped,
    Event,
    GateExpired,
    GateOpened,
    Message,
    Rejected,
    Resume,
    RunEnded,
    StepCleared,
    StepEntered,
    VerdictGiven,
)
from actors.core.run import Gate, Run, Visit
from actors.core.template import DENIED
from tests.conversations import Conversation, fold

Key = tuple[str, int]


def check(talk: Conversation) -> None:
    """Everything that must hold of a run between two messages."""
    run = talk.run
    assert fold(talk.history) == run
    assert run.version == len(talk.history)
    check_history(talk.history)
    check_open(talk)
    check_effects(talk)


def check_history(history: list[Event]) -> None:
    """A visit is entered, judged and settled once, asked about before it is judged, and settled
    only after that; and no event is earlier than the one before.
    """
    assert all(one.at <= after.at for one, after in pairwise(history))
    verdicts = [(event.step_id, event.visit) for event in history if closes(event)]
    settled = keys(history, CallSettled)
    entered = Counter((e.step_id, e.visit, e.source) for e in history if isinstance(e, StepEntered))
    for counted in (Counter(verdicts), Counter(settled), entered):
        assert set(counted.values()) <= {1}, counted
    asked: set[Key] = set()
    judged: set[Key] = set()
    for event in history:
        match event:
            case GateOpened():
                asked.add((event.step_id, event.visit))
                assert not asked & judged
            case VerdictGiven() | GateExpired() if closes(event):
                judged.add((event.step_id, event.visit))
                asked.remove((event.step_id, event.visit))
            case CallSettled():
                assert (event.step_id, event.visit) not in asked
            case _:
                pass
    check_clocks(history)


def check_clocks(history: list[Event]) -> None:
    """A clock starts, is breached and stops once, and stands still only between two events."""
    states: dict[str, str] = {}
    breached: set[str] = set()
    for event in history:
        match event:
            case ClockStarted():
                assert event.clock not in states
                states[event.clock] = "running"
            case ClockPaused():
                assert states[event.clock] == "running"
                assert event.clock not in breached
                states[event.clock] = "paused"
            case ClockResumed():
                assert states[event.clock] == "paused"
                states[event.clock] = "running"
            case ClockBreached():
                assert states[event.clock] == "running"
                assert event.clock not in breached
                assert event.due_at <= event.at
                breached.add(event.clock)
            case ClockStopped():
                assert states[event.clock] == "running"
                if isinstance(event.due_at, datetime) and event.due_at != event.at:
                    assert (event.due_at < event.at) == (event.clock in breached)
                states[event.clock] = "stopped"
            case RunEnded():
                assert set(states.values()) <= {"stopped"}
            case _:
                pass


def closes(event: Event) -> TypeGuard[VerdictGiven | GateExpired]:
    """Whether an event closes a gate: the verdict that completes a quorum, or a deadline."""
    return isinstance(event, GateExpired) or (isinstance(event, VerdictGiven) and event.open is not True)


def keys(history: list[Event], kind: type[VerdictGiven | CallSettled]) -> list[Key]:
    return [(event.step_id, event.visit) for event in history if isinstance(event, kind)]


def check_open(talk: Conversation) -> None:
    """A run that goes on stands somewhere, and something or somebody can move it; one that ended
    wants nothing.
    """
    run, effects = talk.run, outstanding(talk.run, talk.template)
    assert run.resting == (effects == ())
    if run.ended is not None:
        assert run.open == ()
        if run.ended.outcome == DENIED:
            cut_off = [v.step_id for v in run.trace if v.status == "cancelled" and v.verdict is None]
            assert all(map(talk.template.joins, cut_off)), "a denial took another branch away"
        return
    statuses = Counter(visit.status for visit in run.open)
    assert set(statuses) <= {"waiting", "ready", "calling", "parked", "failed"}
    waits = any(visit.wait is not None for visit in run.open)
    moved = statuses["parked"] + statuses["failed"] + len(effects)
    assert moved == len(run.open) - statuses["waiting"]
    assert moved > 0 or waits
    assert len({visit.step_id for visit in run.open}) == len(run.open)
    opened = [visit.step_id for visit in run.parked]
    rests = "waiting" if run.resting and waits else "executing"
    assert run.status == ("failed" if statuses["failed"] else "parked" if opened else rests)
    assert all((v.gate is not None) and (v.verdict is None) for v in run.parked)


def check_effects(talk: Conversation) -> None:
    """No call is asked for twice, none that is settled; an irreversible one is what a human
    allowed.
    """
    effects = outstanding(talk.run, talk.template)
    assert len({effect.key for effect in effects}) == len(effects)
    settled, verdicts = keys(talk.history, CallSettled), keys(talk.history, VerdictGiven)
    for effect in effects:
        key = (effect.step_id, effect.visit)
        assert key not in settled
        if not isinstance(effect, CallEffect):
            continue
        assert effect.request.mode == "live"
        if talk.template.node(effect.step_id).effect == "irreversible":
            assert verdicts
            shown = [e.request for e in talk.history if isinstance(e, GateOpened) and (e.step_id, e.visit) == key]
            assert effect.request == (shown or [effect.request])[-1]
            assert effect.repeatable is effect.request.idempotent
            check_seen(talk.history, effect)


def check_seen(history: list[Event], call: CallEffect) -> None:
    """The latest verdict that leads to an irreversible call was given on its connector, and on all
    that was known.
    """
    gates: dict[Key, GateOpened] = {}
    seen: tuple[PlannedCall, CallRequest | None] | None = None
    for event in history:
        if isinstance(event, GateOpened):
            gates[event.step_id, event.visit] = event
        if isinstance(event, VerdictGiven):
            gate = gates[event.step_id, event.visit]
            for planned in gate.effects or ():
                if planned.step_id == call.step_id and event.decision in planned.decisions:
                    seen = planned, gate.request if gate.step_id == call.step_id else planned.request
    assert seen is not None
    assert (seen[0].mode, seen[0].connector_version) == ("live", call.request.connector_version)
    assert seen[1] in (None, call.request)


def check_doubt(talk: Conversation, events: tuple[Event, ...]) -> None:
    """The autopilot never sends an irreversible call again that may have happened before."""
    before = talk.history[: len(talk.history) - len(events)]
    for number, event in enumerate(events):
        if not isinstance(event, StepCleared) or event.by != AUTOPILOT or event.request is None:
            continue
        if talk.template.node(event.step_id).effect == "irreversible":
            past = [e for e in (*before, *events[:number]) if isinstance(e, CallSettled) and e.step_id == event.step_id]
            since = takewhile(lambda e: e.error is not None, reversed(past))
            assert all(e.error is not None and e.error.maybe_sent is False for e in since)


def check_autopilot(talk: Conversation, run: Run | None, events: tuple[Event, ...]) -> None:
    """The autopilot clears nothing that is a gate, nothing while a hit is undecided, nothing unless
    it is on.
    """
    for event in events:
        if run is not None and isinstance(event, StepCleared) and event.by == AUTOPILOT:
            assert run.auto_resolve
            assert run.signals == ()
            assert not talk.template.node(event.step_id).gate
        run = evolve(run, event)


def check_turn(talk: Conversation, before: Run | None, message: Message) -> None:
    """To decide again is to decide the same; a verdict counts only for what stood at its gate."""
    assert step(before, message, talk.template, talk.connectors, talk.steps_max, company=talk.company) == talk.last
    if isinstance(talk.last, TurnResult):
        check_autopilot(talk, before, talk.last.events)
        check_doubt(talk, talk.last.events)
    refused = isinstance(talk.last, Rejected) or talk.done.rejected is not None
    if isinstance(message, Resume) and before is not None and not refused:
        (visit,) = (v for v in before.parked if v.step_id == message.gate)
        assert visit.gate is not None
        assert message.decision in visit.gate.decisions
        assert message.tags is None or str(before.version) in message.tags
        shown, given = shown_at(visit, talk.done.events)
        assert message.digest in (None, shown.digest)
        for planned in shown.effects or ():  # a bare verdict, or one on what was stored: it is still in force
            bound = talk.connectors.get(planned.tool)
            assert planned.connector_version == (None if bound is None else bound.version)
        assert isinstance(given, VerdictGiven)
        assert (given.step_id, given.visit, given.by) == (visit.step_id, visit.visit, message.by)
        check_others(talk, before, message)


def shown_at(visit: Visit, events: tuple[Event, ...]) -> tuple[Gate | GateOpened, Event]:
    """What a verdict was given on, and the verdict; the gate may open again in between."""
    first = events[0]
    if isinstance(first, GateOpened):
        assert (first.step_id, first.visit) == (visit.step_id, visit.visit)
        return first, events[1]
    assert visit.gate is not None
    return visit.gate, first


def check_others(talk: Conversation, before: Run, message: Resume) -> None:
    """A denial that no edge takes up leaves each other gate open, where no other branch moves in
    the same turn.
    """
    # Another branch may open a gate, come to an end, or enter more steps than are allowed.
    if before.ready is not None or talk.template.node(message.gate).traits.ends:
        return
    ways = [edge.branch for edge in talk.template.leaving(message.gate)]
    if message.decision == DENIED and DENIED not in ways:
        others = [(v.step_id, v.visit) for v in before.parked if v.step_id != message.gate]
        assert [(v.step_id, v.visit) for v in talk.run.parked] == others
