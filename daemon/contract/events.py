"""Events: of one run, of all runs of a company, and as webhooks receive them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import ConfigDict, Field

from daemon.contract.actions import ActionFacts
from daemon.contract.autonomy import JudgeCall, Vote, Weighed
from daemon.contract.base import Response
from daemon.contract.runs import (
    Batch,
    ByKind,
    Call,
    Difference,
    Failure,
    Gate,
    GateFunction,
    PlannedCall,
    RecordedCall,
    Status,
)
from daemon.contract.templates import GatePolicy, Kind, Loosened, Tier

EventType = Literal[
    "run_started",
    "step_entered",
    "panel_asked",
    "judge_answered",
    "panel_decided",
    "step_cleared",
    "call_settled",
    "gate_opened",
    "verdict_given",
    "proposal_made",
    "verdict_withdrawn",
    "gate_reminded",
    "gate_escalated",
    "gate_expired",
    "gate_rescheduled",
    "gate_blocked",
    "gate_unblocked",
    "gate_asked",
    "gate_answered",
    "call_granted",
    "call_consumed",
    "clock_started",
    "clock_paused",
    "clock_resumed",
    "clock_extended",
    "clock_rescheduled",
    "clock_warned",
    "clock_breached",
    "clock_stopped",
    "wait_began",
    "wait_ended",
    "message_received",
    "compensation_began",
    "run_migrated",
    "run_promoted",
    "run_ended",
    "glass_broken",
    "glass_mended",
]
WebhookType = Literal[EventType, "history_rewound"]
EVENT_TYPES: Mapping[str, str] = {
    "run_started": "A run started",
    "step_entered": "A run entered a step",
    "panel_asked": "The judges of a step are asked",
    "judge_answered": "A judge that was called has answered, or gave no clear answer",
    "panel_decided": "All judges of a step were heard",
    "step_cleared": "A step may run: cleared by the autopilot or by a human",
    "call_settled": "The call of a step returned or failed",
    "gate_opened": "A run waits for a human at a gate",
    "verdict_given": "A human decided at a gate",
    "proposal_made": "A person or machine proposed a decision at a gate",
    "verdict_withdrawn": "A human took a verdict back while the quorum was open",
    "gate_reminded": "A reminder of an open gate was due",
    "gate_escalated": "A deadline passed, and people of another role may decide, too",
    "gate_expired": "A deadline closed a gate",
    "gate_rescheduled": "A changed calendar or a migration moved the deadline of a gate",
    "gate_blocked": "Too few people can close a gate",
    "gate_unblocked": "Enough people can close a gate again",
    "gate_asked": "Somebody who may decide about an action asks its agent something first",
    "gate_answered": "The agent has answered the question",
    "call_granted": "The agent may make the call of its action itself, once",
    "call_consumed": "The agent has used the approval of its action up, and makes the call",
    "clock_started": "A clock of the law began to count",
    "clock_paused": "A clock stands still",
    "clock_resumed": "A clock goes on",
    "clock_extended": "The notice of an extension was given, and a clock has more time",
    "clock_rescheduled": "A changed calendar, a migration or a clear answer moved a clock",
    "clock_warned": "A clock is due soon",
    "clock_breached": "A clock was due, and no act that the law asks for was done",
    "clock_stopped": "The act that the law asks for was done, or the run has ended",
    "wait_began": "A step waits for a time or a message",
    "wait_ended": "A step has waited: the time has come, or the message",
    "message_received": "A message was delivered to a run",
    "compensation_began": "What a run did is undone before it ends",
    "run_migrated": "A run goes on by another version of its template",
    "run_promoted": "A run that ended in shadow is made again, live, by another run",
    "run_ended": "A run completed, failed or was cancelled",
    "glass_broken": "An admin reads a run that is closed to them for an hour, and said why",
    "glass_mended": "The hour is over in which an admin read a run that is closed to them",
}


class TimeLeft(Response):
    """What is left of a clock that stands still; both count, business days first."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    business_days: int = 0
    exact: str | None = Field(None, description="ISO 8601")
    months: int = 0


