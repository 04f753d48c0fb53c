"""The nodes and edges that the steps of a document become."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from actors.core.gate_policy import PLAIN, Escalation, GatePolicy
from actors.core.template import ERROR, DryRun, Edge, Node, Wait
from daemon.templates.cel import compile_condition, compile_moment, compile_output_condition
from daemon.templates.documents import AtDeadline, Case, Step
from daemon.templates.forms import FormSchema
from daemon.templates.input_schema import leaves

if TYPE_CHECKING:
    from actors.core.gate_policy import CodeRule, CommentRule

T = TypeVar("T")


def node_of(step: Step, inputs_schema: dict[str, Any], wrong: list[str]) -> Node:
    """The node of a step; what is wrong with it is added."""
    return Node(
        id=step.id,
        kind=step.kind,
        label=step.label,
        tier=step.tier or "low",
        flow=step.flow,
        tool=step.tool,
        effect=step.effect,
        needs=tuple(one for key in step.needs for one in leaves(key, inputs_schema)),
        dry_run=tuple(_dry_run(step, case, wrong) for case in step.dry_run),
        signal_when=_compiled(compile_output_condition, step, step.signal_when, wrong),
        role=step.role,
        outcome=step.outcome,
        policy=_policy(step),
        form=_form(step, wrong),
        wait=_wait(step, wrong),
        compensate=step.compensate if isinstance(step.compensate, str) else None,
        compensates=step.compensate is True,
    )


def _policy(step: Step) -> GatePolicy:
    outcome = step.on_deadline
    return GatePolicy(
        role=step.role or PLAIN.role,
        groups=step.groups,
        quorum=step.quorum,
        denials=step.denials,
        four_eyes=step.four_eyes,
        comment=cast("CommentRule", step.comment),
        denial_codes=step.denial_codes,
        code=cast("CodeRule", step.code),
        form=step.form,
        deadline=step.deadline,
        remind=step.remind,
        on_deadline=Escalation(**outcome.model_dump()) if isinstance(outcome, AtDeadline) else outcome,
    )


def _form(step: Step, wrong: list[str]) -> FormSchema | None:
    if step.form is None:
        return None
    try:
        return FormSchema.of(step.form)
    except ValueError as failed:
        wrong.append(f"form_refused at {step.id}: {str(failed).partition(chr(10))[0]}")
        return None


def _wait(step: Step, wrong: list[str]) -> Wait | None:
    if step.kind != "wait":
        return None
    return Wait(step.for_, _compiled(compile_moment, step, step.until, wrong), step.message, step.within)


def _dry_run(step: Step, case: Case, wrong: list[str]) -> DryRun:
    return DryRun(case.output, case.signal, _compiled(compile_condition, step, case.when, wrong))


def edges_of(step: Step, wrong: list[str]) -> Iterator[Edge]:
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
        yield Edge(step.id, way.to, way.branch, _compiled(compile_condition, step, way.when, wrong))


def _compiled(compiler: Callable[[str], T], step: Step, text: str | None, wrong: list[str]) -> T | None:
    try:
        return None if text is None else compiler(text)
    except ValueError as failed:
        wrong.append(f"condition_refused at {step.id}: {failed}")
        return None
