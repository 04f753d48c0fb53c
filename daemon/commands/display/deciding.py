"""Gates in a terminal: what is asked, on what grounds, and what each decision does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal

from rich.console import Group
from rich.table import Table
from rich.text import Text

from actors.core.actions.deciding import SCALE
from daemon.client import (
    Action,
    ActionSummary,
    Call,
    DecisionPreview,
    Difference,
    Gate,
    GateAction,
    GateQuestion,
    OpenGate,
    PlannedCall,
    PreviewStep,
    Proposal,
    Verdict,
    VerdictReceipt,
    Vote,
)
from daemon.commands.display.printing import add_row, exact, json_text, named, new_table, status, text, time


def following(asked: Gate, found: DecisionPreview) -> Text:
    """What a decision leads to, up to the next human, with each call as it is known now."""
    lines = [Text.assemble(text(found.decision, "bold"), " leads to")]
    for one in found.steps:
        lines += _step(asked, one)
    ends = len(found.gates) + len(found.outcomes)
    may = Text("  " if ends == 1 else "  perhaps ")
    lines += [may.copy().append_text(text(one)).append(", where a human decides", "yellow") for one in found.gates]
    lines += [may.copy().append_text(text(f"the end: {one}")) for one in found.outcomes]
    return Text("\n").join(lines if len(lines) > 1 else [*lines, Text("  nothing further")])


def _step(asked: Gate, one: PreviewStep) -> Iterator[Text]:
    line = Text("  " if one.certain else "  perhaps ").append_text(text(f"{one.label} ({one.step_id})"))
    call_here = asked.effect if one.step_id == asked.step_id else None
    plan = next((each for each in asked.effects if each.step_id == one.step_id), None)
    yield line.append_text(text(f", {one.effect}: {one.tool}" if one.tool is not None else ""))
    shown = call(call_here) if call_here is not None else None if plan is None else planned(plan)
    if shown is not None:
        yield from (Text("    ").append_text(each) for each in shown.split())


def planned(one: PlannedCall) -> Text:
    """An irreversible call that a decision can lead to, with its content where that is known."""
    if one.call is not None:
        return call(one.call)
    if one.connector is None:
        return text(f"recorded, not sent: {one.tool} has no connector")
    where = f"{one.connector.method} {one.connector.origin}{one.connector.path}"
    return _sent(one.mode, f"{where} ({_connector(one.tool, one.connector.version)}), with content known only then")


def call(one: Call) -> Text:
    """A call: method, address, headers and body."""
    named = "" if one.connector_version is None else f" ({_connector(one.tool, one.connector_version)})"
    shown = _sent(one.mode, f"{one.method} {one.url}{named}" if one.url else f"{one.tool} has no connector")
    for name, value in one.headers.items():
        shown.append("\n").append_text(text(f"{name}: {value}"))
    if one.body is not None:
        shown.append("\n").append_text(json_text(one.body))
    return shown


def _sent(mode: str, what: str) -> Text:
    return text(f"WILL BE SENT: {what}", "bold") if mode == "live" else text(f"recorded, not sent: {what}")


def _connector(tool: str, version: int) -> str:
    return f"connector {tool}, version {version}"


def _irreversible(one: PlannedCall) -> Text:
    on = text(f"{one.label} ({one.step_id}), on {' or '.join(one.decisions)}: ")
    return on.append_text(planned(one))


def gate(one: Gate, *, calls: bool = True) -> Table:
    """What is asked, and by what rules; `calls` are left out where each decision has its own."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_row(
        Text("asked", "bold yellow"), text(f"{one.label} ({one.step_id}, visit {one.visit}, tier {one.tier})")
    )
    if one.question is not None:
        table.add_row("question", text(one.question))
    for name, said in () if one.action is None else wanted(one.action):
        table.add_row(name, said)
    _add_each(table, "answers", map(asked, one.questions))
    table.add_row("why", text(one.reason))
    table.add_row("since", text(time(one.opened_at)))
    if one.signals:
        table.add_row("signals", text(", ".join(one.signals)))
    if one.missing:
        table.add_row("missing", text(", ".join(one.missing)))
    _add_each(table, "judges", map(judged, () if one.panel is None else one.panel.votes))
    _add_each(table, "differs", map(differs, one.differences))
    if calls:
        table.add_row("call", Text("none at this step") if one.effect is None else call(one.effect))
        _add_each(table, "irreversible", map(_irreversible, one.effects))
    table.add_row("decisions", text(", ".join(one.decisions)))
    _add_each(table, "proposed", map(proposal, one.proposals))
    for name, rule in rules(one):
        table.add_row(name, text(rule))
    _add_each(table, "decided", map(verdict, one.verdicts))
    table.add_row("digest", text(one.digest))
    return table


def wanted(one: GateAction) -> Iterator[tuple[str, Text]]:
    """What an agent wants to do; its own words are told as such."""
    where = one.tool if one.server is None else f"{one.tool} of {one.server}"
    yield "wants", text(f"{one.agent}{'' if one.model is None else f', model {one.model}'}: {where}")
    if one.asked is not None:
        yield "asked for", json_text(one.asked)
    yield "arguments", json_text(one.arguments)
    if one.editable:
        yield "editable", text(", ".join(one.editable))
    if one.reasoning is not None:
        yield "agent says", text(one.reasoning)
    if one.context is not None:
        yield "agent says", json_text(one.context)
    why = "" if one.why is None else f": {one.why}"
    yield "rule", text(f"{one.rule.id}, version {one.rule.version}{why}")
    if one.spent is not None and one.spent.max is not None:
        takes = "" if one.amount is None else f", takes {amount_of(one.amount)} more"
        yield "budget", text(f"{amount_of(one.spent.sum)} of {amount_of(one.spent.max)} spent{takes}")
    if one.changed is not None:
        yield "changed", text(one.changed, "bold yellow")


