"""The run: the state that a template's execution has reached."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct, field

from actors.core.calls import CallRequest, Difference, PlannedCall, RecordedCall
from actors.core.gate_policy import PLAIN, Batch, BatchRule, GatePolicy, Loosened
from actors.core.messages import CompensationBegan, Failure, GateBlocked, MessageReceived, RunEnded
from actors.core.messages.votes import PanelSession
from actors.core.people import ByKind
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


class Gate(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a human is asked at a visit; `signals` are the hits that stood when the gate opened.

    `effects` are the irreversible calls that a decision can lead to; None where the gate opened
    before they were kept. `missing` are JSON pointers of the inputs that the step needs and lacks.
    `proposals` holds the latest of each who made one; `proposed` counts them all. `verdicts` are
    those so far; people of the role `escalated` may decide, too. Those `barred` have made it laxer
    than it was. One `in_doubt` is about a call that may have happened.
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

    @property
    def asks_people(self) -> bool:
        """Whether more than a role decides about who may close it."""
        return bool(self.policy.asks_people or self.barred)

    @property
    def wake_at(self) -> datetime | None:
        """When something is due at the gate next."""
        return min((*self.remind_at, *(() if self.due_at is None else (self.due_at,))), default=None)


class Waiting(Struct, frozen=True, gc=False, omit_defaults=True):
    """What a visit waits for, and since when; perhaps by the company's calendar."""

    since: datetime
    until: datetime | None = None
    message: str | None = None
    business_days: bool = False


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
        live = any(one.mode == "live" for one in effects or ())
        return "never" if live or self.tier == "critical" else "allowed"


class Run(Struct, frozen=True, gc=False, omit_defaults=True):
    """One execution of a template; `version` counts its events, `open` holds open visits.

    `carried` counts the bytes of inputs, answers and calls as JSON. `approved` holds, by step, the
    irreversible call that the latest verdict leading to it was shown. `proposed` counts the events
    since any that changes what is decided on. `messages` are those that no step has taken. A run
    that was promoted from another holds the calls that the other `recorded` in shadow. Of a key
    that started it there are `made_by` and `on_behalf_of`. Its `loosened` gates are those that a
    migration has made laxer.
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
        """When a deadline, a reminder or a wait is due next."""
        times = (visit.wake_at for visit in self.open)
        return min((at for at in times if at is not None), default=None)

    @property
    def parked(self) -> tuple[Visit, ...]:
        """The visits that wait for a human, the first opened first."""
        return tuple(visit for visit in self.open if visit.status == "parked")

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
        """Whether people or the calendar of the company decide about what it waits for."""
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
        return next((visit.error for visit in self.open if visit.status == "failed"), None)

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
