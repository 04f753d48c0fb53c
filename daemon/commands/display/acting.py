"""Actions of agents in a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group
from rich.table import Table
from rich.text import Text

from daemon.client import Action, ActionSummary
from daemon.commands.display.deciding import gate
from daemon.commands.display.printing import add_row, json_text, new_table, status, text, time


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
