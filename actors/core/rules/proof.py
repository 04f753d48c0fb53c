"""Whether every path from where a clock starts to an act that stops it is short enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from actors.core.rules.longest import FAR, NOWHERE, LongestPaths, Times
from actors.core.rules.regions import Region, Regions
from actors.core.rules.spans import Span
from actors.core.rules.timing import Limit, as_text, limits
from actors.core.rules.violation import Violation
from actors.core.rules.walk import EXTENDED, Budget, Exit, State, TooLong, Walk
from actors.core.template import ClockRule, Template

FINDINGS_MAX = 5
"""So many findings of a kind are told of each clock."""
Kind = Literal["late_by_design", "clock_unbounded", "clock_not_stopped"]
Loops = list[list[State]]


class Finding(NamedTuple):
    """What is wrong with a path that comes from the step `last`.

    `bare` is a denial that leads nowhere, which ends a branch and no more.
    """

    kind: Kind
    node: str
    last: str
    path: tuple[str, ...]
    why: str
    takes: str | None = None
    within: str | None = None
    bare: bool = False

    def told(self, clock: ClockRule) -> Violation:
        """The finding as a violation."""
        detail = f"the clock {clock.id}: {self.why}"
        return Violation(self.kind, self.node, detail, None, clock.id, self.path, self.takes, self.within)


def clock_proofs(template: Template) -> Iterator[Violation]:
    """The clocks that a run can be late by, however quickly its tools answer."""
    if not template.clocks:
        return
    budget, regions = Budget(), Regions(template)
    try:
        for clock in template.clocks:
            yield from _proof(template, clock, regions, budget)
    except TooLong:
        yield Violation("too_large", None, "clocks: the steps are too entangled to prove that all clocks are kept")


def _proof(template: Template, clock: ClockRule, regions: Regions, budget: Budget) -> Iterator[Violation]:
    found: dict[tuple[Kind, str], Finding] = {}
    for limit in limits(clock) or ():
        walk = Walk(template, clock, limit, regions, budget)
        for one in _Proof(walk, limit).findings():
            found.setdefault((one.kind, one.node), one)
    told: dict[Kind, int] = {}
    for one in found.values():
        told[one.kind] = told.get(one.kind, 0) + 1
        if told[one.kind] <= FINDINGS_MAX:
            yield one.told(clock)


class _Proof:
    """What is wrong with the paths of a walk."""

    def __init__(self, walk: Walk, limit: Limit) -> None:
        self.walk = walk
        self.limit = limit
        self.paths = LongestPaths(walk)

    def findings(self) -> list[Finding]:
        """All that is wrong, but for what another branch makes good."""
        found = [*self._unbounded(), *self._endless(), *self._late(), *self._unstopped()]
        regions = [one for branches in self.walk.regions.branches.values() for one in branches]
        for region in sorted(regions, key=lambda one: -one.depth):
            if found and self._stops_surely(region, found):
                beside = [one for one in self.walk.regions.branches[region.fork] if one != region]
                found = [one for one in found if not self._made_good(one, region, beside)]
        return found

    def _unbounded(self) -> Iterator[Finding]:
        """Gates and waits without an end."""
        for state in self.walk.ways:
            step = state[0]
            if any(stay.cost is None for stay in self.walk.stays(step)):
                kind = "wait" if self.walk.template.node(step).wait is not None else "gate"
                why = f"nothing ends the {kind} {step} in time"
                yield Finding("clock_unbounded", step, step, self._path(self.walk.path(state)), why)

    def _endless(self) -> Iterator[Finding]:
        """Loops without end, but for those in which a step has none."""
        for part in self.paths.loops:
            if any(stay.cost is None for state in part for stay in self.walk.stays(state[0])):
                continue
            first = min(part, key=lambda state: len(self.walk.path(state)))
            around = self.paths.around(first)
            why = f"a run can go round from {first[0]} back to it without end"
            path = self._path([*self.walk.path(first), *around])
            yield Finding("clock_unbounded", first[0], first[0], path, why)

    def _late(self) -> Iterator[Finding]:
        """Acts, ends and notices of an extension that come too late, each by its longest path."""
        found: dict[str, tuple[int, Finding]] = {}
        for state, exits in self.walk.exits.items():
            for one in exits:
                for left, in_time in ((self.paths.in_time(state), True), (self.paths.past(state), False)):
                    if left == NOWHERE or not (in_time or one.late):
                        continue
                    for excess, finding in self._too_late(state, one, left, in_time=in_time):
                        if one.step not in found or found[one.step][0] < excess:
                            found[one.step] = (excess, finding)
        yield from (finding for _, finding in found.values())

    def _too_late(self, state: State, one: Exit, left: Times, *, in_time: bool) -> Iterator[tuple[int, Finding]]:
        allowed, in_days = self.paths.allowed(state), self.limit.in_business_days
        start, days, due, due_days = left
        measured = []
        if start > FAR and start > allowed.seconds and days > allowed.days:
            measured.append((start - allowed.seconds, Span(start, days), int(in_days)))
        if due > FAR and due > 0 and due_days > 0:
            measured.append((due, Span(allowed.seconds + due, allowed.days + due_days), 2 + in_days))
        for excess, time, lane in measured:
            path = self.paths.path(state, None if in_time else lane)
            takes, within = as_text(time, in_business_days=in_days), self.limit.said(extended=state[1] == EXTENDED)
            ended = f"the run ends at {one.step}" if one.kind == "end" else f"{one.step} is done"
            why = f"{ended} after up to {takes}, and {within} is allowed"
            steps = self._path(path, *([one.step] if one.kind == "end" else []))
            yield excess, Finding("late_by_design", one.step, state[0], steps, why, takes, within)

    def _unstopped(self) -> Iterator[Finding]:
        """Ends that are reached while the clock runs."""
        for state, exits in self.walk.exits.items():
            for one in exits:
                exempt = one.kind != "end" or self.walk.clock.id in self.walk.template.node(one.step).ends_clocks
                if not exempt and one.step not in self.walk.clock.stops:
                    path = self._path(self.walk.path(state), one.step)
                    why = f"the run ends at {one.step} without an act that stops it"
                    yield Finding("clock_not_stopped", one.step, state[0], path, why)
        for step, state in self.walk.died.items():
            why = f"a denial at {step} leads nowhere, so that the run ends without an act that stops it"
            yield Finding("clock_not_stopped", step, step, self._path(self.walk.path(state)), why, bare=True)

    def _path(self, states: list[State], *more: str) -> tuple[str, ...]:
        """The steps of a path, from where the clock starts."""
        since = self.walk.clock.from_step
        begun = () if since is None else (since,)
        return (*begun, *(step for step, _ in states), *more)

    def _stops_surely(self, region: Region, found: list[Finding]) -> bool:
        """Whether a branch stops the clock in time, whatever is decided there."""
        walk = self.walk
        if region in walk.beside or not any((region.fork, extended) in walk.ways for extended in range(3)):
            return False
        if region in walk.arrived.get(walk.regions.joins.get(region.fork, ""), ()):
            return False
        inside = [one for one in found if region in walk.regions.around(one.last)]
        return not any(one.bare or one.kind != "clock_not_stopped" for one in inside)

    def _made_good(self, one: Finding, stopping: Region, beside: list[Region]) -> bool:
        """Whether a finding of one branch does not count, since another stops the clock in time."""
        around = [region for region in self.walk.regions.around(one.last) if region in beside]
        if not around:
            return False
        if one.kind != "clock_not_stopped" or one.bare:
            return True
        return self._at_once(stopping) and self._holds_up(one.path, stopping.fork)

    def _at_once(self, region: Region) -> bool:
        """Whether a branch stops the clock before anybody can decide anything."""
        states = [state for state in self.walk.ways if region in self.walk.regions.around(state[0])]
        return not any(self._stands(step) for step, _ in states)

    def _holds_up(self, path: tuple[str, ...], fork: str) -> bool:
        """Whether people or a wait hold a path up behind a fork."""
        behind = path[len(path) - path[::-1].index(fork) :] if fork in path else ()
        return any(self._stands(step) for step in behind)

    def _stands(self, step: str) -> bool:
        node = self.walk.template.node(step)
        return node.gate or node.traits.waits
