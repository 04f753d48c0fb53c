"""The run: the state that a template's execution has reached."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from actors.core.actions.deciding import ActionFacts
from actors.core.calls import CallRequest, Difference, PlannedCall, RecordedCall
from actors.core.gate_policy import PLAIN, Batch, BatchRule, GateFunction, GatePolicy, Loosened
from actors.core.messages import CompensationBegan, Failure, GateBlocked, MessageReceived, RunEnded
from actors.core.messages.votes import PanelSession
from actors.core.people import ByKind, rank
from actors.core.schedule import BusinessCalendar, Duration
from actors.core.template import TRAITS, Kind, Tier

Status = Literal["executing", "waiting", "parked", "compensating", "completed", "failed", "cancelled"]
VisitStatus = Literal["waiting", "ready", "judging", "calling", "parked", "done", "denied", "failed", "cancelled"]
EVENT_BYTES = 128
RUN_BYTES_MAX = 8 * 1024 * 1024
"""No step begins a call in a run that weighs more."""
RETRY = "retry"
DONE = "done"


class Proposal(Struct, frozen=True, gc=False):
    """What somebody would decide at a gate."""

    by: str
    by_kind: ByKind
    decision: str
    comment: str | None
    confidence: float | None
    form: dict[str, Any] | None
    at: datetime


class Verdict(Struct, frozen=True, gc=False):
    """What a human answered, and the inputs that came with it."""

    decision: str
    by: str
    at: datetime
    comment: str | None = None
    inputs: dict[str, Any] | None = None
    by_kind: ByKind = "person"
    on_behalf_of: str | None = None
    verdict_id: str | None = None
    code: str | None = None
    form: dict[str, Any] | None = None
    solo: bool = False
    batch: Batch | None = None

    @property
    def people(self) -> frozenset[str]:
        """Who counts as having decided: its giver, and whom it was given for."""
        return frozenset((self.by,) if self.on_behalf_of is None else (self.by, self.on_behalf_of))


class AgentQuestion(Struct, frozen=True, gc=False, omit_defaults=True):
    """What the agent is asked at the gate of an action, and what it answered."""

    id: str
    text: str
    by: str
    at: datetime
    answer: str | None = None
    answered_by: str | None = None
    answered_at: datetime | None = None


class Gate(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a human is asked at a visit; `signals` are the hits that stood when the gate opened.

    `effects` are the irreversible calls that a decision can lead to; None where the gate opened
    before they were kept. `missing` are JSON pointers of the inputs that the step needs and lacks.
    `proposals` holds the latest of each who made one; `proposed` counts them all. `verdicts` are
    those so far; people of the role `escalated` may decide, too. Those `barred` have made it laxer
    than it was. One `in_doubt` is about a call that may have happened. Since a clock was breached
    people of its `breach_role` may decide, too. At an action it has shown what had `changed` since
    its rule decided, and has the `questions` to the agent.
    """

    label: str
    reason: str
    decisions: tuple[str, ...]
    digest: str
    opened_at: datetime
    role: str | None = None
    signals: tuple[str, ...] = ()
    effects: tuple[PlannedCall, ...] | None = None
    missing: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    proposed: int = 0
    policy: GatePolicy = PLAIN
    verdicts: tuple[Verdict, ...] = ()
    due_at: datetime | None = None
    remind_at: tuple[datetime, ...] = ()
    escalated: str | None = None
    escalated_at: datetime | None = None
    blocked: GateBlocked | None = None
    question: str | None = None
    differences: tuple[Difference, ...] = ()
    barred: tuple[str, ...] = ()
    in_doubt: bool = False
    breach_role: str | None = None
    function: GateFunction | None = None
    changed: str | None = None
    questions: tuple[AgentQuestion, ...] = ()

    @property
    def open_to(self) -> str | None:
        """The least role whose people may decide, too, since time has passed; None for nobody."""
        if self.breach_role is None:
            return self.escalated
        roles = [one for one in (self.escalated, self.breach_role) if one is not None]
        return min(roles, key=rank, default=None)

    @property
    def asks_people(self) -> bool:
        """Whether more than a role decides about who may close it."""
        return bool(self.policy.asks_people or self.barred)

    @property
    def wake_at(self) -> datetime | None:
        """When something is due at the gate next."""
        return min((*self.remind_at, *(() if self.due_at is None else (self.due_at,))), default=None)


