"""The process template: a graph of steps, and the rules that make such a graph governable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from msgspec import Struct

Kind = Literal["task", "gate", "gateway", "end"]
Tier = Literal["low", "medium", "high", "critical"]
ToolEffect = Literal["read", "reversible", "irreversible"]
Flow = Literal["exclusive", "parallel"]

GATE_TIERS: frozenset[str] = frozenset({"high", "critical"})
RESERVED_IDS = frozenset({"inputs", "facts"})  # the roots of dotted keys
LEGAL_ID = re.compile(r"[a-z][a-z0-9-]{0,63}")
APPROVED = "approved"
DENIED = "denied"


class ConditionFailed(Exception):
    """A condition could not be answered with true or false; the text says why."""


class Condition(Protocol):
    """A yes-or-no question about a run's inputs and facts."""

    @property
    def text(self) -> str:
        """The expression as its author wrote it."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The inputs that it reads without asking whether they are there, as dotted keys."""

    def holds(self, inputs: dict[str, Any], facts: dict[str, Any]) -> bool:
        """Answer the question; raise ConditionFailed when there is no clear yes or no."""


class OutputCondition(Protocol):
    """A yes-or-no question about what a tool answered."""

    @property
    def text(self) -> str:
        """The expression as its author wrote it."""

    def holds(self, output: Any) -> bool:
        """Answer the question; raise ConditionFailed when there is no clear yes or no."""


class Inputs(Protocol):
    """The form of a template's inputs."""

    def errors(self, inputs: dict[str, Any]) -> list[tuple[str, str]]:
        """What is there and has another form: pointers that begin with `/inputs`, and a sentence for each."""


class DryRun(Struct, frozen=True):
    """What a shadowed tool answers when its condition holds, and whether its author says that this is a hit."""

    output: dict[str, Any]
    signal: bool = False
    when: Condition | None = None


class Node(Struct, frozen=True):
    """One step of a template; docs/guides/templates.md has its kinds and their fields."""

    id: str
    kind: Kind
    label: str
    tier: Tier = "low"
    flow: Flow | None = None
    tool: str | None = None
    effect: ToolEffect | None = None
    needs: tuple[str, ...] = ()
    dry_run: tuple[DryRun, ...] = ()
    signal_when: OutputCondition | None = None
    role: str | None = None
    outcome: str | None = None

    @property
    def gate(self) -> bool:
        """Whether a human verdict is always needed here."""
        return self.kind == "gate" or (self.kind != "end" and self.tier in GATE_TIERS)

    def is_hit(self, output: Any) -> bool:
        """Whether `signal_when` takes an output for a hit, as it does when it has no clear answer."""
        if self.signal_when is None:
            return False
        try:
            return self.signal_when.holds(output)
        except ConditionFailed:
            return True


class Edge(Struct, frozen=True):
    """A way from one node to another, under a branch label, and for a gateway under a condition."""

    source: str
    target: str
    branch: str | None = None
    when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A process as a graph, identified by its vertical, its version and the digest of its document."""

    vertical: str
    version: int
    digest: str
    title: str
    start: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    inputs: Inputs | None = field(default=None, repr=False, compare=False)
    _node: dict[str, Node] = field(init=False, repr=False, compare=False)
    _leaving: dict[str, tuple[Edge, ...]] = field(init=False, repr=False, compare=False)
    _entering: dict[str, tuple[Edge, ...]] = field(init=False, repr=False, compare=False)
    _ahead: dict[tuple[str, tuple[str, ...]], tuple[tuple[Node, tuple[str, ...]], ...]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )
    _downstream: dict[str, frozenset[str]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Index the graph once; templates are read millions of times and never change."""
        ids = [node.id for node in self.nodes]
        object.__setattr__(self, "_node", {node.id: node for node in self.nodes})
        object.__setattr__(self, "_leaving", {i: tuple(e for e in self.edges if e.source == i) for i in ids})
        object.__setattr__(self, "_entering", {i: tuple(e for e in self.edges if e.target == i) for i in ids})

    def has(self, step_id: str) -> bool:
        """Whether there is a step of that id."""
        return step_id in self._node

    def node(self, step_id: str) -> Node:
        """The node of that step-id; KeyError when the template has none."""
        return self._node[step_id]

    def leaving(self, step_id: str) -> tuple[Edge, ...]:
        """The edges out of a step, in the order of the document."""
        return self._leaving[step_id]

    def entering(self, step_id: str) -> tuple[Edge, ...]:
        """The edges into a step, in the order of the document."""
        return self._entering[step_id]

    def joins(self, step_id: str) -> bool:
        """Whether the step waits for several branches."""
        return self._node[step_id].flow == "parallel" and len(self._entering[step_id]) > 1

    def decisions(self, step_id: str) -> tuple[str, ...]:
        """What a human may decide at this step: branch labels at an exclusive gateway, else approved or denied."""
        if self._node[step_id].flow == "exclusive":
            return tuple(edge.branch for edge in self._leaving[step_id] if edge.branch is not None)
        return (APPROVED, DENIED)

    def ahead(self, step_id: str, decisions: tuple[str, ...]) -> tuple[tuple[Node, tuple[str, ...]], ...]:
        """The irreversible tasks before the next gate, nearest first, each with the decisions that can lead to it."""
        found = self._ahead.get((step_id, decisions))
        if found is None:
            leading: dict[str, list[str]] = {}
            for decision in decisions:
                for task in _irreversible_ahead(self, step_id, decision):
                    leading.setdefault(task, []).append(decision)
            found = tuple((self.node(task), tuple(led_by)) for task, led_by in leading.items())
            self._ahead[step_id, decisions] = found
        return found

    def downstream(self, step_id: str) -> frozenset[str]:
        """The step and every step that any path from it reaches."""
        found = self._downstream.get(step_id)
        if found is None:
            found = self._downstream[step_id] = _reached(self, (step_id,), frozenset())
        return found

    @property
    def gates(self) -> tuple[str, ...]:
        """The step-ids at which a human verdict is always needed, in the order of the document."""
        return tuple(node.id for node in self.nodes if node.gate)


