"""What has become fact about a run: its events."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from actors.core.actions.deciding import ActionFacts
from actors.core.autonomy import ClearanceDecision
from actors.core.calls import CallRequest, Difference, PlannedCall, RecordedCall
from actors.core.gate_policy import Batch, GateFunction, GatePolicy, Loosened
from actors.core.messages.votes import JudgeCall, Vote
from actors.core.people import ByKind
from actors.core.schedule import Duration
from actors.core.template import Kind, Tier

AUTOPILOT = "autopilot"
# The codes of failures that the core decides by.
OUTCOME_UNKNOWN_CODE = "outcome_unknown"
CONNECTOR_CHANGED_CODE = "connector_changed"


class Failure(Struct, frozen=True, gc=False, kw_only=True):
    """Why a step or a run failed: a stable code, a sentence, and what a person needs to go on.

    `maybe_sent` is False where it is certain that nothing of the call reached the far side, and
    None where that was not recorded.
    """

    attempts: int = 0
    code: str
    detail: str
    excerpt: str | None = None
    maybe_sent: bool | None = None
    status_code: int | None = None
    step_id: str | None = None


class EventBase(Struct, frozen=True, gc=False, kw_only=True, tag_field="type"):
    """An event; it is stored with its tag as the member `type`.

    `by_kind` is stored for machines only, and `on_behalf_of` where there is somebody: `attribution`
    says both of every event.
    """

    at: datetime
    by_kind: ByKind | UnsetType = UNSET
    on_behalf_of: str | UnsetType = UNSET

    @property
    def type(self) -> str:
        """The tag of its class, such as `run_started`."""
        return str(self.__struct_config__.tag)


class RunStarted(EventBase, frozen=True, kw_only=True, tag="run_started"):
    """The run exists, pinned to one version of its template.

    One that is promoted from a run in shadow has the calls that the other recorded. `made_by` made
    the key that started it. One that is an `action` keeps what is known of it.
    """

    auto_resolve: bool
    by: str
    company_id: str
    inputs: dict[str, Any]
    run_id: str
    template_digest: str
    template_version: int
    traceparent: str | None = None
    vertical: str
    via: str | None = None
    business_key: str | UnsetType = UNSET
    promoted_from: str | UnsetType = UNSET
    recorded: tuple[RecordedCall, ...] | UnsetType = UNSET
    made_by: str | UnsetType = UNSET
    action: ActionFacts | UnsetType = UNSET


class RunPromoted(EventBase, frozen=True, kw_only=True, tag="run_promoted"):
    """A run that ended in shadow is made again, live, by the run `promoted_to`."""

    by: str
    promoted_to: str
    via: str | None = None


class RunMigrated(EventBase, frozen=True, kw_only=True, tag="run_migrated"):
    """The run goes on by another version of its template.

    `loosened` are the gates that it and migrations before it have made laxer, `made_by` made the
    key that let it.
    """

    by: str
    from_digest: str
    from_version: int
    template_digest: str
    template_version: int
    via: str | None = None
    loosened: tuple[Loosened, ...] | UnsetType = UNSET
    made_by: str | UnsetType = UNSET


class StepEntered(EventBase, frozen=True, kw_only=True, tag="step_entered"):
    """The run came to a step, from another or because somebody had it tried again.

    A join stays `waiting` until each of its branches has come. With `undoes` the step's tool of
    compensation is called for that visit.
    """

    by: str | None = None
    kind: Kind
    source: str | None = None
    step_id: str
    tier: Tier
    via: str | None = None
    visit: int
    waiting: bool = False
    undoes: int | UnsetType = UNSET


class StepCleared(EventBase, frozen=True, kw_only=True, tag="step_cleared"):
    """The step may go on: a task with its call, a gateway with its branch.

    `weighed` has the numbers on which a panel cleared it.
    """

    branch: str | None = None
    by: str = AUTOPILOT
    reason: str
    request: CallRequest | None = None
    step_id: str
    visit: int
    weighed: ClearanceDecision | UnsetType = UNSET


class CallSettled(EventBase, frozen=True, kw_only=True, tag="call_settled"):
    """The call of a step ended, with an output or with an error.

    `by`, `reason`, `request` and `weighed` are set where the step was cleared in the same breath,
    since nothing had to be sent.
    """

    attempts: int = 0
    by: str | None = None
    error: Failure | None = None
    output: Any = None
    reason: str | None = None
    request: CallRequest | None = None
    signal: Any = None
    step_id: str
    visit: int
    weighed: ClearanceDecision | UnsetType = UNSET


class GateOpened(EventBase, frozen=True, kw_only=True, tag="gate_opened"):
    """The run parked until a human decides; `request` is the call that an approval sends.

    `effects` are the irreversible calls that a decision can lead to before the next human; None in
    histories that were written before gates told of them. `missing` are JSON pointers of the inputs
    that the step needs and lacks. `differences` are those of a promoted run's call from the
    recorded one. `weighed` says on which numbers a panel that was for clearing did not suffice.
    Those `barred` have made the gate laxer. One `in_doubt` is about a call that may have happened.
    Since a clock was breached it is open to people of the `breach_role`, too. At an action it shows
    what has `changed` since its rule decided; it opens again where somebody changes `arguments`.
    """

    decisions: tuple[str, ...]
    digest: str
    effects: tuple[PlannedCall, ...] | None = None
    label: str
    missing: tuple[str, ...] = ()
    reason: str
    request: CallRequest | None = None
    role: str | None = None
    signals: tuple[str, ...] = ()
    step_id: str
    visit: int
    policy: GatePolicy | UnsetType = UNSET
    due_at: datetime | UnsetType = UNSET
    remind_at: tuple[datetime, ...] | UnsetType = UNSET
    question: str | UnsetType = UNSET
    differences: tuple[Difference, ...] | UnsetType = UNSET
    weighed: ClearanceDecision | UnsetType = UNSET
    barred: tuple[str, ...] | UnsetType = UNSET
    in_doubt: bool | UnsetType = UNSET
    breach_role: str | UnsetType = UNSET
    function: GateFunction | UnsetType = UNSET
    changed: str | UnsetType = UNSET
    arguments: dict[str, Any] | UnsetType = UNSET


class VerdictGiven(EventBase, frozen=True, kw_only=True, tag="verdict_given"):
    """A human decided; the gate's visit is closed unless the quorum is still `open`.

    `inputs` are those that were missing. A verdict is `solo` where its giver was the company's only
    person and the policy asks for more; `forms` are those of a quorum, by person. One of a `batch`
    was given at several gates at once. An action is made with these `arguments`.
    """

    by: str
    comment: str | None = None
    decision: str
    inputs: dict[str, Any] | None = None
    request: CallRequest | None = None
    step_id: str
    traceparent: str | None = None
    via: str | None = None
    visit: int
    verdict_id: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    form: dict[str, Any] | UnsetType = UNSET
    forms: dict[str, Any] | UnsetType = UNSET
    open: bool | UnsetType = UNSET
    solo: bool | UnsetType = UNSET
    batch: Batch | UnsetType = UNSET
    arguments: dict[str, Any] | UnsetType = UNSET


class ProposalMade(EventBase, frozen=True, kw_only=True, tag="proposal_made"):
    """Somebody said what they would decide at a gate; the gate stays as it is."""

    by: str
    comment: str | None = None
    confidence: float | None = None
    decision: str
    digest: str | None = None
    form: dict[str, Any] | None = None
    step_id: str
    via: str | None = None
    visit: int


class RunEnded(EventBase, frozen=True, kw_only=True, tag="run_ended"):
    """The run is over; `was` is its status before."""

    by: str | None = None
    error: Failure | None = None
    outcome: str | None = None
    reason: str | None = None
    status: Literal["completed", "failed", "cancelled"]
    via: str | None = None
    was: str | None = None


class Attribution(Struct, frozen=True):
    """Who an event is by: what the service does by itself is by the autopilot."""

    by: str
    by_kind: ByKind
    on_behalf_of: str | None = None


def attribution(event: EventBase) -> Attribution:
    """Who an event is by; one without a kind is by a person, if it names anybody."""
    by = getattr(event, "by", None) or AUTOPILOT
    return Attribution(by, kind_of(event), None if event.on_behalf_of is UNSET else event.on_behalf_of)


def kind_of(event: EventBase) -> ByKind:
    """What an event is by."""
    if event.by_kind is not UNSET:
        return event.by_kind
    return "autopilot" if getattr(event, "by", None) in (None, "", AUTOPILOT) else "person"


def kept_kind(kind: ByKind) -> ByKind | UnsetType:
    """A kind as an event keeps it: not at all where `attribution` knows."""
    return UNSET if kind in ("person", "autopilot") else kind


class GateEvent(EventBase, frozen=True, kw_only=True):
    """An event at a visit of a gate."""

    step_id: str
    visit: int


class VerdictWithdrawn(GateEvent, frozen=True, kw_only=True, tag="verdict_withdrawn"):
    """A verdict counts no more: its giver took it back, or lost the right to decide."""

    by: str = AUTOPILOT
    giver: str
    verdict_id: str | UnsetType = UNSET
    via: str | None = None


class GateReminded(GateEvent, frozen=True, kw_only=True, tag="gate_reminded"):
    """A reminder was due; `left` are those to come."""

    due_at: datetime | UnsetType = UNSET
    left: tuple[datetime, ...] = ()


class GateEscalated(GateEvent, frozen=True, kw_only=True, tag="gate_escalated"):
    """The deadline passed, and people of the role `to` may decide, too.

    `due_at` is when the gate closes by itself, if it does.
    """

    due_at: datetime | UnsetType = UNSET
    to: str


class GateExpired(GateEvent, frozen=True, kw_only=True, tag="gate_expired"):
    """The deadline closed the gate with a decision."""

    by: str
    decision: str


class GateRescheduled(GateEvent, frozen=True, kw_only=True, tag="gate_rescheduled"):
    """The company's calendar or a clock changed, and with it when the gate is due."""

    due_at: datetime | UnsetType = UNSET
    remind_at: tuple[datetime, ...] = ()


