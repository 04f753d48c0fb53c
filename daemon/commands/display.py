"""Runs, gates and templates in a terminal; control characters of others are escaped."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from daemon.client import (
    ApiKey,
    Calendar,
    Call,
    Canvas,
    DecisionPreview,
    Delegation,
    Delivery,
    Event,
    Gate,
    GateChanged,
    GatePreview,
    Holidays,
    Member,
    OpenGate,
    OwnAccount,
    PlannedCall,
    PreviewStep,
    Proposal,
    Run,
    Template,
    TemplateDetail,
    TraceEntry,
    Verdict,
    VerdictReceipt,
    Webhook,
)
from daemon.client import Group as People
from daemon.commands.base import echo
from daemon.runtime.terminal import clean

V = TypeVar("V", bound=BaseModel | Sequence[BaseModel])
WIDE = 240
COLORS = {
    "completed": "green",
    "done": "green",
    "delivered": "green",
    "parked": "yellow",
    "failed": "red",
    "denied": "red",
}


def show(shown: RenderableType) -> None:
    """Print to standard output; without a terminal, lines are neither cut nor folded."""
    _print(shown, on_terminal=sys.stdout.isatty())


def ask(shown: RenderableType) -> None:
    _print(shown, on_terminal=sys.stderr.isatty(), stderr=True)


def print_json(value: BaseModel | Sequence[BaseModel]) -> None:
    if isinstance(value, BaseModel):
        echo(value.model_dump_json(indent=2, exclude_unset=True))
    else:
        found = [one.model_dump(mode="json", exclude_unset=True) for one in value]
        echo(json.dumps(found, indent=2, ensure_ascii=False))


def show_result(value: V, render: Callable[[V], RenderableType], *, as_json: bool) -> None:
    if as_json:
        print_json(value)
    else:
        show(render(value))


def text(value: object, style: str = "") -> Text:
    return Text(clean(value), style)


def runs(found: Iterable[Run]) -> Table:
    table = _table("run", "vertical", "status", "at", "version", "since", "by")
    for run in found:
        where = ", ".join(run.parked_gates) or run.outcome or (run.error.code if run.error else "")
        cells = (run.id, run.vertical, status(run.status), where, run.version, time(run.updated_at), run.created_by)
        _row(table, *cells)
    return table


def run(one: Run) -> Group:
    head = Text.assemble(text(one.id), "  ", text(one.vertical), "  ", status(one.status))
    head.append(f"  version {one.version}")
    if one.outcome is not None:
        head.append_text(Text.assemble("  outcome ", text(one.outcome, "bold")))
    parts: list[RenderableType] = [head, trace(one.trace)]
    if one.error is not None:
        parts.append(Text.assemble("failed: ", text(f"{one.error.code}: {one.error.detail}", "red")))
    if one.ended is not None and one.ended.reason:
        parts.append(text(f"ended by {one.ended.by}: {one.ended.reason}"))
    return Group(*parts, *(gate(asked) for asked in one.gates))


def trace(visits: Iterable[TraceEntry]) -> Table:
    table = _table("step", "visit", "status", "mode", "tier", "by", "began", "ended")
    for one in visits:
        ended = "" if one.ended_at is None else time(one.ended_at)
        mode, by = one.mode or one.kind, one.resolved_by or ""
        _row(table, one.step_id, one.visit, status(one.status), mode, one.tier, by, time(one.started_at), ended)
    return table


def question(one: Run, asked: Gate, preview: GatePreview) -> Group:
    """Everything a decision depends on: inputs, facts, gate, and the steps after each decision."""
    return Group(
        Text("inputs", "bold"),
        json_text(one.inputs),
        Text("facts", "bold"),
        json_text(one.facts),
        gate(asked),
        *(following(asked, decision) for decision in preview.decisions),
    )


def following(asked: Gate, found: DecisionPreview) -> Text:
    """What a decision leads to, up to the next human."""
    lines = [Text.assemble(text(found.decision, "bold"), " leads to"), *(_step(asked, one) for one in found.steps)]
    ends = len(found.gates) + len(found.outcomes)
    may = Text("  " if ends == 1 else "  perhaps ")
    lines += [may.copy().append_text(text(one)).append(", where a human decides", "yellow") for one in found.gates]
    lines += [may.copy().append_text(text(f"the end: {one}")) for one in found.outcomes]
    return Text("\n").join(lines)


def _step(asked: Gate, one: PreviewStep) -> Text:
    line = Text("  " if one.certain else "  perhaps ").append_text(text(f"{one.label} ({one.step_id})"))
    planned = next((each for each in asked.effects if each.step_id == one.step_id), None)
    if planned is not None:
        return line.append(", irreversible, ").append_text(_planned(planned))
    return line.append_text(text("" if one.tool is None else f", {one.effect}: {one.tool}"))


def planned(one: PlannedCall) -> Text:
    """An irreversible call that a decision can lead to."""
    on = f"{one.label} ({one.step_id}), on {' or '.join(one.decisions)}: "
    shown = text(on).append_text(_planned(one))
    if one.call is not None and one.call.body is not None:
        shown.append("\n").append_text(json_text(one.call.body))
    return shown


def _planned(one: PlannedCall) -> Text:
    if one.mode == "shadow" or one.connector is None:
        return text(f"recorded, not sent: {one.tool}")
    url = one.call.url if one.call is not None else f"{one.connector.origin} {one.connector.path}"
    return text(
        f"WILL BE SENT: {one.connector.method} {url} (connector {one.tool}, version {one.connector.version})", "bold"
    )


def gate(one: Gate) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_row(
        Text("asked", "bold yellow"), text(f"{one.label} ({one.step_id}, visit {one.visit}, tier {one.tier})")
    )
    if one.question is not None:
        table.add_row("question", text(one.question))
    table.add_row("since", text(one.reason))
    if one.signals:
        table.add_row("signals", text(", ".join(one.signals)))
    if one.missing:
        table.add_row("missing", text(", ".join(one.missing)))
    table.add_row("call", Text("none at this step") if one.effect is None else call(one.effect))
    for number, effect in enumerate(one.effects):
        table.add_row("irreversible" if number == 0 else "", planned(effect))
    table.add_row("decisions", text(", ".join(one.decisions)))
    for number, made in enumerate(one.proposals):
        table.add_row("proposed" if number == 0 else "", proposal(made))
    for name, rule in rules(one):
        table.add_row(name, text(rule))
    for number, given in enumerate(one.verdicts):
        table.add_row("decided" if number == 0 else "", verdict(given))
    table.add_row("digest", text(one.digest))
    return table


def rules(one: Gate) -> Iterator[tuple[str, str]]:
    """What the policy of a gate asks for, by name."""
    policy, then = one.policy, one.policy.on_deadline
    yield "needs", f"the role {policy.role}" + (f", group {' or '.join(policy.groups)}" if policy.groups else "")
    if policy.quorum > 1 or policy.denials > 1:
        yield "people", f"{policy.quorum} to agree, {policy.denials} to deny"
    if policy.four_eyes:
        yield "not by", ", ".join(policy.four_eyes)
    if policy.comment != "optional":
        yield "comment", policy.comment
    if policy.denial_codes:
        yield "code", f"{policy.code} with a denial: {', '.join(policy.denial_codes)}"
    if policy.form is not None:
        yield "form", ", ".join(policy.form.get("x-order", policy.form.get("properties", {})))
    if one.due_at is not None:
        late = then if isinstance(then, str) else f"{then.escalate} may decide, too" if then is not None else ""
        yield "due", f"{time(one.due_at)}, then {late}"
    if one.escalation is not None:
        yield "escalated", f"{one.escalation.to} may decide, too, since {time(one.escalation.at)}"
    if one.blocked is not None:
        yield "blocked", f"{one.blocked.needed} needed, and {one.blocked.eligible} may decide"


def verdict(one: Verdict) -> Text:
    """Who decided what, for whom, and why."""
    whom = "" if one.on_behalf_of is None else f" for {one.on_behalf_of}"
    why = "".join(f", {part}" for part in (one.code, one.comment) if part)
    return text(f"{one.decision} by {one.by}{whom} at {time(one.at)}{why}")


def receipt(one: VerdictReceipt) -> Table:
    """What the history says of a verdict."""
    table = _table("receipt", one.verdict_id)
    whom = "" if one.on_behalf_of is None else f" for {one.on_behalf_of}"
    _row(table, "decided", f"{one.decision} by {one.by} ({one.by_kind}){whom}")
    _row(table, "at", time(one.at))
    _row(table, "gate", f"{one.gate}, visit {one.visit}, digest {one.digest}")
    _row(table, "event", f"{one.seq}, hash {one.hash}")
    return table


def open_gate(one: OpenGate) -> Group:
    """An open gate as the caller sees it."""
    mine = "you may decide" if one.can_decide else f"you may not decide: {one.why_not}"
    alone = ", alone, as the only person of the company" if one.solo else ""
    head = Text.assemble(text(one.run_id), "  ", text(one.title), f"  {mine}{alone}")
    if one.claimed_by is not None:
        head.append_text(text(f"  claimed by {one.claimed_by}"))
    return Group(head, gate(one.gate))


def open_gates(found: Iterable[OpenGate]) -> Table:
    table = _table("run", "gate", "vertical", "key", "tier", "waits since", "due", "decided", "mine")
    for one in found:
        asked, due = one.gate, "" if one.due_at is None else time(one.due_at)
        count = f"{len(one.verdicts)} of {asked.policy.quorum}"
        mine = "yes" if one.can_decide else one.why_not
        cells = (asked.step_id, one.vertical, one.business_key, asked.tier, time(asked.opened_at), due, count, mine)
        _row(table, one.run_id, *cells)
    return table


def proposal(one: Proposal) -> Text:
    sure = "" if one.confidence is None else f", confidence {one.confidence:.2f}"
    said = "" if one.comment is None else f": {one.comment}"
    return text(f"{one.decision} by {one.by} ({one.by_kind}{sure}){said}")


def call(one: Call) -> Text:
    shown = Text("recorded, not sent: " if one.mode == "shadow" else "sent: ", "" if one.mode == "shadow" else "bold")
    shown.append_text(text(f"{one.method or 'tool'} {one.url or one.tool}"))
    for name, value in one.headers.items():
        shown.append("\n").append_text(text(f"{name}: {value}"))
    if one.body is not None:
        shown.append("\n").append_text(json_text(one.body))
    return shown


def event(one: Event | GateChanged) -> Text:
    if isinstance(one, GateChanged):
        return Text.assemble("    *  ", text(f"gate_changed   {one.gate.step_id}", "yellow"))
    who = " ".join(filter(None, (one.step_id, one.decision, one.outcome, one.by)))
    return Text.assemble(f"{one.seq:>5}  {time(one.at)}  ", text(f"{one.type:<14} {who}"))


def templates(found: Iterable[Template]) -> Table:
    table = _table("vertical", "version", "steps", "gates", "title")
    for one in found:
        _row(table, one.vertical, one.version, one.steps, ", ".join(one.gates), one.title)
    return table


def template(one: TemplateDetail, graph: Canvas) -> Group:
    """A template: its steps with their governance and successors, and example inputs."""
    table = _table("step", "kind", "tier", "tool", "effect", "decisions", "leads to")
    for node in graph.nodes:
        ways = [edge for edge in graph.edges if edge.source == node.id]
        leads = ", ".join(f"{edge.branch}: {edge.target}" if edge.branch else edge.target for edge in ways)
        decisions = ", ".join(node.decisions)
        _row(table, node.id, node.kind, node.tier, node.tool or "", node.effect or "", decisions, leads or node.outcome)
    head = Text.assemble(text(one.vertical, "bold"), f" version {one.version}: ", text(one.title))
    return Group(head, text(one.description), table, Text("example inputs:"), json_text(one.inputs))


def webhooks(found: Iterable[Webhook]) -> Table:
    table = _table("webhook", "url", "events", "state", "failures", "description")
    for one in found:
        state = "enabled" if one.enabled else f"disabled: {one.disabled_reason}"
        _row(table, one.id, one.url, ", ".join(one.events or ["all"]), state, one.failures, one.description)
    return table


def api_keys(found: Iterable[ApiKey]) -> Table:
    table = _table("key", "name", "kind", "role", "prefix", "expires", "last used")
    for one in found:
        expires, used = (None if at is None else time(at) for at in (one.expires_at, one.last_used_at))
        _row(table, one.id, one.name, one.kind, one.role, one.prefix, expires or "never", used or "never")
    return table


def members(found: Iterable[Member]) -> Table:
    table = _table("member", "email", "name", "role", "status", "invited by")
    for one in found:
        _row(table, one.id, one.email, one.name, one.role, one.status, one.invited_by)
    return table


def groups(found: Iterable[People], addresses: Mapping[str, str]) -> Table:
    table = _table("group", "members")
    for one in found:
        _row(table, one.name, ", ".join(addresses.get(each, each) for each in one.members))
    return table


def delegations(found: Iterable[Delegation], addresses: Mapping[str, str]) -> Table:
    table = _table("delegation", "giver", "to", "from", "until", "verticals")
    for one in found:
        giver, to = (addresses.get(each, each) for each in (one.giver, one.to))
        _row(table, one.id, giver, to, time(one.begins), time(one.until), ", ".join(one.verticals or ()) or "all")
    return table


def calendar(one: Calendar) -> Table:
    table = _table("calendar", "")
    _row(table, "time zone", one.timezone)
    _row(table, "weekend", ", ".join(one.weekend) or "none")
    _row(table, "holidays", ", ".join(one.holidays) or "none")
    return table


def holidays(found: Holidays) -> Table:
    table = _table("date", "holiday")
    for one in found.holidays:
        _row(table, one.date, one.name)
    return table


def account(one: OwnAccount) -> Group:
    """Who somebody is, and the companies of that person."""
    table = _table("company", "name", "role", "current")
    for each in one.companies:
        _row(table, each.id, each.name, each.role, "yes" if each.id == one.company.id else "")
    return Group(text(f"{one.user.email}  {one.kind}  {one.role} of {one.company.name}"), table)


def deliveries(found: Iterable[Delivery]) -> Table:
    table = _table("delivery", "event", "run", "status", "attempts", "answered", "next", "error")
    for one in found:
        later = "" if one.next_attempt_at is None else time(one.next_attempt_at)
        cells = (one.id, one.type, one.run_id, status(one.status), one.attempts, one.status_code, later, one.error)
        _row(table, *cells)
    return table


def status(word: str) -> Text:
    return text(word, COLORS.get(word, ""))


def time(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%SZ")


def json_text(value: Any) -> Text:
    lines = json.dumps(value, indent=2, ensure_ascii=False).splitlines()
    return Text("\n").join(text(line) for line in lines)


def _print(shown: RenderableType, *, on_terminal: bool, stderr: bool = False) -> None:
    width = None if on_terminal else WIDE
    Console(stderr=stderr, width=width, highlight=False).print(shown, soft_wrap=not on_terminal)


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for place, column in enumerate(columns):
        table.add_column(column, no_wrap=place == 0, overflow="fold")
    return table


def _row(table: Table, *cells: object) -> None:
    table.add_row(*(cell if isinstance(cell, Text) else text("" if cell is None else cell) for cell in cells))
