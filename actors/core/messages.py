"""What is said to a run, what then became fact, and what the run asks of the outside.

Commands are imperative and may be refused; outcomes are never refused and may be stale; events are
facts in the past tense; effects are asked of the outside and derived from the run.

`by` says who, `by_kind` what that is, `via` with what kind of token.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field

from actors.core.calls import PlannedCall, Request
from actors.core.people.authority import ByKind
from actors.core.template import Kind, Tier

AUTOPILOT = "autopilot"
# The codes of failures that the core decides by.
OUTCOME_UNKNOWN_CODE = "outcome_unknown"
CONNECTOR_CHANGED_CODE = "connector_changed"


class Start(Struct, frozen=True, kw_only=True):
    """Begin this run of a template."""

    run_id: str
    company_id: str
    by: str
    by_kind: ByKind = "person"
    via: str | None = None
    inputs: dict[str, Any]
    auto_resolve: bool = True
    traceparent: str | None = None
    at: datetime


class Resume(Struct, frozen=True, kw_only=True):
    """A human's verdict on a gate; `digest` and the entity `tags` name the state that was seen.

    `output` is what the tool answered, where a human has seen that a call of unknown outcome
    happened; `inputs` are those that were missing at the gate.
    """

    gate: str
    decision: str
    by: str
    via: str | None = None
    by_kind: ByKind = "person"
    role: str
    comment: str | None = None
    digest: str | None = None
    tags: frozenset[str] | None = None
    output: Any = None
    inputs: dict[str, Any] | None = None
    traceparent: str | None = None
    at: datetime


class Cancel(Struct, frozen=True, kw_only=True):
    """End the run where it stands; the entity `tags` say in which state it was seen."""

    by: str
    by_kind: ByKind = "person"
    via: str | None = None
    reason: str | None = None
    tags: frozenset[str] | None = None
    at: datetime


class Retry(Struct, frozen=True, kw_only=True):
    """Go on from the step that failed; `tags` as above."""

    by: str
    by_kind: ByKind = "person"
    via: str | None = None
    tags: frozenset[str] | None = None
    at: datetime


class Propose(Struct, frozen=True, kw_only=True):
    """What somebody would decide at a gate, who may not or does not want to."""

    gate: str
    decision: str
    by: str
    by_kind: ByKind = "person"
    via: str | None = None
    role: str
    comment: str | None = None
    confidence: float | None = None
    form: dict[str, Any] | None = None
    digest: str | None = None
    at: datetime


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


class CallReturned(Struct, frozen=True, kw_only=True):
    """The tool answered the call of that visit."""

    step_id: str
    visit: int
    output: Any
    signal: Any = None
    attempts: int = 1
    at: datetime


class CallFailed(Struct, frozen=True, kw_only=True):
    """The call of that visit failed for good; `unknown` when it may have taken effect."""

    step_id: str
    visit: int
    error: Failure
    unknown: bool = False
    at: datetime


class Elapsed(Struct, frozen=True, kw_only=True):
    """The wake-up of that visit is due."""

    step_id: str
    visit: int
    at: datetime


Command = Start | Resume | Cancel | Retry | Propose
Outcome = CallReturned | CallFailed | Elapsed
Message = Command | Outcome


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
    """The run exists, pinned to one version of its template."""

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


class StepEntered(EventBase, frozen=True, kw_only=True, tag="step_entered"):
    """The run came to a step, from another or because somebody had it tried again.

    A join stays `waiting` until each of its branches has come.
    """

    by: str | None = None
    kind: Kind
    source: str | None = None
    step_id: str
    tier: Tier
    via: str | None = None
    visit: int
    waiting: bool = False


class StepCleared(EventBase, frozen=True, kw_only=True, tag="step_cleared"):
    """The step may go on: a task with its call, a gateway with its branch."""

    branch: str | None = None
    by: str = AUTOPILOT
    reason: str
    request: Request | None = None
    step_id: str
    visit: int


class CallSettled(EventBase, frozen=True, kw_only=True, tag="call_settled"):
    """The call of a step ended, with an output or with an error.

    `by`, `reason` and `request` are set where the step was cleared in the same breath, since
    nothing had to be sent.
    """

    attempts: int = 0
    by: str | None = None
    error: Failure | None = None
    output: Any = None
    reason: str | None = None
    request: Request | None = None
    signal: Any = None
    step_id: str
    visit: int


class GateOpened(EventBase, frozen=True, kw_only=True, tag="gate_opened"):
    """The run parked until a human decides; `request` is the call that an approval sends.

    `effects` are the irreversible calls that a decision can lead to before the next human; None in
    histories that were written before gates told of them. `missing` are JSON pointers of the inputs
    that the step needs and lacks.
    """

    decisions: tuple[str, ...]
    digest: str
    effects: tuple[PlannedCall, ...] | None = None
    label: str
    missing: tuple[str, ...] = ()
    reason: str
    request: Request | None = None
    role: str | None = None
    signals: tuple[str, ...] = ()
    step_id: str
    visit: int


class VerdictGiven(EventBase, frozen=True, kw_only=True, tag="verdict_given"):
    """A human decided, and the gate's visit is closed; `inputs` are those that were missing."""

    by: str
    comment: str | None = None
    decision: str
    inputs: dict[str, Any] | None = None
    request: Request | None = None
    step_id: str
    traceparent: str | None = None
    via: str | None = None
    visit: int


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


LaterEvent = StepEntered | StepCleared | CallSettled | GateOpened | VerdictGiven | ProposalMade | RunEnded
Event = RunStarted | LaterEvent


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


def effect_key(run_id: str, step_id: str, visit: int) -> str:
    """The name of what one visit asks for; also the Idempotency-Key that a connector sends."""
    return f"{run_id}:{step_id}:{visit}"


class Call(Struct, frozen=True):
    """Send this request, once if it is not `repeatable`, and say what came of it.

    `traceparent` is the W3C trace context of whoever set the run going last.
    """

    company_id: str
    run_id: str
    step_id: str
    visit: int
    request: Request
    repeatable: bool
    traceparent: str | None = None

    @property
    def key(self) -> str:
        """`run:step:visit`."""
        return effect_key(self.run_id, self.step_id, self.visit)


class Wake(Struct, frozen=True):
    """Send Elapsed to this visit, at once when there is no time."""

    company_id: str
    run_id: str
    step_id: str
    visit: int
    at: datetime | None = None

    @property
    def key(self) -> str:
        """`run:step:visit`."""
        return effect_key(self.run_id, self.step_id, self.visit)


Effect = Call | Wake


class Rejected(Struct, frozen=True):
    """A refused command: the contract's code, a sentence, and extra members."""

    code: str
    detail: str
    more: dict[str, Any] = field(default_factory=dict)