class ClockEvent(EventBase, frozen=True, kw_only=True):
    """An event of a clock of the run, named by its id."""

    clock: str


class ClockStarted(ClockEvent, frozen=True, kw_only=True, tag="clock_started"):
    """The law counts from `started_at`.

    Where an expression has no clear answer, `assumed` names what it should have given and `why`
    says why; it is asked again whenever facts change. `from_step` is the step that was done.
    """

    assumed: tuple[str, ...] | UnsetType = UNSET
    due_at: datetime | UnsetType = UNSET
    from_step: str | UnsetType = UNSET
    label: str
    source: str | UnsetType = UNSET
    started_at: datetime
    warn_at: tuple[datetime, ...] | UnsetType = UNSET
    why: str | UnsetType = UNSET
    within: str | UnsetType = UNSET


class ClockPaused(ClockEvent, frozen=True, kw_only=True, tag="clock_paused"):
    """The clock stands still while the run is `during` that; `remaining` is what is left of it."""

    during: str
    remaining: tuple[Duration, ...] = ()


class ClockResumed(ClockEvent, frozen=True, kw_only=True, tag="clock_resumed"):
    """The clock goes on; `paused_s` is for how long it has stood still in all.

    Business days that would be over sooner than without the pause are `remaining` for longer.
    """

    due_at: datetime | UnsetType = UNSET
    paused_s: float
    remaining: tuple[Duration, ...] | UnsetType = UNSET
    warn_at: tuple[datetime, ...] = ()


