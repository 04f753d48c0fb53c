"""Process templates."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from daemon.contract.base import Request, Response, example

# Words that a newer service may add to are strings for the client, and listed in the contract.
Kind = Annotated[str, Field(json_schema_extra={"enum": ["task", "gate", "gateway", "wait", "end"]})]
TIERS = ("low", "medium", "high", "critical")
Tier = Annotated[str, Field(json_schema_extra={"enum": [*TIERS]})]
Effect = Annotated[str, Field(json_schema_extra={"enum": ["read", "reversible", "irreversible"]})]
Flow = Annotated[str, Field(json_schema_extra={"enum": ["exclusive", "parallel"]})]


class Template(Response):
    """A process template in a list."""

    vertical: str
    title: str
    description: str
    version: int
    digest: str
    gates: tuple[str, ...]
    steps: int
    own: bool = Field(default=False, description="Whether the company published it.")
    pack: str | None = Field(None, description="The part of the library that a shipped one stands in.")
    calls: tuple[str, ...] = Field((), description="The tools that its steps and its judges call, by name.")


class ToolSchemas(Response):
    """What a tool is sent and what it answers, as JSON Schemas."""

    input: dict[str, Any] | None = None
    output: dict[str, Any] | None = None


class ShownBy(Response):
    """The rehearsals that show a rule: one that it lets pass, and one that it stops."""

    passes: str
    stops: str


class CitedRule(Response):
    """What a law, a scheme or a standard asks: what enforces it, or why nothing does."""

    id: str | None = None
    source: str
    says: str
    jurisdiction: str | None = None
    valid_from: str | None = Field(None, description="The day on which it begins to apply.")
    valid_to: str | None = Field(None, description="The last day on which it applies.")
    reviewed_on: str | None = Field(None, description="The day on which somebody last compared it with its source.")
    enforced_by: tuple[str, ...] = Field((), description="Steps and clocks.")
    not_enforced: str | None = None
    exempt: tuple[str, ...] = Field((), description="The ends that a refused act of duty may lead to.")
    shown_by: ShownBy | None = None


class RehearsedAct(Response):
    """A verdict, a message, or a lapse of time until what is due `next` or of a duration."""

    gate: str | None = None
    decision: str | None = None
    by: str | None = None
    role: str | None = None
    groups: tuple[str, ...] | None = Field(None, description="Those of who decides; all, unless said.")
    functions: tuple[str, ...] | None = Field(None, description="Those that they fill; all, unless said.")
    comment: str | None = None
    code: str | None = None
    form: dict[str, Any] | None = None
    inputs: dict[str, Any] | None = None
    message: str | None = None
    payload: Any = None
    lapse: str | None = None


class RehearsalResult(Response):
    """How a rehearsal ends; a clock that was stopped after it was due is `late`."""

    status: str
    outcome: str | None = None
    parked_at: tuple[str, ...] = ()
    refused: str | None = Field(None, description="The reason, or the code, for which the last act is refused.")
    reached: tuple[str, ...] = ()
    not_reached: tuple[str, ...] = ()
    escalated: dict[str, str] = Field({}, description="By open gate, the role that was called in.")
    clocks: dict[str, str] = Field({}, description="By clock, how it stands.")
    at: str | None = Field(None, description="What time it is by then.")


class RehearsalCase(Response):
    """A run in shadow that nobody starts: its inputs, what happens in it, and how it ends."""

    name: str
    says: str | None = None
    at: str = Field(description="When it starts.")
    by: str
    auto_resolve: bool
    inputs: dict[str, Any]
    acts: tuple[RehearsedAct, ...] = Field(description="All that happens, in this order.")
    verdicts: tuple[RehearsedAct, ...] = Field(description="Those of the acts that are verdicts.")
    result: RehearsalResult


class RuleOfTemplate(CitedRule):
    """A rule of a template with its two rehearsals: one passes, and one is stopped."""

    rehearsals: tuple[RehearsalCase, ...] = ()


class TemplateDetail(Template):
    """A process template with the JSON Schema of its inputs and an example of them."""

    inputs_schema: dict[str, Any]
    inputs: dict[str, Any]
    tools: dict[str, ToolSchemas] = Field({}, description="What tools take and answer.")
    rules: tuple[CitedRule, ...] = ()


class Escalation(Response):
    """At the deadline people of a role may decide, too; `again` later `then` is decided."""

    escalate: str
    again: str | None = None
    then: str | None = None


class AnchoredDeadline(Response):
    """A deadline that lies so long before a clock is due."""

    clock: str
    before: str


class GatePolicy(Response):
    """Who decides at a gate, how many, by when, and what a verdict has to bring.

    Durations are ISO 8601 and count from the opening of the gate; `P3BD` is three business days.
    """

    role: str = "manager"
    groups: tuple[str, ...] = ()
    quorum: int = 1
    denials: int = 1
    four_eyes: tuple[str, ...] = ()
    comment: Annotated[str, Field(json_schema_extra={"enum": ["optional", "on-denial", "always"]})] = "optional"
    denial_codes: tuple[str, ...] = ()
    code: Annotated[str, Field(json_schema_extra={"enum": ["optional", "required"]})] = "optional"
    form: dict[str, Any] | None = Field(None, description="The JSON Schema of the form.")
    deadline: str | AnchoredDeadline | None = None
    remind: tuple[str, ...] = ()
    on_deadline: str | Escalation | None = None
    batch: Annotated[str, Field(json_schema_extra={"enum": ["allowed", "never"]})] | None = Field(
        None,
        description="Whether verdicts of a batch count. A template that does not say it leaves it to the gate: never "
        "where its tier is critical, or a decision can lead to a live irreversible call.",
    )
    function: str | None = Field(None, description="The function of the company whose people decide alone.")


class Loosened(Response):
    """A gate that asks less than `before`; those who made it so do not decide there."""

    step_id: str
    by: tuple[str, ...]
    before: GatePolicy
    breach_role: str | None = Field(None, description="The least role that a breached clock opened it to before.")


class Wait(Response):
    """What a step waits for."""

    duration: str | None = None
    until: str | None = None
    message: str | None = None
    within: str | None = None


class Node(Response):
    """A step of a template with its governance."""

    id: str
    kind: Kind
    label: str
    tier: Tier
    tool: str | None = None
    effect: Effect | None = None
    gate: bool
    decisions: tuple[str, ...] = ()
    role: str | None = None
    flow: Flow | None = None
    outcome: str | None = None
    signal_when: str | None = None
    policy: GatePolicy | None = Field(None, description="Where a human always decides.")
    question: str | None = Field(None, description="What the gate asks, with placeholders such as `{inputs.amount}`.")
    wait: Wait | None = None
    compensate: str | None = Field(None, description="The tool that undoes a task.")
    compensates: bool = Field(default=False, description="Whether all is undone at this end.")
    judges: tuple[str, ...] = Field((), description="The judges of the panel that hears a task.")
    quorum: int | None = Field(None, description="How many of its judges have to clear it, where not all.")
    duty: str | None = Field(None, description="The rule whose act this step is; nobody may simply refuse it.")
    ends_clocks: dict[str, str] = Field(default_factory=dict, description="By clock, why the law asks nothing more.")


class Edge(Response):
    """A way from one step to another."""

    source: str
    target: str
    branch: str | None = None
    when: str | None = None


class Judge(Response):
    """Who judges steps of tier `medium`, and by what: a rule or a tool."""

    model_config = example(
        {
            "id": "policy",
            "label": "Payment policy",
            "steps": ["pay"],
            "rule": "inputs.amount <= 50.0",
            "tool": None,
            "confidence": 0.9,
        }
    )

    id: str
    label: str
    steps: tuple[str, ...]
    rule: str | None = None
    tool: str | None = None
    confidence: float | None = Field(None, description="How sure a rule is where it clears.")


class ClockExtension(Response):
    """More time, once, by a decision at a gate and the notice that follows it."""

    at: str
    decision: str
    by: str
    once_done: str


class ClockBreach(Response):
    escalate: str


class ClockRule(Response):
    """How long the law gives a case, from a time or a step until one of its acts is done."""

    id: str
    label: str
    from_: str | None = Field(None, alias="from", description="CEL that gives a timestamp; else the start of the run.")
    from_step: str | None = None
    within: str = Field(description="ISO 8601, business days such as `P20BD`, or CEL that gives one.")
    stops: tuple[str, ...]
    pauses: tuple[str, ...] = ()
    extend: ClockExtension | None = None
    warn: tuple[str, ...] = ()
    on_breach: ClockBreach | None = None
    source: str | None = None


class FunctionRule(Response):
    """An office that a company fills; the role stands in while nobody is bound to it."""

    label: str
    role: str = "manager"


class ReaderRule(Response):
    """Who may read a run beside those who may decide at one of its gates; each suffices."""

    functions: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    role: str | None = None
    starter: bool = False


class Canvas(Response):
    """A template as a graph."""

    vertical: str
    version: int
    digest: str
    title: str
    start: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    gates: tuple[str, ...]
    judges: tuple[Judge, ...] = Field((), description="Who judges its steps of tier `medium`, and by what.")
    clocks: tuple[ClockRule, ...] = ()
    functions: dict[str, FunctionRule] = Field(default_factory=dict)
    readers: ReaderRule | None = Field(None, description="Who may read its runs; null for everybody of the company.")
    subjects: tuple[str, ...] = Field((), description="Inputs whose addresses keep a member from reading.")
    exempt: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="By rule, the ends that a refused duty may lead to."
    )


Object = dict[str, Any]
_STEPS = [
    {
        "id": "check",
        "kind": "task",
        "label": "Check the receipt",
        "tool": "receipt-check",
        "effect": "read",
        "next": "ok",
    },
    {"id": "ok", "kind": "gate", "label": "Sign-off", "next": {"approved": "paid", "denied": "refused"}},
    {"id": "paid", "kind": "end", "label": "Paid", "outcome": "paid"},
    {"id": "refused", "kind": "end", "label": "Refused", "outcome": "refused"},
]


class TemplateDocument(Request):
    """A template as its author writes it; docs/guides/templates.md has the fields of steps.

    `version` is ignored: the service numbers what is published.
    """

    model_config = example({"vertical": "petty-cash", "title": "Petty cash", "steps": _STEPS})

    vertical: str
    version: int | None = None
    title: str
    description: str | None = None
    start: str | None = None
    inputs_schema: Object = Field(default_factory=lambda: {"type": "object"})
    example: Object = Field(default_factory=dict)
    tools: dict[str, Object] = Field(
        default_factory=dict, description="By tool: `input` and `output`, JSON Schemas that mappings of connectors fit"
    )
    rules: list[Object] = Field(
        default_factory=list, description="Each `source`, `says`, and `enforced_by` or `not_enforced`"
    )
    rehearsals: dict[str, Object] = Field(
        default_factory=dict, description="By name: `inputs`, `acts` and `result`, as `shown_by` of rules names them"
    )
    judges: list[Object] = Field(
        default_factory=list, max_length=20, description="Each `id`, `label`, `steps`, and a `rule` or a `tool`"
    )
    clocks: list[Object] = Field(
        default_factory=list, max_length=20, description="Each `id`, `label`, `within`, `stops`, and what holds it up"
    )
    functions: dict[str, Object] = Field(default_factory=dict, description="By id: `label`, and `role` while unbound")
    readers: Object | None = Field(None, description="`functions`, `groups`, `role`, `starter`: each suffices")
    subjects: list[str] = Field(default_factory=list, description="Inputs such as `inputs.customer_email`")
    steps: list[Object] = Field(min_length=1, max_length=10_000, description="Of which 1,000 can be published.")


class CheckTemplate(Request):
    """A template document, a canvas as it is answered, or a bare graph of nodes and edges."""

    model_config = example(
        {
            "nodes": [
                {"id": "check", "kind": "agent"},
                {"id": "ok", "kind": "gate"},
                {"id": "pay", "kind": "agent", "reversible": False},
            ],
            "edges": [{"source": "check", "target": "ok"}, {"source": "ok", "target": "pay"}],
        }
    )

    vertical: str | None = None
    version: int | None = None
    digest: str | None = None
    title: str | None = None
    description: str | None = None
    start: str | None = None
    inputs_schema: Object | None = None
    example: Object | None = None
    tools: dict[str, Object] | None = None
    rules: list[Object] | None = None
    rehearsals: dict[str, Object] | None = None
    judges: list[Object] | None = None
    clocks: list[Object] | None = None
    functions: dict[str, Object] | None = None
    readers: Object | None = None
    subjects: list[str] | None = None
    exempt: Object | None = None
    steps: list[Object] | None = None
    nodes: list[Object] | None = None
    edges: list[Object] | None = None
    gates: list[str] | None = None


class EdgeName(Response):
    """An edge by its ends and its branch."""

    source: str
    target: str
    branch: str | None = None


class Violation(Response):
    """A rule that a template breaks, and where; `detail` says what to do.

    Only what is shown by a path of steps has one: a `clock` that is not kept on it, with what it
    `takes` at most and what is allowed, or a duty that is avoided.
    """

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    rule: str
    node: str | None
    edge: EdgeName | None
    detail: str
    clock: str | None = None
    path: tuple[str, ...] = ()
    takes: str | None = None
    within: str | None = Field(None, description="What the clock allows there, in ISO 8601.")


class Guard(Response):
    """The gates on every path from the start to an irreversible step."""

    step_id: str
    gates: tuple[str, ...]


class SlowestPath(Response):
    """The steps of the path that leaves a clock the least time, and how long it takes at most."""

    clock: str
    path: tuple[str, ...]
    takes: str
    within: str = Field(description="What the clock allows there, in ISO 8601.")


class TemplateCheck(Response):
    """All that is wrong with a template; `steps` are in the order of the paths, breadth first.

    What `warnings` name has no effect, and hinders nothing. The slowest paths of `clocks` are there
    where all clocks are kept.
    """

    valid: bool
    violations: tuple[Violation, ...]
    warnings: tuple[Violation, ...] = ()
    steps: tuple[str, ...]
    gates: tuple[str, ...]
    guards: tuple[Guard, ...] = ()
    canvas: Canvas | None = Field(None, description="The graph, where it can be drawn.")
    clocks: tuple[SlowestPath, ...] = ()
    loosened: tuple[Loosened, ...] = Field(
        (), description="The gates that it makes laxer as the caller's next version of its vertical, where it is valid."
    )
    awaits_approval: bool = Field(
        default=False, description="As that version it would wait for another person, by the policy `change_gates`."
    )


class DraftDocument(Response):
    """A draft: the document as its author sent it."""

    vertical: str
    title: str
    steps: tuple[Object, ...]


class DraftEntry(Response):
    """A draft in a list."""

    vertical: str
    title: str
    etag: str
    saved_at: datetime
    saved_by: str


class TemplateVersion(Response):
    """A version of a template; one that every company has was published by nobody."""

    vertical: str
    version: int
    digest: str
    title: str
    published_at: datetime | None = None
    published_by: str | None = None
    retired_at: datetime | None = None
    retired_by: str | None = None


class TemplateVersionDetail(TemplateVersion):
    """A version with its document."""

    document: Object


class AffectedRun(Response):
    """A run in flight whose way from here on is another one in the new version."""

    run_id: str
    parked_at: str | None = None


class PublishedVersion(TemplateVersion):
    """A new version, its gates, and the runs in flight that would go another way by it.

    `gates_removed` are those of the version before that are no gates in this one; `guards_removed`
    those that were on every path to an irreversible step of both, and are not any more.
    """

    gates: tuple[str, ...]
    gates_removed: tuple[str, ...] = ()
    guards_removed: tuple[Guard, ...] = ()
    steps: int
    runs_affected: tuple[AffectedRun, ...]


class ImportBpmn(Request):
    """A BPMN 2.0 document."""

    model_config = example(
        {"xml": "<definitions><process><startEvent id='s'/><userTask id='ok'/></process></definitions>"}
    )

    xml: str = Field(min_length=1)


class ImportedGraph(Response):
    """What a document maps to, and all that does not map or breaks a rule."""

    title: str
    start: str | None
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    judges: tuple[Judge, ...] = ()
    clocks: tuple[ClockRule, ...] = ()
    functions: dict[str, FunctionRule] = Field(default_factory=dict)
    readers: ReaderRule | None = None
    subjects: tuple[str, ...] = ()
    violations: tuple[Violation, ...]
    document: Object = Field(description="The same as a document, for a draft.")


class DraftFromText(Request):
    """A description of a process in words; with `generate` a new graph in any case."""

    model_config = example({"text": "Check the invoice, ask finance above 500, then pay it"})

    text: str = Field(min_length=1, max_length=8_000)
    generate: bool = False


class DraftedGraph(Response):
    """The graph of the closest template with how close it is, or a new one that keeps all rules."""

    matched: str | None = Field(None, description="The vertical of the closest template.")
    score: float
    title: str
    start: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    gates: tuple[str, ...]
    document: Object = Field(description="The same as a document, for a draft.")
