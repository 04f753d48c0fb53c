"""Runs, their grounds, lists of open gates, and templates in a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from daemon.client import (
    Canvas,
    Clock,
    Event,
    Gate,
    GateChanged,
    GatePreview,
    GateRow,
    HistoryChanged,
    OpenGate,
    RetainedRun,
    RuleOfTemplate,
    Run,
    Template,
    TemplateDetail,
    TraceEntry,
)
from daemon.commands.display.deciding import following, gate, heading
from daemon.commands.display.printing import add_row, exact, json_text, named, new_table, status, text, time


def runs(found: Iterable[Run]) -> Table:
    table = new_table("run", "key", "vertical", "status", "at", "version", "since", "by")
    for run in found:
        where = ", ".join(run.parked_gates) or run.outcome or (run.error.code if run.error else "")
        cells = (run.business_key, run.vertical, status(run.status), where, run.version)
        add_row(table, run.id, *cells, time(run.updated_at), run.created_by)
    return table


def run(one: Run) -> Group:
    """A run: how it stands, its steps, and what its open gates ask."""
    return Group(progress(one), *(gate(asked) for asked in one.gates))


def progress(one: Run) -> Group:
    """How a run stands, its steps, and why it ended."""
    key = "" if one.business_key is None else f"{one.business_key}  "
    head = Text.assemble(text(one.id), "  ", text(f"{key}{one.vertical}"), "  ", status(one.status))
    head.append(f"  version {one.version}")
    if one.outcome is not None:
        head.append_text(Text.assemble("  outcome ", text(one.outcome, "bold")))
    parts: list[RenderableType] = [head, trace(one.trace), *([clocks(one.clocks)] if one.clocks else [])]
    if one.error is not None:
        parts.append(Text.assemble("failed: ", text(f"{one.error.code}: {one.error.detail}", "red")))
    if one.ended is not None and one.ended.reason:
        parts.append(text(f"ended by {one.ended.by}: {one.ended.reason}"))
    return Group(*parts, *retention_lines(one))


def retention_lines(one: Run) -> Iterator[Text]:
    if isinstance(one, RetainedRun) and one.hold is not None:
        yield text(f"under legal hold by {one.hold.held_by}: {one.hold.reason}", "yellow")
    if isinstance(one, RetainedRun) and one.archived is not None:
        yield text(f"archived {time(one.archived.archived_at)}, {one.archived.sha256}", "yellow")


def clocks(found: Iterable[Clock]) -> Table:
    """How long the law gives the case, and how that stands."""
    table = new_table("clock", "state", "since", "due", "stood still", "by", "source")
    for one in found:
        due = "" if one.due_at is None else time(one.due_at)
        late = "breached" if one.breached_at is not None and one.state == "stopped" else ""
        state = " ".join(filter(None, (one.state, f"({late})" if late else "")))
        stood = _span(timedelta(seconds=one.paused_s)) if one.paused_s else ""
        by = one.stopped_by or one.reason or ", ".join(f"{name} assumed" for name in one.assumed)
        red = "red" if one.breached_at is not None else ""
        add_row(table, one.label, text(state, red), time(one.started_at), due, stood, by, one.source)
    return table


def trace(visits: Iterable[TraceEntry]) -> Table:
    table = new_table("step", "visit", "status", "mode", "tier", "by", "began", "ended")
    for one in visits:
        ended = "" if one.ended_at is None else time(one.ended_at)
        giver = None if one.verdict is None else one.verdict.on_behalf_of
        mode, by = one.mode or one.kind, named(one.resolved_by or "", giver)
        add_row(table, one.step_id, one.visit, status(one.status), mode, one.tier, by, time(one.started_at), ended)
    return table


def event(one: Event | GateChanged | HistoryChanged) -> Text:
    if isinstance(one, HistoryChanged):
        return Text.assemble("    *  ", text(f"history_changed   {one.detail}", "red"))
    if isinstance(one, GateChanged):
        return Text.assemble("    *  ", text(f"gate_changed   {one.gate.step_id}", "yellow"))
    by = None if one.by is None else named(one.by, one.on_behalf_of)
    who = " ".join(filter(None, (one.step_id or one.clock, one.decision, one.outcome, by)))
    return Text.assemble(f"{one.seq:>5}  {time(one.at)}  ", text(f"{one.type:<14} {who}"))


def templates(found: Iterable[Template]) -> Table:
    table = new_table("vertical", "version", "steps", "gates", "title")
    for one in found:
        add_row(table, one.vertical, one.version, one.steps, len(one.gates), one.title)
    return table


def template(one: TemplateDetail, graph: Canvas) -> Group:
    """A template: its steps with their governance and successors, and example inputs."""
    table = new_table("step", "kind", "tier", "tool", "effect", "decisions", "leads to")
    for node in graph.nodes:
        ways = [edge for edge in graph.edges if edge.source == node.id]
        leads = ", ".join(f"{edge.branch}: {edge.target}" if edge.branch else edge.target for edge in ways)
        cells = (node.kind, node.tier, node.tool, node.effect, ", ".join(node.decisions), leads or node.outcome)
        add_row(table, node.id, *cells)
    head = Text.assemble(text(one.vertical, "bold"), f" version {one.version}: ", text(one.title))
    return Group(head, text(one.description), table, Text("example inputs:"), json_text(one.inputs))


def rules(found: Iterable[RuleOfTemplate]) -> Table:
    """The rules of a template: when they apply, what enforces them, and what shows it."""
    table = new_table("rule", "source", "jurisdiction", "valid", "reviewed", "enforced by", "shown by")
    for one in found:
        valid = f"{one.valid_from or ''} - {one.valid_to or ''}".strip(" -")
        enforced = ", ".join(one.enforced_by) or f"not enforced: {one.not_enforced}"
        cases = [f"{case.name}: {case.result.outcome or case.result.status}" for case in one.rehearsals]
        add_row(table, one.id, one.source, one.jurisdiction, valid, one.reviewed_on, enforced, "; ".join(cases))
    return table


def parked(one: Run, previews: Mapping[str, GatePreview]) -> Group:
    """A run at its gates: its steps, what a decision rests on, and what follows on each."""
    parts = [part for asked in one.gates for part in _asked(asked, previews.get(asked.step_id))]
    return Group(progress(one), *_grounds(one), *parts)


def question(one: Run, asked: Gate, preview: GatePreview, seen: OpenGate | None = None) -> Group:
    """Everything that a decision at a gate depends on; `seen` says whether the caller may."""
    head = () if seen is None else (heading(seen),)
    return Group(*head, *_grounds(one), *_asked(asked, preview))


def _grounds(one: Run) -> Iterator[RenderableType]:
    yield Text("\ninputs", "bold")
    yield _inputs(one.inputs) if one.inputs else Text("  none")
    yield Text("\nfacts", "bold")
    yield _facts(one) if one.facts else Text("  none")


def _asked(asked: Gate, preview: GatePreview | None) -> Iterator[RenderableType]:
    yield Text()
    yield gate(asked, calls=preview is None)
    for decision in preview.decisions if preview is not None else ():
        yield Text()
        yield following(asked, decision)


def _inputs(found: Mapping[str, Any]) -> Table:
    table = new_table("", "", header=False)
    for name, value in found.items():
        add_row(table, f"  {name}", _json(value))
    return table


def _facts(one: Run) -> Table:
    """A row for each member of what a step found, beside who found it and when."""
    table = new_table("", "", "", header=False)
    for step_id, found in one.facts.items():
        members = found if isinstance(found, dict) and found else {"": found}
        for name, value in members.items():
            shown = f"  {step_id}.{name}" if name else f"  {step_id}"
            add_row(table, shown, _json(value), _source(one, step_id))
    return table


def _source(one: Run, step_id: str) -> Text:
    """Where a fact is from: the call, person or message of the step's latest visit that ended."""
    visit = next((each for each in reversed(one.trace) if each.step_id == step_id and each.ended_at), None)
    if visit is None or visit.ended_at is None:
        return Text()
    return text(f"{_finder(visit)}, {time(visit.ended_at)}", "dim")


