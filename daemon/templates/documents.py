"""The format of template documents, and their canonical form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from actors.core.gate_policy import BatchRule
from actors.core.people import GATE_ROLES, GROUP_NAME
from actors.core.rules import Violation
from actors.core.schedule import duration
from actors.core.template import GATE_TIERS, Flow, Kind, Tier, ToolEffect
from daemon.templates.schemas import SchemasOfTool

ORDER = "x-order"
"""The member of a form's schema that lists the names of its fields in order."""
ACTION_VERTICAL = "action"
"""The process of the actions of agents, which the rules of a company make."""
JUDGE_ID = r"^[a-z][a-z0-9-]{0,63}$"
JUDGES_MAX = 20
MESSAGE_NAME = r"^[a-z][a-z0-9-]{0,63}$"
CLOCK_ID = FUNCTION_ID = r"^[a-z][a-z0-9-]{0,63}$"
RULE_ID = r"^[a-z0-9][a-z0-9-]{0,63}$"
REHEARSAL_NAME = r"^[a-z0-9][a-z0-9-]{0,63}$"
DAY = r"^\d{4}-\d{2}-\d{2}$"
INSTANT = r"^(?:19|20)\d{2}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"
REHEARSALS_MAX = 60
ACTS_MAX = 50
CLOCKS_MAX = 20
CLOCK_WARNINGS_MAX = 10
FUNCTIONS_MAX = 50
SUBJECTS_MAX = 20


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def as_tuple(value: Any) -> Any:
    """A list of JSON as the tuple that a strict model asks for."""
    return tuple(value) if isinstance(value, list) else value


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _real(instant: str) -> str:
    datetime.fromisoformat(instant)
    return instant


def _word(value: Any) -> Any:
    return "task" if value == "agent" else value


class Case(_Model):
    """A dry-run response of a tool, and its condition."""

    when: str | None = None
    output: dict[str, JsonValue]
    signal: bool = False


class Way(_Model):
    branch: str | None = None
    when: str | None = None
    to: str


class AtDeadline(_Model):
    """At the deadline a role may decide, too, and a while later `then` is taken."""

    escalate: str
    again: str | None = None
    then: str | None = None


class AtClock(_Model):
    """A deadline that lies so long before a clock is due."""

    clock: str
    before: str


class Extension(_Model):
    """More time, once, by a decision at a gate and the notice that follows it."""

    at: str
    decision: str
    by: str
    once_done: str


class AtBreach(_Model):
    escalate: str


class Office(_Model):
    """A function of a template: what it is called, and the role that stands in for it."""

    label: Annotated[str, Field(min_length=1, max_length=200)]
    role: str = "manager"


Cases = Annotated[tuple[Case, ...], BeforeValidator(as_tuple)]
Ways = Annotated[tuple[Way, ...], BeforeValidator(as_tuple)]
Names = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]


class CaseClock(_Model):
    """How long the law gives the case, and the acts that it asks for."""

    id: Annotated[str, Field(pattern=CLOCK_ID)]
    label: Annotated[str, Field(min_length=1, max_length=200)]
    from_: Annotated[str | None, Field(alias="from")] = None
    from_step: str | None = None
    within: Annotated[str, Field(min_length=1)]
    stops: Annotated[Names, Field(min_length=1)]
    pauses: Names = ()
    extend: Extension | None = None
    warn: Annotated[Names, Field(max_length=CLOCK_WARNINGS_MAX)] = ()
    on_breach: AtBreach | None = None
    source: Annotated[str, Field(min_length=1)] | None = None


class Readers(_Model):
    """Who may read the runs, beside those who may decide at one of their gates."""

    functions: Names = ()
    groups: Names = ()
    role: str | None = None
    starter: bool = False


FunctionId = Annotated[str, Field(pattern=FUNCTION_ID)]
Next = Annotated[str | tuple[str, ...] | dict[str, str] | None, BeforeValidator(as_tuple)]


