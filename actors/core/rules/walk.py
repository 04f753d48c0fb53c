"""The states that a run may come to while a clock of it runs, and the ways between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Literal, NamedTuple

from actors.core.rules.conditions import answer, are_there, known, parsed
from actors.core.rules.regions import Region, Regions, WayOut, does
from actors.core.rules.timing import Stay, TimeLimit, Timing
from actors.core.template import APPROVED, DENIED, TIMEOUT, ClockRule, Node, Template

WALKED_MAX = 50_000
"""So many edges are walked for all clocks of a template; a thousand steps with a clock need few."""
CHARS_A_WALK = 16
"""To compare so many characters of a condition takes as long as to walk an edge."""

NOT, GRANTED, EXTENDED = range(3)
State = tuple[str, int]
"""A step, and how far the extension of the clock has come."""


class TooLong(Exception):
    """It would take too long to prove all clocks of a template."""


class Budget:
    """The edges that may still be walked."""

    def __init__(self, left: int = WALKED_MAX) -> None:
        self.left = left

    def take(self, count: int) -> None:
        """TooLong when there are no more."""
        self.left -= count
        if self.left < 0:
            raise TooLong


class Passage(NamedTuple):
    """A way between two states. A `late` one may be taken though what is anchored is past.

    One that `extends` leads from the notice that gives the clock more time, and one that is a
    `timeout` from a message that has not come. It enters a step from which nothing happens to the
    clock until its target.
    """

    target: State
    enters: str
    late: bool
    extends: bool
    timeout: bool


class Exit(NamedTuple):
    """Where the clock is held to its time: an act that stops it, an end, more time, or an answer.

    At an answer an input is there of which `within` was in want, so that it counts otherwise.
    """

    kind: Literal["act", "end", "extension", "answer"]
    step: str
    late: bool


class Walk:
    """What a run may come to while a clock runs, in a case that fixes how long that is."""

    def __init__(
        self, template: Template, clock: ClockRule, limit: TimeLimit, regions: Regions, budget: Budget
    ) -> None:
        self.template = template
        self.clock = clock
        self.limit = limit
        self.regions = regions
        self.ways: dict[State, list[Passage]] = {}
        self.exits: dict[State, list[Exit]] = {}
        self.came: dict[State, State | None] = {}
        """Each state, and the one before it on a shortest path."""
        self.died: dict[str, State] = {}
        """Gates at which a denial leads nowhere."""
        self.arrived: dict[str, set[Region | None]] = {}
        """The branches by which each join is reached."""
        self.beside: set[Region] = set()
        """Branches that may be open where the clock starts in another one."""
        self._order: dict[State, int] = {}
        self._entered: dict[State, str] = {}
        """The steps by which states are come to from where the clock starts."""
        self.budget = budget
        self._timing = Timing(template, clock, regions)
        self._stays: dict[str, tuple[Stay, ...]] = {}
        self._pending: dict[str, list[tuple[State, State | None]]] = {}
        self._waiting: deque[State] = deque()
        self._reach()

    def stays(self, step: str) -> tuple[Stay, ...]:
        """What keeps a run at a step."""
        if step not in self.regions.stands:
            return ()
        found = self._stays.get(step)
        if found is None:
            found = self._stays[step] = self._timing.stays(self.template.node(step))
        return found

    @property
    def held(self) -> list[State]:
        """The states in which people or a wait hold the run up."""
        return [state for state in self.ways if state[0] in self.regions.stands]

    @property
    def starts(self) -> list[State]:
        """The states at which the clock begins."""
        return [state for state, before in self.came.items() if before is None]

    def holds(self, step: str) -> bool:
        """Whether people hold a run up at a step whose time is past, or a new pause."""
        node = self.template.node(step)
        pauses = step in self.clock.pauses and node.wait is not None and node.wait.until is None
        return pauses or (node.gate and self._forced(step) is None)

    def first(self, states: list[State]) -> State:
        """The state of several that a run comes to first."""
        return min(states, key=self._order.__getitem__)

    def path(self, state: State) -> list[State]:
        """A shortest path to a state."""
        found = [state]
        while (before := self.came[found[-1]]) is not None:
            found.append(before)
        return found[::-1]

    def steps(self, states: list[State]) -> Iterator[str]:
        """The steps of a path, with those between its states."""
        for before, state in zip([None, *states], states, strict=False):
            step = self._entered[state] if before is None else self._between(before, state)
            while step != state[0]:
                yield step
                step = self.regions.ways[step][0].edge.target
            yield step

    def _between(self, before: State, state: State) -> str:
        return next(way.enters for way in self.ways[before] if way.target == state)

    def _reach(self) -> None:
        for source, step in self._starts():
            first = (self.regions.ahead[step], NOT)
            self._entered.setdefault(first, step)
            self._enter(first, None, source)
        while self._waiting:
            state = self._waiting.popleft()
            self.ways[state], self.exits[state] = [], []
            for way in self._leave(state):
                self.ways[state].append(way)
                self._enter(way.target, state, state[0])
        # Behind a join that some branch never comes to the clock does not run any more.
        self.ways = {state: [one for one in ways if one.target in self.came] for state, ways in self.ways.items()}

    def _starts(self) -> Iterator[tuple[str | None, str]]:
        """The steps at which the clock begins, with those of branches that may be open then."""
        since = self.clock.from_step
        if since is None:
            yield None, self.template.start
            return
        for region in self.regions.around(since):
            for other in self.regions.branches[region.fork]:
                if other.branch != region.branch:
                    self.beside.add(other)
                    yield region.fork, self.template.leaving(region.fork)[other.branch].target
                    yield from self._behind_acts(other)
        yield from ((since, edge.target) for edge in self.template.leaving(since) if does(self.template, edge))

    def _behind_acts(self, region: Region) -> Iterator[tuple[str, str]]:
        """The steps of a branch behind acts that may be done before the clock begins."""
        for step in self.clock.stops:
            if region in self.regions.around(step):
                yield from ((step, way.edge.target) for way in self.regions.ways[step] if way.does and not way.ends)

    def _enter(self, state: State, before: State | None, source: str | None) -> None:
        """Come to a state, at a join once all of its branches have."""
        step = state[0]
        if source is None or not self.template.joins(step):
            self._come(state, before)
            return
        arrived, pending = self.arrived.setdefault(step, set()), self._pending.setdefault(step, [])
        arrived.add(self.regions.into.get((source, step)))
        pending.append((state, before))
        entering = {self.regions.into.get((edge.source, step)) for edge in self.template.entering(step)}
        if entering - self.beside <= arrived:
            for one, earlier in pending:
                self._come(one, earlier)
            pending.clear()

    def _come(self, state: State, before: State | None) -> None:
        if state not in self.came:
            self.came[state], self._order[state] = before, len(self._order)
            self._waiting.append(state)

    def _leave(self, state: State) -> Iterator[Passage]:
        """The ways on from a state; those that end the clock, or the run, are exits."""
        step, extended = state
        node, rule = self.template.node(step), self.clock.extend
        ways, forced = self._open_ways(node), self._forced(step)
        self.budget.take(1 + len(ways))
        if self.limit.missing and len(ways) < len(self.regions.ways[step]):
            self.exits[state].append(Exit("answer", step, late=True))
        if node.traits.ends:  # the clock starts where the run ends
            self.exits[state].append(Exit("end", step, late=True))
        for way in ways:
            edge, done, ends = way
            late = forced is None or self._decides(node, way, forced)
            if done and step in self.clock.stops:
                self.exits[state].append(Exit("act", step, late))
                continue
            now = extended
            if rule is not None and now == NOT and step == rule.at and self._decides(node, way, rule.decision):
                now = GRANTED
            extends = rule is not None and now == GRANTED and step == rule.once_done and done
            if extends:
                self.exits[state].append(Exit("extension", step, late))
            if ends:
                self.exits[state].append(Exit("end", edge.target, late))
            else:
                ahead = self.regions.ahead[edge.target]
                yield Passage((ahead, EXTENDED if extends else now), edge.target, late, extends, edge.branch == TIMEOUT)
        if node.gate and node.flow != "exclusive" and not any(way.edge.branch == DENIED for way in ways):
            self.died.setdefault(step, state)

    def _decides(self, node: Node, way: WayOut, decision: str) -> bool:
        """Whether a decision takes a way."""
        return way.does if decision == APPROVED and node.flow != "exclusive" else way.edge.branch == decision

    def _forced(self, step: str) -> str | None:
        """The only decision of a gate whose time is past."""
        stays = self.stays(step)
        return stays[0].forced if len(stays) == 1 and stays[0].anchored else None

    def _open_ways(self, node: Node) -> tuple[WayOut, ...]:
        """The ways that may be taken in this case."""
        ways = self.regions.ways[node.id]
        if not (self.limit.facts or self.limit.missing) or node.flow != "exclusive" or node.gate:
            return ways
        found, before = [], self.limit.facts
        for way in ways:
            when = None if way.edge.when is None else way.edge.when.text
            holds = True if when is None else self._holds(when)
            taken = before if when is None else known(parsed(when), before, holds=True)
            if holds is not False and not are_there(self.limit.missing, taken):
                found.append(way)
            if holds is True or when is None:
                break
            before = known(parsed(when), before, holds=False)
        return tuple(found)

    def _holds(self, text: str) -> bool | None:
        self.budget.take(len(text) // CHARS_A_WALK)
        return answer(parsed(text), self.limit.facts)