class ClockExtended(ClockEvent, frozen=True, kw_only=True, tag="clock_extended"):
    """The notice of an extension was given, and the clock has so much more time."""

    due_at: datetime | UnsetType = UNSET
    extended_by: str
    once_done: str
    warn_at: tuple[datetime, ...] = ()


class ClockRescheduled(ClockEvent, frozen=True, kw_only=True, tag="clock_rescheduled"):
    """The clock is due at another time by the company's calendar, or by what is known by now.

    With `started_at` and `within` it counts anew from there; so it is, too, where another version
    of the template gives another length.
    """

    assumed: tuple[str, ...] | UnsetType = UNSET
    due_at: datetime | UnsetType = UNSET
    label: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    started_at: datetime | UnsetType = UNSET
    warn_at: tuple[datetime, ...] = ()
    within: str | UnsetType = UNSET


class ClockWarned(ClockEvent, frozen=True, kw_only=True, tag="clock_warned"):
    """The clock is due soon; `left` are the warnings to come."""

    due_at: datetime
    left: tuple[datetime, ...] = ()


class ClockBreached(ClockEvent, frozen=True, kw_only=True, tag="clock_breached"):
    """The time was over at `due_at`, and no act of those that the law asks for was done.

    The `gates` that stand in the way are open to the role `escalate`, too.
    """

    due_at: datetime
    escalate: str | UnsetType = UNSET
    gates: tuple[str, ...] | UnsetType = UNSET


class ClockStopped(ClockEvent, frozen=True, kw_only=True, tag="clock_stopped"):
    """The step `stopped_by` is the act that the law asks for; without one a `reason` is told."""

    due_at: datetime | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    stopped_by: str | UnsetType = UNSET


