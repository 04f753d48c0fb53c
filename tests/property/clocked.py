"""Random processes with a clock, and people who decide at the last moment, on real runs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from msgspec import structs

from actors.core.decider import TurnResult, step
from actors.core.gate_policy import AnchoredDeadline, Escalation
from actors.core.messages import Deliver, Due, Elapsed, Message, Resume, Start, Wake
from actors.core.people import Company, Person
from actors.core.run import Clock, Run, Visit
from actors.core.schedule import BusinessCalendar
from actors.core.template import APPROVED, DENIED, MESSAGE, ClockExtension, ClockRule, Edge, Template
from tests.processes import choice, end, gate, parallel, task, wait
from tests.property.templates import Block, Plan, Way

CLOCK = "notice"
REFUSED, EXEMPT, ACT = "refused", "exempt", "send"
MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
STARTS = tuple(MONDAY + timedelta(days=day, hours=5 * (day % 3)) for day in range(7))
UNITS = {"calendar": ("{}D",), "business": ("{}BD",), "mixed": ("{}D", "{}BD", "T{}0H")}
ONE_UNIT = ("calendar", "calendar", "business")

NEXT: dict[str, str] = {}
"""The branch that each automatic gateway takes next."""


@dataclass(frozen=True)
class Planned:
    """A condition that holds where its branch is planned."""

    step: str
    branch: str
    text: str = "inputs.planned"
    reads: tuple[str, ...] = ()

    def holds(self, *_: Any) -> bool:
        return NEXT.get(self.step) == self.branch


@dataclass(frozen=True)
class BeforeDue:
    """A time so many hours before the clock is due."""

    hours: int
    reads: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return f"clocks.{CLOCK}.due_at - duration('{self.hours}h')"

    def time(self, _inputs: Any, _facts: Any, clocks: dict[str, Any]) -> datetime:
        return datetime.fromisoformat(clocks[CLOCK]["due_at"]) - timedelta(hours=self.hours)


@dataclass
class ClockPlan(Plan):
    """The template in the making, in one unit of time or in several."""

    unit: str = "calendar"
    forks: bool = True
    pauses: list[str] = field(default_factory=list)
    stops: list[str] = field(default_factory=lambda: [ACT])
    extended: str | None = None
    waits: bool = True

    def long(self, *days: int) -> str:
        return "P" + self.one(UNITS[self.unit]).format(self.one(days))

    def deadline(self, outcomes: Sequence[str]) -> dict[str, Any]:
        """A deadline of a gate, mostly one that leads on."""
        kind = self.one(("own", "own", "again", "anchored", "anchored", "called", "anchored again", "none"))
        outcome = self.one(tuple(outcomes))
        anchor = AnchoredDeadline(CLOCK, self.long(1, 2, 3))
        again = Escalation("admin", self.long(1), outcome)
        kinds: dict[str, dict[str, Any]] = {
            "own": {"deadline": self.long(1, 2, 3), "on_deadline": outcome},
            "again": {"deadline": self.long(1, 2), "on_deadline": again},
            "anchored": {"deadline": anchor, "on_deadline": outcome},
            "called": {"deadline": anchor, "on_deadline": Escalation("admin")},
            "anchored again": {"deadline": anchor, "on_deadline": again},
            "none": {},
        }
        return kinds[kind]


def a_gate(plan: ClockPlan, _depth: int) -> Block:
    """A gate, behind whose denial the run ends, or the act is done."""
    made = plan.add(gate(plan.name("gate"), **plan.deadline((DENIED,))))
    if (target := plan.one((ACT, ACT, EXEMPT, REFUSED, None, made))) is not None:
        plan.edges.append(Edge(made, target, DENIED))
    return made, Way(made)


def a_wait(plan: ClockPlan, _depth: int) -> Block:
    """A wait for time, for a message, for the clock, or one during which that stands still."""
    exact = "for" if plan.unit == "business" else "until"
    # Behind a pause a clock of business days may be due at night, so less of it is certain.
    pause = "for" if plan.unit == "business" and not plan.forks else "pause"
    kind = plan.one(("for", exact, "message", pause, pause, "forever"))
    name = plan.name("wait")
    if kind == "for":
        return plan.add(wait(name, duration=plan.long(1, 2))), Way(name)
    if kind == "until":
        return plan.add(wait(name, until=BeforeDue(plan.one((24, 48))))), Way(name)
    if kind == "message":
        plan.add(wait(name, message="word", within=plan.long(1, 2)))
        after = plan.add(task(plan.name("after")))
        plan.edges += [Edge(name, after, MESSAGE), Edge(name, after, "timeout")]
        return name, Way(after)
    plan.pauses += [name] if kind == "pause" else []
    return plan.add(wait(name, message="word")), Way(name)


def a_task(plan: ClockPlan, _depth: int) -> Block:
    made = plan.add(task(plan.name("task")))
    return made, Way(made)


def another_act(plan: ClockPlan, _depth: int) -> Block:
    """A step that stops the clock, too."""
    made = plan.add(task(plan.name("act")))
    plan.stops.append(made)
    return made, Way(made)


def a_sequence(plan: ClockPlan, depth: int) -> Block:
    first, way = a_block(plan, depth - 1)
    for _ in range(plan.one((1, 1, 2))):
        following, after = a_block(plan, depth - 1)
        plan.link(way, following)
        way = after
    return first, way


def a_choice(plan: ClockPlan, depth: int) -> Block:
    """A gateway at which people or a plan choose; its branches meet again."""
    human, labels = plan.one((True, True, False)), ("one", "other")
    name = plan.name("choice")
    plan.add(choice(name, "high", **plan.deadline(labels)) if human else choice(name))
    merge = plan.add(task(plan.name("merge")))
    for number, label in enumerate(labels):
        first, way = a_block(plan, depth - 1)
        when = None if human or number else Planned(name, label)
        plan.edges.append(Edge(name, first, label, when))
        plan.link(way, merge)
    return name, Way(merge)


def a_loop(plan: ClockPlan, depth: int) -> Block:
    """Something that is done again as long as people want it."""
    head = plan.add(task(plan.name("head")))
    body, way = a_block(plan, depth - 1)
    plan.edges.append(Edge(head, body))
    again = plan.add(choice(plan.name("again"), "high", **plan.deadline(("on", "on", "again"))))
    plan.link(way, again)
    plan.edges.append(Edge(again, head, "again"))
    return head, Way(again, "on")


def a_fork(plan: ClockPlan, depth: int) -> Block:
    if not plan.forks:
        return a_sequence(plan, depth)
    fork, join = plan.add(parallel(plan.name("fork"))), plan.add(parallel(plan.name("join")))
    for _ in range(2):
        first, way = a_block(plan, depth - 1)
        plan.edges.append(Edge(fork, first))
        plan.link(way, join)
    return fork, Way(join)


def an_extension(plan: ClockPlan, depth: int) -> Block:
    """A choice that gives the clock more time, once its notice is done."""
    if plan.extended is not None:
        return a_sequence(plan, depth)
    name, notice, merge = plan.name("extension"), plan.name("told"), plan.name("merge")
    plan.extended = name
    plan.add(choice(name, "high", **plan.deadline(("no",))))
    plan.add(task(notice))
    plan.add(task(merge))
    plan.edges += [Edge(name, notice, "extended"), Edge(name, merge, "no"), Edge(notice, merge)]
    return name, Way(merge)


SIMPLE: tuple[Callable[[ClockPlan, int], Block], ...] = (a_gate, a_gate, a_wait, a_task, another_act)
COMPOUND: tuple[Callable[[ClockPlan, int], Block], ...] = (a_sequence, a_choice, a_loop, a_fork, an_extension)


def a_block(plan: ClockPlan, depth: int) -> Block:
    return plan.one(SIMPLE if depth <= 0 else SIMPLE + COMPOUND)(plan, depth)


@st.composite
def clocked(draw: DrawFn, *, forks: bool = True, units: tuple[str, ...] = ONE_UNIT) -> Template:
    """A process whose clock may be kept or not."""
    plan = ClockPlan(draw, forks=forks)
    plan.unit = plan.one(units)
    limit = plan.one(UNITS[plan.one((plan.unit, plan.unit, "calendar"))][:2])
    start, way = plan.one((a_sequence, a_choice, a_fork))(plan, 2)
    acted = plan.one((False, False, True))
    plan.add(gate(ACT, **plan.deadline((DENIED,))) if acted else task(ACT))
    plan.link(way, ACT)
    plan.edges += [Edge(ACT, "done"), *([Edge(ACT, EXEMPT, DENIED)] if acted else [])]
    plan.add(end("done"))
    targets = {edge.target for edge in plan.edges}
    if EXEMPT in targets:
        plan.add(structs.replace(end(EXEMPT, "exempt"), ends_clocks={CLOCK: "the law asks for nothing"}))
    if REFUSED in targets:
        plan.add(end(REFUSED, "refused"))
    within = "P" + limit.format(plan.one((3, 5, 8, 13)))
    extend = None
    if plan.extended is not None:
        notice = next(edge.target for edge in plan.edges if edge.branch == "extended")
        extend = ClockExtension(plan.extended, "extended", "P" + limit.format(4), notice)
    rule = ClockRule(
        id=CLOCK, label="Notice", within=within, stops=tuple(plan.stops), pauses=tuple(plan.pauses), extend=extend
    )
    return replace(Template("any", 1, "sha256:any", "Any", start, tuple(plan.nodes), tuple(plan.edges)), clocks=(rule,))


# ------------------------------------------------------------------------------------------ runs

BOSS = Person("boss", "boss", "owner", frozenset())
COMPANY = Company({"boss": BOSS}, calendar=BusinessCalendar())
EASTER = frozenset({date(2026, 3, 6), date(2026, 3, 16), date(2026, 3, 27), date(2026, 3, 30)})
ELSEWHERE = BusinessCalendar(ZoneInfo("Europe/Berlin"), frozenset({4, 6}), EASTER)
"""Long weekends, and an hour that is left out on a night of March."""
ACTS_MAX = 80


@dataclass
class Play:
    """A run, and the time by now."""

    template: Template
    at: datetime
    company: Company = COMPANY
    run: Run | None = None

    def __post_init__(self) -> None:
        self.say(Start(run_id="r", company_id="c", by="starter", inputs={}, auto_resolve=True, at=self.at))

    def say(self, message: Message) -> None:
        self.at = max(self.at, message.at)
        done = step(self.run, message, self.template, {}, company=self.company)
        assert isinstance(done, TurnResult), done
        self.run = done.run
        for wake in [one for one in done.effects if isinstance(one, Wake)]:
            self.say(Elapsed(step_id=wake.step_id, visit=wake.visit, at=message.at))

    @property
    def clock(self) -> Clock:
        assert self.run is not None
        found = self.run.clock(CLOCK)
        assert found is not None
        return found

    @property
    def is_late(self) -> bool:
        """Whether the act came later than it was due, or is still to come then."""
        clock = self.clock
        assert clock.due_at is not None
        return clock.breached_at is not None and (clock.stopped_at or self.at) > clock.due_at

    @property
    def over(self) -> bool:
        return self.clock.stopped_at is not None

    def decide(self, gate_id: str, decision: str, at: datetime) -> None:
        self.say(Resume(gate=gate_id, decision=decision, by="boss", role="owner", at=max(at, self.at), verdict_id=""))

    def lapse(self, at: datetime) -> None:
        self.say(Due(at=max(at, self.at)))

    def deliver(self, name: str, at: datetime) -> None:
        self.say(Deliver(name=name, by="boss", at=max(at, self.at)))

    @property
    def held(self) -> list[tuple[datetime | None, Visit]]:
        """What people and time hold up, with the moment at which it ends by itself."""
        assert self.run is not None
        found: list[tuple[datetime | None, Visit]] = []
        for visit in self.run.open:
            if visit.status == "parked" and visit.gate is not None:
                found.append((visit.gate.due_at, visit))
            elif visit.wait is not None:
                found.append((visit.wait.until, visit))
        return found


def rehearsed(
    template: Template, start: datetime, choose: Callable[[Sequence[Any]], Any], company: Company = COMPANY
) -> Iterator[Play]:
    """A run in which everything takes as long as it may, or not; as it stands after each act."""
    plan(template, choose)
    play = Play(template, start, company)
    yield play
    for _ in range(ACTS_MAX):
        if play.over or not play.held:
            return
        plan(template, choose)
        act(play, choose)
        yield play


def plan(template: Template, choose: Callable[[Sequence[Any]], Any]) -> None:
    """Plan where automatic gateways lead next."""
    NEXT.clear()
    for node in template.nodes:
        if node.flow == "exclusive" and not node.gate:
            NEXT[node.id] = choose(template.decisions(node.id))


def act(play: Play, choose: Callable[[Sequence[Any]], Any]) -> None:
    """Let something happen that can happen next, mostly at the last moment."""
    dated = [(at, visit) for at, visit in play.held if at is not None]
    if any(at <= play.at for at, _ in dated):
        play.lapse(play.at)
        return
    undated = [visit for at, visit in play.held if at is None]
    if undated and (not dated or choose((True, False))):
        visit = choose(undated)
        late = timedelta(days=choose((0, 3, 20))) if visit.wait is not None else timedelta()
        if dated and visit.wait is not None:
            late = min(late, min(at for at, _ in dated) - play.at)
        settle(play, visit, play.at + late, choose)
        return
    at, visit = min(dated, key=lambda one: one[0])
    tonight = play.at.replace(hour=23, minute=59, second=59)
    how = choose(("lapse", "last", "last", "now", "tonight"))
    if how == "lapse":
        play.lapse(at)
    else:
        settle(play, visit, {"now": play.at, "tonight": min(at, tonight)}.get(how, at), choose)


def settle(play: Play, visit: Visit, at: datetime, choose: Callable[[Sequence[Any]], Any]) -> None:
    """Decide at a gate, or end a wait for a message."""
    if visit.gate is not None and visit.status == "parked":
        play.decide(visit.step_id, choose(visit.gate.decisions), at)
    elif visit.wait is not None and visit.wait.message is not None:
        play.deliver(visit.wait.message, at)
    else:
        play.lapse(visit.wait.until or at if visit.wait is not None else at)


class Follower:
    """Takes a path, where no branches stand side by side.

    People decide at the last moment, but at once at the first, `eager` places: who comes too late
    to what is anchored cannot go everywhere from there.
    """

    def __init__(self, template: Template, path: tuple[str, ...], start: datetime, eager: int) -> None:
        self.template, self.path, self.place, self.eager = template, path, 0, eager
        self._plan()
        self.play = Play(template, start)
        while not self.play.over and self.play.held:
            ((due, visit),) = self.play.held
            if visit.step_id not in path[self.place :]:
                break  # the path ends where more time is given
            self.place = path.index(visit.step_id, self.place)
            self._plan()
            if self._goes_on(visit, due):
                self.place += 1

    def _plan(self) -> None:
        """Plan where automatic gateways lead: the next place of each counts."""
        ways = [*zip(self.path[self.place :], self.path[self.place + 1 :], strict=False)]
        for step_id, target in reversed(ways):
            for one in self._to(step_id, target):
                NEXT[step_id] = one.branch or ""

    def _to(self, step_id: str, target: str | None) -> list[Edge]:
        """The edges from a step to the next one of the path, or on from its act."""
        ways = self.template.leaving(step_id)
        return [one for one in ways if one.target == target or (target is None and one.branch != DENIED)]

    def _goes_on(self, visit: Visit, due: datetime | None) -> bool:
        """End what holds the run up at the last moment; false for an escalation."""
        target = self.path[self.place + 1] if self.place + 1 < len(self.path) else None
        branch, play, gate_ = self._to(visit.step_id, target)[0].branch, self.play, visit.gate
        if gate_ is None:
            assert visit.wait is not None
            if visit.wait.message is not None and (due is None or branch == MESSAGE):
                play.deliver(visit.wait.message, due if due is not None and self.place >= self.eager else play.at)
            else:
                play.lapse(due or play.at)
            return True
        if self.place < self.eager and (due is None or due >= play.at):
            play.decide(visit.step_id, branch or APPROVED, play.at)
            return True
        outcome = gate_.policy.on_deadline
        called = isinstance(outcome, Escalation) and outcome.again is not None and gate_.escalated is None
        if due is not None and (called or (due < play.at and isinstance(outcome, str))):
            play.lapse(due)
            return not called
        play.decide(visit.step_id, branch or APPROVED, due or play.at)
        return True


def followed(template: Template, path: tuple[str, ...], start: datetime, eager: int = 0) -> Play:
    """A run that has taken a path at the last moment, but for its first, eager places."""
    return Follower(template, path, start, eager).play
