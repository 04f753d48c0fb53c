"""The shapes of runs and their history."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from daemon.model.event_log import EventType

Kind = Literal["task", "gate", "gateway", "end"]
Tier = Literal["low", "medium", "high", "critical"]


class PinShape(TypedDict):
    """The version of a template that a run began with."""

    version: int
    digest: str


class CallShape(TypedDict):
    """A call as it is sent, or would have been; credentials are masked."""

    tool: str
    mode: Literal["shadow", "live"]
    method: str | None
    url: str | None
    headers: dict[str, str]
    body: dict[str, Any] | None
    connector_version: int | None


class ConnectorPinShape(TypedDict):
    """The connector of a call to come, as it stands."""

    origin: str
    method: str
    path: str
    version: int


class PlannedCallShape(TypedDict):
    """An irreversible call that `decisions` at a gate can lead to before the next human; `call` where it is known."""

    step_id: str
    label: str
    tool: str
    decisions: list[str]
    mode: Literal["shadow", "live"]
    connector: ConnectorPinShape | None
    call: CallShape | None


class GateShape(TypedDict):
    """What a human is asked."""

    step_id: str
    label: str
    kind: Kind
    tier: Tier
    visit: int
    decisions: list[str]
    role: str | None
    reason: str
    opened_at: datetime
    digest: str
    signals: list[str]
    missing: list[str]
    effect: CallShape | None
    effects: list[PlannedCallShape]


class GateChangedShape(TypedDict):
    """An open gate that stands otherwise, since a connector behind it has changed; told on streams, without an id."""

    type: Literal["gate_changed"]
    run_id: str
    gate: GateShape
    etag: str


class VerdictShape(TypedDict):
    """What a human answered."""

    decision: str
    by: str
    at: datetime
    comment: str | None
    inputs: dict[str, Any] | None


class FailureShape(TypedDict):
    """Why a step or a run failed."""

    code: str
    detail: str
    step_id: str | None
    attempts: int
    status_code: int | None
    excerpt: str | None
    maybe_sent: bool | None


class VisitShape(TypedDict):
    """One entry of a run into a step."""

    step_id: str
    visit: int
    kind: Kind
    status: Literal["waiting", "ready", "calling", "parked", "done", "denied", "failed", "cancelled"]
    mode: Literal["shadow", "live"] | None
    tier: Tier
    resolved_by: str | None
    reason: str | None
    verdict: VerdictShape | None
    started_at: datetime
    ended_at: datetime | None
    request: CallShape | None
    output: Any
    attempts: int
    error: FailureShape | None


class EndShape(TypedDict):
    """How a run ended."""

    at: datetime
    by: str | None
    reason: str | None


class RunSummaryShape(TypedDict):
    """A run without what makes it large."""

    id: str
    vertical: str
    template: PinShape
    status: Literal["executing", "parked", "completed", "failed", "cancelled"]
    parked_at: str | None
    gate: GateShape | None
    parked_gates: list[str]
    gates: list[GateShape]
    auto_resolve: bool
    outcome: str | None
    error: FailureShape | None
    version: int
    created_by: str
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None
    ended: EndShape | None


class RunShape(RunSummaryShape):
    """A run."""

    inputs: dict[str, Any]
    facts: dict[str, Any]
    trace: list[VisitShape]


class EventShape(TypedDict):
    """A fact of a run's history; which further members it has depends on its type."""

    seq: int
    type: EventType
    at: datetime
    by: NotRequired[str | None]
    step_id: NotRequired[str]
    visit: NotRequired[int]
    kind: NotRequired[Kind]
    tier: NotRequired[Tier]
    source: NotRequired[str | None]
    waiting: NotRequired[bool]
    label: NotRequired[str]
    decision: NotRequired[str]
    decisions: NotRequired[list[str]]
    comment: NotRequired[str | None]
    reason: NotRequired[str | None]
    branch: NotRequired[str | None]
    request: NotRequired[CallShape | None]
    attempts: NotRequired[int]
    output: NotRequired[Any]
    error: NotRequired[FailureShape | None]
    status: NotRequired[Literal["completed", "failed", "cancelled"]]
    outcome: NotRequired[str | None]
    was: NotRequired[str | None]
    vertical: NotRequired[str]
    auto_resolve: NotRequired[bool]
