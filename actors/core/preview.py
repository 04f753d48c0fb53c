"""What would become of a run: previews of decisions, rehearsals, and versions that differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from actors.core.approvals import current_snapshot
from actors.core.calls import Connectors
from actors.core.decider import TurnResult, step
from actors.core.gate_policy import PLAIN
from actors.core.messages import (
    CallSettled,
    Deliver,
    Due,
    Elapsed,
    GateOpened,
    Message,
    PanelAsked,
    Rejected,
    Resume,
    RunEnded,
    Start,
    StepCleared,
    WaitBegan,
    WaitEnded,
    Wake,
)
from actors.core.people import ROLES, Company, FunctionBinding, Person
from actors.core.run import DONE, RETRY, Run, Visit
from actors.core.schedule import BusinessCalendar, duration
from actors.core.template import APPROVED, DENIED, ConditionFailed, Edge, Node, Template

RAN = (StepCleared, CallSettled, WaitBegan, WaitEnded)


class PreviewedStep(Struct, frozen=True):
    """A step that runs, or may run where that is not `certain`."""

    node: Node
    certain: bool


class Preview(Struct, frozen=True):
    """The steps, next gates and outcomes that a decision can lead to."""

    decision: str
    steps: tuple[PreviewedStep, ...]
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
            if node.traits.ends:
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
        steps = tuple(PreviewedStep(self.template.node(step_id), certain) for step_id, certain in self.steps.items())
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


def _follow(found: _Found, run: Run, visit: Visit, done: TurnResult) -> None:
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


def _decided(run: Run, visit: Visit, decision: str, template: Template, connectors: Connectors) -> TurnResult | None:
    """The run after the decision, as if its policy asked for nothing; None where it is refused."""
    gate = visit.gate
    assert gate is not None  # noqa: S101 - it is open
    plain = replace(visit, gate=replace(gate, policy=PLAIN, role=None, verdicts=()))
    copy = replace(run, open=tuple(plain if one is visit else one for one in run.open))
    digest = current_snapshot(copy, plain, template, connectors).digest
    verdict = Resume(
        gate=visit.step_id, decision=decision, by="", role=ROLES[-1], digest=digest, at=run.updated_at, verdict_id=""
    )
    done = step(copy, verdict, template, connectors)
    return done if isinstance(done, TurnResult) and done.rejected is None else None


def _leading(template: Template, node: Node, decision: str) -> Iterator[Edge]:
    """The edges that a decision may take from a step."""
    for edge in template.leaving(node.id):
        if node.flow == "exclusive" or decision == DENIED:
            if edge.branch == decision:
                yield edge
        elif edge.branch != DENIED:
            yield edge


RUN_ID = "00000000-0000-0000-0000-000000000000"
STEPS_MAX = 1_000
DUE_MAX = 20
"""So much that is due happens in one piece of work."""


class RehearsedVerdict(Struct, frozen=True, kw_only=True):
    """Somebody decides at a gate; of every group and function unless they are named."""

    gate: str
    decision: str
    by: str
    role: str = "owner"
    comment: str | None = None
    code: str | None = None
    form: dict[str, Any] | None = None
    inputs: dict[str, Any] | None = None
    groups: tuple[str, ...] | None = None
    functions: tuple[str, ...] | None = None


class RehearsedDelivery(Struct, frozen=True, kw_only=True):
    """A message arrives."""

    name: str
    payload: Any = None


class Lapse(Struct, frozen=True):
    """Time passes until something is due, or for so long with all that is due meanwhile."""

    duration: str | None = None


Act = RehearsedVerdict | RehearsedDelivery | Lapse
RIGHTS = frozenset({"groups", "functions"})
"""What of a rehearsed verdict is about who decides."""


class Rehearsal(Struct, frozen=True):
    """The run after the last act that was taken, and why the next one was refused.

    A lapse that has not come to its end goes on `until` then.
    """

    run: Run
    at: datetime
    taken: int
    rejected: Rejected | None = None
    until: datetime | None = None


def rehearse(
    template: Template,
    inputs: dict[str, Any],
    acts: tuple[Act, ...],
    *,
    by: str,
    at: datetime,
    calendar: BusinessCalendar,
    auto_resolve: bool = True,
    before: Rehearsal | None = None,
    most: int | None = None,
) -> Rehearsal:
    """Start a run and let these acts happen, one after the other, or the first `most` of them.

    It goes on from what was rehearsed `before`, so that each act may be a piece of work of its own,
    and a long lapse several.
    """
    company, done = _cast(template, acts, by, calendar), before
    if done is None:
        begun = Start(run_id=RUN_ID, company_id=RUN_ID, by=by, inputs=inputs, auto_resolve=auto_resolve, at=at)
        run = _settled(None, begun, template, company)
        assert isinstance(run, Run)  # noqa: S101 - a start is not refused
        done = Rehearsal(run, at, 0)
    while done.rejected is None and done.taken < len(acts[:most]):
        act = acts[done.taken]
        done = (
            _lapsed(done, act, template, company)
            if isinstance(act, Lapse)
            else _acted(done, act, by, template, company)
        )
        if done.until is not None and most is not None:
            break
    return done


def _acted(
    before: Rehearsal, act: RehearsedVerdict | RehearsedDelivery, by: str, template: Template, company: Company
) -> Rehearsal:
    after = _settled(before.run, _message(act, by, before.at), template, company)
    if isinstance(after, Rejected):
        return Rehearsal(before.run, before.at, before.taken, after)
    return Rehearsal(after, before.at, before.taken + 1)


def _cast(template: Template, acts: tuple[Act, ...], by: str, calendar: BusinessCalendar) -> Company:
    """Those who act, with the rights that gates ask for, or those that they are said to have."""
    groups = frozenset(group for node in template.nodes for group in node.policy.groups)
    people, filled = {by: Person(by, by, "owner", groups)}, {name: {by} for name in template.functions}
    for act in acts:
        if isinstance(act, RehearsedVerdict):
            people[act.by] = Person(act.by, act.by, act.role, groups if act.groups is None else frozenset(act.groups))
            for name, members in filled.items():
                filling = act.functions is None or name in act.functions
                (members.add if filling else members.discard)(act.by)
    functions = {name: FunctionBinding(members=frozenset(members)) for name, members in filled.items()}
    return Company(people, calendar=calendar, functions=functions)


def _message(act: RehearsedVerdict | RehearsedDelivery, by: str, at: datetime) -> Message:
    if isinstance(act, RehearsedDelivery):
        return Deliver(name=act.name, payload=act.payload, by=by, at=at)
    said = {name: getattr(act, name) for name in act.__struct_fields__ if name not in RIGHTS}
    return Resume(**said, at=at)


def _lapsed(before: Rehearsal, act: Lapse, template: Template, company: Company) -> Rehearsal:
    """The run after some time, with all that has become due meanwhile, or the first of it."""
    run, until = before.run, before.until or before.run.wake_at or before.at
    if act.duration is not None and before.until is None:
        until = duration(act.duration).after(before.at, company.calendar)
    for _ in range(DUE_MAX):
        if run.wake_at is None or run.wake_at >= until:
            return Rehearsal(_due(run, until, template, company), until, before.taken + 1)
        before, run = Rehearsal(run, run.wake_at, before.taken), _due(run, run.wake_at, template, company)
        assert run.version > before.run.version  # noqa: S101 - what is due happens
    return Rehearsal(run, before.at, before.taken, until=until)


def _due(run: Run, at: datetime, template: Template, company: Company) -> Run:
    after = _settled(run, Due(at=at), template, company)
    assert isinstance(after, Run)  # noqa: S101 - what is due is not refused
    return after


def _settled(run: Run | None, message: Message, template: Template, company: Company) -> Run | Rejected:
    """The run when it rests after a message; a refusal leaves it as it was."""
    done = step(run, message, template, {}, STEPS_MAX, company=company)
    if isinstance(done, Rejected):
        return done
    while (wake := next((one for one in done.effects if isinstance(one, Wake)), None)) is not None:
        elapsed = Elapsed(step_id=wake.step_id, visit=wake.visit, at=message.at)
        again = step(done.run, elapsed, template, {}, STEPS_MAX, company=company)
        assert isinstance(again, TurnResult)  # noqa: S101 - what is due is not refused
        done = again
    return done.run


Way = dict[str, tuple[Node, tuple[Edge, ...]]]


def goes_otherwise(run: Run, before: Template, onto: Template) -> bool:
    """Whether the way that a run still has to go differs in another version."""
    steps = [visit.step_id for visit in run.open]
    return not all(map(onto.has, steps)) or _way(before, steps) != _way(onto, steps)


def _way(template: Template, steps: Iterable[str]) -> Way:
    """The steps that are open, and all behind them; a form counts by its schema."""
    found = frozenset(ahead for step in steps for ahead in template.downstream(step))
    return {step: (replace(template.node(step), form=None), template.leaving(step)) for step in found}
