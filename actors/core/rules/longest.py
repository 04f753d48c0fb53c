"""The longest paths of a walk: how late each state may be come to.

A time counts from where the clock starts or, behind what is anchored, from when it is due. The most
of each that any path takes is carried along, in seconds and in business days. The path is found as
in a graph without loops: once the time of an anchored gate is past, it leads on over the outcome of
its deadline alone, so who goes round again comes to an end; any other loop has none.
"""

from __future__ import annotations

from collections import deque

from actors.core.rules.regions import components
from actors.core.rules.spans import NO_TIME, LongestTime, certainly_before, least, longest
from actors.core.rules.timing import Stay
from actors.core.rules.walk import EXTENDED, State, Walk

FAR = -(10**15)
"""No path has come so far back."""
Times = tuple[int, int, int, int]
"""Seconds and business days from the start of the clock, and the same from when it is due."""
BEGUN: Times = (0, 0, FAR, FAR)
NOWHERE: Times = (FAR, FAR, FAR, FAR)
Trail = tuple[State, int | None, bool]
"""The state before, the time there that counts or None for any path to it, and whether that is in
the same loop."""


class LongestPaths:
    """How late the states of a walk may be come to, with the paths, and the loops without end."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.times: dict[State, Times] = dict.fromkeys(walk.ways, NOWHERE)
        self.loops: list[list[State]] = []
        self._allowed = (walk.limit.time(extended=False), walk.limit.time(extended=True))
        self._added = NO_TIME if walk.limit.added is None else least(walk.limit.added)
        self._trails: dict[tuple[State, int], Trail] = {}
        self._place: dict[State, int] = {}
        self._measure()

    def allowed(self, state: State) -> LongestTime:
        """How long the clock allows, as far as it is extended there."""
        return self._allowed[state[1] == EXTENDED]

    def in_time(self, state: State) -> Times:
        """When a state is left at the latest by who comes before what is anchored there is past."""
        found = NOWHERE
        for stay in self.walk.stays(state[0]):
            if stay.before is not None:
                sooner = certainly_before(stay.before, from_business_day=self._on_business_day(state))
                at = (FAR, FAR, stay.after.seconds - sooner.seconds, stay.after.days - sooner.days)
                found = _latest(found, at)
            elif stay.start is not None:
                found = _latest(found, (stay.start.seconds, stay.start.days, FAR, FAR))
            found = _later(found, stay.cost or NO_TIME)
        return found

    def _on_business_day(self, state: State) -> bool:
        """Whether the clock is due on a business day, which a pause may change."""
        limit = self.walk.limit
        added = limit.added is None or limit.added.business_days > 0 or state[1] != EXTENDED
        return limit.in_business_days and added and not self.walk.clock.pauses

    def past(self, state: State) -> Times:
        """When a state is left by who comes as late as can be, where what is anchored is past."""
        times = self.times[state]
        for stay in self.walk.stays(state[0]):
            if stay.before is not None:
                times = self._behind(times, longest(stay.before), self.allowed(state))
            times = _later(times, stay.cost or NO_TIME)
        return times

    def _behind(self, times: Times, before: LongestTime, allowed: LongestTime) -> Times:
        """The times that do not certainly lie so long before the clock is due."""
        start, days, due, due_days = times
        if start + before.seconds <= allowed.seconds or days + before.days <= allowed.days:
            start = days = FAR
        if due + before.seconds <= 0 or due_days + before.days <= 0:
            due = due_days = FAR
        return (start, days, due, due_days)

    def path(self, state: State, lane: int | None) -> list[State]:
        """The longest path to a state by one of its times; without one a shortest path."""
        found: list[State] = []
        while lane is not None and (trail := self._trails.get((state, lane))) is not None:
            before, lane, around = trail
            found += self._round(before, state) if around else [state]
            state = before
        return [*self.walk.path(state), *reversed(found)]

    def around(self, state: State) -> list[State]:
        """A round of a loop, from a state of it back to it."""
        return self._round(state, state)[::-1]

    def _round(self, first: State, last: State) -> list[State]:
        """The states behind the first one on a way within its loop, the last one first."""
        came: dict[State, State] = {}
        waiting = deque([first])
        while last not in came and waiting:
            state = waiting.popleft()
            for way in self.walk.ways[state]:
                if way.late and self._place[way.target] == self._place[first] and way.target not in came:
                    came[way.target] = state
                    waiting.append(way.target)
        found = [last]
        while came[found[-1]] != first:
            found.append(came[found[-1]])
        return found

    def _measure(self) -> None:
        self.times.update(dict.fromkeys(self.walk.starts, BEGUN))
        for state in self.walk.held:  # who comes in time leaves at the anchor, however late others come
            if any(stay.anchored for stay in self.walk.stays(state[0])):
                self._carry(state, self.in_time(state), in_time=True)
        for place, part in enumerate(self._parts()):
            self._place.update(dict.fromkeys(part, place))
            if len(part) > 1 or any(way.target == part[0] and way.late for way in self.walk.ways[part[0]]):
                self._spread(part)
            for state in part:
                self._carry(state, self.past(state), in_time=False)

    def _carry(self, state: State, left: Times, *, in_time: bool) -> None:
        """Let the times at which a state is left count for the states behind it."""
        for way in self.walk.ways[state]:
            around = self._place.get(way.target) == self._place.get(state, -1)
            if left == NOWHERE or not (in_time or (way.late and not around)):
                continue
            moved = left
            if way.extends and left[2] > FAR:
                moved = (*left[:2], left[2] - self._added.seconds, left[3] - self._added.days)
            there = self.times[way.target]
            for lane, time in enumerate(moved):
                if time > there[lane]:
                    self._trails[way.target, lane] = (state, None if in_time else lane, False)
            self.times[way.target] = _latest(there, moved)

    def _spread(self, part: list[State]) -> None:
        """Let all states of a loop have the latest times; one that takes time has no end."""
        if not self._ends(part):
            self.loops.append(part)
        for lane in range(4):
            last = max(part, key=lambda state: self.times[state][lane])
            for state in part:
                if self.times[state][lane] < self.times[last][lane]:
                    self._trails[state, lane] = (last, lane, True)
        latest = NOWHERE
        for state in part:
            latest = _latest(latest, self.times[state])
        self.times.update(dict.fromkeys(part, latest))

    def _ends(self, part: list[State]) -> bool:
        """Whether each round passes what is anchored, and takes no time once that is past.

        One that neither people nor a pause hold up would then go round at once, for ever.
        """
        stays = {state: self.walk.stays(state[0]) for state in part}
        if any(_takes_time(one) for all_of in stays.values() for one in all_of):
            return False
        anchored = {state for state in part if any(one.anchored for one in stays[state])}
        held = {state for state in part if self.walk.holds(state[0])}
        return self._is_open(part, anchored) and self._is_open(part, held)

    def _is_open(self, part: list[State], without: set[State]) -> bool:
        """Whether no way leads round a loop that passes none of some states."""
        free = {state for state in part if state not in without}
        ahead = {state: [way.target for way in self.walk.ways[state] if way.target in free] for state in free}
        return len(list(components(ahead))) == len(free) and not any(state in ahead[state] for state in free)

    def _parts(self) -> list[list[State]]:
        """The states that lead to each other, before all behind them, once all times are past."""
        together: dict[int, list[State]] = {}
        for state in self.walk.ways:
            together.setdefault(self.walk.regions.order[state[0]], []).append(state)
        return [part for _, states in sorted(together.items()) for part in self._parts_of(states)]

    def _parts_of(self, states: list[State]) -> list[list[State]]:
        """The same of states whose steps lead to each other, or of one step."""
        if len(states) == 1:
            return [states]
        within = set(states)
        ahead = {
            state: [way.target for way in self.walk.ways[state] if way.late and way.target in within]
            for state in states
        }
        return [*components(ahead)][::-1]


def _takes_time(one: Stay) -> bool:
    return one.cost is None or one.cost != NO_TIME or one.after != NO_TIME


def _later(one: Times, more: LongestTime) -> Times:
    if more == NO_TIME:
        return one
    start, days, due, due_days = one
    if start > FAR:
        start, days = start + more.seconds, days + more.days
    if due > FAR:
        due, due_days = due + more.seconds, due_days + more.days
    return (start, days, due, due_days)


def _latest(one: Times, other: Times) -> Times:
    if one == NOWHERE:
        return other
    return (max(one[0], other[0]), max(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3]))
