"""Rows of lists: what is shown of an open gate and of a run where many are; saved views."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from daemon.contract.base import Request, Response, example
from daemon.contract.gates import WhyNot
from daemon.contract.runs import ByKind, GateFunction, Mode, Status
from daemon.contract.templates import Kind, Tier

NEEDS = ("comment", "denial_comment", "denial_code", "form", "inputs")
Need = Annotated[str, Field(json_schema_extra={"enum": list(NEEDS)})]
INPUTS = {"claim_id": "CLM-2026-1187", "amount": 1840.5}
GATE = {
    "step_id": "signoff",
    "label": "Medical director sign-off",
    "question": "Authorize 72148 for member M-204417?",
    "reason": "tier high needs a human verdict",
    "kind": "gate",
    "tier": "high",
    "visit": 1,
    "decisions": ["approved", "denied"],
    "digest": "sha256:4c1f",
    "opened_at": "2026-01-05T09:00:00Z",
    "due_at": "2026-01-08T09:00:00Z",
    "clock_due_at": None,
    "role": "manager",
    "groups": ["physicians"],
    "function": None,
    "escalated_to": None,
    "quorum": 1,
    "batch": "allowed",
    "verdicts": 0,
    "proposals": 0,
    "blocked": False,
    "mode": "shadow",
    "needs": ["denial_comment"],
}
INPUTS_MAX = 12
INPUT_CHARS_MAX = 120


class GateHead(Response):
    """What a gate is, without the calls that its approval leads to.

    `mode` is that of those calls, `live` where any is; null without one. `reason` is why it waits,
    `outcome unknown` where nobody knows whether a call was sent. `needs` is what a decision
    has to bring along; a `form` is asked for with an approval alone.
    """

    model_config = example(GATE)

    step_id: str
    label: str
    question: str | None = None
    reason: str
    kind: Kind
    tier: Tier
    visit: int
    decisions: tuple[str, ...]
    digest: str
    opened_at: datetime
    due_at: datetime | None = None
    clock_due_at: datetime | None = None
    role: str | None = None
    groups: tuple[str, ...] = ()
    function: GateFunction | None = None
    escalated_to: str | None = None
    quorum: int = 1
    batch: str = "allowed"
    verdicts: int = 0
    proposals: int = 0
    blocked: bool = False
    mode: Mode | None = None
    needs: tuple[Need, ...] = ()


class GateRow(Response):
    """A gate that waits for a human, as a row of the inbox.

    `inputs` are the first short ones of the run: texts, numbers and booleans.
    """

    model_config = example(
        {
            "run_id": "0199a3c2-0000-7000-8000-000000000001",
            "vertical": "prior-auth",
            "title": "Prior authorization",
            "business_key": "CLM-2026-1187",
            "inputs": INPUTS,
            "gate": GATE,
            "can_decide": True,
            "why_not": None,
            "solo": False,
            "claimed_by": None,
            "claimed_at": None,
        }
    )

    run_id: str
    vertical: str
    title: str
    business_key: str | None = None
    inputs: dict[str, Any] = Field(default_factory=dict)
    gate: GateHead
    can_decide: bool
    why_not: WhyNot | None = None
    solo: bool = False
    claimed_by: str | None = None
    claimed_at: datetime | None = None


class GateCount(Response):
    """How many gates are open, and at how many of them the caller may decide."""

    model_config = example({"open": 12, "mine": 7})

    open: int
    mine: int


class RunGate(Response):
    """Where a run waits for a human."""

    model_config = example({"step_id": "signoff", "label": "Medical director sign-off", "tier": "high"})

    step_id: str
    label: str
    tier: Tier


class RunRow(Response):
    """A run as a row of a list; `inputs` are the first short ones.

    `mode` is `live` where any call of the run was, `shadow` where all were dry runs; null without
    one.
    """

    model_config = example(
        {
            "id": "0199a3c2-0000-7000-8000-000000000001",
            "vertical": "prior-auth",
            "business_key": "CLM-2026-1187",
            "inputs": INPUTS,
            "status": "parked",
            "outcome": None,
            "mode": "shadow",
            "error": None,
            "gates": [{"step_id": "signoff", "label": "Medical director sign-off", "tier": "high"}],
            "created_by": "ada@example.test",
            "created_by_kind": "person",
            "created_at": "2026-01-05T08:59:58Z",
            "updated_at": "2026-01-05T09:00:00Z",
        }
    )

    id: str
    vertical: str
    business_key: str | None = None
    inputs: dict[str, Any] = Field(default_factory=dict)
    status: Status
    outcome: str | None = None
    mode: Mode | None = None
    error: str | None = None
    gates: tuple[RunGate, ...] = ()
    created_by: str
    created_by_kind: ByKind | None = None
    created_at: datetime
    updated_at: datetime


LISTS = ("inbox", "runs", "audit")
QUERY_CHARS_MAX = 2_000
NAME_CHARS_MAX = 80
List = Annotated[str, Field(json_schema_extra={"enum": list(LISTS)})]


class PutView(Request):
    """The search and the filters of a view, as the page's address has them."""

    model_config = example({"query": "risk=high&age=day"})

    query: Annotated[str, Field(max_length=QUERY_CHARS_MAX)]


class SavedView(Response):
    """A view of a list that the caller saved, and sees alone."""

    model_config = example(
        {"list": "inbox", "name": "High and old", "query": "risk=high&age=day", "saved_at": "2026-01-05T09:00:00Z"}
    )

    list: List
    name: str
    query: str
    saved_at: datetime