ClockState = Literal["running", "paused", "stopped", "breached"]


class Clock(Struct, frozen=True, gc=False, omit_defaults=True):
    """How far a clock of the law has come, from its start until an act stopped it.

    It is due when its `spans` are over, one after the other, from `counts_from` on: its start, or
    when it went on last; while it is paused they are what is left. Without a clear answer its
    start and its length (`from`, `within`) are `assumed`. `warn_at` are the warnings to come, and
    `extended_by` the lengths that were added. The run's end has closed it for a `reason`.
    """

    id: str
    label: str
    started_at: datetime
    counts_from: datetime
    spans: tuple[Duration, ...] = ()
    due_at: datetime | None = None
    warn_at: tuple[datetime, ...] = ()
    source: str | None = None
    assumed: tuple[str, ...] = ()
    paused_at: datetime | None = None
    paused: timedelta = timedelta()
    extended_by: tuple[str, ...] = ()
    breached_at: datetime | None = None
    stopped_at: datetime | None = None
    stopped_by: str | None = None
    reason: str | None = None

    @property
    def state(self) -> ClockState:
        """The state that people see."""
        if self.stopped_at is not None:
            return "stopped"
        if self.breached_at is not None:
            return "breached"
        return "running" if self.paused_at is None else "paused"

    @property
    def wake_at(self) -> datetime | None:
        """When it warns or is due next, while it runs."""
        if self.state != "running":
            return None
        return min((*self.warn_at, *(() if self.due_at is None else (self.due_at,))), default=None)

    @property
    def counts_business_days(self) -> bool:
        """Whether a change of the calendar moves it."""
        return self.state in ("running", "paused") and any(one.business_days for one in self.spans)

    def due_if(self, goes_on: datetime, calendar: BusinessCalendar) -> datetime | None:
        """When it is due if it goes on then; None while nobody knows how long it is."""
        if not self.spans:
            return None
        sooner = self._due(goes_on, calendar)
        return sooner if self.paused_at is None else max(sooner, self._due(self.paused_at, calendar))

    def remaining(self, goes_on: datetime, calendar: BusinessCalendar) -> tuple[Duration, ...]:
        """What is left if it goes on then: by a pause, no clock is due sooner than without it."""
        due_at, last = self.due_if(goes_on, calendar), self.spans[-1:]
        longer = timedelta() if due_at is None else due_at - self._due(goes_on, calendar)
        return (*self.spans[:-1], *(replace(one, exact=one.exact + longer) for one in last))

    def _due(self, goes_on: datetime, calendar: BusinessCalendar) -> datetime:
        due_at = max(goes_on, self.counts_from)
        for span in self.spans:
            due_at = span.after(due_at, calendar)
        return due_at

    def left(self, at: datetime, calendar: BusinessCalendar) -> tuple[Duration, ...]:
        """What is left of its spans at a time before it is due, or as it is."""
        begun = self.counts_from
        for number, span in enumerate(self.spans):
            end = span.after(begun, calendar)
            if at < end:
                rest = span if at <= begun else span.left(begun, at, calendar)
                return (rest, *self.spans[number + 1 :])
            begun = end
        return self.spans and (Duration(),)

    def as_of(self, at: datetime, calendar: BusinessCalendar) -> Clock:
        """The clock as it stands at a time: one that is paused, as if it went on then."""
        if self.paused_at is None or self.stopped_at is not None:
            return self
        return replace(self, due_at=self.due_if(at, calendar), paused=self.paused_until(at))

    def paused_until(self, at: datetime) -> timedelta:
        """For how long it has stood still by then."""
        if self.paused_at is None:
            return self.paused
        return self.paused + max(timedelta(), at - max(self.paused_at, self.counts_from))

    @property
    def times(self) -> dict[str, str]:
        """What expressions read of it; a time that it has not is left out."""
        times = ("started_at", "due_at", "breached_at", "stopped_at")
        known = {name: at for name in times if (at := getattr(self, name)) is not None}
        return {"state": self.state} | {name: at.isoformat() for name, at in known.items()}


