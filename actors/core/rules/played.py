"""All runs of a walk, played at once on weeks of five business days: what is really late.

A bit of a number stands for a moment of a run. All durations are made of steps of time. With
business days a number has a part for each day of the week and time of the day at which a run may
begin, with a step or half way through one; and a part has four moments to a step, so that a day may
turn before a moment of such a run, at it, or behind it. The top bit of a part stands for all that
is late.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import cache
from heapq import heappop, heappush
from itertools import pairwise
from math import gcd
from typing import NamedTuple

from actors.core.rules.spans import DAY, NO_TIME, longest
from actors.core.rules.timing import Stay
from actors.core.rules.walk import EXTENDED, Budget, Exit, Passage, State, Walk
from actors.core.schedule import Duration

PLAYED_MAX = 8_000
"""So much is played for all clocks of a template; what that does not tell keeps its bound."""
BYTE, BYTES_A_PLAY = 8, 2_048
"""To play numbers of so many bytes takes as long as to play any."""
TO_BEGIN = 8
"""To begin takes as long as to play so often."""
MOMENTS, HALF = 4, 2
"""The moments to a step of time, and to half of one."""
WEEK, WORKED = 7, 5
INSTANT = Duration()
Late = tuple[tuple[State, ...], Exit]
"""A path on which a run is late, and how that ends."""


def every_stay(walk: Walk) -> set[Stay]:
    """All that keeps runs up."""
    return {stay for step, _ in walk.held for stay in walk.stays(step)}


def playable(walk: Walk, stays: set[Stay]) -> bool:
    """Whether a clock counts from where its walk begins, and only what is on the way can move it.

    Months have no weeks, and behind a pause a business day is due at any time.
    """
    clock, durations = walk.clock, _durations(walk, stays)
    beside = any(walk.regions.of.get(step) is not None for step, _ in walk.ways)
    by_others = any(one.before is None and not one.lasts and one.cost not in (None, NO_TIME) for one in stays)
    return not (
        clock.since is not None
        or not isinstance(clock.within, str)
        or walk.beside
        or any(one.months for one in durations)
        or by_others
        or any(one.start is not None for one in stays)
        or (beside and (clock.pauses or clock.extend is not None))
        or (clock.pauses and any(one.business_days for one in durations))
    )


def _spans(walk: Walk) -> list[Duration]:
    return [one for one in (walk.limit.within, walk.limit.added) if one is not None]


def _durations(walk: Walk, stays: set[Stay]) -> list[Duration]:
    before = (stay.before for stay in stays if stay.before is not None)
    return [*_spans(walk), *before, *(one for stay in stays for one in stay.lasts)]


class UpTo(NamedTuple):
    """The moments of each run up to one of them, and the one behind that."""

    all: int
    behind: int

    def last(self, moments: int) -> int:
        """The last moment of each run that has one of these."""
        return ((moments + self.all) & self.behind) >> 1

    def onwards(self, moments: int) -> int:
        """The moments from the first of these on."""
        return (moments | (self.behind - moments)) & self.all


class Leaving(NamedTuple):
    """When a state is left: over any way, over `late` ones alone, and when its time is `over`."""

    free: int
    late: int
    over: int

    def by(self, way: Passage | Exit) -> int:
        """When it is left over a way."""
        if isinstance(way, Passage) and way.timeout:
            return self.over
        return self.free | self.late if way.late else self.free


class PlayedRuns:
    """When the runs of a walk come to its states. TooLong if that takes too long to tell."""

    def __init__(self, walk: Walk, stays: set[Stay], budget: Budget) -> None:
        self.walk, self.budget = walk, budget
        spans, durations = _spans(walk), _durations(walk, stays)
        self._step = gcd(DAY, *(_seconds(one) for one in durations))
        self._moments, starts = 1, range(1)
        if any(one.business_days for one in durations):
            self._moments, starts = MOMENTS, range(0, WEEK * DAY // self._step * MOMENTS, HALF)
        self._day = DAY // self._step * self._moments
        lasting = max((longest(one).seconds for stay in stays for one in stay.lasts), default=0)
        weeks = 2 + (sum(longest(one).seconds for one in spans) + lasting) // (WEEK * DAY)
        self._bytes = weeks * WEEK * self._day // BYTE + 1
        self._cost = 1 + self._bytes * len(starts) // BYTES_A_PLAY
        budget.take(TO_BEGIN * self._cost)
        self._begun = self._together(1 << one for one in starts)
        self._first = self._together(1 for _ in starts)
        self._top = self._first << (BYTE * self._bytes - 1)
        a_day = int(("0" * (WEEK - 1) * self._day + "1" * self._day) * weeks, 2)
        mondays = self._together(a_day for _ in starts)
        self._weekdays = [mondays << number * self._day for number in range(WEEK)]
        due = [self._later(spans[0], one) for one in starts]
        self._due = (due, [self._later(spans[-1], one) for one in due] if len(spans) > 1 else due)
        self._up_to, self._shifts, self._late_over = cache(self._line), cache(self._shifted), cache(self._play)

    def late(self, step: str, path: list[State]) -> Late | None:
        """How a run is late at a step: over the ways of a path, or else over any."""
        return self._late_over(frozenset(pairwise(path))).get(step) or self._late_over(None).get(step)

    def _play(self, ways: frozenset[tuple[State, State]] | None) -> dict[str, Late]:
        """The steps at which a run is late that takes some ways, or any, and how to the first."""
        found: dict[str, Late] = {}
        seen: dict[State, int] = {}
        trails: list[tuple[State, int, int]] = []
        waiting: list[tuple[int, int]] = []

        def come(state: State, moments: int, before: int) -> None:
            new = moments & ~seen.get(state, 0)
            if new:
                seen[state] = seen.get(state, 0) | new
                heappush(waiting, (self.walk.regions.order[state[0]], len(trails)))
                trails.append((state, new, before))

        for state in self.walk.starts:
            come(state, self._begun, -1)
        while waiting:
            _, number = heappop(waiting)
            state, moments, _ = trails[number]
            left = self._left(state, moments)
            for one in self.walk.exits[state]:
                if left.by(one) & self._top:
                    found.setdefault(one.step, (_path(trails, number), one))
            for way in self.walk.ways[state]:
                if ways is None or (state, way.target) in ways:
                    come(way.target, left.by(way), number)
        return found

    def _left(self, state: State, moments: int) -> Leaving:
        """When a state is left that is come to then."""
        self.budget.take(self._cost)
        left = Leaving(moments, 0, moments)
        for stay in self.walk.stays(state[0]):
            left = self._stayed(stay, left.free | left.late, extended=state[1] == EXTENDED)
        return left

    def _stayed(self, stay: Stay, moments: int, *, extended: bool) -> Leaving:
        free = 0
        if stay.before is not None:
            line = self._up_to(stay.before, extended=extended)
            in_time, past = moments & line.all, moments & ~line.all
            free, moments = 0 if stay.fixed else line.onwards(in_time), past | line.last(in_time)
            if stay.forced is not None:
                return Leaving(free, past, moments)
        for one in stay.lasts:
            free |= 0 if stay.fixed else self._moved(moments, one, extended=extended, sooner=True)
            moments = self._moved(moments, one, extended=extended)
        return Leaving(free | moments, 0, moments)

    def _moved(self, moments: int, one: Duration, *, extended: bool, sooner: bool = False) -> int:
        """Moments so much later, with all between if it may be sooner; what is late stays late."""
        self.budget.take(self._cost)
        found, due = 0, self._up_to(INSTANT, extended=extended)
        for far, some in self._shifts(one):
            found |= _smeared(moments & some, far) if sooner else (moments & some) << far
        late = (found & ~due.all) + (self._top - due.behind)
        return (found & due.all) | ((moments | late) & self._top)

    def _shifted(self, one: Duration) -> list[tuple[int, int]]:
        """How far a duration moves moments, and which: those of a day of the week, or of more."""
        self.budget.take(self._cost)
        found: dict[int, int] = {}
        for number, moments in enumerate(self._weekdays):
            far = self._later(one, number * self._day) - number * self._day
            found[far] = found.get(far, 0) | moments
        return [*found.items()]

    def _line(self, before: Duration, *, extended: bool) -> UpTo:
        """The moments up to so long before the clock is due."""
        self.budget.take(self._cost)
        last = [self._later(before, due, -1) for due in self._due[extended]]
        behind = self._together(1 << max(0, one + 1) for one in last)
        return UpTo(behind - self._first, behind)

    def _later(self, one: Duration, moment: int, sign: int = 1) -> int:
        """The moment so much later, or before."""
        days = _days(moment // self._day % WEEK, sign * one.business_days)
        return moment + sign * (_seconds(one) // self._step * self._moments) + days * self._day

    def _together(self, parts: Iterable[int]) -> int:
        return int.from_bytes(b"".join(one.to_bytes(self._bytes, "little") for one in parts), "little")


def _path(trails: list[tuple[State, int, int]], number: int) -> tuple[State, ...]:
    found = []
    while number >= 0:
        state, _, number = trails[number]
        found.append(state)
    return tuple(found[::-1])


def _smeared(moments: int, far: int) -> int:
    """Moments, and those from each up to so far behind it."""
    done = 0
    while moments and done < far:
        more = min(done + 1, far - done)
        moments |= moments << more
        done += more
    return moments


def _days(weekday: int, count: int) -> int:
    """How many days so many business days take from a day of the week; below zero, before it."""
    if not count:
        return 0
    place = count + min(weekday, WORKED - 1 if count > 0 else WORKED)
    return WEEK * (place // WORKED) + place % WORKED - weekday


def _seconds(one: Duration) -> int:
    return one.exact // timedelta(seconds=1)
