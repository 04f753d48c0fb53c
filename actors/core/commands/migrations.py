"""A run goes on by another version of its template."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from actors.core.approvals import missing_inputs, own_call, snapshot_gate
from actors.core.commands import clocks
from actors.core.messages import GateRescheduled, GateUnblocked, Migrate, Rejected, RunMigrated, kept_kind
from actors.core.rules.guards import migrated
from actors.core.run import Run, Visit
from actors.core.template import Template
from actors.core.turn import Turn


def migrate(turn: Turn, message: Migrate) -> Rejected | None:
    """Pin the run to another version; its open gates show what they ask by that one."""
    run, before, onto = turn.run, turn.template, turn.onto
    assert onto is not None  # noqa: S101 - it comes with the message
    if run.ended is not None or run.compensating is not None:
        return _refused((), f"The run is {run.status}.")
    if run.template_digest == onto.digest:
        return None
    missing = dict(_misfits(run, before, onto))
    if missing:
        return _refused(tuple(missing), "; ".join(f"{step} {why}" for step, why in missing.items()) + ".")
    loosened = migrated(run.loosened, before, onto, message.made_by or message.by)
    turn.emit(
        RunMigrated(
            at=turn.at,
            by=message.by,
            by_kind=kept_kind(message.by_kind),
            via=message.via,
            from_digest=run.template_digest,
            from_version=run.template_version,
            template_digest=onto.digest,
            template_version=onto.version,
            loosened=loosened or UNSET,
            made_by=message.made_by or UNSET,
        )
    )
    turn.template = onto
    clocks.migrate(turn, before)
    for visit in turn.run.parked:
        _reopen(turn, visit, before)
    return None


def _refused(steps: tuple[str, ...], why: str) -> Rejected:
    more = {"steps": list(steps), "why": why}
    return Rejected("not_migratable", f"The run cannot go on by that version. {why}", more)


def _misfits(run: Run, before: Template, onto: Template) -> Iterator[tuple[str, str]]:
    """The steps that keep a run from going on by another version, and why."""
    for visit in run.open:
        step = visit.step_id
        if not onto.has(step):
            yield step, "is open, and is not in it"
        elif onto.node(step).kind != visit.kind or onto.joins(step) != before.joins(step):
            yield step, "is open, and is another kind of step there"
        elif not {*visit.arrived} <= {edge.source for edge in onto.entering(step)} and onto.joins(step):
            yield step, "waits for branches that do not come there"
        elif visit.call_out and onto.node(step).tool != before.node(step).tool:
            yield step, "calls a tool, and has another one there"
    for visit in run.trace:
        undo = before.node(visit.step_id).compensate if before.has(visit.step_id) else None
        if undo is not None and visit.status == "done":
            there = onto.node(visit.step_id).compensate if onto.has(visit.step_id) else None
            if there != undo:
                yield visit.step_id, "was done, and could not be undone there as it can here"


def _reopen(turn: Turn, visit: Visit, before: Template) -> None:
    """Open a gate anew, with the label, policy, decisions and calls of the version in force."""
    gate, node = visit.gate, turn.template.node(visit.step_id)
    assert gate is not None  # noqa: S101 - it is open
    usual = gate.decisions == before.decisions(visit.step_id)
    decisions = turn.template.decisions(visit.step_id) if usual else gate.decisions
    request = own_call(turn.run, visit, node, turn.connectors)
    lacks = missing_inputs(turn.run, visit, turn.template, request)
    known: Any = {"template": turn.template, "connectors": turn.connectors, "missing": lacks}
    now = snapshot_gate(turn.run, visit, decisions, request, **known)
    opened = turn.reopen(visit, now, decisions).gate
    about: Any = {"at": turn.at, "step_id": visit.step_id, "visit": visit.visit}
    if opened is not None and (node.policy.deadline, node.policy.remind) != (gate.policy.deadline, gate.policy.remind):
        due_at, remind_at = turn.deadlines(node.policy, gate.opened_at)
        left = tuple(one for one in remind_at if one > turn.at)
        turn.emit(GateRescheduled(**about, due_at=due_at or UNSET, remind_at=left))
    if gate.blocked is not None and opened is not None and not opened.asks_people:
        turn.emit(GateUnblocked(**about))
