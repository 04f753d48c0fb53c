"""What is said to a run, what then became fact, and what the run asks of the outside.

Commands are imperative and may be refused; outcomes are never refused and may be stale; events are facts in the
past tense; effects are asked of the outside and derived from the run.

Events, and what they hold, have their fields in alphabetical order, as canonical JSON has its members: they are written
in the order in which they are defined. `by` says who, `via` with what kind of token.
"""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import Any, Literal

from actors.core.calls import Connectors, PlannedCall, Request
from actors.core.template import Kind, Tier
from actors.core.values import value

AUTOPILOT = "autopilot"
# The codes of failures that the core decides by.
OUTCOME_UNKNOWN_CODE = "outcome_unknown"
CONNECTOR_CHANGED_CODE = "connector_changed"


@value(kw_only=True)
class Start:
    """Begin this run of a template."""

    run_id: str
    company_id: str
    by: str
    via: str | None = None
    inputs: dict[str, Any]
    auto_resolve: bool = True
    traceparent: str | None = None
    at: datetime
    connectors: Connectors = field(default_factory=dict)


@value(kw_only=True)
class Resume:
    """A human's verdict on the gate that is named; `digest` and the entity `tags` say which state of it was seen.

    `output` is what the tool answered, where a human has seen that a call of unknown outcome happened; `inputs` are
    those that were missing at the gate.
    """

    gate: str
    decision: str
    by: str
    via: str | None = None
    role: str
    comment: str | None = None
    digest: str | None = None
    tags: frozenset[str] | None = None
    output: Any = None
    inputs: dict[str, Any] | None = None
    traceparent: str | None = None
    at: datetime
    connectors: Connectors = field(default_factory=dict)


@value(kw_only=True)
class Cancel:
    """End the run where it stands; the entity `tags` say in which state it was seen."""

    by: str
    via: str | None = None
    reason: str | None = None
    tags: frozenset[str] | None = None
    at: datetime
    connectors: Connectors = field(default_factory=dict)


@value(kw_only=True)
class Retry:
    """Go on from the step that failed; `tags` as above."""

    by: str
    via: str | None = None
    tags: frozenset[str] | None = None
    at: datetime
    connectors: Connectors = field(default_factory=dict)


@value(kw_only=True)
class Failure:
    """Why a step or a run failed: a stable code, a sentence, and what a person needs to go on.

    `maybe_sent` is False where it is certain that nothing of the call reached the far side, and None where that was
    not recorded.
    """

    attempts: int = 0
    code: str
    detail: str
    excerpt: str | None = None
    maybe_sent: bool | None = None
    status_code: int | None = None
    step_id: str | None = None


@value(kw_only=True)
class CallReturned:
    """The tool answered the call of that visit."""

    step_id: str
    visit: int
    output: Any
    signal: Any = None
    attempts: int = 1
    at: datetime
    connectors: Connectors = field(default_factory=dict)


@value(kw_only=True)
class CallFailed:
    """The call of that visit failed for good; `unknown` when nobody can know whether it took effect."""

    step_id: str
    visit: int
    error: Failure
    unknown: bool = False
    at: datetime
    connectors: Connectors = field(default_factory=dict)


@value(kw_only=True)
class Elapsed:
    """The wake-up of that visit is due."""

    step_id: str
    visit: int
    at: datetime
    connectors: Connectors = field(default_factory=dict)


Command = Start | Resume | Cancel | Retry
Outcome = CallReturned | CallFailed | Elapsed
Message = Command | Outcome


@value(kw_only=True)
class RunStarted:
    """The run exists, pinned to one version of its template."""

    at: datetime
    auto_resolve: bool
    by: str
    company_id: str
    inputs: dict[str, Any]
    run_id: str
    template_digest: str
    template_version: int
    traceparent: str | None = None
    type: Literal["run_started"] = "run_started"
    vertical: str
    via: str | None = None


@value(kw_only=True)
class StepEntered:
    """The run came to a step, from another or because somebody had it tried again.

    A join stays `waiting` until each of its branches has come.
    """

    at: datetime
    by: str | None = None
    kind: Kind
    source: str | None = None
    step_id: str
    tier: Tier
    type: Literal["step_entered"] = "step_entered"
    via: str | None = None
    visit: int
    waiting: bool = False


@value(kw_only=True)
class StepCleared:
    """The step may go on, by whom and why: a task with the call that it will make, a gateway with its branch."""

    at: datetime
    branch: str | None = None
    by: str = AUTOPILOT
    reason: str
    request: Request | None = None
    step_id: str
    type: Literal["step_cleared"] = "step_cleared"
    visit: int


@value(kw_only=True)
class CallSettled:
    """The call of a step ended, with an output or with an error.

    `by`, `reason` and `request` are set where the step was cleared in the same breath, since nothing had to be sent.
    """

    at: datetime
    attempts: int = 0
    by: str | None = None
    error: Failure | None = None
    output: Any = None
    reason: str | None = None
    request: Request | None = None
    signal: Any = None
    step_id: str
    type: Literal["call_settled"] = "call_settled"
    visit: int


@value(kw_only=True)
class GateOpened:
    """The run parked at a step until a human decides; `request` is the call that an approval will send.

    `effects` are the irreversible calls that a decision can lead to before the next human; None in histories that
    were written before gates told of them. `missing` are JSON pointers of the inputs that the step needs and lacks.
    """

    at: datetime
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
    type: Literal["gate_opened"] = "gate_opened"
    visit: int


@value(kw_only=True)
class VerdictGiven:
    """A human decided, and the gate's visit is closed; `inputs` are those that were missing, and are the run's now."""

    at: datetime
    by: str
    comment: str | None = None
    decision: str
    inputs: dict[str, Any] | None = None
    request: Request | None = None
    step_id: str
    traceparent: str | None = None
    type: Literal["verdict_given"] = "verdict_given"
    via: str | None = None
    visit: int


@value(kw_only=True)
class RunEnded:
    """The run is over; `was` is its status before."""

    at: datetime
    by: str | None = None
    error: Failure | None = None
    outcome: str | None = None
    reason: str | None = None
    status: Literal["completed", "failed", "cancelled"]
    type: Literal["run_ended"] = "run_ended"
    via: str | None = None
    was: str | None = None


LaterEvent = StepEntered | StepCleared | CallSettled | GateOpened | VerdictGiven | RunEnded
Event = RunStarted | LaterEvent


def effect_key(run_id: str, step_id: str, visit: int) -> str:
    """The name of what one visit asks for; also the Idempotency-Key that a connector sends."""
    return f"{run_id}:{step_id}:{visit}"


@value
class Call:
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


@value
class Wake:
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


@value
class Rejected:
    """A command that was refused: the contract's code, a sentence, and what the caller needs to go on."""

    code: str
    detail: str
    more: dict[str, Any] = field(default_factory=dict)
