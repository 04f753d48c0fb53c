"""Each rule that the guide prints, with a smallest graph that breaks it."""

from __future__ import annotations

from typing import Any

import pytest

from actors.core.rules import RULES, Violation
from daemon.bpmn.reading import read_bpmn
from daemon.templates.answers import unbounded
from daemon.templates.loading import TemplateRefused, load_text
from daemon.templates.publishing import checked

Graph = dict[str, Any]
GATE = {"id": "a", "kind": "gate"}
TASK = {"id": "a", "kind": "task", "tool": "t", "effect": "read"}
END = {"id": "e", "kind": "end"}
FORK = {"id": "f", "kind": "gateway", "flow": "parallel"}
CHOICE = {"id": "c", "kind": "gateway", "flow": "exclusive", "tier": "high"}
OPEN = {"id": "c", "kind": "gateway", "flow": "exclusive"}
WAIT = {"id": "w", "kind": "wait"}
WARNING = "escalates_to_nobody"
WARNINGS = {WARNING, "deadline_without_clock"}


def agent(step: str) -> Graph:
    return {"id": step, "kind": "agent"}


def graph(*nodes: Graph, ways: str = "", **more: Any) -> Graph:
    """Nodes, and edges such as `a e`, `a e denied`, `a e denied when`."""
    edges = [
        dict(zip(("source", "target", "branch", "when"), way.split(" ", 3), strict=False))
        for way in ways.split(";")
        if way
    ]
    return {"nodes": [*nodes], "edges": edges, **more}


def document(*steps: Graph, **more: Any) -> Graph:
    """A document whose steps have labels."""
    return {"vertical": "v", "title": "T", "steps": [{"label": "L", **step} for step in steps], **more}


def asking(**policy: Any) -> Graph:
    return graph({**GATE, "policy": policy})


DONE = {**END, "outcome": "done"}
CLOCK = {"id": "k", "label": "K", "within": "P7D", "stops": ["a"]}
LATE = graph({**WAIT, "wait": {"duration": "P8D"}}, agent("a"), ways="w a", clocks=[CLOCK])
SCHEMA = {"type": "object", "properties": {}}
LEADS = {**TASK, "next": "e"}
HIT = {"dry_run": [{"output": {}, "signal": True}]}
SMALLEST: dict[str, Graph] = {
    "illegal_id": graph(agent("A")),
    "duplicate_id": graph(agent("a"), agent("a")),
    "unknown_node": graph(agent("a"), ways="a b"),
    "unreachable": graph(agent("a"), agent("b")),
    "no_end": graph(agent("a"), ways="a a"),
    "unlabelled_branch": graph(CHOICE),
    "duplicate_branch": graph(CHOICE, agent("a"), ways="c a x;c a x"),
    "no_choice": graph(CHOICE),
    "branch_without_condition": graph(OPEN, agent("a"), ways="c a x;c a y"),
    "several_ways_on": graph(agent("a"), agent("b"), ways="a b;a b"),
    "no_way_on": graph(GATE, END),
    "unknown_branch": graph(GATE, END, ways="a e perhaps"),
    "condition_off_gateway": graph(GATE, END, ways="a e approved true"),
    "end_with_exit": graph(END, ways="e e"),
    "task_without_tool": graph({"id": "a", "kind": "task"}),
    "gateway_without_flow": graph({"id": "g", "kind": "gateway"}),
    "flow_off_gateway": graph({**GATE, "flow": "parallel"}),
    "misplaced_field": document({**DONE, "tool": "t"}),
    "unknown_role": graph({**GATE, "role": "guest"}),
    "group_refused": asking(groups=["Physicians!"]),
    "end_without_outcome": document(END),
    "signal_without_rule": graph({**TASK, **HIT}),
    "condition_refused": graph(OPEN, agent("a"), ways="c a x 1 +"),
    "schema_refused": document(DONE, inputs_schema={}),
    "reserved_vertical": document(DONE, vertical="action"),
    "example_refused": document(DONE, inputs_schema={"type": "object", "required": ["a"]}),
    "citation_refused": document(DONE, rules=[{"source": "a law", "says": "it", "enforced_by": ["a"]}]),
    "rehearsal_refused": document(DONE, rehearsals={"r": {"inputs": {}, "result": {"status": "failed"}}}),
    "judge_refused": document(DONE, judges=[{"id": "j", "label": "J", "steps": ["e"], "rule": "true"}]),
    "fork_without_join": graph(FORK, agent("a"), agent("b"), ways="f a;f b"),
    "join_without_fork": graph({**FORK, "tier": "high"}, ways="f f;f f"),
    "ungated_irreversible": graph({**agent("a"), "reversible": False}),
    "quorum_refused": asking(quorum=0),
    "four_eyes_refused": asking(four_eyes=["nobody"]),
    "function_refused": asking(function="director"),
    "comment_refused": asking(comment="never"),
    "deadline_refused": asking(remind=["soon"]),
    "on_deadline_refused": asking(deadline="PT1H"),
    "form_refused": asking(form={"type": "string"}),
    "question_refused": graph({**GATE, "question": "Pay {facts.e.sum}?"}),
    "wait_refused": graph(WAIT),
    "compensate_refused": graph({**GATE, "compensate": "undo"}),
    "readers_refused": document(DONE, subjects=["inputs.a"], inputs_schema=SCHEMA),
    "clock_refused": document(DONE, clocks=[CLOCK]),
    "duty_refused": graph({**agent("a"), "duty": "law"}),
    "late_by_design": LATE,
    "clock_unbounded": graph(GATE, agent("b"), ways="a b", clocks=[{**CLOCK, "stops": ["b"]}]),
    "clock_not_stopped": graph(agent("b"), agent("a"), END, ways="b a;b e error;a e", clocks=[CLOCK]),
    "duty_avoidable": graph(GATE, {**agent("b"), "duty": "law"}, ways="a b", exempt={"law": []}),
    "blast_refused": graph({**GATE, "blast": "huge"}),
    "too_large": graph(*(agent(f"s{number}") for number in range(1_001))),
}
"""Of the rules of graphs and documents; `malformed` and `unsupported_element` are of files."""
OF_FILES = {"malformed", "unsupported_element"}