def _finder(visit: TraceEntry) -> str:
    verdict, request = visit.verdict, visit.request
    if verdict is not None and (request is None or verdict.decision == "done"):
        return f"said by {named(verdict.by, verdict.on_behalf_of)}"
    if request is not None:
        return f"{request.method} {request.url}" if request.mode == "live" else f"dry run of {request.tool}"
    if visit.wait is not None and visit.wait.message is not None:
        return f"message {visit.wait.message}"
    return visit.kind


def _json(value: Any) -> Text:
    return text(json.dumps(value, ensure_ascii=False))


MONEY = re.compile(r"(^|_)(amount|balance|total|sum|price|value|cost|limit)($|_)")
IDENTIFIES = re.compile(r"_?(id|name|ref|number|code|party|person|service)$")
RISK = {"critical": "bold red", "high": "yellow"}
# An id begins with its time in ms, of 13 characters; random ones follow.
ID_LENGTHS = (13, 18, 23, 28, 36)
UNITS = (("d", timedelta(days=1)), ("h", timedelta(hours=1)), ("min", timedelta(minutes=1)))


def gate_rows(found: Sequence[GateRow], now: datetime) -> Table:
    """The gates, with the shortest beginnings of ids that tell their runs apart."""
    table = new_table("run", "risk", "gate", "which", "amount", "waits", "due", "for", "")
    length = _length({one.run_id for one in found})
    for one in found:
        asked = one.gate
        what = text(asked.label).append(f"  {one.vertical}", "dim")
        amount = Text(_amount(one.inputs), justify="right")
        nearest = min((at for at in (asked.due_at, asked.clock_due_at) if at is not None), default=None)
        due = Text() if nearest is None else _due(nearest, now)
        cells = (what, _which(one), amount, _span(now - asked.opened_at), due, _whom(one), _marks(one))
        add_row(table, one.run_id[:length], text(asked.tier, RISK.get(asked.tier, "")), *cells)
    return table


