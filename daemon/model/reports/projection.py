"""What commits add to the reports: a fold over events, from batch to batch.

It knows of each run the open visits alone, so that a commit costs the same however long its run is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from msgspec import UNSET

from actors.core.autonomy import ClearanceDecision
from actors.core.calls import CallRequest
from actors.core.messages import (
    AUTOPILOT,
    CallSettled,
    ClockBreached,
    ClockEvent,
    ClockExtended,
    ClockRescheduled,
    ClockResumed,
    ClockStarted,
    ClockStopped,
    CompensationBegan,
    Event,
    EventBase,
    GateEscalated,
    GateExpired,
    GateOpened,
    GateRescheduled,
    RunEnded,
    StepCleared,
    StepEntered,
    VerdictGiven,
    WaitEnded,
    attribution,
)
from actors.core.template import APPROVED

RunKey = tuple[str, str]
DAY_CHARS = 10
LIVE = "live"


class PanelOutcome(NamedTuple):
    """What a panel that was for clearing said of a visit, and why that sufficed or not."""

    template_version: int
    raw: float
    why: str
    about: str = ""


class OpenVisit(NamedTuple):
    """An open visit of a step; `opened_at` where its gate is open, `tool_id` where it is called.

    `heard` where its gate opened though its panel was for clearing.
    """

    visit: int
    tier: str
    vertical: str
    label: str = ""
    tool_id: str | None = None
    opened_at: datetime | None = None
    due_at: datetime | None = None
    heard: PanelOutcome | None = None


class JudgedVisit(NamedTuple):
    """A visit that was cleared on a panel's word, or that a person approved or not instead."""

    company_id: str
    vertical: str
    step_id: str
    template_version: int
    at: datetime
    run_id: str
    seq: int
    visit: int
    raw: float
    why: str
    approved: bool | None
    about: str = ""


class Decision(NamedTuple):
    """A verdict of a person, or the decision of a deadline; `closed` where it closed the gate."""

    company_id: str
    run_id: str
    seq: int
    decided_at: datetime
    vertical: str
    step_id: str
    visit: int
    label: str
    tier: str
    decision: str
    by: str
    by_kind: str
    on_behalf_of: str | None
    closed: bool
    opened_at: datetime
    waited_us: int


class CaseClock(NamedTuple):
    """A clock of a run, or what a batch says of it: what is None or empty is as it was before.

    `left_us` is the time that was left when an act stopped it, negative for a late one.
    """

    company_id: str
    run_id: str
    clock: str
    vertical: str
    label: str = ""
    started_at: datetime | None = None
    due_at: datetime | None = None
    breached_at: datetime | None = None
    stopped_at: datetime | None = None
    stopped_by: str | None = None
    left_us: int | None = None


class FailedCall(NamedTuple):
    """A call that ended with an error."""

    company_id: str
    run_id: str
    seq: int
    failed_at: datetime
    vertical: str
    step_id: str
    visit: int
    tool_id: str
    code: str
    status_code: int | None
    attempts: int


class Calls(NamedTuple):
    """The calls of a tool on a day; `last_error` is that of the last one."""

    calls: int = 0
    failed: int = 0
    last_at: datetime | None = None
    last_error: str | None = None


class FollowedCommit(NamedTuple):
    """A commit of a run, with what its events do not say."""

    company_id: str
    run_id: str
    vertical: str
    first_seq: int
    events: tuple[Event, ...]


class EventPlace(NamedTuple):
    """Where an event stands."""

    company_id: str
    run_id: str
    vertical: str
    seq: int