def broken(value: Graph) -> set[str]:
    with unbounded():
        return {one.rule for one in checked(value).violations}


def smaller(value: Graph) -> list[Graph]:
    """The same without one of its nodes and the edges there, or without one edge."""
    nodes, edges = value["nodes"], value["edges"]
    without = [[other for other in nodes if other is not one] for one in nodes[:5]]
    fewer = [
        {
            "nodes": left,
            "edges": [one for one in edges if {one["source"], one["target"]} <= {node["id"] for node in left}],
        }
        for left in without
        if left
    ]
    return [*fewer, *({"nodes": nodes, "edges": edges[:n] + edges[n + 1 :]} for n in range(len(edges)))]


@pytest.mark.parametrize("rule", SMALLEST)
def test_a_smallest_graph_breaks_its_rule(rule: str) -> None:
    with unbounded():
        found = [one for one in checked(SMALLEST[rule]).violations if one.rule == rule]
    assert found
    assert all(one.detail for one in found)


@pytest.mark.parametrize("rule", [rule for rule, value in SMALLEST.items() if "nodes" in value])
def test_without_any_of_its_parts_a_smallest_graph_does_not_break_its_rule(rule: str) -> None:
    assert [one for one in smaller(SMALLEST[rule]) if rule in broken(one)] == []


def test_a_rule_of_files_is_broken_by_a_smallest_file() -> None:
    with pytest.raises(TemplateRefused, match="malformed at the document"):
        load_text("a: b", "file.yaml")
    found = read_bpmn("<process><subProcess/><task/></process>").violations
    assert found == [Violation("unsupported_element", None, "the element subProcess has no counterpart")]


def test_every_rule_has_a_smallest_graph() -> None:
    assert {*SMALLEST} | OF_FILES | WARNINGS == {*RULES}


@pytest.mark.parametrize(
    ("role", "groups", "escalate", "warned"),
    [
        ("manager", [], "admin", True),
        ("manager", [], "manager", True),
        ("admin", [], "manager", False),
        ("manager", ["physicians"], "admin", False),
    ],
)
def test_an_escalation_that_lets_nobody_new_decide_is_warned_of_and_hinders_nothing(
    role: str, groups: list[str], escalate: str, warned: bool
) -> None:
    policy = {"groups": groups, "deadline": "PT72H", "on_deadline": {"escalate": escalate}}
    found = checked(graph({**GATE, "role": role, "policy": policy}, END, ways="a e"))
    assert ([one.rule for one in found.violations], [one.rule for one in found.warnings]) == ([], [WARNING] * warned)


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("", "a question is one line of 1 to 200 characters"),
        ("One\ntwo?", "a question is one line of 1 to 200 characters"),
        ("{business_key}" * 9, "a question has at most 8 placeholders"),
        (
            "Pay {amount}?",
            "a placeholder is {inputs.…}, {facts.<step-id>.…} or {business_key}, and :.2f asks for decimals",
        ),
        (
            "Pay {inputs.lines}?",
            "the question names inputs.lines, which is no text, number or boolean of inputs_schema",
        ),
        (
            "Pay {inputs.who.title}?",
            "the question names inputs.who.title, which is no text, number or boolean of inputs_schema",
        ),
        ("Pay {facts.e.sum}?", "the question names facts.e.sum, which is no result of a step before it"),
        ("Pay {facts.a.form}?", "the question names facts.a.form, which is no result of a step before it"),
    ],
)
def test_a_question_names_inputs_of_the_schema_and_results_of_steps_before(question: str, why: str) -> None:
    who = {"type": "object", "properties": {"name": {"type": ["string", "null"]}}}
    inputs = {"type": "object", "properties": {"sum": {"type": "number"}, "lines": {"type": "array"}, "who": who}}
    check = {**TASK, "id": "t", "next": "a"}

    def asked(text: str) -> list[str]:
        value = document(check, {**GATE, "question": text, "next": "e"}, DONE, inputs_schema=inputs)
        return [one.detail for one in checked(value).violations if one.rule == "question_refused"]

    assert asked("Pay {inputs.sum:.2f} to {inputs.who.name}, {facts.t.risk} risk, as {business_key}?") == []
    assert asked(question) == [why]


def test_a_question_of_a_graph_without_a_schema_may_name_any_input() -> None:
    assert broken(graph({**GATE, "question": "Pay {inputs.sum.total}?"}, DONE, ways="a e")) == set()
    odd = document(
        {**GATE, "question": "{inputs.a}?", "next": "e"}, DONE, inputs_schema={"properties": {"a": {"type": [{}]}}}
    )
    assert {"schema_refused", "question_refused"} <= broken(odd)