def ordered(schema: Any) -> Any:
    """A schema that says in which order its members stand: canonical JSON sorts them by name."""
    if not isinstance(schema, dict):
        return schema
    members = schema.get("properties")
    if not isinstance(members, dict):
        return {name: ordered(value) for name, value in schema.items()}
    # Each member is visited once, `properties` too: two visits of a level are 2^depth of all.
    within = {"properties": {name: ordered(value) for name, value in members.items()}}
    found = {name: within[name] if name == "properties" else ordered(value) for name, value in schema.items()}
    found.setdefault(ORDER, [*members])
    return found


class PolicyFields(_Model):
    """The policy of a gate but for its role, as steps of documents and nodes of graphs have it."""

    groups: Names = ()
    quorum: int = 1
    denials: int = 1
    four_eyes: Names = ()
    comment: str = "optional"
    denial_codes: Names = ()
    code: str = "optional"
    form: dict[str, JsonValue] | None = None
    deadline: str | AtClock | None = None
    remind: Names = ()
    on_deadline: str | AtDeadline | None = None
    batch: BatchRule | None = None
    function: str | None = None


class _Labelled(_Model):
    """What a step is, what it calls, and what it asks of whom."""

    id: str
    kind: Annotated[Kind, BeforeValidator(_word)]
    label: Annotated[str, Field(min_length=1)]
    tier: Tier | None = None
    flow: Flow | None = None
    tool: Annotated[str, Field(min_length=1)] | None = None
    effect: ToolEffect | None = None
    question: str | None = None
    role: str | None = None


class Step(PolicyFields, _Labelled):
    """One step with the fields of all kinds, so that each rule can name the step that breaks it."""

    for_: Annotated[str | None, Field(alias="for")] = None
    until: str | None = None
    message: Annotated[str, Field(pattern=MESSAGE_NAME)] | None = None
    within: str | None = None
    on_error: str | None = None
    compensate: str | bool | None = None
    needs: Names = ()
    dry_run: Cases = ()
    signal_when: str | None = None
    next: Next = None
    branches: Ways = ()
    outcome: Annotated[str, Field(min_length=1)] | None = None
    duty: str | None = None
    ends_clocks: dict[str, Annotated[str, Field(min_length=1)]] = Field(default_factory=dict)

    def normalised(self) -> dict[str, Any]:
        default = "high" if self.kind == "gate" else "low"
        found = self.model_dump(mode="json", exclude_defaults=True, by_alias=True)
        form = {} if self.form is None else {"form": ordered(self.form)}
        # Without one of its own a panel's quorum is all of its judges.
        quorum = {"quorum": self.quorum} if self.has_quorum and not self.has_policy else {}
        return {**found, **form, **quorum, "tier": self.tier or default}

    @property
    def has_quorum(self) -> bool:
        """Whether it says how many have to be for it."""
        return "quorum" in self.model_fields_set

    @property
    def has_policy(self) -> bool:
        """Whether a human always decides here, so that it may say who."""
        return self.kind == "gate" or (self.kind != "end" and self.tier in GATE_TIERS)


_COMMON = frozenset({"id", "kind", "label", "tier"})
_POLICY = frozenset({"question", *PolicyFields.model_fields})
_WAIT = frozenset({"for_", "until", "message", "within"})
_CALL = frozenset({"tool", "effect", "dry_run", "signal_when", "on_error", "compensate"})
_BELONGS = {
    "task": _COMMON | _POLICY | _CALL | {"needs", "role", "next", "branches", "duty"},
    "gate": _COMMON | _POLICY | {"duty", "role", "next", "branches"},
    "gateway": _COMMON | _POLICY | {"flow", "needs", "role", "next", "branches"},
    "wait": _COMMON | _WAIT | {"needs", "next", "branches"},
    "end": _COMMON | {"outcome", "compensate", "next", "ends_clocks"},
}


class JudgeSeat(_Model):
    """A judge of medium steps: a CEL rule over `inputs`, `facts` and `call`, or a tool."""

    id: Annotated[str, Field(pattern=JUDGE_ID)]
    label: Annotated[str, Field(min_length=1, max_length=200)]
    steps: Annotated[Names, Field(min_length=1)]
    rule: str | None = None
    tool: Annotated[str, Field(min_length=1)] | None = None
    confidence: Annotated[float, BeforeValidator(_number), Field(ge=0, le=1)] = 1.0