def amount_of(millionths: int) -> str:
    """An amount as people write it."""
    return f"{Decimal(millionths) / SCALE:f}"


def asked(one: GateQuestion) -> Text:
    """A question to an agent, and its answer."""
    said = text(f"{one.by} asks ({one.id}): {one.text}")
    told = "no answer yet" if one.answer is None else f"{one.answered_by}: {one.answer}"
    return said.append("\n").append_text(text(told))


def rules(one: Gate) -> Iterator[tuple[str, str]]:
    """What the policy of a gate asks for, by name."""
    policy = one.policy
    role = f"the role {policy.role}" + (f", group {' or '.join(policy.groups)}" if policy.groups else "")
    function = None if one.function is None else f"the function {one.function.label}"
    if one.function is not None and one.function.bound:
        yield "needs", f"{function}, whatever the role"
    else:
        yield "needs", role if function is None else f"{role}, while nobody fills {function}"
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
    yield from _times(one)


def _times(one: Gate) -> Iterator[tuple[str, str]]:
    """By when somebody has to decide, and what time has changed."""
    then = one.policy.on_deadline
    if one.due_at is not None:
        late = then if isinstance(then, str) else f"{then.escalate} may decide, too" if then is not None else ""
        yield "due", f"{time(one.due_at)}, then {late}"
    if one.clock_due_at is not None:
        yield "clock", f"due {time(one.clock_due_at)}"
    if one.breach_role is not None:
        yield "breached", f"{one.breach_role} may decide, too"
    if one.escalation is not None:
        yield "escalated", f"{one.escalation.to} may decide, too, since {time(one.escalation.at)}"
    if one.blocked is not None:
        yield "blocked", f"{one.blocked.needed} needed, and {one.blocked.eligible} may decide"


def verdict(one: Verdict) -> Text:
    """Who decided what, for whom, and why."""
    why = "".join(f", {part}" for part in (one.code, one.comment) if part)
    return text(f"{one.decision} by {named(one.by, one.on_behalf_of)} at {time(one.at)}{why}")


def receipt(one: VerdictReceipt) -> Table:
    """What the history says of a verdict."""
    table = new_table("receipt", one.verdict_id)
    whom = "" if one.on_behalf_of is None else f" for {one.on_behalf_of}"
    add_row(table, "decided", f"{one.decision} by {one.by} ({one.by_kind}){whom}")
    add_row(table, "at", time(one.at))
    add_row(table, "gate", f"{one.gate}, visit {one.visit}, digest {one.digest}")
    add_row(table, "event", f"{one.seq}, hash {one.hash}")
    return table


def open_gate(one: OpenGate) -> Group:
    """An open gate as the caller sees it."""
    return Group(heading(one), gate(one.gate))


def heading(one: OpenGate) -> Text:
    """Which gate it is, and whether the caller may decide."""
    mine = "you may decide" if one.can_decide else f"you may not decide: {one.why_not}"
    alone = ", alone, as the only person of the company" if one.solo else ""
    key = "" if one.business_key is None else f"{one.business_key}  "
    head = Text.assemble(text(one.run_id), "  ", text(f"{key}{one.title}"), f"  {mine}{alone}")
    if one.claimed_by is not None:
        head.append_text(text(f"  claimed by {one.claimed_by}"))
    return head


def _add_each(table: Table, name: str, values: Iterable[Text]) -> None:
    """A row for each of them, the first with their name."""
    for number, value in enumerate(values):
        table.add_row(name if number == 0 else "", value)


def judged(one: Vote) -> Text:
    """What a judge said, how surely, and why."""
    sure = "" if one.confidence is None else f", confidence {exact(one.confidence)}"
    return text(f"{one.label}: {one.verdict}{sure}{'' if one.reason is None else f': {one.reason}'}")


def differs(one: Difference) -> Text:
    """Where the call is not the one that shadow recorded."""
    return text(f"{one.pointer or 'the call'}: was {one.recorded or 'nothing'}, is {one.now or 'nothing'}")


def proposal(one: Proposal) -> Text:
    sure = "" if one.confidence is None else f", confidence {exact(one.confidence)}"
    said = "" if one.comment is None else f": {one.comment}"
    return text(f"{one.decision} by {one.by} ({one.by_kind}{sure}){said}")


def actions(found: Iterable[ActionSummary]) -> Table:
    table = new_table("action", "agent", "model", "tool", "rule", "decision", "status", "outcome", "since")
    for one in found:
        tool = one.tool if one.server is None else f"{one.server}/{one.tool}"
        rule = f"{one.rule.id} {one.rule.version}"
        cells = (one.agent, one.model, tool, rule, one.decision, status(one.status), one.outcome)
        add_row(table, one.id, *cells, time(one.created_at))
    return table


def action(one: Action) -> Group:
    """An action: who wants what and why, what decided about it, and what came of it."""
    head = Text.assemble(text(one.id), "  ", status(one.status), "  ", text(one.outcome or ""))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, said in (
        ("tool", one.tool),
        ("server", one.server),
        ("agent", one.agent),
        ("model", one.model),
        ("reasoning", one.reasoning),
        ("decision", f"{one.decision} by {one.rule.id}, version {one.rule.version}"),
        ("why", one.why),
        ("reason", one.reason),
        ("mode", one.mode),
    ):
        if said is not None:
            table.add_row(text(name, "bold"), text(said))
    for name, value in (
        ("arguments", one.arguments),
        ("context", one.context),
        ("made", one.made),
        ("result", one.result),
    ):
        if value is not None:
            table.add_row(text(name, "bold"), json_text(value))
    return Group(head, table, *([] if one.gate is None else [gate(one.gate)]))
