"""The nodes and edges that the steps of a document become, and the forms of gates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from typing import Any, TypeVar, cast

import jsonschema_rs

from actors.core.autonomy import Judge, PanelRule
from actors.core.gate_policy import PLAIN, AnchoredDeadline, Escalation, GatePolicy
from actors.core.rules import EdgeName, Violation
from actors.core.schedule import is_duration
from actors.core.template import (
    ERROR,
    ClockExtension,
    ClockRule,
    ConditionFailed,
    DryRun,
    DurationExpression,
    Edge,
    Node,
    Wait,
    pointed,
)
from daemon.templates.answers import answered
from daemon.templates.cel import (
    CallCel,
    Cel,
    MomentCel,
    OutputCel,
    SpanCel,
    compile_call_condition,
    compile_condition,
    compile_moment,
    compile_output_condition,
    compile_span,
    condition,
    moment,
    span,
)
from daemon.templates.documents import ORDER, AtClock, AtDeadline, Case, CaseClock, Document, Office, PolicyFields, Step
from daemon.templates.schema_cost import inline_weight
from daemon.templates.schemas import ERRORS_MAX, NOT_LINEAR, STOPPED, InputsSchema, Validator, leaves, nothing_remote

Kind = jsonschema_rs.ValidationErrorKind
HANDED = "aap:"
"""How the tool of a call begins that the agent makes itself; no connector has such a name."""


@dataclass(frozen=True)
class FormSchema:
    """Finds all that is wrong with a form, in the order of the schema.

    It is compiled when it is first asked here.
    """

    schema: dict[str, Any] = field(compare=False)
    names: tuple[str, ...]

    @classmethod
    def stored(cls, schema: dict[str, Any]) -> FormSchema:
        """A form that was compiled when it was stored."""
        order = schema.get(ORDER)
        return cls(schema, tuple(map(str, order)) if isinstance(order, list) else ())

    @classmethod
    def from_schema(cls, schema: dict[str, Any]) -> FormSchema:
        """ValueError when it is no schema of an object, or refers to another."""
        if schema.get("type") != "object":
            raise ValueError("a form is of type object")
        found = cls.stored(schema)
        _ = found._validator  # noqa: SLF001 - its own
        return found

    @cached_property
    def _validator(self) -> Validator:
        options: dict[str, Any] = {"retriever": nothing_remote, "mask": "the value"}
        try:
            return Validator(self.schema, pattern_options=jsonschema_rs.RegexOptions(), **options)
        except ValueError as failed:
            message = str(failed).partition("\n")[0]
            raise ValueError(f"{message}, or {NOT_LINEAR}") from failed

    @cached_property
    def _inline_weight(self) -> int:
        return inline_weight(self.schema)

    def errors(self, values: dict[str, Any]) -> list[tuple[str, str]]:
        """A pointer below the form and a sentence for each finding."""
        try:
            found = answered("form", self.schema, values, partial(self.errors_here, values), self._inline_weight)
        except ConditionFailed:
            return [("", f"the values {STOPPED}")]
        return [(where, said) for where, said in found]

    def errors_here(self, values: dict[str, Any]) -> list[tuple[str, str]]:
        """The same, whatever it costs."""
        found = [one for error in islice(self._validator.iter_errors(values), ERRORS_MAX) for one in _said(error)]
        return sorted(found, key=lambda one: self._place(one[0]))

    def _place(self, where: str) -> int:
        name = where.split("/")[1] if where else ""
        return self.names.index(name) if name in self.names else len(self.names)


def _said(error: jsonschema_rs.ValidationError) -> Iterator[tuple[str, str]]:
    where, kind = "".join(pointed(str(part)) for part in error.instance_path), error.kind
    if isinstance(kind, Kind.Required):
        yield where + pointed(kind.property), "is missing"
    elif isinstance(kind, Kind.AdditionalProperties):
        for name in kind.unexpected:
            yield where + pointed(name), "is not asked for"
    else:
        yield where, error.message


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Uncompiled:
    """An expression that does not compile, in a template that must not run."""

    text: str
    reads: tuple[str, ...] = ()

    def holds(self, *_: Any) -> bool:
        raise ConditionFailed("it does not compile")


@dataclass(frozen=True, slots=True)
class NodeReader:
    """How the expressions and forms of a document are read; what is wrong with it is added."""

    wrong: list[Violation]
    condition: Callable[[str], Cel] = condition
    moment: Callable[[str], MomentCel] = moment
    span: Callable[[str], SpanCel] = span
    output: Callable[[str], OutputCel] = OutputCel
    call: Callable[[str], CallCel] = CallCel
    form: Callable[[dict[str, Any]], FormSchema] = FormSchema.stored
    inputs: Callable[[dict[str, Any]], InputsSchema] = InputsSchema
    consents: bool = False
    """The document is that of a company's rule of actions, which no outside text ever is."""


def checking(wrong: list[Violation]) -> NodeReader:
    """Compiles all, to find what is wrong; else each is compiled when it is first asked."""
    return NodeReader(
        wrong,
        compile_condition,
        compile_moment,
        compile_span,
        compile_output_condition,
        compile_call_condition,
        FormSchema.from_schema,
        InputsSchema.from_schema,
    )


