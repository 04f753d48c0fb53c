"""The rules that make a graph of steps governable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from actors.core.rules.clocks import clock_violations
from actors.core.rules.duties import duty_violations
from actors.core.rules.forks import fork_violations, leading_to
from actors.core.rules.guards import ungated
from actors.core.rules.policies import policy_violations, reader_violations
from actors.core.rules.proof import clock_proofs
from actors.core.rules.questions import question_violations
from actors.core.rules.violation import Violation, named
from actors.core.template import APPROVED, DENIED, ERROR, Edge, Node, Template, reached

RESERVED_IDS = frozenset({"inputs", "facts"})  # the roots of dotted keys
LEGAL_ID = re.compile(r"[a-z][a-z0-9-]{0,63}")
STEPS_MAX = 1_000
"""The most steps that a template has, beside one end, which a bare graph leaves out."""


def violations(template: Template) -> tuple[Violation, ...]:
    """Everything that makes a template ungovernable; empty when it may be loaded."""
    ends = any(node.traits.ends for node in template.nodes)
    if len(template.nodes) - ends > STEPS_MAX or len(template.edges) > 10 * STEPS_MAX:
        detail = f"steps: there are more than {STEPS_MAX} steps, or more than {10 * STEPS_MAX} edges"
        return (Violation("too_large", None, detail),)
    names = tuple(_name_violations(template))
    whole, doubtful = _mended(template) if names else (template, frozenset[str]())
    found = (
        *_shape_violations(whole),
        *policy_violations(whole),
        *question_violations(whole),
        *clock_violations(whole),
        *reader_violations(whole),
        *_path_violations(whole),
        *fork_violations(whole),
    )
    if not {one.rule for one in (*names, *found)} & _UNPROVABLE:
        found = (*found, *clock_proofs(whole), *duty_violations(whole))
    # What only follows from a name that does not hold is left out: one typo gives one message.
    astray = bool(names) and whole is not template
    return (*names, *(one for one in found if one.node not in doubtful and not (astray and one.rule in _FOLLOWING)))


_UNPROVABLE = frozenset(
    {
        "clock_refused",
        "deadline_refused",
        "duty_refused",
        "duplicate_id",
        "end_with_exit",
        "fork_without_join",
        "gateway_without_flow",
        "join_without_fork",
        "on_deadline_refused",
        "too_large",
        "unknown_node",
        "wait_refused",
    }
)
"""Where these rules are broken nobody can say which way a run goes, or how long it takes."""
_FOLLOWING = frozenset({"unreachable", "fork_without_join", "join_without_fork"})


def _mended(template: Template) -> tuple[Template, frozenset[str]]:
    """A graph whose names hold, and the steps of which nothing sure can be said.

    Each unknown step that an edge leads to is an end; of two steps with one id the first stays.
    """
    nodes: dict[str, Node] = {}
    twice: set[str] = set()
    for node in template.nodes:
        if node.id in nodes:
            twice.add(node.id)
        nodes.setdefault(node.id, node)
    edges = tuple(edge for edge in template.edges if edge.source in nodes)
    unknown = {edge.target for edge in edges} - {*nodes}
    ends = tuple(Node(one, "end", one) for one in sorted(unknown))
    start = template.start if template.start in nodes else template.nodes[0].id
    return replace(template, nodes=(*nodes.values(), *ends), edges=edges, start=start), frozenset(twice | unknown)


def _name_violations(template: Template) -> Iterator[Violation]:
    seen: set[str] = set()
    for node in template.nodes:
        if not LEGAL_ID.fullmatch(node.id) or node.id in RESERVED_IDS:
            yield Violation("illegal_id", node.id, "a step-id is 1 to 64 of a-z, 0-9 and -, and begins with a letter")
        if node.id in seen:
            yield Violation("duplicate_id", node.id, "two steps have this id")
        seen.add(node.id)
    if template.start not in seen:
        yield Violation("unknown_node", template.start, "the start names no step")
    for edge in template.edges:
        for end in sorted({edge.source, edge.target} - seen):
            detail = f"the edge {edge.source} -> {edge.target} names no step"
            yield Violation("unknown_node", end, detail, named(edge))


def _shape_violations(template: Template) -> Iterator[Violation]:
    for node in template.nodes:
        exits, traits = template.leaving(node.id), node.traits
        if traits.calls and (node.tool is None or node.effect is None):
            yield Violation("task_without_tool", node.id, "a task names its tool and the tool's effect")
        if traits.branches and node.flow is None:
            yield Violation("gateway_without_flow", node.id, "a gateway is exclusive or parallel")
        if not traits.branches and node.flow is not None:
            yield Violation("flow_off_gateway", node.id, "only a gateway is exclusive or parallel")
        yield from _signal_violations(node)
        if traits.ends:
            if exits:
                yield Violation("end_with_exit", node.id, "nothing follows an end")
        elif node.flow == "exclusive":
            merges = not node.gate and len(template.entering(node.id)) > 1
            yield from _branch_violations(node, exits, merges=merges)
        elif traits.waits:
            if not exits:
                yield Violation("no_way_on", node.id, "no edge leads on from here")
        else:
            yield from _exit_violations(node, exits)


def _signal_violations(node: Node) -> Iterator[Violation]:
    """A hit of a dry run is one of the rule that judges live answers, too."""
    hits = [case for case in node.dry_run if case.signal]
    if hits and node.signal_when is None:
        yield Violation("signal_without_rule", node.id, "a dry run has signal: true, and no signal_when finds it live")
    elif not all(node.is_hit(case.output) for case in hits):
        yield Violation(
            "signal_without_rule", node.id, "a dry run has signal: true, and signal_when finds no hit in it"
        )


def _branch_violations(node: Node, exits: tuple[Edge, ...], *, merges: bool) -> Iterator[Violation]:
    """What is wrong with the branches of a choice; one that merges ways may lead on by one."""
    labels = [edge.branch for edge in exits]
    if None in labels or "" in labels:
        bare = next(edge for edge in exits if edge.branch in (None, ""))
        yield Violation("unlabelled_branch", node.id, "every branch of an exclusive gateway has a label", named(bare))
    yield from _twice(node, exits)
    if len(exits) < (1 if merges else 2):
        yield Violation("no_choice", node.id, "an exclusive gateway has at least two branches")
    if not node.gate:
        for edge in exits[:-1]:
            if edge.when is None:
                detail = "only the last branch may be the one taken otherwise"
                yield Violation("branch_without_condition", node.id, detail, named(edge))


def _twice(node: Node, exits: Sequence[Edge]) -> Iterator[Violation]:
    seen: set[str | None] = set()
    for edge in exits:
        if edge.branch in seen and edge.branch is not None:
            yield Violation("duplicate_branch", node.id, "two branches have the same label", named(edge))
        seen.add(edge.branch)


def _exit_violations(node: Node, exits: tuple[Edge, ...]) -> Iterator[Violation]:
    for edge in exits:
        if edge.when is not None:
            detail = "only an exclusive gateway chooses by condition"
            yield Violation("condition_off_gateway", node.id, detail, named(edge))
    aside = [edge for edge in exits if edge.branch == DENIED or (edge.branch == ERROR and node.traits.calls)]
    onward = [edge for edge in exits if edge not in aside]
    if not onward:
        yield Violation("no_way_on", node.id, "no edge leads on from here")
    yield from _twice(node, aside)
    if node.flow == "parallel":
        return
    if len(onward) > 1:
        yield Violation("several_ways_on", node.id, "only a gateway has several ways on")
    for edge in onward:
        if edge.branch not in (None, APPROVED):
            detail = "a step other than a gateway has the branches approved and denied"
            yield Violation("unknown_branch", node.id, detail, named(edge))


def _path_violations(template: Template) -> Iterator[Violation]:
    ends = [node.id for node in template.nodes if node.traits.ends]
    reachable, ending = reached(template, (template.start,), frozenset()), leading_to(template, ends)
    for node in template.nodes:
        if node.id not in reachable:
            yield Violation("unreachable", node.id, "no path from the start leads here")
        elif node.id not in ending:
            yield Violation("no_end", node.id, "no path from here leads to an end")
    for step_id in ungated(template):
        yield Violation("ungated_irreversible", step_id, "a path leads to this irreversible task past no gate")
