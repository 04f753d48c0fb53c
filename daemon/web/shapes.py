"""The shapes of what callers receive, for the OpenAPI document; `render` makes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from typing_extensions import TypedDict


class UserShape(TypedDict):
    """A person."""

    id: str
    email: str
    name: str | None


class CompanyShape(TypedDict):
    """A tenant."""

    id: str
    name: str


class AccountShape(TypedDict):
    """Who a token stands for."""

    user: UserShape
    company: CompanyShape
    role: str


class SessionShape(AccountShape):
    """A token, and who it stands for."""

    token: str
    token_type: Literal["bearer"]
    expires_at: datetime


class TemplateShape(TypedDict):
    """A process template in a list."""

    vertical: str
    title: str
    description: str
    version: int
    digest: str
    gates: list[str]
    steps: int


class TemplateDetailShape(TemplateShape):
    """A process template with the schema of its inputs and an example of them."""

    inputs_schema: dict[str, Any]
    inputs: dict[str, Any]


class NodeShape(TypedDict):
    """A step of a template, with its governance."""

    id: str
    kind: Literal["task", "gate", "gateway", "end"]
    label: str
    tier: Literal["low", "medium", "high", "critical"]
    tool: str | None
    effect: Literal["read", "reversible", "irreversible"] | None
    gate: bool
    decisions: list[str]
    role: str | None
    flow: Literal["exclusive", "parallel"] | None
    outcome: str | None


class EdgeShape(TypedDict):
    """A way from one step to another."""

    source: str
    target: str
    branch: str | None
    when: str | None


class CanvasShape(TypedDict):
    """A template as a graph."""

    vertical: str
    version: int
    digest: str
    title: str
    start: str
    nodes: list[NodeShape]
    edges: list[EdgeShape]
    gates: list[str]


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


class GateShape(TypedDict):
    """What a human is asked."""

    step_id: str
    label: str
    kind: str
    tier: str
    visit: int
    decisions: list[str]
    role: str | None
    reason: str
    opened_at: datetime
    digest: str
    signals: list[str]
    effect: CallShape | None


class VerdictShape(TypedDict):
    """What a human answered."""

    decision: str
    by: str
    at: datetime
    comment: str | None


class FailureShape(TypedDict):
    """Why a step or a run failed."""

    code: str
    detail: str
    step_id: str | None
    attempts: int
    status_code: int | None
    excerpt: str | None


class VisitShape(TypedDict):
    """One entry of a run into a step."""

    step_id: str
    visit: int
    kind: str
    status: Literal["waiting", "ready", "calling", "parked", "done", "denied", "failed", "cancelled"]
    mode: Literal["shadow", "live"] | None
    tier: str
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


class RunShape(TypedDict):
    """A run."""

    id: str
    vertical: str
    template: PinShape
    status: Literal["executing", "parked", "completed", "failed", "cancelled"]
    parked_at: str | None
    gate: GateShape | None
    parked_gates: list[str]
    gates: list[GateShape]
    auto_resolve: bool
    inputs: dict[str, Any]
    facts: dict[str, Any]
    outcome: str | None
    error: FailureShape | None
    trace: list[VisitShape]
    version: int
    created_by: str
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None
    ended: EndShape | None


class EventShape(TypedDict):
    """A fact of a run's history; each type has further members."""

    seq: int
    type: str
    at: datetime


class TargetShape(TypedDict):
    """What a connector calls, and how."""

    base_url: str
    method: str
    path: str
    auth_type: Literal["none", "bearer", "header", "basic"]
    auth_header: str | None
    query_map: dict[str, str] | None
    body_map: dict[str, str] | None
    signal_rule: str | None
    reversible: bool
    idempotent: bool
    timeout_s: float
    retries: int


class ConnectorShape(TargetShape):
    """A connector as stored; of its secret only whether there is one."""

    tool_id: str
    auth_token_set: bool
    version: int
    created_at: datetime
    updated_at: datetime
    updated_by: str


class ConnectorChangeShape(TypedDict):
    """A change of a connector; of its secret only what became of it."""

    number: int
    tool_id: str
    version: int
    at: datetime
    by: str
    secret: str
    via: str
    before: TargetShape | None
    after: TargetShape | None


class CheckpointShape(TypedDict):
    """The signed root of the company's tree at a size."""

    at: datetime
    company: str
    key_id: str
    previous: str | None
    root: str
    signature: str
    size: int


class WhoShape(TypedDict):
    """Who did something, with what kind of token."""

    user: str
    token: str | None


# "from" is a word of the language, so this one is written as a call.
ChangeShape = TypedDict(
    "ChangeShape",
    {"who": WhoShape, "when": datetime, "action": str, "from": Any, "to": Any, "why": str | None},
)


class ChainedShape(TypedDict):
    """An event as stored, its hash and the one before, and what a person did by it."""

    seq: int
    previous: str
    hash: str
    event: dict[str, Any]
    change: ChangeShape | None


class LeafShape(TypedDict):
    """The leaf of a run's last commit."""

    number: int
    hash: str


class RunAuditShape(TypedDict):
    """A run's hash chain, and the proof that a checkpoint covers its end."""

    run_id: str
    events: list[ChainedShape]
    head: str
    version: int
    leaf: LeafShape
    proof: list[str]
    checkpoint: CheckpointShape


class TrialShape(TypedDict):
    """How a test of a connector went."""

    ok: bool
    status_code: int | None
    latency_ms: float | None
    body: Any
    error: str | None


class LiveShape(TypedDict):
    """How many runs are in memory."""

    live: int


class HealthShape(TypedDict):
    """How the service is."""

    status: Literal["ok", "draining", "full", "failed"]
    version: str
    store: Literal["ok", "full", "failed"]
    runs: LiveShape


class ProblemShape(TypedDict):
    """A refusal (RFC 9457); some codes have further members."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    retryable: bool