class Event(Response):
    """A fact of a run's history; its type says which of the members after `at` it has."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    seq: int
    type: str = Field(json_schema_extra={"enum": [*EVENT_TYPES]})
    at: datetime
    by: str | None = Field(None, description="`autopilot` for what the service does by itself.")
    by_kind: ByKind | None = None
    on_behalf_of: str | None = None
    via: str | None = None
    step_id: str | None = None
    visit: int | None = None
    kind: Kind | None = None
    tier: Tier | None = None
    source: str | None = None
    waiting: bool | None = None
    label: str | None = None
    role: str | None = None
    decisions: tuple[str, ...] | None = None
    digest: str | None = None
    signals: tuple[str, ...] | None = None
    missing: tuple[str, ...] | None = None
    effects: tuple[PlannedCall, ...] | None = None
    decision: str | None = None
    comment: str | None = None
    confidence: float | None = None
    form: dict[str, Any] | None = None
    reason: str | None = None
    branch: str | None = None
    request: Call | None = None
    attempts: int | None = None
    output: Any = None
    signal: Any = None
    error: Failure | None = None
    status: Status | None = None
    outcome: str | None = None
    was: str | None = None
    reader: str | None = None
    company_id: str | None = None
    run_id: str | None = None
    vertical: str | None = None
    template_version: int | None = None
    template_digest: str | None = None
    from_version: int | None = None
    from_digest: str | None = None
    traceparent: str | None = None
    inputs: dict[str, Any] | None = None
    auto_resolve: bool | None = None
    business_key: str | None = None
    policy: GatePolicy | None = None
    due_at: datetime | None = None
    remind_at: tuple[datetime, ...] | None = None
    question: str | None = None
    left: tuple[datetime, ...] | None = None
    verdict_id: str | None = None
    code: str | None = None
    forms: dict[str, Any] | None = None
    open: bool | None = Field(None, description="The quorum is still open.")
    solo: bool | None = None
    giver: str | None = Field(None, description="Whose verdict counts no more.")
    to: str | None = None
    needed: int | None = None
    eligible: int | None = None
    undoes: int | None = None
    until: datetime | None = None
    message: str | None = None
    business_days: bool | None = None
    how: str | None = None
    name: str | None = None
    payload: Any = None
    promoted_from: str | None = None
    promoted_to: str | None = None
    recorded: tuple[RecordedCall, ...] | None = Field(None, description="What a run in shadow would have sent.")
    differences: tuple[Difference, ...] | None = None
    quorum: int | None = None
    votes: tuple[Vote, ...] | None = None
    calls: tuple[JudgeCall, ...] | None = None
    vote: Vote | None = None
    clear: int | None = Field(None, description="How many judges clear the step.")
    weighed: Weighed | None = None
    batch: Batch | None = None
    made_by: str | None = Field(None, description="Who made the key that did it.")
    barred: tuple[str, ...] | None = Field(None, description="Who made the gate laxer, and does not decide there.")
    function: GateFunction | None = Field(None, description="Whose people decide, bound or not as the gate opened.")
    in_doubt: bool | None = Field(None, description="The gate is about a call that may have happened.")
    loosened: tuple[Loosened, ...] | None = Field(None, description="The gates that the migration made laxer.")
    breach_role: str | None = Field(None, description="Who may decide, too, since a clock was breached.")
    clock: str | None = Field(None, description="The id of the clock.")
    assumed: tuple[str, ...] | None = Field(None, description="What of a clock has no clear answer so far.")
    why: str | None = None
    from_step: str | None = None
    started_at: datetime | None = None
    within: str | None = None
    warn_at: tuple[datetime, ...] | None = None
    during: str | None = Field(None, description="What a clock stands still for.")
    remaining: tuple[TimeLeft, ...] | None = None
    paused_s: float | None = None
    extended_by: str | None = None
    once_done: str | None = None
    escalate: str | None = None
    gates: tuple[str, ...] | None = Field(None, description="The gates that a breach opens to that role.")
    stopped_by: str | None = None
    action: ActionFacts | None = Field(None, description="What a run that is an action was asked to do.")
    arguments: dict[str, Any] | None = Field(None, description="What an action is made with instead.")
    changed: str | None = Field(None, description="What has changed since the rule of an action decided.")
    expires_at: datetime | None = None
    key_hash: str | None = Field(None, description="The hash of the idempotency key that used an approval up.")
    text: str | None = None


class CompanyEvent(Response):
    """An event of one of the company's runs; `id` says nothing but where to go on.

    To webhooks an event of a run that not everybody reads is `withheld`: it has seq, type and time.
    """

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    id: str
    run_id: str
    seq: int
    event: Event
    withheld: bool | None = None


class GateChanged(Response):
    """An open gate changed because a connector did, or its function was bound or is no more.

    It is sent on streams only, without an id.
    """

    type: Literal["gate_changed"] = "gate_changed"
    run_id: str
    gate: Gate
    etag: str


class Notification(Response):
    """The body that a webhook receives, in the form of Standard Webhooks."""

    type: str
    timestamp: datetime
    data: CompanyEvent


class HistoryLoss(Response):
    """What was lost of the history in a failover: so many commits that one daemon had acknowledged.

    `first` is the id to go on from, as with 410 `history_changed`: what was told since is undone.
    """

    commits: int
    first: str


class HistoryRewoundNotification(Response):
    """The body that a webhook receives where the database has lost what was told before."""

    type: Literal["history_rewound"] = "history_rewound"
    timestamp: datetime
    data: HistoryLoss


class WebhookTested(Response):
    """The data of a test notification."""

    webhook_id: str


class WebhookTestNotification(Response):
    """The body that `POST /webhooks/{webhook_id}/test` sends."""

    type: Literal["webhook.test"] = "webhook.test"
    timestamp: datetime
    data: WebhookTested