class ShownBy(_Model):
    """The rehearsals that show a rule: one that it lets pass, and one that it stops."""

    passes: Annotated[str, Field(min_length=1)]
    stops: Annotated[str, Field(min_length=1)]


Person = Annotated[str, Field(min_length=1, max_length=200)]


class RehearsedAct(_Model):
    """What happens next in a rehearsal: a verdict, a message, or a lapse of time.

    Whoever decides is of every group and function, unless they are named. A lapse is `next`, until
    something is due, or a duration.
    """

    gate: str | None = None
    decision: str | None = None
    by: Person = "decider"
    role: str = "owner"
    groups: Names | None = None
    functions: Names | None = None
    comment: str | None = None
    code: str | None = None
    form: dict[str, JsonValue] | None = None
    inputs: dict[str, JsonValue] | None = None
    message: Annotated[str, Field(pattern=MESSAGE_NAME)] | None = None
    payload: JsonValue = None
    lapse: str | None = None

    @model_validator(mode="after")
    def _one_of_three(self) -> Self:
        said = self.model_fields_set
        kinds = [one for one in _ACTS if not said.isdisjoint(one)]
        if len(kinds) != 1 or not said <= kinds[0] or (self.gate is None) != (self.decision is None):
            message = "an act is a verdict with gate and decision, a message, or a lapse"
            raise ValueError(message)
        if self.lapse is not None and self.lapse != NEXT:
            duration(self.lapse)
        return self


NEXT = "next"
_ACTS = (
    frozenset({"gate", "decision", "by", "role", "groups", "functions", "comment", "code", "form", "inputs"}),
    frozenset({"message", "payload"}),
    frozenset({"lapse"}),
)
Instant = Annotated[str, Field(pattern=INSTANT), AfterValidator(_real)]
ClockWord = Literal["running", "paused", "stopped", "late", "breached"]


class RehearsalResult(_Model):
    """How a rehearsal ends; a clock that was stopped after it was due is `late`.

    The last act was `refused` for the reason, or the code, that is named. `reached` and
    `not_reached` name some of the steps; `escalated` has by gate the role that was called in.
    """

    status: Literal["executing", "waiting", "parked", "completed", "failed", "cancelled", "compensating"]
    outcome: str | None = None
    parked_at: Names = ()
    refused: str | None = None
    reached: Names = ()
    not_reached: Names = ()
    escalated: dict[str, str] = Field(default_factory=dict)
    clocks: dict[str, ClockWord] = Field(default_factory=dict)
    at: Instant | None = None


class RehearsalCase(_Model):
    """A run that nobody starts: its inputs, what happens in it, and how it has to end."""

    says: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    at: Instant = "2026-03-02T09:00:00Z"
    by: Person = "starter"
    auto_resolve: bool = True
    inputs: dict[str, JsonValue]
    acts: Annotated[tuple[RehearsedAct, ...], BeforeValidator(as_tuple), Field(max_length=ACTS_MAX)] = ()
    result: RehearsalResult


class CitedRule(_Model):
    """What a law or a standard asks: the steps or clocks that enforce it, or why none does.

    An act of duty under it that is refused may lead to the ends that are `exempt`.
    """

    id: Annotated[str, Field(pattern=RULE_ID)] | None = None
    jurisdiction: Annotated[str, Field(min_length=1)] | None = None
    valid_from: Annotated[str, Field(pattern=DAY)] | None = None
    valid_to: Annotated[str, Field(pattern=DAY)] | None = None
    reviewed_on: Annotated[str, Field(pattern=DAY)] | None = None
    exempt: Names = ()
    shown_by: ShownBy | None = None
    source: Annotated[str, Field(min_length=1)]
    says: Annotated[str, Field(min_length=1)]
    enforced_by: Names = ()
    not_enforced: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if bool(self.enforced_by) == bool(self.not_enforced):
            message = "a rule has either enforced_by or not_enforced"
            raise ValueError(message)
        return self


_OPTIONAL = {"rules", "rehearsals", "judges", "clocks", "functions", "readers", "subjects"}