@dataclass(frozen=True, slots=True)
class Problem:
    """A governance rule that a template breaks, and the node at which it does."""

    rule: str
    node: str
    detail: str

    def __str__(self) -> str:
        """One line for people: the rule, the node, and why."""
        return f"{self.rule} at {self.node}: {self.detail}"


def problems(template: Template) -> tuple[Problem, ...]:
    """Everything that makes a template ungovernable; empty when it may be loaded.

    The graph rules are asked only of a graph whose names hold, so that one typo gives one message.
    """
    names = tuple(_name_problems(template))
    if names:
        return names
    return (*_shape_problems(template), *_path_problems(template), *_fork_problems(template))


def _name_problems(template: Template) -> Iterator[Problem]:
    seen: set[str] = set()
    for node in template.nodes:
        if not LEGAL_ID.fullmatch(node.id) or node.id in RESERVED_IDS:
            yield Problem("illegal_id", node.id, "a step-id is 1 to 64 of a-z, 0-9 and -, and begins with a letter")
        if node.id in seen:
            yield Problem("duplicate_id", node.id, "two steps have this id")
        seen.add(node.id)
    if template.start not in seen:
        yield Problem("unknown_node", template.start, "the start names no step")
    for edge in template.edges:
        for end in sorted({edge.source, edge.target} - seen):
            yield Problem("unknown_node", end, f"the edge {edge.source} -> {edge.target} names no step")


def _shape_problems(template: Template) -> Iterator[Problem]:
    for node in template.nodes:
        exits = template.leaving(node.id)
        if node.kind == "task" and (node.tool is None or node.effect is None):
            yield Problem("task_without_tool", node.id, "a task names its tool and the tool's effect")
        if node.kind == "gateway" and node.flow is None:
            yield Problem("gateway_without_flow", node.id, "a gateway is exclusive or parallel")
        if node.kind != "gateway" and node.flow is not None:
            yield Problem("flow_off_gateway", node.id, "only a gateway is exclusive or parallel")
        yield from _signal_problems(node)
        if node.kind == "end":
            if exits:
                yield Problem("end_with_exit", node.id, "nothing follows an end")
        elif node.flow == "exclusive":
            yield from _branch_problems(node, exits)
        else:
            yield from _exit_problems(node, exits)


def _signal_problems(node: Node) -> Iterator[Problem]:
    """A hit of a dry run is one of the rule that judges live answers, too."""
    hits = [case for case in node.dry_run if case.signal]
    if hits and node.signal_when is None:
        yield Problem("signal_without_rule", node.id, "a dry run has signal: true, and no signal_when finds it live")
    elif not all(node.is_hit(case.output) for case in hits):
        yield Problem("signal_without_rule", node.id, "a dry run has signal: true, and signal_when finds no hit in it")


def _branch_problems(node: Node, exits: tuple[Edge, ...]) -> Iterator[Problem]:
    labels = [edge.branch for edge in exits]
    if None in labels or "" in labels:
        yield Problem("unlabelled_branch", node.id, "every branch of an exclusive gateway has a label")
    if len(set(labels)) < len(labels):
        yield Problem("duplicate_branch", node.id, "two branches have the same label")
    if len(exits) < 2:  # noqa: PLR2004 - a choice is between at least two
        yield Problem("no_choice", node.id, "an exclusive gateway has at least two branches")
    if not node.gate and any(edge.when is None for edge in exits[:-1]):
        yield Problem("branch_without_condition", node.id, "only the last branch may be the one taken otherwise")