class Projection:
    """What a batch of commits adds: rows and counts, and the visits that it leaves open."""

    def __init__(self, before: Mapping[RunKey, Mapping[str, OpenVisit]]) -> None:
        """`before` are the open visits of the runs of the batch, by step."""
        self.open: dict[RunKey, dict[str, OpenVisit]] = {key: dict(steps) for key, steps in before.items()}
        self.decisions: list[Decision] = []
        self.failures: list[FailedCall] = []
        self.judged: list[JudgedVisit] = []
        self.cleared: Counter[tuple[str, str, str, str]] = Counter()
        self.calls: dict[tuple[str, str, str, str], Calls] = {}
        self.clocks: dict[tuple[str, str, str], CaseClock] = {}

    def add(self, commit: FollowedCommit) -> None:
        """Add the events of the next commit."""
        steps = self.open.setdefault((commit.company_id, commit.run_id), {})
        for seq, event in enumerate(commit.events, commit.first_seq):
            follow = FOLLOWS.get(type(event))
            if follow is not None:
                follow(self, steps, EventPlace(commit.company_id, commit.run_id, commit.vertical, seq), event)

    def note_clearing(self, place: EventPlace, event: StepCleared | CallSettled) -> None:
        """Count a step that the autopilot cleared."""
        if event.by == AUTOPILOT:
            self.cleared[place.company_id, day_of(event.at), place.vertical, event.step_id] += 1
        if event.weighed is not UNSET:
            self.note_judged(place, event, _heard(event.weighed))

    def note_judged(
        self,
        place: EventPlace,
        event: StepCleared | CallSettled | VerdictGiven,
        heard: PanelOutcome,
        *,
        approved: bool | None = None,
    ) -> None:
        """Add a visit that a panel was for clearing; `approved` is None where it was cleared."""
        about = (place.company_id, place.vertical, event.step_id, heard.template_version, event.at, place.run_id)
        said = (heard.raw, heard.why)
        self.judged.append(JudgedVisit(*about, place.seq, event.visit, *said, approved, heard.about))


Steps = dict[str, OpenVisit]
Follow = Callable[[Projection, Steps, EventPlace, Any], None]


def day_of(at: datetime) -> str:
    """The day of a time, in UTC."""
    return at.astimezone(UTC).isoformat()[:DAY_CHARS]


def _entered(_: Projection, steps: Steps, place: EventPlace, event: StepEntered) -> None:
    steps[event.step_id] = OpenVisit(event.visit, event.tier, place.vertical)


def _opened(_: Projection, steps: Steps, __: EventPlace, event: GateOpened) -> None:
    """A gate that opens again keeps its age and its deadline."""
    visit = _at(steps, event)
    if visit is not None and visit.opened_at is None:
        due_at = None if event.due_at is UNSET else event.due_at
        visit = visit._replace(opened_at=event.at, due_at=due_at)
    if visit is not None:
        heard = None if event.weighed is UNSET else _heard(event.weighed)
        steps[event.step_id] = visit._replace(label=event.label, heard=heard)


def _rescheduled(_: Projection, steps: Steps, __: EventPlace, event: GateRescheduled | GateEscalated) -> None:
    visit = _at(steps, event)
    if visit is not None:
        steps[event.step_id] = visit._replace(due_at=None if event.due_at is UNSET else event.due_at)


def _judged(made: Projection, steps: Steps, place: EventPlace, event: VerdictGiven) -> None:
    visit = _at(steps, event)
    if visit is None or visit.opened_at is None:
        return
    made.decisions.append(_decision(place, event, visit, closed=event.open is not True))
    if event.open is True:
        return
    if visit.heard is not None and attribution(event).by_kind == "person":
        made.note_judged(place, event, visit.heard, approved=event.decision == APPROVED)
    del steps[event.step_id]
    if event.decision == APPROVED and (tool := _called(event.request)) is not None:
        steps[event.step_id] = visit._replace(tool_id=tool, opened_at=None, due_at=None, heard=None)


def _expired(made: Projection, steps: Steps, place: EventPlace, event: GateExpired) -> None:
    visit = _at(steps, event)
    if visit is not None and visit.opened_at is not None:
        made.decisions.append(_decision(place, event, visit, closed=True))
        del steps[event.step_id]


def _decision(place: EventPlace, event: VerdictGiven | GateExpired, visit: OpenVisit, *, closed: bool) -> Decision:
    opened_at, who = visit.opened_at, attribution(event)
    assert opened_at is not None  # noqa: S101 - its gate is open
    waited = event.at - opened_at
    return Decision(
        place.company_id,
        place.run_id,
        place.seq,
        event.at,
        place.vertical,
        event.step_id,
        event.visit,
        visit.label,
        visit.tier,
        event.decision,
        who.by,
        who.by_kind,
        who.on_behalf_of,
        closed,
        opened_at,
        _microseconds(waited),
    )


