"""What is said to a run, what then became fact, and what the run asks of the outside.

Commands are imperative and may be refused; outcomes are never refused and may be stale; events are facts in the
past tense; effects are asked of the outside and derived from the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from actors.calls import Connectors, Request
from actors.template import Kind, Tier

AUTOPILOT = "autopilot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Begin this run of a template."""

    run_id: str
    company_id: str
    by: str
    inputs: dict[str, Any]
    auto_resolve: bool = True
    traceparent: str | None = None
    at: datetime
    connectors: Connectors = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """A human's verdict on the gate that is named; `digest` and `versions` say which state of it was seen.

    `output` is what the tool answered, where a human has seen that a call of unknown outcome happened.
    """

    gate: str
    decision: str
    by: str
    role: str
    comment: str | None = None
    digest: str | None = None
    versions: frozenset[int] | None = None
    output: Any = None
    traceparent: str | None = None
    at: datetime
    connectors: Connectors = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """End the run where it stands."""

    by: str
    reason: str | None = None
    at: datetime
    connectors: Connectors = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Go on from the step that failed."""

    by: str
    at: datetime
    connectors: Connectors = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a step or a run failed: a stable code, a sentence, and what a person needs to go on."""

    code: str
    detail: str
    step_id: str | None = None
    attempts: int = 0
    status_code: int | None = None
    excerpt: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReturned:
    """The tool answered the call of that visit."""

    step_id: str
    visit: int
    output: Any
    signal: Any = None
    attempts: int = 1
    at: datetime
    connectors: Connectors = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailed:
    """The call of that visit failed for good; `unknown` when nobody can know whether it took effect."""

    step_id: str
    visit: int
    error: Failure
    unknown: bool = False
    at: datetime
    connectors: Connectors = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Elapsed:
    """The wake-up of that visit is due."""

    step_id: str
    visit: int
    at: datetime
    connectors: Connectors = field(default_factory=dict)


Command = Start | Resume | Cancel | Retry
Outcome = CallReturned | CallFailed | Elapsed
Message = Command | Outcome


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The run exists, pinned to one version of its template."""

    at: datetime
    run_id: str
    company_id: str
    by: str
    vertical: str
    template_version: int
    template_digest: str
    inputs: dict[str, Any]
    auto_resolve: bool
    traceparent: str | None = None
    type: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True)
class StepEntered:
    """The run came to a step, from another or because somebody had it tried again.

    A join stays `waiting` until each of its branches has come.
    """

    at: datetime
    step_id: str
    visit: int
    kind: Kind
    tier: Tier
    source: str | None = None
    waiting: bool = False
    by: str | None = None
    type: Literal["step_entered"] = "step_entered"


@dataclass(frozen=True, slots=True)
class StepCleared:
    """The step may go on, by whom and why: a task with the call that it will make, a gateway with its branch."""

    at: datetime
    step_id: str
    visit: int
    reason: str
    by: str = AUTOPILOT
    request: Request | None = None
    branch: str | None = None
    type: Literal["step_cleared"] = "step_cleared"


@dataclass(frozen=True, slots=True)
class CallSettled:
    """The call of a step ended, with an output or with an error.

    `by`, `reason` and `request` are set where the step was cleared in the same breath, since nothing had to be sent.
    """

    at: datetime
    step_id: str
    visit: int
    output: Any = None
    signal: Any = None
    error: Failure | None = None
    attempts: int = 0
    by: str | None = None
    reason: str | None = None
    request: Request | None = None
    type: Literal["call_settled"] = "call_settled"


@dataclass(frozen=True, slots=True)
class GateOpened:
    """The run parked at a step until a human decides; `request` is the call that an approval will send."""

    at: datetime
    step_id: str
    visit: int
    label: str
    reason: str
    decisions: tuple[str, ...]
    digest: str
    role: str | None = None
    request: Request | None = None
    signals: tuple[str, ...] = ()
    type: Literal["gate_opened"] = "gate_opened"


@dataclass(frozen=True, slots=True)
class VerdictGiven:
    """A human decided, and the gate's visit is closed."""

    at: datetime
    step_id: str
    visit: int
    decision: str
    by: str
    comment: str | None = None
    request: Request | None = None
    traceparent: str | None = None
    type: Literal["verdict_given"] = "verdict_given"


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over."""

    at: datetime
    status: Literal["completed", "failed", "cancelled"]
    outcome: str | None = None
    by: str | None = None
    reason: str | None = None
    error: Failure | None = None
    type: Literal["run_ended"] = "run_ended"


LaterEvent = StepEntered | StepCleared | CallSettled | GateOpened | VerdictGiven | RunEnded
Event = RunStarted | LaterEvent


def effect_key(run_id: str, step_id: str, visit: int) -> str:
    """The name of what one visit asks for; also the Idempotency-Key that a connector sends."""
    return f"{run_id}:{step_id}:{visit}"


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Rejected:
    """A command that was refused: the contract's code, a sentence, and what the caller needs to go on."""

    code: str
    detail: str
    more: dict[str, Any] = field(default_factory=dict)