class Waiting(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a visit waits for, and since when; perhaps by the company's calendar."""

    since: datetime
    until: datetime | None = None
    message: str | None = None
    business_days: bool = False


class CallGrant(Struct, frozen=True, gc=False, omit_defaults=True):
    """The agent may make the call once until it expires; the key of the request that used it up."""

    granted_at: datetime
    expires_at: datetime
    consumed_at: datetime | None = None
    consumed_by: str | None = None
    key_hash: str | None = None


class Visit(Struct, frozen=True, gc=False, omit_defaults=True):
    """One entry of the run into a step, from entering it to leaving it."""

    step_id: str
    visit: int
    kind: Kind
    tier: Tier
    status: VisitStatus
    started_at: datetime
    ended_at: datetime | None = None
    resolved_by: str | None = None
    resolved_by_kind: ByKind | None = None
    reason: str | None = None
    request: CallRequest | None = None
    output: Any = None
    attempts: int = 0
    error: Failure | None = None
    gate: Gate | None = None
    verdict: Verdict | None = None
    arrived: tuple[str, ...] = ()
    wait: Waiting | None = None
    undoes: int | None = None
    panel: PanelSession | None = None
    grant: CallGrant | None = None

    @property
    def wake_at(self) -> datetime | None:
        """When something of this open visit is due next."""
        if self.wait is not None:
            return self.wait.until
        return self.gate.wake_at if self.status == "parked" and self.gate is not None else None

    @property
    def reviewed(self) -> bool:
        """Whether people or the calendar of the company decide about what it waits for."""
        if self.gate is not None and self.status == "parked":
            return self.gate.asks_people or self.gate.policy.counts_business_days
        return self.wait is not None and self.wait.business_days

    @property
    def calls(self) -> bool:
        """Whether it is a visit of a step that makes a call."""
        return TRAITS[self.kind].calls

    @property
    def call_out(self) -> bool:
        """Whether its call was sent, or is about to be, and has no answer yet."""
        return self.status == "calling" or (self.status == "waiting" and self.wait is not None and self.calls)

    def batch_rule(self, effects: tuple[PlannedCall, ...] | None) -> BatchRule:
        """Whether its gate, which can lead to these calls, takes verdicts of a batch.

        Where the template does not say, critical ones do not, nor those that can lead to a live
        irreversible call.
        """
        if self.gate is not None and self.gate.policy.batch is not None:
            return self.gate.policy.batch
        live = any(one.mode != "shadow" for one in effects or ())
        return "never" if live or self.tier == "critical" else "allowed"


class BrokenGlass(Struct, frozen=True, gc=False):
    """Until then somebody reads a run that is closed to them; `at` they said why."""

    by: str
    at: datetime
    until: datetime


class Run(Struct, frozen=True, gc=False, omit_defaults=True):
    """One execution of a template; `version` counts its events, `open` holds open visits.

    `carried` counts the bytes of inputs, answers and calls as JSON. `approved` holds, by step, the
    irreversible call that the latest verdict leading to it was shown. `proposed` counts the events
    since any that changes what is decided on. `messages` are those that no step has taken. A run
    that was promoted from another holds the calls that the other `recorded` in shadow. Of a key
    that started it there are `made_by` and `on_behalf_of`. Its `loosened` gates are those that a
    migration has made laxer. `glass` was broken to read it, and is mended in time. A run that is an
    `action` knows which.
    """

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
    created_by_kind: ByKind = "person"
    traceparent: str | None = None
    business_key: str | None = None
    version: int = 1
    proposed: int = 0
    carried: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    signals: tuple[str, ...] = ()
    approved: tuple[PlannedCall, ...] = ()
    visits: dict[str, int] = field(default_factory=dict)
    open: tuple[Visit, ...] = ()
    trace: tuple[Visit, ...] = ()
    messages: tuple[MessageReceived, ...] = ()
    compensating: CompensationBegan | None = None
    ended: RunEnded | None = None
    promoted_from: str | None = None
    promoted_to: str | None = None
    recorded: tuple[RecordedCall, ...] = ()
    made_by: str | None = None
    on_behalf_of: str | None = None
    loosened: tuple[Loosened, ...] = ()
    clocks: tuple[Clock, ...] = ()
    glass: tuple[BrokenGlass, ...] = ()
    action: ActionFacts | None = None

    @property
    def starters(self) -> tuple[str, ...]:
        """Who counts as having started it: who did, and of a key its maker and for whom it acts."""
        return tuple([one for one in (self.created_by, self.made_by, self.on_behalf_of) if one is not None])

    @property
    def size_bytes(self) -> int:
        """About how many bytes it takes as JSON: what events carried, and a little for each."""
        return self.carried + EVENT_BYTES * self.version

    @property
    def status(self) -> Status:
        """The status; a failed branch counts before a parked one, that before a running one."""
        if self.ended is not None:
            return self.ended.status
        found = {visit.status for visit in self.open}
        if "failed" in found:
            return "failed"
        if "parked" in found:
            return "parked"
        if self.compensating is not None:
            return "compensating"
        waits = self.resting and any(visit.wait is not None for visit in self.open)
        return "waiting" if waits else "executing"

    @property
    def wake_at(self) -> datetime | None:
        """When a deadline, a reminder, a wait, a clock or the end of a broken glass is due next."""
        times = [at for visit in self.open if (at := visit.wake_at) is not None]
        if self.clocks:
            times += [at for clock in self.clocks if (at := clock.wake_at) is not None]
        if self.glass:
            times += [one.until for one in self.glass]
        return min(times, default=None)

    @property
    def clock_due_at(self) -> datetime | None:
        """When the clock that is due first is due; one that is paused, as when it was paused."""
        if not self.clocks:
            return None
        due = (one.due_at for one in self.clocks if one.stopped_at is None)
        return min((at for at in due if at is not None), default=None)

    def clock(self, clock_id: str) -> Clock | None:
        """The clock of that id, if it has begun."""
        return next((one for one in self.clocks if one.id == clock_id), None)

    @property
    def clock_times(self) -> dict[str, Any]:
        """What expressions read of the clocks."""
        return {one.id: one.times for one in self.clocks}

    @property
    def parked(self) -> tuple[Visit, ...]:
        """The visits that wait for a human, the first opened first."""
        return tuple([visit for visit in self.open if visit.status == "parked"])

    @property
    def ready(self) -> Visit | None:
        """The first visit whose next move has yet to be chosen, if there is one."""
        for visit in self.open:
            if visit.status == "ready":
                return visit
        return None

    @property
    def resting(self) -> bool:
        """Whether the run wants nothing done: it has ended, or waits for people or time."""
        return not any(visit.status in ("ready", "judging", "calling") for visit in self.open)

    @property
    def reviewed(self) -> bool:
        """Whether people, calendar or rules of the company decide about what it waits for."""
        if self.clocks and any(one.counts_business_days for one in self.clocks):
            return True
        if self.action is not None and self.parked:
            return True
        return any(visit.reviewed for visit in self.open)

    @property
    def denied(self) -> bool:
        """Whether only joins are open, which wait for branches that were denied."""
        still = all(visit.status == "waiting" and visit.wait is None for visit in self.open)
        return self.ended is None and self.compensating is None and still

    @property
    def error(self) -> Failure | None:
        """Why the run failed, while it is failed."""
        if self.ended is not None:
            return self.ended.error
        for visit in self.open:
            if visit.status == "failed":
                return visit.error
        return None

    @property
    def steps(self) -> int:
        """How many steps the run has entered."""
        return len(self.open) + len(self.trace)

    def at(self, step_id: str) -> Visit | None:
        """The open visit of that step, if there is one."""
        for visit in self.open:
            if visit.step_id == step_id:
                return visit
        return None

    def awaiting(self, step_id: str, visit: int) -> Visit | None:
        """The visit whose call is in flight, or was when the run ended, or None."""
        for one in (*self.open, *(self.trace if self.ended is not None else ())):
            if one.step_id == step_id and one.visit == visit:
                sent = one.request is not None and (one.gate is None or one.verdict is not None)
                return one if one.call_out or (one.status == "cancelled" and sent) else None
        return None

    def decided(self, step_id: str) -> Visit | None:
        """The latest visit of that step that a verdict closed, if there is one."""
        visits = (visit for visit in reversed((*self.trace, *self.open)) if visit.step_id == step_id)
        return next((visit for visit in visits if visit.verdict is not None), None)
