"""What the service answers, as frozen models; members that a newer service adds are kept as they come."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(frozen=True, extra="allow")


class User(Record):
    """A person."""

    id: str
    email: str
    name: str | None = None


class Company(Record):
    """A tenant."""

    id: str
    name: str


class Account(Record):
    """Who a token stands for."""

    user: User
    company: Company
    role: str


class Session(Account):
    """A token, and who it stands for."""

    token: str = Field(repr=False)
    expires_at: datetime


class Template(Record):
    """A process template in a list."""

    vertical: str
    title: str
    description: str
    version: int
    digest: str
    gates: tuple[str, ...]
    steps: int


class TemplateDetail(Template):
    """A process template with the schema of its inputs and an example of them."""

    inputs_schema: dict[str, Any]
    inputs: dict[str, Any]


class Node(Record):
    """A step of a template, with its governance."""

    id: str
    kind: str
    label: str
    tier: str
    tool: str | None = None
    effect: str | None = None
    gate: bool
    decisions: tuple[str, ...] = ()
    role: str | None = None
    flow: str | None = None
    outcome: str | None = None
    signal_when: str | None = None


class Edge(Record):
    """A way from one step to another."""

    source: str
    target: str
    branch: str | None = None
    when: str | None = None


class Canvas(Record):
    """A template as a graph."""

    vertical: str
    version: int
    digest: str
    title: str
    start: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    gates: tuple[str, ...]


class Pin(Record):
    """The version of a template that a run began with."""

    version: int
    digest: str


class Call(Record):
    """A call as it is sent, or would have been; credentials are masked."""

    tool: str
    mode: str
    method: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    body: Any = None
    connector_version: int | None = None


class ConnectorPin(Record):
    """The connector of a call to come, as it stands."""

    origin: str
    method: str
    path: str
    version: int


class PlannedCall(Record):
    """An irreversible call that `decisions` at a gate can lead to before the next human; `call` where it is known."""

    step_id: str
    label: str
    tool: str
    decisions: tuple[str, ...]
    mode: str
    connector: ConnectorPin | None = None
    call: Call | None = None


class Gate(Record):
    """What a human is asked; `digest` stands for all of it, and goes back with the decision."""

    step_id: str
    label: str
    kind: str
    tier: str
    visit: int
    decisions: tuple[str, ...]
    role: str | None = None
    reason: str
    opened_at: datetime
    digest: str
    signals: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    effect: Call | None = None
    effects: tuple[PlannedCall, ...] = ()


class GateChanged(Record):
    """An open gate that stands otherwise than it did, since a connector behind it has changed; it is no event."""

    type: str = "gate_changed"
    run_id: str
    gate: Gate
    etag: str


class Verdict(Record):
    """What a human answered."""

    decision: str
    by: str
    at: datetime
    comment: str | None = None
    inputs: dict[str, Any] | None = None


class Failure(Record):
    """Why a step or a run failed."""

    code: str
    detail: str
    step_id: str | None = None
    attempts: int = 0
    status_code: int | None = None
    excerpt: str | None = None
    maybe_sent: bool | None = None


class TraceEntry(Record):
    """One entry of a run into a step."""

    step_id: str
    visit: int
    kind: str
    status: str
    mode: str | None = None
    tier: str
    resolved_by: str | None = None
    reason: str | None = None
    verdict: Verdict | None = None
    started_at: datetime
    ended_at: datetime | None = None
    request: Call | None = None
    output: Any = None
    attempts: int = 0
    error: Failure | None = None


class End(Record):
    """How a run ended."""

    at: datetime
    by: str | None = None
    reason: str | None = None


class Run(Record):
    """A run."""

    id: str
    vertical: str
    template: Pin
    status: str
    parked_at: str | None = None
    gate: Gate | None = None
    parked_gates: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()
    auto_resolve: bool
    inputs: dict[str, Any]
    facts: dict[str, Any]
    outcome: str | None = None
    error: Failure | None = None
    trace: tuple[TraceEntry, ...]
    version: int
    created_by: str
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    ended: End | None = None


class Event(Record):
    """A fact of a run's history; each type has further members."""

    seq: int
    type: str
    at: datetime


class Target(Record):
    """What a connector calls, and how."""

    base_url: str
    method: str = "GET"
    path: str = ""
    auth_type: str = "none"
    auth_header: str | None = None
    query_map: dict[str, str] | None = None
    body_map: dict[str, str] | None = None
    signal_rule: str | None = None
    reversible: bool = False
    idempotent: bool = False
    timeout_s: float = 10.0
    retries: int = 3


class Connector(Target):
    """A connector as stored; of its secret only whether there is one."""

    tool_id: str
    auth_token_set: bool
    version: int
    created_at: datetime
    updated_at: datetime
    updated_by: str


class ConnectorChange(Record):
    """A change of a connector; of its secret only what became of it."""

    number: int
    tool_id: str
    version: int
    at: datetime
    by: str
    secret: str
    via: str
    before: Target | None = None
    after: Target | None = None


class Trial(Record):
    """How a test of a connector went."""

    ok: bool
    status_code: int | None = None
    latency_ms: float | None = None
    body: Any = None
    error: str | None = None


class Checkpoint(Record):
    """The signed root of the company's tree at a size."""

    at: datetime
    company: str
    key_id: str
    previous: str | None = None
    root: str
    signature: str
    size: int


class Health(Record):
    """How the service is."""

    status: str
    version: str
    store: str
    down: tuple[str, ...] = ()
