"""Whether every path from where a clock starts to an act that stops it is short enough."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from operator import itemgetter
from typing import Literal, NamedTuple

from actors.core.rules.longest import FAR, NOWHERE, LongestPaths, Times
from actors.core.rules.played import PLAYED_MAX, PlayedRuns, every_stay, playable
from actors.core.rules.regions import Region, Regions
from actors.core.rules.spans import LongestTime
from actors.core.rules.timing import TimeLimit, as_text, limits
from actors.core.rules.violation import SlowestPath, Violation
from actors.core.rules.walk import EXTENDED, Budget, Exit, State, TooLong, Walk
from actors.core.template import ClockRule, Template

FINDINGS_MAX = 5
"""So many findings of a kind are told of each clock."""
Kind = Literal["late_by_design", "clock_unbounded", "clock_not_stopped"]
Loops = list[list[State]]
_ENDED = {
    "act": "{} is done",
    "extension": "{} is done",
    "end": "the run ends at {}",
    "answer": "{} asks for it",
}


class ProofFinding(NamedTuple):
    """What is wrong with a path that comes from a state, by one of its times or as short as can be.

    A path that was `played` counts before these. An end is `more` of the path. `bare` is a denial
    that leads nowhere: it ends a branch alone.
    """

    kind: Kind
    node: str
    state: State
    why: str
    lane: int | None = None
    played: tuple[State, ...] = ()
    more: tuple[str, ...] = ()
    takes: str | None = None
    within: str | None = None
    bare: bool = False


class _Arrival(NamedTuple):
    """How long what comes at the latest takes, `over` what is allowed; on the path of a time."""

    over: LongestTime
    time: LongestTime
    state: State
    exit: Exit
    lane: int | None

    @property
    def is_late(self) -> bool:
        return self.over.seconds > 0 and self.over.days > 0


def clock_proofs(template: Template) -> Iterator[Violation]:
    """The clocks that a run can be late by, however quickly its tools answer."""
    if not template.clocks:
        return
    budget, to_play, regions = Budget(), Budget(PLAYED_MAX), Regions(template)
    try:
        for clock in template.clocks:
            yield from _proof(template, clock, regions, budget, to_play)
    except TooLong:
        yield Violation("too_large", None, "clocks: the steps are too entangled to prove that all clocks are kept")


def _proof(
    template: Template, clock: ClockRule, regions: Regions, budget: Budget, to_play: Budget
) -> Iterator[Violation]:
    """The first findings of each kind, one for each step."""
    seen: set[tuple[Kind, str]] = set()
    told: dict[Kind, int] = {}
    for limit in limits(clock) or ():
        proof = _Proof(Walk(template, clock, limit, regions, budget), limit, to_play)
        for one in proof.findings():
            if (one.kind, one.node) not in seen and told.get(one.kind, 0) < FINDINGS_MAX:
                seen.add((one.kind, one.node))
                told[one.kind] = told.get(one.kind, 0) + 1
                detail = f"the clock {clock.id}: {one.why}"
                yield Violation(one.kind, one.node, detail, None, clock.id, proof.path(one), one.takes, one.within)


def slowest_paths(template: Template) -> Iterator[SlowestPath]:
    """The slowest path of each clock, where all of them are kept and it comes to anything."""
    budget, regions = Budget(), Regions(template)
    with suppress(TooLong):
        for clock in template.clocks:
            proofs = [_Proof(Walk(template, clock, one, regions, budget), one, budget) for one in limits(clock) or ()]
            found = [(*slowest, proof) for proof in proofs if (slowest := proof.slowest()) is not None]
            if found:
                _, one, proof = max(found, key=itemgetter(0))
                yield SlowestPath(clock.id, proof.path(one), str(one.takes), str(one.within))


def _matters(one: ProofFinding) -> bool:
    """Whether a branch in which that is found may fail to stop the clock in time."""
    return one.bare or one.kind != "clock_not_stopped"


def _behind(state: State, one: Exit) -> tuple[str, ...]:
    """The end that follows where it is one."""
    return (one.step,) if one.kind == "end" and one.step != state[0] else ()


class _Proof:
    """What is wrong with the paths of a walk."""

    def __init__(self, walk: Walk, limit: TimeLimit, to_play: Budget) -> None:
        self.walk = walk
        self.to_play = to_play
        self.limit = limit
        self.paths = LongestPaths(walk)

    def findings(self) -> list[ProofFinding]:
        """All that is wrong, but for what another branch makes good."""
        found = [*self._unbounded(), *self._endless(), *self._played([*self._late()]), *self._unstopped()]
        branches = self.walk.regions.branches
        regions = [one for side_by_side in branches.values() for one in side_by_side] if found else []
        within = {one.state[0]: frozenset(self.walk.regions.around(one.state[0])) for one in found if regions}
        for region in sorted(regions, key=lambda one: -one.depth):
            self.walk.budget.take(1 + len(found) // 4)
            failing = any(_matters(one) and region in within[one.state[0]] for one in found)
            if not failing and self._stops_surely(region):
                beside = frozenset(branches[region.fork]) - {region}
                found = [one for one in found if not (within[one.state[0]] & beside and self._made_good(one, region))]
        return found

    def path(self, one: ProofFinding) -> tuple[str, ...]:
        """The steps of a finding's path, from where the clock starts."""
        since = self.walk.clock.from_step
        begun = () if since is None else (since,)
        return (*begun, *self.walk.steps([*one.played] or self.paths.path(one.state, one.lane)), *one.more)

    def _unbounded(self) -> Iterator[ProofFinding]:
        """Gates and waits without an end."""
        for state in self.walk.held:
            step = state[0]
            if any(stay.cost is None for stay in self.walk.stays(step)):
                kind = "wait" if self.walk.template.node(step).wait is not None else "gate"
                why = f"nothing ends the {kind} {step} in time"
                yield ProofFinding("clock_unbounded", step, state, why)

    def _endless(self) -> Iterator[ProofFinding]:
        """Loops without end, but for those in which a step has none."""
        for part in self.paths.loops:
            if any(stay.cost is None for state in part for stay in self.walk.stays(state[0])):
                continue
            first = self.walk.first(part)
            around = tuple(step for step, _ in self.paths.around(first))
            why = f"a run can go round from {first[0]} back to it without end"
            yield ProofFinding("clock_unbounded", first[0], first, why, more=around)

    def slowest(self) -> tuple[int, ProofFinding] | None:
        """What comes last of acts, ends and notices, and by how many seconds beyond its limit."""
        last = max(self._arrivals(), key=lambda one: one.over.seconds, default=None)
        return None if last is None else (last.over.seconds, self._told(last))

    def _late(self) -> Iterator[ProofFinding]:
        """Acts, ends and notices of an extension that come too late, each by its longest path."""
        found: dict[str, _Arrival] = {}
        for one in self._arrivals():
            step = one.exit.step
            if one.is_late and (step not in found or found[step].over.seconds < one.over.seconds):
                found[step] = one
        yield from map(self._told, found.values())

    def _arrivals(self) -> Iterator[_Arrival]:
        """When acts, ends and notices of extensions come at the latest, by each of their times."""
        for state, exits in self.walk.exits.items():
            for one in exits:
                for left, in_time in ((self.paths.in_time(state), True), (self.paths.past(state), False)):
                    if left != NOWHERE and (in_time or one.late):
                        yield from self._arrival(state, one, left, in_time=in_time)

    def _played(self, found: list[ProofFinding]) -> Iterator[ProofFinding]:
        """What a run is late at, each by a path on which it is, as far as that can be told."""
        stays = every_stay(self.walk) if found else set()
        if not found or not playable(self.walk, stays):
            yield from found
            return
        left = deque(found)
        try:
            runs = PlayedRuns(self.walk, stays, self.to_play)
            while left:
                one = left[0]
                late = runs.late(one.node, self.paths.path(one.state, one.lane))
                if late is not None:
                    path, last = late
                    yield one._replace(state=path[-1], played=path, more=_behind(path[-1], last))
                left.popleft()
        except TooLong:
            yield from left

    def _arrival(self, state: State, one: Exit, left: Times, *, in_time: bool) -> Iterator[_Arrival]:
        allowed, in_days = self.paths.allowed(state), self.limit.in_business_days
        start, days, due, due_days = left
        if start > FAR:
            over = LongestTime(start - allowed.seconds, days - allowed.days)
            yield _Arrival(over, LongestTime(start, days), state, one, None if in_time else int(in_days))
        if due > FAR:
            time = LongestTime(allowed.seconds + due, allowed.days + due_days)
            yield _Arrival(LongestTime(due, due_days), time, state, one, None if in_time else 2 + in_days)

    def _told(self, arrival: _Arrival) -> ProofFinding:
        _, time, state, one, lane = arrival
        takes = as_text(time, in_business_days=self.limit.in_business_days)
        within, ended = self.limit.said(extended=state[1] == EXTENDED), _ENDED[one.kind].format(one.step)
        assumed = " where within has no answer, since an input is missing" if self.limit.assumed else ""
        why = f"{ended} after up to {takes}, and {within} is allowed{assumed}"
        return ProofFinding("late_by_design", one.step, state, why, lane, (), _behind(state, one), takes, within)

    def _unstopped(self) -> Iterator[ProofFinding]:
        """Ends that are reached while the clock runs."""
        for state, exits in self.walk.exits.items():
            for one in exits:
                exempt = one.kind != "end" or self.walk.clock.id in self.walk.template.node(one.step).ends_clocks
                if not exempt and one.step not in self.walk.clock.stops:
                    why = f"the run ends at {one.step} without an act that stops it"
                    yield ProofFinding("clock_not_stopped", one.step, state, why, more=_behind(state, one))
        for step, state in self.walk.died.items():
            why = f"a denial at {step} leads nowhere, so that the run ends without an act that stops it"
            yield ProofFinding("clock_not_stopped", step, state, why, bare=True)

    def _stops_surely(self, region: Region) -> bool:
        """Whether a branch comes to no join while the clock runs."""
        walk = self.walk
        since = walk.clock.from_step
        begun = since is not None and region in walk.regions.around(since)
        opened = begun or any((region.fork, extended) in walk.ways for extended in range(3))
        join = walk.regions.joins.get(region.fork, "")
        return opened and region not in walk.beside and region not in walk.arrived.get(join, ())

    def _made_good(self, one: ProofFinding, stopping: Region) -> bool:
        """Whether a finding does not count, since the branch beside it stops the clock in time.

        An end ends the run at once, and so it does count unless the clock has stopped before.
        """
        if one.kind != "clock_not_stopped" or one.bare:
            return True
        return self._at_once(stopping) and self._holds_up(self.path(one), stopping.fork)

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