def node_of(step: Step, document: Document, panel: PanelRule | None, read: NodeReader) -> Node:
    """The node of a step that a panel hears, or none; what is wrong with it is added."""
    office = document.functions.get(step.function or "")
    return Node(
        id=step.id,
        kind=step.kind,
        label=step.label,
        tier=step.tier or "low",
        flow=step.flow,
        tool=step.tool,
        effect=step.effect,
        needs=tuple(one for key in step.needs for one in leaves(key, document.inputs_schema)),
        dry_run=tuple(_dry_run(step, case, read) for case in step.dry_run),
        signal_when=compiled(read.output, step.id, step.signal_when, read.wrong),
        role=step.role or (None if office is None else office.role),
        outcome=step.outcome,
        policy=_policy(step, office),
        form=_form(step, read),
        question=step.question,
        wait=_wait(step, read),
        compensate=step.compensate if isinstance(step.compensate, str) else None,
        compensates=step.compensate is True,
        panel=panel,
        duty=step.duty,
        ends_clocks=step.ends_clocks,
        consent=step.id if read.consents and step.kind == "task" else None,
        handed=read.consents and (step.tool or "").startswith(HANDED),
    )


def clock_of(clock: CaseClock, read: NodeReader) -> ClockRule:
    """The clock of a document; what is wrong with its expressions is added."""
    refused: list[Violation] = []
    within: str | DurationExpression = clock.within
    if not is_duration(clock.within):
        within = compiled(read.span, clock.id, clock.within, refused) or clock.within
    since = compiled(read.moment, clock.id, clock.from_, refused)
    read.wrong.extend(Violation(one.rule, None, f"clocks/{clock.id}: {one.detail}") for one in refused)
    return ClockRule(
        id=clock.id,
        label=clock.label,
        within=within,
        stops=clock.stops,
        since=since,
        from_step=clock.from_step,
        pauses=clock.pauses,
        extend=None if clock.extend is None else ClockExtension(**clock.extend.model_dump()),
        warn=clock.warn,
        escalate=None if clock.on_breach is None else clock.on_breach.escalate,
        source=clock.source,
    )


def panels_of(document: Document, read: NodeReader) -> dict[str, PanelRule]:
    """The panels by step; without a quorum of its own all judges have to clear the step."""
    seats: dict[str, list[Judge]] = {}
    for seat in document.judges:
        refused: list[Violation] = []
        rule = compiled(read.call, seat.steps[0], seat.rule, refused)
        where = f"judges/{seat.id}/rule"
        read.wrong.extend(Violation(one.rule, None, f"{where}: {one.detail}") for one in refused)
        judge = Judge(seat.id, seat.label, rule, seat.tool, seat.confidence)
        for step_id in dict.fromkeys(seat.steps):
            seats.setdefault(step_id, []).append(judge)
    said = {step.id: step.quorum for step in document.steps if step.has_quorum and not step.has_policy}
    return {step_id: PanelRule(tuple(judges), said.get(step_id, len(judges))) for step_id, judges in seats.items()}


def _policy(step: Step, office: Office | None) -> GatePolicy:
    asked = {name: getattr(step, name) for name in PolicyFields.model_fields}
    if isinstance(step.on_deadline, AtDeadline):
        asked["on_deadline"] = Escalation(**step.on_deadline.model_dump())
    if not step.has_policy:  # the quorum is that of a panel
        asked["quorum"] = PLAIN.quorum
    if isinstance(step.deadline, AtClock):
        asked["deadline"] = AnchoredDeadline(**step.deadline.model_dump())
    return GatePolicy(role=step.role or (PLAIN.role if office is None else office.role), **asked)


def _form(step: Step, read: NodeReader) -> FormSchema | None:
    if step.form is None:
        return None
    try:
        return read.form(step.form)
    except ValueError as failed:
        read.wrong.append(Violation("form_refused", step.id, str(failed).partition(chr(10))[0]))
        return None


def _wait(step: Step, read: NodeReader) -> Wait | None:
    if step.kind != "wait":
        return None
    return Wait(step.for_, compiled(read.moment, step.id, step.until, read.wrong), step.message, step.within)


def _dry_run(step: Step, case: Case, read: NodeReader) -> DryRun:
    return DryRun(case.output, case.signal, compiled(read.condition, step.id, case.when, read.wrong))


def edges_of(step: Step, read: NodeReader) -> Iterator[Edge]:
    """The edges out of a step; what is wrong with them is added."""
    match step.next:
        case str(target):
            yield Edge(step.id, target)
        case tuple(targets):
            yield from (Edge(step.id, target) for target in targets)
        case dict(branches):
            yield from (Edge(step.id, target, branch) for branch, target in branches.items())
        case _:
            pass
    if step.on_error is not None:
        yield Edge(step.id, step.on_error, ERROR)
    for way in step.branches:
        name = EdgeName(step.id, way.to, way.branch)
        yield Edge(step.id, way.to, way.branch, compiled(read.condition, step.id, way.when, read.wrong, name))


def compiled(
    compiler: Callable[[str], T],
    step_id: str,
    text: str | None,
    wrong: list[Violation],
    edge: EdgeName | None = None,
) -> T | None:
    """The expression; of one that does not compile the text, so that the graph stays as it is."""
    try:
        return None if text is None else compiler(text)
    except ValueError as failed:
        wrong.append(Violation("condition_refused", step_id, str(failed), edge))
        return cast("T", Uncompiled(text or ""))
