"""Runs and their gates, the commands that people send them, and how they are kept."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from daemon.contract.accounts import Moment
from daemon.contract.agents.asked import GateAction, GateQuestion
from daemon.contract.autonomy import Panel
from daemon.contract.base import Remark, Request, Response, example
from daemon.contract.templates import GatePolicy, Kind, Tier

DONE = "done"
FORM_BYTES_MAX = 8 * 1024
PAYLOAD_BYTES_MAX = 64 * 1024
VERSION_MAX = 10**9
STATUSES = ("executing", "waiting", "parked", "compensating", "completed", "failed", "cancelled")
TRACE_STATUSES = ("waiting", "ready", "judging", "calling", "parked", "done", "denied", "failed", "cancelled")
Status = Annotated[str, Field(json_schema_extra={"enum": [*STATUSES]})]
TraceStatus = Annotated[str, Field(json_schema_extra={"enum": [*TRACE_STATUSES]})]
CLOCK_STATES = ("running", "paused", "stopped", "breached")
BY_KINDS = ("person", "service", "agent", "autopilot", "deadline")
ByKind = Annotated[str, Field(json_schema_extra={"enum": [*BY_KINDS]})]
Mode = Annotated[str, Field(json_schema_extra={"enum": ["shadow", "live", "handed"]})]


def bounded_form(value: dict[str, Any] | None) -> dict[str, Any] | None:
    """A form; ValueError for a large one."""
    if value is not None and len(json.dumps(value).encode()) > FORM_BYTES_MAX:
        raise ValueError(f"takes more than {FORM_BYTES_MAX} bytes")
    return value


class StartRun(Request):
    """The template to run, and its inputs."""

    model_config = example({"vertical": "prior-auth", "inputs": {"member_id": "M-204417", "procedure_code": "72148"}})

    vertical: str = Field(max_length=200)
    inputs: dict[str, Any] = Field(default_factory=dict)
    auto_resolve: bool = Field(default=True, description="Whether steps that are safe run on their own.")
    business_key: str | None = Field(None, min_length=1, max_length=200, description="What the caller knows it by.")
    unique: bool = Field(default=False, description="Refuse it while another unfinished run has the key.")
    version: int | None = Field(
        None, ge=1, le=VERSION_MAX, description="The version of the template; by default the current one."
    )
    on_behalf_of: str | None = Field(
        None, max_length=64, description="The member for whom an API key starts it that `acts_for` others."
    )


class MigrateRun(Request):
    """The version of its template that a run is to go on by."""

    model_config = example({"version": 3})

    version: int = Field(ge=1, le=VERSION_MAX)


class ResumeRun(Request):
    """A verdict at a gate. `output` goes with the decision `done` alone."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"properties": {"output": {"type": "null"}}}, {"properties": {"decision": {"const": DONE}}}],
            "examples": [{"gate": "signoff", "decision": "approved", "comment": "as agreed"}],
        }
    )

    # Without bounds of their own: any text that does not name the gate is a mismatch.
    gate: str
    decision: str
    comment: Remark | None = None
    digest: str | None = Field(None, max_length=200)
    output: Any = None
    inputs: dict[str, Any] | None = Field(None, description="Of what the gate names in `missing`.")
    form: dict[str, Any] | None = Field(None, description="What the gate's policy asks for with an approval.")
    code: str | None = Field(None, max_length=200, description="One of the policy's codes, with a denial.")
    on_behalf_of: str | None = Field(None, max_length=64, description="The member who delegated the decision.")
    arguments: dict[str, Any] | None = Field(
        None, description="With an approval of an action: all of them, changed where it is `editable` alone."
    )

    @field_validator("form")
    @classmethod
    def _form(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        return bounded_form(value)

    @field_validator("output")
    @classmethod
    def _output(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None and info.data.get("decision") != DONE:
            raise ValueError(f"is only taken with the decision {DONE}")
        return value


class ProposeDecision(Request):
    """What the caller would decide at a gate; it closes nothing."""

    model_config = example(
        {"gate": "signoff", "decision": "approved", "comment": "meets criteria 2 and 3", "confidence": 0.86}
    )

    gate: str
    decision: str
    comment: Remark | None = None
    confidence: float | None = Field(None, ge=0, le=1)
    form: dict[str, Any] | None = Field(None, description=f"At most {FORM_BYTES_MAX} bytes of JSON.")
    digest: str | None = Field(None, max_length=200)

    @field_validator("form")
    @classmethod
    def _form(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        return bounded_form(value)


class BreakGlass(Request):
    """Why somebody reads a run that is closed to them."""

    model_config = example({"reason": "The auditor asks for the file today."})

    reason: Annotated[str, Field(min_length=1, max_length=4_000, pattern=r"\S")]


class GlassBroken(Response):
    """Until when the run is read by who broke its glass."""

    model_config = example({"until": "2026-03-02T10:00:00Z"})

    until: datetime


class CancelRun(Request):
    """Why a run is cancelled, and whether what it did is undone first."""

    model_config = example({"reason": "sent by mistake", "compensate": True})

    reason: Remark | None = None
    compensate: bool = Field(default=False, description="Call the tools of compensation in reverse order.")


class DeliverMessage(Request):
    """A message for a run; a step that waits for this name takes it."""

    model_config = example({"name": "documents-received", "payload": {"pages": 12}})

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")
    payload: Any = Field(None, description=f"At most {PAYLOAD_BYTES_MAX} bytes of JSON.")

    @field_validator("payload")
    @classmethod
    def _payload(cls, value: Any) -> Any:
        if value is not None and len(json.dumps(value).encode()) > PAYLOAD_BYTES_MAX:
            raise ValueError(f"takes more than {PAYLOAD_BYTES_MAX} bytes")
        return value


class Pin(Response):
    """The version of a template that a run began with."""

    version: int
    digest: str


class Call(Response):
    """A call as it is sent, or in shadow mode would have been. Credentials are masked."""

    tool: str
    mode: Mode
    method: str | None = None
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    body: dict[str, Any] | None = None
    connector_version: int | None = None


class ConnectorPin(Response):
    """The connector of a planned call as it stands."""

    origin: str
    method: str
    path: str
    version: int


class PlannedCall(Response):
    """An irreversible call that `decisions` at a gate can lead to before the next human.

    `call` is the call itself where its content is known.
    """

    step_id: str
    label: str
    tool: str
    decisions: tuple[str, ...]
    mode: Mode
    connector: ConnectorPin | None = None
    call: Call | None = None


class RecordedCall(Response):
    """What a run in shadow would have sent at a step."""

    step_id: str
    request: Call


class Difference(Response):
    """Where the call of a promoted run is not the one that shadow recorded.

    `pointer` leads into the call; it is empty where shadow recorded none. Both values are JSON, cut
    at 200 characters.
    """

    pointer: str
    recorded: str | None = None
    now: str | None = None


class Proposal(Response):
    """What somebody would decide at a gate; the latest of each proposer."""

    model_config = example(
        {
            "by": "triage agent",
            "by_kind": "agent",
            "decision": "approved",
            "comment": "meets criteria 2 and 3",
            "confidence": 0.86,
            "form": None,
            "at": "2026-03-02T09:02:00Z",
        }
    )

    by: str
    by_kind: ByKind
    decision: str
    comment: str | None = None
    confidence: float | None = None
    form: dict[str, Any] | None = None
    at: datetime


class Batch(Response):
    """Verdicts that one request gave at several gates."""

    id: str
    size: int


class Verdict(Response):
    """What a human decided; `solo` where the company's only person did alone."""

    decision: str
    by: str
    at: datetime
    comment: str | None = None
    inputs: dict[str, Any] | None = None
    by_kind: ByKind = "person"
    on_behalf_of: str | None = None
    verdict_id: str | None = None
    code: str | None = None
    form: dict[str, Any] | None = None
    solo: bool = False
    batch: Batch | None = None


class Escalated(Response):
    """Since when people of a role may decide, too."""

    to: str
    at: datetime


class Blocked(Response):
    """Too few people can close the gate."""

    needed: int
    eligible: int


class Clock(Response):
    """How long the law gives the case; while it is paused it is due as if it went on now.

    `paused_s` is for how long it has stood still, `extended` how often it got more time. One that
    the end of the run has closed has a `reason` and no `stopped_by`. `assumed` has `from` where it
    counts from the start of the run, and `within` where it takes the shortest time, since the
    expression has no clear answer so far.
    """

    id: str
    label: str
    state: Annotated[str, Field(json_schema_extra={"enum": [*CLOCK_STATES]})]
    started_at: datetime
    due_at: datetime | None = None
    paused_s: float = 0
    extended: int = 0
    breached_at: datetime | None = None
    stopped_at: datetime | None = None
    stopped_by: str | None = Field(None, description="The step that was the act.")
    reason: str | None = None
    source: str | None = None
    assumed: tuple[str, ...] = ()


class GateFunction(Response):
    """The function whose people decide alone at a gate; while it is not bound its role does."""

    id: str
    label: str
    bound: bool


class Gate(Response):
    """What a human is asked; `question` says it with the values that stood when the gate opened.

    Numbers in it are those that are sent, digit for digit; a result of a dry run is a `(sample)`.
    A verdict names `step_id` as `gate`; with `digest` it is refused if anything has changed.
    `verdicts` are those so far, where the policy asks for several.
    """

    step_id: str
    label: str
    question: str | None = None
    kind: Kind
    tier: Tier
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
    proposals: tuple[Proposal, ...] = ()
    policy: GatePolicy = Field(default_factory=GatePolicy)
    function: GateFunction | None = None
    verdicts: tuple[Verdict, ...] = ()
    due_at: datetime | None = None
    remind_at: tuple[datetime, ...] = ()
    escalation: Escalated | None = None
    blocked: Blocked | None = None
    differences: tuple[Difference, ...] = ()
    panel: Panel | None = Field(None, description="What the judges of the step said, where it has some.")
    clock_due_at: datetime | None = Field(None, description="When the clock of the run is due that is due first.")
    breach_role: str | None = Field(None, description="Who may decide, too, since a clock was breached.")
    action: GateAction | None = Field(None, description="What an agent wants to do, where the run is an action.")
    questions: tuple[GateQuestion, ...] = Field((), description="What its agent was asked, and its answers.")


class Failure(Response):
    """Why a step or a run failed."""

    code: str
    detail: str
    step_id: str | None = None
    attempts: int = 0
    status_code: int | None = None
    excerpt: str | None = None
    maybe_sent: bool | None = None


class Waiting(Response):
    """What a step waits for, and since when."""

    since: datetime
    until: datetime | None = None
    message: str | None = None
    business_days: bool = False


class TraceEntry(Response):
    """One entry of a run into a step; with `undoes` it undoes that visit of the step."""

    step_id: str
    visit: int
    kind: Kind
    status: TraceStatus
    mode: Mode | None = None
    tier: Tier
    resolved_by: str | None = None
    resolved_by_kind: ByKind | None = None
    reason: str | None = None
    verdict: Verdict | None = None
    started_at: datetime
    ended_at: datetime | None = None
    request: Call | None = None
    output: Any = None
    attempts: int = 0
    error: Failure | None = None
    wait: Waiting | None = None
    undoes: int | None = None
    panel: Panel | None = None


class End(Response):
    """When and why a run ended, and by whom."""

    at: datetime
    by: str | None = None
    by_kind: ByKind | None = None
    on_behalf_of: str | None = None
    reason: str | None = None


class RunSummary(Response):
    """A run without what makes it large."""

    id: str
    vertical: str
    business_key: str | None = None
    template: Pin
    status: Status
    parked_at: str | None = Field(None, description="The step-id of the gate that was opened first.")
    gate: Gate | None = None
    parked_gates: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()
    auto_resolve: bool
    outcome: str | None = None
    error: Failure | None = None
    version: int
    created_by: str
    created_by_kind: ByKind = "person"
    made_by: str | None = Field(None, description="Who made the key that started it.")
    on_behalf_of: str | None = Field(None, description="For whom a key started it.")
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    ended: End | None = None
    promoted_from: str | None = Field(None, description="The run in shadow that this one makes again, live.")
    promoted_to: str | None = Field(None, description="The live run that makes this one again.")
    clocks: tuple[Clock, ...] = ()


class Run(RunSummary):
    """A run."""

    inputs: dict[str, Any]
    facts: dict[str, Any]
    trace: tuple[TraceEntry, ...]


class Act(Request):
    """What happens next in a run that is tried: a verdict, a message, or a lapse of time.

    Whoever decides has every right that the gate asks for, unless it says which they have.
    """

    gate: str | None = Field(None, description="The gate of a verdict")
    decision: str | None = None
    by: str | None = Field(None, max_length=200, description="Who decides; the caller, unless said")
    role: str | None = Field(None, description="Their role; owner, unless said")
    groups: list[str] | None = Field(None, description="Their groups; all, unless said")
    functions: list[str] | None = Field(None, description="What they fill; all, unless said")
    comment: Remark | None = None
    code: str | None = Field(None, max_length=200)
    form: dict[str, Any] | None = None
    inputs: dict[str, Any] | None = None
    message: str | None = Field(None, max_length=200, description="The name of a message")
    payload: Any = None
    lapse: str | None = Field(None, max_length=200, description="A duration, or `next` for until something is due")


class TryTemplate(Request):
    """A template to try, and all that happens; an act without members is a lapse to what is due."""

    model_config = example(
        {
            "document": {"nodes": [{"id": "signoff", "kind": "gate"}]},
            "inputs": {"amount": 12},
            "acts": [{"gate": "signoff", "decision": "approved"}],
        }
    )

    document: dict[str, Any] = Field(description="A template document, a canvas or a bare graph")
    inputs: dict[str, Any] = Field(default_factory=dict)
    auto_resolve: bool = Field(default=True, description="When false, the run stops at every step")
    by: str | None = Field(None, min_length=1, max_length=200, description="Who starts it; the caller, unless said")
    at: Moment | None = Field(None, description="When it starts; now, unless said")
    acts: list[Act] = Field(default_factory=list, max_length=100)


class TriedTemplate(Response):
    """The run after the last act that was taken; nothing was called and nothing is kept."""

    run: Run
    at: datetime = Field(description="What time it is in the run by now")
    taken: int = Field(description="How many acts were taken")
    refused: str | None = Field(None, description="Why the next one was not")


class HoldRun(Request):
    """Why a run must not be archived."""

    model_config = example({"reason": "litigation 2026-114"})

    reason: Remark = Field(min_length=1)


class Hold(Response):
    """A legal hold."""

    model_config = example(
        {"reason": "litigation 2026-114", "held_at": "2026-03-02T09:15:00Z", "held_by": "ada@example.test"}
    )

    reason: str
    held_at: datetime
    held_by: str


class Archive(Response):
    """Where the events of a run went: a file of so many bytes, by its SHA-256."""

    archived_at: datetime
    sha256: str
    bytes: int
    head: str = Field(description="The hash of the run's last event.")


class RedactRun(Request):
    """JSON pointers of values of a run, and why nobody may read them any more."""

    model_config = example({"pointers": ["/inputs/member_id", "/facts/pull-chart"], "reason": "request 2026-31"})

    pointers: Annotated[list[str], Field(min_length=1, max_length=100)] = Field(
        description="Into `inputs` and `facts`, or `/business_key`; `/inputs` and `/facts` name all of them."
    )
    reason: Remark = Field(min_length=1)
    preview: bool = Field(default=False, description="Tell what would be redacted, and redact nothing.")


class Redaction(Response):
    """Values of a run that were redacted: which were named, by whom, when and why."""

    model_config = example(
        {
            "number": 1,
            "reason": "request 2026-31",
            "redacted_at": "2026-03-02T09:15:00Z",
            "redacted_by": "ada@example.test",
            "pointers": ["/inputs/member_id"],
        }
    )

    number: int
    reason: str
    redacted_at: datetime
    redacted_by: str
    pointers: tuple[str, ...]


class MadeRedaction(Redaction):
    """A redaction, where the values stood, and the events that still hold one."""

    model_config = example(
        {
            "number": 1,
            "reason": "request 2026-31",
            "redacted_at": "2026-03-02T09:15:00Z",
            "redacted_by": "ada@example.test",
            "pointers": ["/inputs/member_id"],
            "places": ["/events/1/inputs/member_id", "/events/9/question"],
            "left": [],
        }
    )

    places: tuple[str, ...] = Field(description="The values in events that were redacted, by the seq of the event.")
    left: tuple[str, ...] = Field(
        description="The events that hold a value where none can be redacted, such as the name of a step."
    )


def _perhaps(schema: dict[str, Any]) -> None:
    schema["required"] = [name for name in schema["required"] if name not in ("hold", "archived", "redactions")]


class RetainedRun(Run):
    """A run, and how it is kept, where that is out of the ordinary.

    Of an archived run inputs, facts and trace are empty: they are in its archive.
    """

    model_config = ConfigDict(json_schema_extra=_perhaps)

    hold: Hold | None = None
    archived: Archive | None = None
    redactions: tuple[Redaction, ...] | None = None
