"""Runs and templates in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from daemon.client import Canvas, Event, GateChanged, RetainedRun, Run, Template, TemplateDetail, TraceEntry
from daemon.commands.display.deciding import gate
from daemon.commands.display.printing import add_row, json_text, new_table, status, text, time


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
    parts: list[RenderableType] = [head, trace(one.trace)]
    if one.error is not None:
        parts.append(Text.assemble("failed: ", text(f"{one.error.code}: {one.error.detail}", "red")))
    if one.ended is not None and one.ended.reason:
        parts.append(text(f"ended by {one.ended.by}: {one.ended.reason}"))
    return Group(*parts, *kept(one))


def kept(one: Run) -> Iterator[Text]:
    if isinstance(one, RetainedRun) and one.hold is not None:
        yield text(f"under legal hold by {one.hold.held_by}: {one.hold.reason}", "yellow")
    if isinstance(one, RetainedRun) and one.archived is not None:
        yield text(f"archived {time(one.archived.archived_at)}, {one.archived.sha256}", "yellow")


def trace(visits: Iterable[TraceEntry]) -> Table:
    table = new_table("step", "visit", "status", "mode", "tier", "by", "began", "ended")
    for one in visits:
        ended = "" if one.ended_at is None else time(one.ended_at)
        mode, by = one.mode or one.kind, one.resolved_by or ""
        add_row(table, one.step_id, one.visit, status(one.status), mode, one.tier, by, time(one.started_at), ended)
    return table


def event(one: Event | GateChanged) -> Text:
    if isinstance(one, GateChanged):
        return Text.assemble("    *  ", text(f"gate_changed   {one.gate.step_id}", "yellow"))
    who = " ".join(filter(None, (one.step_id, one.decision, one.outcome, one.by)))
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