def _exit_problems(node: Node, exits: tuple[Edge, ...]) -> Iterator[Problem]:
    if any(edge.when is not None for edge in exits):
        yield Problem("condition_off_gateway", node.id, "only an exclusive gateway chooses by condition")
    onward = [edge for edge in exits if edge.branch != DENIED]
    if not onward:
        yield Problem("no_way_on", node.id, "no edge leads on from here")
    if len(exits) - len(onward) > 1:
        yield Problem("duplicate_branch", node.id, "two branches are labelled denied")
    if node.flow == "parallel":
        return
    if len(onward) > 1:
        yield Problem("several_ways_on", node.id, "only a gateway has several ways on")
    if any(edge.branch not in (None, APPROVED) for edge in onward):
        yield Problem("unknown_branch", node.id, "a step other than a gateway has the branches approved and denied")


def _path_problems(template: Template) -> Iterator[Problem]:
    reachable = _reached(template, (template.start,), frozenset())
    for node in template.nodes:
        if node.id not in reachable:
            yield Problem("unreachable", node.id, "no path from the start leads here")
        elif not any(template.node(i).kind == "end" for i in _reached(template, (node.id,), frozenset())):
            yield Problem("no_end", node.id, "no path from here leads to an end")
    gates = frozenset(node.id for node in template.nodes if node.gate)
    for node in template.nodes:
        if node.effect == "irreversible" and not node.gate:
            again = tuple(edge.target for edge in template.leaving(node.id))
            if node.id in _reached(template, (template.start, *again), gates):
                yield Problem("ungated_irreversible", node.id, "a path leads to this irreversible task past no gate")


def _fork_problems(template: Template) -> Iterator[Problem]:
    forks = [n.id for n in template.nodes if n.flow == "parallel" and len(_onward(template, n.id)) > 1]
    joins = [node.id for node in template.nodes if template.joins(node.id)]
    joined: set[str] = set()
    for fork in forks:
        found = next((join for join in joins if join != fork and _is_join_of(template, fork, join)), None)
        if found is None:
            yield Problem("fork_without_join", fork, "no join collects exactly the branches that this fork alone opens")
        else:
            joined.add(found)
    for join in joins:
        if join not in joined:
            yield Problem("join_without_fork", join, "no fork opens the branches that this join waits for")


def _is_join_of(template: Template, fork: str, join: str) -> bool:
    """Whether each branch of the fork ends in one edge of the join, apart from ends, and touches no other branch."""
    sources = [edge.source for edge in template.entering(join)]
    exits = _onward(template, fork)
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
    reached = _reached(template, (edge.target,), frozenset({join}))
    return frozenset(i for i in reached if template.node(i).kind != "end")


def _has_another_way_in(template: Template, way: Edge, branch: frozenset[str], join: str) -> bool:
    """Whether a run can come to the steps that lead to the join otherwise than over the fork's own edge."""
    inside = {i for i in branch if join in _reached(template, (i,), frozenset())}
    strangers = (e for e in template.edges if e is not way and e.target in inside and e.source not in branch)
    return template.start in inside or any(strangers)


def _irreversible_ahead(template: Template, step_id: str, decision: str) -> Iterator[str]:
    """Walk from a step by a decision up to the next gates, breadth first, over every branch that may be taken."""
    exclusive = template.node(step_id).flow == "exclusive"
    if exclusive or decision == DENIED:
        waiting = [edge.target for edge in template.leaving(step_id) if edge.branch == decision]
    else:
        waiting = [edge.target for edge in _onward(template, step_id)]
    seen: set[str] = set()
    for step in waiting:  # grows while it is walked
        node = template.node(step)
        if step in seen or node.gate:
            continue
        seen.add(step)
        if node.effect == "irreversible":
            yield step
        ways = template.leaving(step) if node.flow == "exclusive" else _onward(template, step)
        waiting.extend(edge.target for edge in ways)


def _onward(template: Template, step_id: str) -> tuple[Edge, ...]:
    return tuple(edge for edge in template.leaving(step_id) if edge.branch != DENIED)


def _reached(template: Template, starts: tuple[str, ...], closed: frozenset[str]) -> frozenset[str]:
    """The steps that paths from the starts reach without entering a closed one."""
    found: set[str] = set()
    waiting = [step for step in starts if step not in closed]
    while waiting:
        step = waiting.pop()
        if step not in found:
            found.add(step)
            waiting.extend(e.target for e in template.leaving(step) if e.target not in closed)
    return frozenset(found)