def _cleared(made: Projection, steps: Steps, place: EventPlace, event: StepCleared) -> None:
    made.note_clearing(place, event)
    visit = _at(steps, event)
    if visit is None:
        return
    del steps[event.step_id]
    if (tool := _called(event.request)) is not None:
        steps[event.step_id] = visit._replace(tool_id=tool)


def _settled(made: Projection, steps: Steps, place: EventPlace, event: CallSettled) -> None:
    """A call has ended; one that was out when its run ended is counted no more."""
    made.note_clearing(place, event)
    visit = _at(steps, event)
    if visit is None:
        return
    del steps[event.step_id]
    if visit.tool_id is None:
        return
    key, error = (place.company_id, day_of(event.at), place.vertical, visit.tool_id), event.error
    before = made.calls.get(key, Calls())
    failed, code = (0, None) if error is None else (1, error.code)
    made.calls[key] = Calls(before.calls + 1, before.failed + failed, event.at, code)
    if error is not None:
        about = (place.vertical, event.step_id, event.visit, visit.tool_id)
        how = (error.code, error.status_code, event.attempts)
        made.failures.append(FailedCall(place.company_id, place.run_id, place.seq, event.at, *about, *how))


def _waited(_: Projection, steps: Steps, __: EventPlace, event: WaitEnded) -> None:
    if _at(steps, event) is not None:
        del steps[event.step_id]


def _compensating(_: Projection, steps: Steps, __: EventPlace, ___: CompensationBegan) -> None:
    """Every visit is over but those whose call is out."""
    for step_id in [step_id for step_id, visit in steps.items() if visit.tool_id is None]:
        del steps[step_id]


def _clock_moved(made: Projection, _: Steps, place: EventPlace, event: ClockEvent) -> None:
    """What an event says of a clock, beside what the batch has said of it before."""
    key = (place.company_id, place.run_id, event.clock)
    due_at = getattr(event, "due_at", UNSET)
    said: dict[str, Any] = {} if due_at is UNSET else {"due_at": due_at}
    match event:
        case ClockStarted():
            said |= {"label": event.label, "started_at": event.started_at}
        case ClockRescheduled():
            told = {"label": event.label, "started_at": event.started_at}
            said |= {name: value for name, value in told.items() if value is not UNSET}
        case ClockBreached():
            said["breached_at"] = event.due_at
        case ClockStopped():
            by_act = event.stopped_by is not UNSET
            left = None if due_at is UNSET or not by_act else _microseconds(due_at - event.at)
            said |= {"stopped_at": event.at, "stopped_by": event.stopped_by if by_act else None, "left_us": left}
        case _:  # it says when it is due
            pass
    before = made.clocks.get(key, CaseClock(*key, place.vertical))
    made.clocks[key] = before._replace(**said)


def _microseconds(time: timedelta) -> int:
    return (time.days * 86_400 + time.seconds) * 1_000_000 + time.microseconds


def _ended(_: Projection, steps: Steps, __: EventPlace, ___: RunEnded) -> None:
    steps.clear()


def _at(steps: Steps, event: Any) -> OpenVisit | None:
    """The open visit that an event is about."""
    visit = steps.get(event.step_id)
    return visit if visit is not None and visit.visit == event.visit else None


def _heard(weighed: ClearanceDecision) -> PanelOutcome:
    return PanelOutcome(weighed.version, weighed.raw, weighed.why, weighed.about)


def _called(request: CallRequest | None) -> str | None:
    """The tool that a request calls for real."""
    return request.tool if request is not None and request.mode == LIVE else None


FOLLOWS: dict[type[EventBase], Follow] = {
    StepEntered: _entered,
    GateOpened: _opened,
    GateRescheduled: _rescheduled,
    GateEscalated: _rescheduled,
    VerdictGiven: _judged,
    GateExpired: _expired,
    StepCleared: _cleared,
    CallSettled: _settled,
    WaitEnded: _waited,
    CompensationBegan: _compensating,
    RunEnded: _ended,
    **dict.fromkeys(
        (ClockStarted, ClockResumed, ClockExtended, ClockRescheduled, ClockBreached, ClockStopped), _clock_moved
    ),
}
"""What each event adds to the reports; the others add nothing."""
