"""The rules that make a graph of steps governable."""

from __future__ import annotations

import re
from collections.abc import Iterator

from actors.core.policy_rules import Violation, policy_violations
from actors.core.template import APPROVED, DENIED, ERROR, Edge, Node, Template, reached

RESERVED_IDS = frozenset({"inputs", "facts"})  # the roots of dotted keys
LEGAL_ID = re.compile(r"[a-z][a-z0-9-]{0,63}")


def violations(template: Template) -> tuple[Violation, ...]:
    """Everything that makes a template ungovernable; empty when it may be loaded.

    The graph rules are asked only of a graph whose names hold, so that one typo gives one message.
    """
    names = tuple(_name_violations(template))
    if names:
        return names
    policies = policy_violations(template)
    return (*_shape_violations(template), *policies, *_path_violations(template), *_fork_violations(template))


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
            yield Violation("unknown_node", end, f"the edge {edge.source} -> {edge.target} names no step")


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
            yield from _branch_violations(node, exits)
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


def _branch_violations(node: Node, exits: tuple[Edge, ...]) -> Iterator[Violation]:
    labels = [edge.branch for edge in exits]
    if None in labels or "" in labels:
        yield Violation("unlabelled_branch", node.id, "every branch of an exclusive gateway has a label")
    if len(set(labels)) < len(labels):
        yield Violation("duplicate_branch", node.id, "two branches have the same label")
    if len(exits) < 2:  # noqa: PLR2004 - a choice is between at least two
        yield Violation("no_choice", node.id, "an exclusive gateway has at least two branches")
    if not node.gate and any(edge.when is None for edge in exits[:-1]):
        yield Violation("branch_without_condition", node.id, "only the last branch may be the one taken otherwise")


def _exit_violations(node: Node, exits: tuple[Edge, ...]) -> Iterator[Violation]:
    if any(edge.when is not None for edge in exits):
        yield Violation("condition_off_gateway", node.id, "only an exclusive gateway chooses by condition")
    aside = [edge.branch for edge in exits if edge.branch == DENIED or (edge.branch == ERROR and node.traits.calls)]
    onward = [edge for edge in exits if edge.branch not in aside]
    if not onward:
        yield Violation("no_way_on", node.id, "no edge leads on from here")
    if len(set(aside)) < len(aside):
        yield Violation("duplicate_branch", node.id, "two branches have the same label")
    if node.flow == "parallel":
        return
    if len(onward) > 1:
        yield Violation("several_ways_on", node.id, "only a gateway has several ways on")
    if any(edge.branch not in (None, APPROVED) for edge in onward):
        yield Violation("unknown_branch", node.id, "a step other than a gateway has the branches approved and denied")


def _path_violations(template: Template) -> Iterator[Violation]:
    reachable = reached(template, (template.start,), frozenset())
    for node in template.nodes:
        if node.id not in reachable:
            yield Violation("unreachable", node.id, "no path from the start leads here")
        elif not any(template.node(i).traits.ends for i in reached(template, (node.id,), frozenset())):
            yield Violation("no_end", node.id, "no path from here leads to an end")
    gates = frozenset(node.id for node in template.nodes if node.gate)
    for node in template.nodes:
        if node.effect == "irreversible" and not node.gate:
            again = tuple(edge.target for edge in template.leaving(node.id))
            if node.id in reached(template, (template.start, *again), gates):
                yield Violation("ungated_irreversible", node.id, "a path leads to this irreversible task past no gate")


def _fork_violations(template: Template) -> Iterator[Violation]:
    forks = [n.id for n in template.nodes if n.flow == "parallel" and len(template.onward(n.id)) > 1]
    joins = [node.id for node in template.nodes if template.joins(node.id)]
    joined: set[str] = set()
    for fork in forks:
        found = next((join for join in joins if join != fork and _is_join_of(template, fork, join)), None)
        if found is None:
            yield Violation(
                "fork_without_join", fork, "no join collects exactly the branches that this fork alone opens"
            )
        else:
            joined.add(found)
    for join in joins:
        if join not in joined:
            yield Violation("join_without_fork", join, "no fork opens the branches that this join waits for")


def _is_join_of(template: Template, fork: str, join: str) -> bool:
    """Whether each branch of the fork leads to the join once and touches no other branch."""
    sources = [edge.source for edge in template.entering(join)]
    exits = template.onward(fork)
    branches = [_branch(template, edge, join) for edge in exits]
    touched: set[str] = {fork, join}
    for edge, branch in zip(exits, branches, strict=True):
        if branch & touched or sum(s in branch or (s == fork and edge.target == join) for s in sources) != 1:
            return False
        if _has_another_way_in(template, edge, branch, join):
            return False
        touched |= branch
    return len(sources) == len(exits)


def _branch(template: Template, edge: Edge, join: str) -> frozenset[str]:
    steps = reached(template, (edge.target,), frozenset({join}))
    return frozenset(i for i in steps if not template.node(i).traits.ends)


def _has_another_way_in(template: Template, way: Edge, branch: frozenset[str], join: str) -> bool:
    """Whether the steps that lead to the join can be reached past the fork's own edge."""
    inside = {i for i in branch if join in reached(template, (i,), frozenset())}
    strangers = (e for e in template.edges if e is not way and e.target in inside and e.source not in branch)
    return template.start in inside or any(strangers)
