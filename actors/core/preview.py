"""What each decision at an open gate leads to, up to the next human."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from actors.core.approvals import stands
from actors.core.calls import Connectors
from actors.core.decider import Step, step
from actors.core.gate_policy import PLAIN
from actors.core.messages import (
    CallSettled,
    GateOpened,
    PanelAsked,
    Resume,
    RunEnded,
    StepCleared,
    WaitBegan,
    WaitEnded,
)
from actors.core.people import ROLES
from actors.core.run import DONE, RETRY, Run, Visit
from actors.core.template import APPROVED, DENIED, ConditionFailed, Edge, Node, Template

RAN = (StepCleared, CallSettled, WaitBegan, WaitEnded)


class PreviewStep(Struct, frozen=True):
    """A step that runs, or may run where that is not `certain`."""

    node: Node
    certain: bool


class Preview(Struct, frozen=True):
    """The steps, next gates and outcomes that a decision can lead to."""

    decision: str
    steps: tuple[PreviewStep, ...]
    gates: tuple[str, ...]
    outcomes: tuple[str, ...]


def previews(run: Run, visit: Visit, template: Template, connectors: Connectors) -> tuple[Preview, ...]:
    """A preview of each decision at an open gate; nothing is called and nothing changes.

    What happens without an answer from outside is found by deciding on a copy of the run. What
    hangs on an answer, on a form or on time is found by a walk over every way that may be taken.
    """
    decisions = () if visit.gate is None else visit.gate.decisions
    return tuple(_preview(run, visit, decision, template, connectors) for decision in decisions)


class _Found:
    """What was found of a decision so far, in order."""

    def __init__(self, template: Template, run: Run) -> None:
        self.template = template
        self.run = run
        self.steps: dict[str, bool] = {}
        self.gates: dict[str, None] = {}
        self.outcomes: dict[str, None] = {}

    def walk(self, edges: Iterator[Edge]) -> None:
        """Add all that may follow over these edges, up to the next gates and ends."""
        waiting = [edge.target for edge in edges]
        reachable = self._reachable(waiting)
        seen: set[str] = set()
        for step_id in waiting:  # grows while it is walked
            node = self.template.node(step_id)
            if step_id in seen:
                continue
            seen.add(step_id)
            if node.traits.ends and self.run.auto_resolve:
                self.outcomes[node.outcome or ""] = None
            elif node.gate or not self.run.auto_resolve:
                self.gates[step_id] = None
            else:
                self.steps.setdefault(step_id, False)
                if node.panel is not None:
                    self.gates[step_id] = None
                waiting.extend(edge.target for edge in self._ways(node, reachable))

    def heard(self, step_id: str) -> None:
        """Add a step whose panel is asked: it may run, or wait for a human."""
        self.steps.setdefault(step_id, False)
        self.gates[step_id] = None
        self.walk(edge for edge in self.template.leaving(step_id) if edge.branch != DENIED)

    def _ways(self, node: Node, reachable: frozenset[str]) -> Iterator[Edge]:
        """The ways on that may be taken: of a choice over what is known already, the one."""
        edges = self.template.leaving(node.id)
        if node.flow != "exclusive":
            yield from (edge for edge in edges if edge.branch != DENIED)
            return
        for edge in edges:
            holds = self._holds(edge, reachable)
            if holds is not False:
                yield edge
            if holds is True:
                return

    def _holds(self, edge: Edge, reachable: frozenset[str]) -> bool | None:
        """Whether a condition holds; None where a step that may still run can change that."""
        if edge.when is None:
            return True
        if any(step_id in edge.when.text for step_id in reachable):
            return None
        try:
            return edge.when.holds(self.run.inputs, self.run.facts)
        except ConditionFailed:
            return None

    def _reachable(self, starts: list[str]) -> frozenset[str]:
        """The steps that may run from here on, with those that are at work."""
        found = {visit.step_id for visit in self.run.open}
        for start in (*starts, *found):
            found |= self.template.downstream(start)
        return frozenset(found)

    def preview(self, decision: str) -> Preview:
        steps = tuple(PreviewStep(self.template.node(step_id), certain) for step_id, certain in self.steps.items())
        return Preview(decision, steps, tuple(self.gates), tuple(self.outcomes))


def _preview(run: Run, visit: Visit, decision: str, template: Template, connectors: Connectors) -> Preview:
    node, found = template.node(visit.step_id), _Found(template, run)
    done = None if _is_open(visit, decision, template) else _decided(run, visit, decision, template, connectors)
    if node.traits.calls and decision in (APPROVED, RETRY):
        found.steps[node.id] = done is not None
    if done is not None:
        _follow(found, run, visit, done)
    else:
        found.walk(_leading(template, node, decision))
        if decision == DENIED and not any(edge.branch == DENIED for edge in template.leaving(node.id)):
            found.outcomes[DENIED] = None
    return found.preview(decision)


def _follow(found: _Found, run: Run, visit: Visit, done: Step) -> None:
    """Add what has happened for certain, and walk on from what waits for an answer or for time."""
    found.run = done.run
    for event in done.events:
        if isinstance(event, RAN):
            found.steps[event.step_id] = True
        elif isinstance(event, PanelAsked):
            found.heard(event.step_id)
        elif isinstance(event, GateOpened) and (event.step_id, event.visit) != (visit.step_id, visit.visit):
            found.gates[event.step_id] = None
        elif isinstance(event, RunEnded) and event.outcome is not None:
            found.outcomes[event.outcome] = None
    before = {(one.step_id, one.visit) for one in run.open}
    for one in done.run.open:
        new = (one.step_id, one.visit) not in before or one.step_id == visit.step_id
        if new and one.status in ("calling", "ready", "waiting"):
            found.walk(edge for edge in found.template.leaving(one.step_id) if edge.branch != DENIED)


def _is_open(visit: Visit, decision: str, template: Template) -> bool:
    """Whether what the decision leads to hangs on what the verdict brings."""
    gate = visit.gate
    assert gate is not None  # noqa: S101 - it is open
    brings = decision == DONE or gate.missing or (gate.policy.form is not None and decision != DENIED)
    conditions = [edge.when for edge in template.edges] + [case.when for one in template.nodes for case in one.dry_run]
    return bool(brings) or any(one is not None and visit.step_id in one.text for one in conditions)


def _decided(run: Run, visit: Visit, decision: str, template: Template, connectors: Connectors) -> Step | None:
    """The run after the decision, as if its policy asked for nothing; None where it is refused."""
    gate = visit.gate
    assert gate is not None  # noqa: S101 - it is open
    plain = replace(visit, gate=replace(gate, policy=PLAIN, role=None, verdicts=()))
    copy = replace(run, open=tuple(plain if one is visit else one for one in run.open))
    digest = stands(copy, plain, template, connectors).digest
    verdict = Resume(
        gate=visit.step_id, decision=decision, by="", role=ROLES[-1], digest=digest, at=run.updated_at, verdict_id=""
    )
    done = step(copy, verdict, template, connectors)
    return done if isinstance(done, Step) and done.rejected is None else None


def _leading(template: Template, node: Node, decision: str) -> Iterator[Edge]:
    """The edges that a decision may take from a step."""
    for edge in template.leaving(node.id):
        if node.flow == "exclusive" or decision == DENIED:
            if edge.branch == decision:
                yield edge
        elif edge.branch != DENIED:
            yield edge