TimedEvent = (
    ClockStarted
    | ClockPaused
    | ClockResumed
    | ClockExtended
    | ClockRescheduled
    | ClockWarned
    | ClockBreached
    | ClockStopped
)
"""The events of clocks."""


class GateBlocked(GateEvent, frozen=True, kw_only=True, tag="gate_blocked"):
    """Too few people can close the gate: `needed` are more than `eligible`."""

    eligible: int
    needed: int


class GateUnblocked(GateEvent, frozen=True, kw_only=True, tag="gate_unblocked"):
    """Enough people can close the gate again."""


class GlassBroken(EventBase, frozen=True, kw_only=True, tag="glass_broken"):
    """Somebody whom a run is closed to reads it until then, and has said why."""

    by: str
    reason: str
    until: datetime
    via: str | None = None


class GlassMended(EventBase, frozen=True, kw_only=True, tag="glass_mended"):
    """The time is over in which `reader` read a run that is closed to them."""

    reader: str


class GateAsked(GateEvent, frozen=True, kw_only=True, tag="gate_asked"):
    """Somebody who may decide asks the agent something first."""

    by: str
    question: str
    text: str
    to: Literal["agent"] = "agent"
    via: str | None = None


class GateAnswered(GateEvent, frozen=True, kw_only=True, tag="gate_answered"):
    """The agent has answered the question of that id."""

    by: str
    question: str
    text: str
    via: str | None = None


OpenGateEvent = (
    VerdictWithdrawn
    | GateReminded
    | GateEscalated
    | GateRescheduled
    | GateBlocked
    | GateUnblocked
    | GateAsked
    | GateAnswered
)
"""Events after which the gate is as open as before."""


class PanelEvent(EventBase, frozen=True, kw_only=True):
    """An event of the panel at a visit; `digest` is that of what it is asked about."""

    digest: str
    step_id: str
    visit: int


class PanelAsked(PanelEvent, frozen=True, kw_only=True, tag="panel_asked"):
    """The judges of a step are asked about its prepared call.

    Rules have answered in `votes`, and so has each tool that cannot be asked. `calls` ask the
    others.
    """

    calls: tuple[JudgeCall, ...] = ()
    quorum: int
    request: CallRequest
    votes: tuple[Vote, ...] = ()


class JudgeAnswered(PanelEvent, frozen=True, kw_only=True, tag="judge_answered"):
    """A judge that was called has answered, or has not."""

    attempts: int = 0
    vote: Vote


class PanelDecided(PanelEvent, frozen=True, kw_only=True, tag="panel_decided"):
    """All judges were heard: `clear` of them clear the step, and `quorum` are needed.

    With the quorum, `confidence` is its raw confidence, and `weighed` what that was weighed on.
    """

    clear: int
    confidence: float | UnsetType = UNSET
    quorum: int
    weighed: ClearanceDecision | UnsetType = UNSET


HowEnded = Literal["elapsed", "message", "timeout"]


class WaitBegan(EventBase, frozen=True, kw_only=True, tag="wait_began"):
    """A step waits until a time, for a message, or for a message until a time.

    It is told again where a changed calendar moves the time.
    """

    message: str | None = None
    step_id: str
    until: datetime | None = None
    visit: int
    business_days: bool | UnsetType = UNSET


class WaitEnded(EventBase, frozen=True, kw_only=True, tag="wait_ended"):
    """The time has come, or the message; `payload` is that of the message."""

    how: HowEnded
    payload: Any = None
    step_id: str
    visit: int


class HandoverEvent(EventBase, frozen=True, kw_only=True):
    """An event of a call that the agent makes itself."""

    step_id: str
    visit: int


class CallGranted(HandoverEvent, frozen=True, kw_only=True, tag="call_granted"):
    """The agent may make the call of the step, once and until then."""

    expires_at: datetime


class CallConsumed(HandoverEvent, frozen=True, kw_only=True, tag="call_consumed"):
    """The agent makes the call now, and tells its outcome until then; the key names its request."""

    by: str
    key_hash: str
    until: datetime
    via: str | None = None


class MessageReceived(EventBase, frozen=True, kw_only=True, tag="message_received"):
    """A message was delivered to the run; it is kept until a step takes it."""

    by: str
    name: str
    payload: Any = None
    via: str | None = None


class CompensationBegan(EventBase, frozen=True, kw_only=True, tag="compensation_began"):
    """What the run did is undone in reverse order, and then the run ends with `status`."""

    by: str | None = None
    outcome: str | None = None
    reason: str | None = None
    status: Literal["completed", "cancelled"]
    via: str | None = None
    was: str | None = None