class Document(_Model):
    vertical: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
    version: Annotated[int, Field(ge=1)]
    title: Annotated[str, Field(min_length=1)]
    description: Annotated[str, Field(min_length=1)]
    start: str | None = None
    inputs_schema: dict[str, JsonValue]
    example: dict[str, JsonValue]
    tools: dict[str, SchemasOfTool] = Field(default_factory=dict)
    rules: Annotated[tuple[CitedRule, ...], BeforeValidator(as_tuple)] = ()
    rehearsals: Annotated[
        dict[Annotated[str, Field(pattern=REHEARSAL_NAME)], RehearsalCase], Field(max_length=REHEARSALS_MAX)
    ] = Field(default_factory=dict)
    judges: Annotated[tuple[JudgeSeat, ...], BeforeValidator(as_tuple), Field(max_length=JUDGES_MAX)] = ()
    clocks: Annotated[tuple[CaseClock, ...], BeforeValidator(as_tuple), Field(max_length=CLOCKS_MAX)] = ()
    functions: Annotated[dict[Annotated[str, Field(pattern=FUNCTION_ID)], Office], Field(max_length=FUNCTIONS_MAX)] = (
        Field(default_factory=dict)
    )
    readers: Readers | None = None
    subjects: Annotated[Names, Field(max_length=SUBJECTS_MAX)] = ()
    steps: Annotated[tuple[Step, ...], BeforeValidator(as_tuple), Field(min_length=1)]

    def normalised(self) -> dict[str, Any]:
        left = {"steps", "start", *_OPTIONAL} | (set() if self.tools else {"tools"})
        whole = self.model_dump(mode="json", exclude=left)
        # A member that says nothing is left out, so that older documents keep their digest.
        whole |= self.model_dump(mode="json", include=_OPTIONAL, exclude_defaults=True, by_alias=True)
        return {**whole, "start": self.start or self.steps[0].id, "steps": [step.normalised() for step in self.steps]}


def seated_wrongly(document: Document) -> Iterator[Violation]:
    """Judges with one id, at no step, or that are not one of a rule and a tool."""
    known, seen = {step.id for step in document.steps}, set[str]()
    for one in document.judges:
        where = f"judges/{one.id}"
        if one.id in seen:
            yield Violation("judge_refused", None, f"{where}: two judges have this id")
        seen.add(one.id)
        for step_id in one.steps:
            if step_id not in known:
                yield Violation("judge_refused", None, f"{where}: it sits at {step_id}, which is no step")
        if len(set(one.steps)) < len(one.steps):
            yield Violation("judge_refused", None, f"{where}: it sits twice at a step")
        if (one.rule is None) == (one.tool is None):
            yield Violation("judge_refused", None, f"{where}: a judge is either a rule or a tool")
        elif one.tool is not None and "confidence" in one.model_fields_set:
            yield Violation("judge_refused", None, f"{where}: a tool answers with a confidence of its own")
        if one.tool is not None and "call" in known:
            yield Violation("judge_refused", None, f"{where}: judges know the call as call, and a step has that id")


def misplaced(document: Document) -> Iterator[Violation]:
    """Fields that a step of this kind must not have, and unknown roles."""
    judged = {step_id for one in document.judges for step_id in one.steps}
    for step in document.steps:
        for name in sorted(step.model_fields_set - _BELONGS[step.kind]):
            detail = f"a step of kind {step.kind} has no {name.rstrip('_')}"
            yield Violation("misplaced_field", step.id, detail)
        if not step.has_policy:
            for name in sorted(step.model_fields_set & (_POLICY - {"quorum"} if step.id in judged else _POLICY)):
                detail = f"only where a human always decides is there a {name}"
                yield Violation("misplaced_field", step.id, detail)
        yield from named_wrongly(step)


def named_wrongly(step: Step) -> Iterator[Violation]:
    """Roles and groups that nobody can have, and an end without the way in which it ended."""
    if step.role is not None and step.role not in GATE_ROLES:
        yield Violation("unknown_role", step.id, f"{step.role} is none of {', '.join(GATE_ROLES)}")
    for name in step.groups:
        if not re.fullmatch(GROUP_NAME, name):
            yield Violation("group_refused", step.id, f"{name!r} is the name of no group")
    if step.kind == "end" and step.outcome is None:
        yield Violation("end_without_outcome", step.id, "an end says how the process ended")
