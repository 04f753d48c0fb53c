"""What a decision rests on: inputs, facts with their sources, the gate, and what follows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from daemon.client import Gate, GatePreview, OpenGate, Run, TraceEntry
from daemon.commands.display.deciding import following, gate, standing
from daemon.commands.display.printing import add_row, new_table, text, time
from daemon.commands.display.running import progress


def parked(one: Run, previews: Mapping[str, GatePreview]) -> Group:
    """A run at its gates: its steps, what a decision rests on, and what follows on each."""
    parts = [part for asked in one.gates for part in _asked(asked, previews.get(asked.step_id))]
    return Group(progress(one), *_grounds(one), *parts)


def question(one: Run, asked: Gate, preview: GatePreview, seen: OpenGate | None = None) -> Group:
    """Everything that a decision at a gate depends on; `seen` says whether the caller may."""
    head = () if seen is None else (standing(seen),)
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
        return f"said by {verdict.by}"
    if request is not None:
        return f"{request.method} {request.url}" if request.mode == "live" else f"dry run of {request.tool}"
    if visit.wait is not None and visit.wait.message is not None:
        return f"message {visit.wait.message}"
    return visit.kind


def _json(value: Any) -> Text:
    return text(json.dumps(value, ensure_ascii=False))
