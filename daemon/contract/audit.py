"""Evidence: checkpoints, hash chains and proofs."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field

from daemon.contract.actions import ActionDecision, ActionWay
from daemon.contract.agents.asked import ActionRuleReference
from daemon.contract.base import Response, example
from daemon.contract.runs import ByKind, Status
from daemon.contract.templates import GatePolicy


class Checkpoint(Response):
    """The signed root of the company's Merkle tree at a size."""

    at: datetime
    company: str
    key_id: str
    previous: str | None = None
    root: str
    signature: str
    size: int


class Actor(Response):
    """The user who did something, and the kind of token it was done with."""

    user: str
    token: str | None = None
    kind: ByKind | None = None


class Change(Response):
    """What a person changed by an event."""

    who: Actor
    when: datetime
    action: str
    from_: Any = Field(None, alias="from")
    to: Any = None
    why: str | None = None


class ChainedEvent(Response):
    """An event as stored, its hash and the hash before it, and what a person changed by it."""

    seq: int
    previous: str
    hash: str
    event: dict[str, Any]
    by: str | None = Field(None, description="`autopilot` for what the service does by itself.")
    by_kind: ByKind | None = None
    on_behalf_of: str | None = None
    change: Change | None = None


class Leaf(Response):
    """The leaf of a run's last commit in the Merkle tree."""

    number: int
    hash: str


class RedactionRecord(Response):
    """The record of a redaction in the company's log, proven by the same checkpoint."""

    event: dict[str, Any]
    previous: str
    number: int
    version: int
    proof: tuple[str, ...]


class RunAudit(Response):
    """The hash chain of a run, and the proof that a checkpoint covers it.

    A run of which nothing was redacted has no `redactions`.
    """

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    run_id: str
    events: tuple[ChainedEvent, ...]
    head: str
    version: int
    leaf: Leaf
    proof: tuple[str, ...]
    checkpoint: Checkpoint
    redactions: tuple[RedactionRecord, ...] = ()


class VerdictReceipt(Response):
    """What the hash chain of a run says of one verdict: who decided what on exactly what, and when.

    `digest` and `policy` are those that the gate showed; `hash` is that of the event, at `seq`.
    """

    verdict_id: str
    company_id: str
    run_id: str
    gate: str
    visit: int
    decision: str
    code: str | None = None
    comment: str | None = None
    solo: bool = False
    by: str
    by_kind: ByKind
    on_behalf_of: str | None = None
    at: datetime
    digest: str | None = None
    policy: GatePolicy
    seq: int
    previous: str
    hash: str


_ADA = {"at": "2026-03-02T09:05:00Z", "by": "ada@example.test", "by_kind": "person", "on_behalf_of": None}


class AgentVerdict(Response):
    """What a person decided about an action, and when it was taken back."""

    at: datetime
    by: str
    by_kind: ByKind
    on_behalf_of: str | None = None
    decision: str
    comment: str | None = None
    code: str | None = None
    withdrawn_at: datetime | None = None


class AgentOverride(Response):
    """Where a person overrode what the agent wanted or the rule allowed.

    `arguments` were changed at the `pointers`; a `denial` is of what the rule itself allows.
    """

    at: datetime
    by: str
    by_kind: ByKind
    on_behalf_of: str | None = None
    kind: Literal["arguments", "denial", "withdrawal", "cancellation"]
    pointers: tuple[str, ...] = ()


class AgentEntry(Response):
    """An action of an agent with who oversaw it; or that agents were stopped, or may go on.

    A stop and its end have `by`, a stop a `reason`; without `agent` they are of all agents.
    """

    model_config = example(
        {
            "kind": "action",
            "at": "2026-03-02T09:00:00Z",
            "id": "0195b3c4-0000-7000-8000-000000000001",
            "agent": "support agent",
            "agent_id": "0195b3c4-0000-7000-8000-000000000002",
            "model": "m-1",
            "tool": "stripe.refund",
            "server": None,
            "way": "penstock",
            "rule": {"id": "refunds", "version": 3, "digest": None},
            "decision": "ask",
            "why": "budget",
            "status": "completed",
            "outcome": "denied",
            "arguments": {"amount": 4900},
            "made": None,
            "verdicts": [{**_ADA, "decision": "denied", "comment": "Not twice.", "code": None, "withdrawn_at": None}],
            "overrides": [{**_ADA, "kind": "denial", "pointers": []}],
            "by": None,
            "reason": None,
        }
    )

    kind: Literal["action", "stop", "lift"]
    at: datetime
    id: str | None = None
    agent: str | None = None
    agent_id: str | None = None
    model: str | None = None
    tool: str | None = None
    server: str | None = None
    way: ActionWay | None = None
    rule: ActionRuleReference | None = None
    decision: ActionDecision | None = None
    why: str | None = None
    status: Status | None = None
    outcome: str | None = None
    arguments: dict[str, Any] | None = None
    made: dict[str, Any] | None = None
    verdicts: tuple[AgentVerdict, ...] = ()
    overrides: tuple[AgentOverride, ...] = ()
    by: str | None = None
    reason: str | None = None