def _length(ids: set[str]) -> int:
    return next(length for length in ID_LENGTHS if len({one[:length] for one in ids}) == len(ids))


def _which(one: GateRow) -> str:
    """The business key, or else the input that best identifies the run."""
    if one.business_key is not None:
        return one.business_key
    named = [(name, value) for name, value in one.inputs.items() if isinstance(value, str) and not MONEY.search(name)]
    best = sorted(named, key=lambda each: IDENTIFIES.search(each[0]) is None)
    return best[0][1] if best else ""


def _amount(inputs: Mapping[str, Any]) -> str:
    for name, value in inputs.items():
        if MONEY.search(name) and isinstance(value, int | float) and not isinstance(value, bool):
            return f"{value:,}" if isinstance(value, int) else exact(value)
    return ""


def _due(at: datetime, now: datetime) -> Text:
    return Text(f"{_span(now - at)} over", "red") if at < now else Text(f"in {_span(at - now)}")


def _span(passed: timedelta) -> str:
    """A span in its largest unit."""
    return next((f"{passed // size} {unit}" for unit, size in UNITS if passed >= size), "<1 min")


def _whom(one: GateRow) -> str:
    asked = one.gate
    whom = ", ".join(asked.groups) or asked.role or "manager"
    if asked.function is not None and asked.function.bound:
        whom = asked.function.label
    return whom if asked.escalated_to is None else f"{whom}, {asked.escalated_to}"


def _marks(one: GateRow) -> str:
    """What else one should know before one opens it."""
    asked = one.gate
    marks = {
        f"not you: {one.why_not}": not one.can_decide,
        "sends": asked.mode == "live",
        f"{asked.verdicts} of {asked.quorum} decided": asked.quorum > 1,
        "too few may decide": asked.blocked,
        f"{asked.proposals} proposed": asked.proposals > 0,
        f"{one.claimed_by} looks at it": one.claimed_by is not None,
    }
    return ", ".join(mark for mark, shown in marks.items() if shown)
