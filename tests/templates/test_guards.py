"""Mutations: whoever takes a gate out of a shipped process is found out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.core.rules import guards, violations
from actors.core.template import APPROVED, Template, reached
from daemon.templates.graphs import Graph, document_of
from daemon.templates.loading import CatalogEntry, check, shipped
from daemon.web.resources.templates.catalog import canvas_json
from tests.processes import end, gate, parallel, process, task

GATES = [(entry, gate) for entry in shipped() for gate in entry.template.gates]


def canvas(template: Template) -> dict[str, Any]:
    """A template as its canvas has it, with plain lists."""
    return {**canvas_json(template), "gates": []}


def without(entry: CatalogEntry, name: str) -> Template:
    """The process without a gate: a task or gateway decides by itself, a sign-off is passed by."""
    graph = plain(canvas(entry.template))
    node = entry.template.node(name)
    if not node.traits.signs:
        for one in graph["nodes"]:
            if one["id"] == name:
                one |= {"tier": "medium", "policy": None, "role": None}
        return made(graph)
    onward = next(edge.target for edge in entry.template.leaving(name) if edge.branch in (None, APPROVED))
    graph["nodes"] = [one for one in graph["nodes"] if one["id"] != name]
    graph["edges"] = [
        {**edge, "target": onward if edge["target"] == name else edge["target"]}
        for edge in graph["edges"]
        if edge["source"] != name
    ]
    graph["start"] = onward if graph["start"] == name else graph["start"]
    return made(graph)


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    return msgspec.json.decode(msgspec.json.encode(value))


def made(graph: dict[str, Any]) -> Template:
    document, wrong, _ = document_of(Graph.model_validate(graph))
    assert not wrong
    return check(document)[0].template


@pytest.mark.parametrize(("entry", "name"), GATES, ids=[f"{one.template.vertical}-{gate}" for one, gate in GATES])
def test_a_gate_that_is_taken_out_of_a_shipped_process_is_found(entry: CatalogEntry, name: str) -> None:
    """An irreversible step is left without any gate, or has one guard less, or no step had it."""
    before, mutant = entry.template, without(entry, name)
    assert name not in mutant.gates
    left = reached(mutant, (mutant.start,), frozenset())
    guarded = {step: gates for step, gates in guards(before).items() if name in gates and step in left}
    ungated = {one.node for one in violations(mutant) if one.rule == "ungated_irreversible"}
    for step, gates in guarded.items():
        assert name not in guards(mutant).get(step, ())
        assert gates != (name,) or step in ungated or len(guards(mutant)[step]) > 0


def test_gates_of_all_branches_stand_in_front_of_what_follows_their_join() -> None:
    steps = (parallel("fork"), gate("left"), gate("right"), parallel("join"), task("pay", effect="irreversible"), end())
    both = process(*steps, ways="fork -> left -> join -> pay -> end\nfork -> right -> join")
    assert guards(both) == {"pay": ("left", "right")}
