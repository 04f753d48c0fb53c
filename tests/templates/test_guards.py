"""Mutations: whoever takes a gate out of a shipped process is found out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from actors.core.rules import guards, violations
from actors.core.template import APPROVED, Template, reached
from daemon.templates.graphs import Graph, document_of
from daemon.templates.loading import CatalogEntry, check
from daemon.web.resources.templates.catalog import canvas_json
from tests.bpmn.graphs import graphs
from tests.processes import end, gate, parallel, process, task
from tests.shelf import shipped

GATES = [(entry, gate) for entry in shipped() for gate in entry.template.gates]


def canvas(template: Template) -> dict[str, Any]:
    """A template as its canvas has it, with plain lists."""
    return {**canvas_json(template), "gates": []}


def without(entry: CatalogEntry, name: str) -> Template:
    """The process without a gate."""
    return made(mutated(entry, name))


def mutated(entry: CatalogEntry, name: str) -> dict[str, Any]:
    """The graph without a gate: a task or gateway decides by itself, a sign-off is passed by."""
    graph: dict[str, Any] = plain(canvas(entry.template))
    node = entry.template.node(name)
    if not node.traits.signs:
        for one in graph["nodes"]:
            if one["id"] == name:
                one |= {"tier": "medium", "policy": None, "role": None}
        return graph
    onward = next(edge.target for edge in entry.template.leaving(name) if edge.branch in (None, APPROVED))
    graph["nodes"] = [one for one in graph["nodes"] if one["id"] != name]
    graph["edges"] = [
        {**edge, "target": onward if edge["target"] == name else edge["target"]}
        for edge in graph["edges"]
        if edge["source"] != name
    ]
    graph["start"] = onward if graph["start"] == name else graph["start"]
    return graph


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    return msgspec.json.decode(msgspec.json.encode(value))


def made(graph: dict[str, Any]) -> Template:
    document, wrong, _ = document_of(Graph.model_validate(graph))
    assert not wrong
    return check(document)[0].template


def reachable(template: Template, closed: str | None = None) -> set[str]:
    """The steps that a run can come to without one of them; a join needs all of its branches."""
    found: set[str] = set()
    while True:
        ways = {
            node.id: [edge.source in found for edge in template.entering(node.id)]
            for node in template.nodes
            if node.id not in found and node.id != closed
        }
        more = {
            step
            for step, come in ways.items()
            if step == template.start or (come and (all(come) if template.joins(step) else any(come)))
        }
        if not more:
            return found
        found |= more


def dominators(template: Template) -> dict[str, set[str]]:
    """The gates without which an irreversible step cannot be come to, tried one by one."""
    steps = [node.id for node in template.nodes if node.effect == "irreversible" and node.id in reachable(template)]
    past = {gate: reachable(template, gate) for gate in template.gates}
    return {step: {gate for gate in template.gates if step not in past[gate]} for step in steps}


@pytest.mark.parametrize("entry", shipped(), ids=lambda entry: entry.template.vertical)
def test_the_guards_of_a_shipped_process_are_the_gates_without_which_a_step_cannot_be_come_to(entry: Any) -> None:
    assert {step: {*gates} for step, gates in guards(entry.template).items()} == dominators(entry.template)


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_so_are_those_of_a_random_process(graph: dict[str, Any]) -> None:
    template = check(document_of(Graph.model_validate(graph))[0])[0].template
    assert {step: {*gates} for step, gates in guards(template).items()} == dominators(template)


@pytest.mark.parametrize(("entry", "name"), GATES, ids=[f"{one.template.vertical}-{gate}" for one, gate in GATES])
def test_a_gate_that_is_taken_out_guards_nothing_any_more_and_what_is_left_ungated_is_named(
    entry: CatalogEntry, name: str
) -> None:
    mutant = without(entry, name)
    assert name not in mutant.gates
    assert {step: {*gates} for step, gates in guards(mutant).items()} == dominators(mutant)
    open_ways = reached(mutant, (mutant.start,), frozenset(mutant.gates))
    ungated = {one.node for one in violations(mutant) if one.rule == "ungated_irreversible"}
    assert {step for step in dominators(mutant) if step in open_ways} <= ungated


def test_gates_of_all_branches_stand_in_front_of_what_follows_their_join() -> None:
    steps = (parallel("fork"), gate("left"), gate("right"), parallel("join"), task("pay", effect="irreversible"), end())
    both = process(*steps, ways="fork -> left -> join -> pay -> end\nfork -> right -> join")
    assert guards(both) == {"pay": ("left", "right")}
