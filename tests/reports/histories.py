"""Random histories of runs: any template, several people, deadlines, failures, and undoing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from typing import Any

from msgspec import structs

from actors.core.decider import TurnResult, outstanding
from actors.core.gate_policy import Escalation, GatePolicy
from actors.core.messages import CallEffect, Elapsed, Start
from actors.core.people import Company, Person
from actors.core.template import DENIED, Node, Template
from actors.ports import Commit
from tests.conversations import DOWN, LOST, RECONNECTED, Conversation
from tests.processes import connector, task, wait
from tests.property.templates import COMPOUND, TOOLS, Block, Plan, T, Way, a_block, finished

NAMES = ("ann", "bob", "cyd", "dan")
VERTICALS = ("loans", "refunds", "triage")
PAUSES = (0, 0, 1, 5, 59, 600, 4_000, 90_000)
"""Seconds between what is said."""
OUTCOMES = (DENIED, Escalation("admin"), Escalation("admin", "PT2H", DENIED))


class DrawnPlan(Plan):
    """A plan whose choices come from a seed."""

    def __init__(self, random: Random) -> None:
        self.nodes, self.edges, self._random = [], [], random

    def one(self, of: tuple[T, ...]) -> T:
        return self._random.choice(of)


def a_wait(plan: Plan, _depth: int) -> Block:
    """A wait for time, or for a message."""
    what: dict[str, Any] = plan.one(({"duration": "PT1H"}, {"message": "word", "within": "P1D"}))
    step = plan.add(wait(plan.name("wait"), **what))
    if "message" not in what:
        return step, Way(step)
    merge = plan.add(task(plan.name("merge"), tool="look"))
    plan.link(Way(step, "message"), merge)
    plan.link(Way(step, "timeout"), merge)
    return step, Way(merge)


def template_of(random: Random) -> Template:
    """A sound template with policies at its gates, and tasks that can be undone."""
    plan = DrawnPlan(random)
    parts: tuple[Callable[[Plan, int], Block], ...] = (a_block, a_block, a_wait)
    start, way = plan.one(COMPOUND)(plan, random.randint(1, 2))
    for _ in range(random.randint(0, 3)):
        following, after = plan.one(parts)(plan, 1)
        plan.link(way, following)
        way = after
    made = finished(plan, start, way)
    nodes = tuple(_asking(node, random) for node in made.nodes)
    return replace(made, vertical=random.choice(VERTICALS), nodes=nodes)


def _asking(node: Node, random: Random) -> Node:
    if node.kind == "task" and random.random() < 0.6:
        node = structs.replace(node, compensate="undo")
    if not node.gate or random.random() < 0.4:
        return node
    timed: dict[str, Any] = {"deadline": "PT3H", "remind": ("PT1H",), "on_deadline": random.choice(OUTCOMES)}
    return structs.replace(
        node,
        policy=GatePolicy(
            quorum=random.choice((1, 1, 2)),
            denials=random.choice((1, 1, 2)),
            **(timed if random.random() < 0.6 and node.flow != "exclusive" else {}),
        ),
    )


@dataclass
class Told(Conversation):
    """A conversation that keeps its commits."""

    commits: list[Commit] = field(default_factory=list)

    def say(self, message: Any, onto: Template | None = None) -> Any:
        done = super().say(message, onto)
        if isinstance(done, TurnResult) and done.events:
            self.commits.append(Commit(done.run, done.events, done.run.resting, None))
        return done


def history(seed: int, company_id: str) -> list[Commit]:
    """The commits of one run."""
    random = Random(seed)
    people = {name: Person(f"m-{name}", name, random.choice(("manager", "admin"))) for name in NAMES}
    talk = Told(template_of(random), company=Company(people=people))
    talk.connectors = {tool: connector(tool, reversible=random.random() < 0.7) for tool in (*TOOLS, "undo")}
    talk.passed = timedelta(seconds=random.randint(0, 100 * 86_400), microseconds=random.randint(0, 999_999))
    known: dict[str, Any] = {"by": "ann", "inputs": {"amount": 12}, "auto_resolve": random.random() < 0.8}
    talk.say(Start(run_id=f"run-{seed:08}", company_id=company_id, at=talk.at, **known))
    for _ in range(random.choice((0, 3, 10, 25, 60))):
        if talk.run.ended is not None:
            break
        talk.passed += timedelta(seconds=random.choice(PAUSES), microseconds=random.randint(0, 999))
        random.choices(VERBS, WEIGHTS)[0](talk, random)
    return talk.commits


def _decide(talk: Told, random: Random) -> None:
    if not talk.run.parked:
        _answer(talk, random)
        return
    visit = random.choice(talk.run.parked)
    assert visit.gate is not None
    inputs = {pointer[1:]: 1 for pointer in visit.gate.missing} or None
    decision = random.choice(visit.gate.decisions)
    talk.resume(visit.step_id, decision, by=random.choice(NAMES), role="admin", inputs=inputs)


def _answer(talk: Told, random: Random) -> None:
    """Let a call end, or what is awaited come."""
    for effect in outstanding(talk.run, talk.template):
        if isinstance(effect, CallEffect):
            how = random.random()
            if how < 0.6:
                talk.returned(effect.step_id, effect.visit, {"match": "none"})
            elif how < 0.8:
                talk.failed(effect.step_id, effect.visit, error=random.choice((DOWN, RECONNECTED)))
            elif how < 0.9:
                talk.failed(effect.step_id, effect.visit, error=LOST, unknown=True)
            else:
                talk.awaits_answer(effect.step_id, effect.visit)
            return
        talk.say(Elapsed(step_id=effect.step_id, visit=effect.visit, at=talk.at))
        return
    waits = [one for one in talk.run.open if one.call_out]
    if waits:
        talk.answered_later(waits[0].step_id, waits[0].visit, {"match": "none"})


def _withdraw(talk: Told, random: Random) -> None:
    for visit in talk.run.parked:
        if visit.gate is not None and visit.gate.verdicts:
            talk.withdraw(visit.step_id, by=random.choice(visit.gate.verdicts).by)
            return


def _bind(talk: Told, random: Random) -> None:
    """Change a connector, so that gates may open again."""
    tool = random.choice((*TOOLS, "undo"))
    talk.connectors[tool] = connector(tool, talk.connectors[tool].version + 1, reversible=random.random() < 0.7)


def _migrate(talk: Told, _: Random) -> None:
    nodes = tuple(structs.replace(node, label=f"{node.label} again") for node in talk.template.nodes)
    version = talk.template.version + 1
    talk.migrate(replace(talk.template, version=version, digest=f"sha256:{version}", nodes=nodes))


VERBS: tuple[Callable[[Told, Random], object], ...] = (
    _decide,
    _answer,
    _withdraw,
    _bind,
    _migrate,
    lambda talk, random: talk.due(timedelta(hours=random.choice((0, 1, 3, 5)))),
    lambda talk, _: talk.retry(),
    lambda talk, _: talk.deliver("word"),
    lambda talk, random: talk.cancel(compensate=random.random() < 0.9),
)
WEIGHTS = (10, 10, 1, 1, 0.3, 3, 3, 1, 1)
