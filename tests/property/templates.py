"""Any sound template: blocks of one way in and one way out, put one behind or inside the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from msgspec import structs

from actors.core.template import DENIED, Condition, DryRun, Edge, Node, Template, Tier, ToolEffect
from tests.processes import ALWAYS, MATCHED, NEVER, UNCLEAR, choice, end, gate, parallel, task, wait

TOOLS = ("look", "score", "pay")
LOW: tuple[Tier, ...] = ("low", "medium")
HIGH: tuple[Tier, ...] = ("high", "critical")
HARMLESS: tuple[ToolEffect, ...] = ("read", "reversible")
NEEDS: tuple[tuple[str, ...], ...] = ((), (), (), ("amount",), ("nowhere",))
DRY_RUNS: tuple[tuple[DryRun, ...], ...] = (
    (),
    (DryRun({"is": "clean"}),),
    (DryRun({"match": "exact"}, signal=True),),
    (DryRun({"match": "none"}, when=UNCLEAR), DryRun({"match": "none"})),
)
CONDITIONS: tuple[Condition, ...] = (ALWAYS, NEVER, UNCLEAR)
REFUSED = "refused"
DEPTH = 3

T = TypeVar("T")


@dataclass(frozen=True)
class Way:
    """A way out of a block that leads nowhere yet."""

    source: str
    branch: str | None = None


@dataclass
class Plan:
    """The template in the making."""

    draw: DrawFn
    waits: bool = False
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def name(self, word: str) -> str:
        return f"{word}-{len(self.nodes)}"

    def one(self, of: tuple[T, ...]) -> T:
        return self.draw(st.sampled_from(of))

    def add(self, node: Node) -> str:
        self.nodes.append(node)
        return node.id

    def link(self, way: Way, target: str) -> None:
        self.edges.append(Edge(way.source, target, way.branch))


Block = tuple[str, Way]


def a_task(plan: Plan, _depth: int) -> Block:
    """A task: an irreversible one is its own gate, or follows one."""
    irreversible, tier, dry_run = plan.one((False, True)), plan.one(LOW + HIGH), plan.one(DRY_RUNS)
    made = task(
        plan.name("task"),
        tier,
        "irreversible" if irreversible else plan.one(HARMLESS),
        tool=plan.one(TOOLS),
        needs=plan.one(NEEDS),
        dry_run=dry_run,
        signal_when=MATCHED if any(case.signal for case in dry_run) else plan.one((None, MATCHED)),
    )
    plan.add(made)
    deniable(plan, made.id)
    if not irreversible or made.gate:
        return made.id, Way(made.id)
    first, way = a_gate(plan, 0)
    plan.link(way, made.id)
    return first, Way(made.id)


def a_gate(plan: Plan, _depth: int) -> Block:
    step = plan.add(gate(plan.name("gate"), plan.one(LOW + HIGH), plan.one((None, "manager", "owner"))))
    deniable(plan, step)
    return step, Way(step)


def a_wait(plan: Plan, _depth: int) -> Block:
    """A wait for time, or for a message with its timeout."""
    if plan.one((True, False)):
        step = plan.add(wait(plan.name("wait"), duration="PT1H"))
        return step, Way(step)
    step = plan.add(wait(plan.name("wait"), message="word", within="PT2H"))
    after = plan.add(task(plan.name("after"), tool="look"))
    plan.edges += [Edge(step, after, "message"), Edge(step, after, "timeout")]
    return step, Way(after)


def deniable(plan: Plan, step: str) -> None:
    """Now and then there is an edge for denied."""
    if plan.one((False, True)):
        plan.edges.append(Edge(step, REFUSED, DENIED))


def a_sequence(plan: Plan, depth: int) -> Block:
    first, way = a_block(plan, depth - 1)
    for _ in range(plan.one((1, 2))):
        following, after = a_block(plan, depth - 1)
        plan.link(way, following)
        way = after
    return first, way


def a_choice(plan: Plan, depth: int) -> Block:
    """An exclusive gateway whose branches meet again in a task."""
    human = plan.one((False, True))
    fork = plan.add(choice(plan.name("choice"), plan.one(HIGH if human else LOW)))
    merge = plan.add(task(plan.name("merge"), tool="look"))
    labels = plan.one((("big", "small"), ("approved", DENIED), ("retry", "done", "other")))
    for number, name in enumerate(labels):
        when = None if number == len(labels) - 1 else plan.one(CONDITIONS)
        target = merge
        if plan.one((True, False)):
            target, way = a_block(plan, depth - 1)
            plan.link(way, merge)
        plan.edges.append(Edge(fork, target, name, when))
    return fork, Way(merge)


def a_loop(plan: Plan, depth: int) -> Block:
    """A block that is done again as long as a human, or rarely a condition, wants it."""
    head = plan.add(task(plan.name("head"), tool="look"))
    body, way = a_block(plan, depth - 1)
    plan.edges.append(Edge(head, body))
    human = plan.one((True, True, False))
    again = plan.add(choice(plan.name("again"), "high" if human else "low"))
    plan.link(way, again)
    plan.edges.append(Edge(again, head, "again", plan.one(CONDITIONS)))
    return head, Way(again, "on")


def a_fork(plan: Plan, depth: int) -> Block:
    """A parallel block; one of its branches may be empty."""
    fork, join = plan.add(parallel(plan.name("fork"))), plan.add(parallel(plan.name("join")))
    for number in range(plan.one((2, 3))):
        if number == 0 and plan.one((False, True)):
            plan.edges.append(Edge(fork, join))
            continue
        first, way = a_block(plan, depth - 1)
        plan.edges.append(Edge(fork, first))
        plan.link(way, join)
    deniable(plan, plan.one((fork, join)))
    return fork, Way(join)


SIMPLE: tuple[Callable[[Plan, int], Block], ...] = (a_task, a_gate)
COMPOUND: tuple[Callable[[Plan, int], Block], ...] = (a_sequence, a_choice, a_loop, a_fork)


def a_block(plan: Plan, depth: int) -> Block:
    simple = (*SIMPLE, a_wait) if plan.waits else SIMPLE
    return plan.one(simple if depth <= 0 else simple + COMPOUND)(plan, depth)


def finished(plan: Plan, start: str, way: Way) -> Template:
    """The template, with its ends, and without what no edge leads to."""
    plan.link(way, plan.add(end(outcome="done")))
    if any(edge.target == REFUSED for edge in plan.edges):
        plan.add(end(REFUSED, REFUSED))
    return Template("any", 1, "sha256:any", "Any process", start, tuple(plan.nodes), tuple(plan.edges))


@st.composite
def templates(draw: DrawFn, *, waits: bool = False) -> Template:
    """A sound template, with steps that wait if asked for."""
    plan = Plan(draw, waits=waits)
    start, way = plan.one(COMPOUND)(plan, DEPTH)
    return finished(plan, start, way)


@st.composite
def bent_templates(draw: DrawFn) -> Template:
    """A sound template with a parallel block, and one way more, bent, or in from outside: it may be
    sound still.
    """
    plan = Plan(draw)
    start, way = plan.one((a_fork, a_forked_loop))(plan, DEPTH - 1)
    template = finished(plan, start, way)
    target = plan.one(tuple(node.id for node in template.nodes))
    edges = template.edges
    bend = plan.one(("denied", "branch", "denied", "branch", "edge", "start"))
    if bend == "start":
        start = target
    elif bend == "edge":
        old = plan.one(edges)
        edges = tuple(structs.replace(edge, target=target) if edge is old else edge for edge in edges)
    else:
        flows = (None, "parallel") if bend == "denied" else ("exclusive",)
        sources = tuple(n.id for n in template.nodes if n.flow in flows and n.kind != "end")
        taken = {edge.source for edge in edges if edge.branch == DENIED}
        assume(set(sources) - taken)
        source = plan.one(tuple(step for step in sources if step not in taken))
        new = Edge(source, target, DENIED) if bend == "denied" else Edge(source, target, "bent", NEVER)
        edges = (new, *edges)
    return replace(template, start=start, edges=edges)


def a_forked_loop(plan: Plan, depth: int) -> Block:
    """A loop around a parallel block, which is where most can go wrong."""
    head = plan.add(task(plan.name("head"), tool="look"))
    fork, way = a_fork(plan, depth - 1)
    plan.edges.append(Edge(head, fork))
    again = plan.add(choice(plan.name("again"), "high"))
    plan.link(way, again)
    plan.edges.append(Edge(again, head, "again"))
    return head, Way(again, "on")
