"""Evidence: checkpoints, hash chains and proofs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from daemon.contract.base import Response
from daemon.contract.runs import ByKind
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
