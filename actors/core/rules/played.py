"""All runs of a walk, played at once on weeks of five business days: what is really late.

A bit stands for a moment of a run, and a part of each number for a run that begins on another day
of the week, or at another time of the day, as far as that makes a difference: a part has moments at
which a day may turn, moments that lie a whole number of steps behind the start, and one between
any two. The top bit of a part stands for all that is late.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from heapq import heappop, heappush
from itertools import pairwise, zip_longest
from math import gcd
from typing import NamedTuple

from actors.core.rules.spans import DAY, NO_TIME
from actors.core.rules.timing import Stay
from actors.core.rules.walk import EXTENDED, Budget, Exit, Passage, State, Walk
from actors.core.schedule import BusinessCalendar, Duration

PLAYED_MAX = 2_000
"""So many states are played for all clocks of a template; what they do not tell keeps its bound."""
BITS_A_PLAY = 2**16
"""To play a number of so many bits takes as long as to play a state at all."""
WEEK, FRIDAY, MONDAY = 7, 4, datetime(2024, 1, 1, tzinfo=UTC)
WEEKS_OF_FIVE = BusinessCalendar()
TO_BEGIN = 8
"""To begin takes as long as to play so many states."""
PARTS = 4
"""Moments to a step of time: a run begins where a day may turn, or in the middle between."""
INSTANT = Duration()


def playable(walk: Walk) -> bool:
    """Whether a clock counts from where its walk begins, and only what is on the way can move it.

    Months have no weeks, and behind a pause a business day is due at any time.
    """
    clock, stays = walk.clock, _stays(walk)
    every = (*_spans(walk), *_lasting(stays), *_anchors(stays))
    beside = any(walk.regions.of.get(step) is not None for step, _ in walk.ways)
    return not (
        clock.since is not None
        or not isinstance(clock.within, str)
        or walk.beside
        or any(one.months for one in every)
        or any(stay.start is not None or _by_another_clock(stay) for stay in stays)
        or (beside and (clock.pauses or clock.extend is not None))
        or (clock.pauses and any(one.business_days for one in every))
    )


def _stays(walk: Walk) -> set[Stay]:
    return {stay for step, _ in walk.held for stay in walk.stays(step)}


def _spans(walk: Walk) -> list[Duration]:
    return [one for one in (walk.limit.within, walk.limit.added) if one is not None]


def _lasting(stays: set[Stay]) -> set[Duration]:
    return {one for stay in stays for one in (*stay.lasts, _after(stay))}


def _anchors(stays: set[Stay]) -> set[Duration]:
    return {stay.before for stay in stays if stay.before is not None}


def _after(stay: Stay) -> Duration:
    return Duration(exact=timedelta(seconds=stay.after.seconds))


def _by_another_clock(stay: Stay) -> bool:
    return stay.before is None and not stay.lasts and stay.cost not in (None, NO_TIME)


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

    def __init__(self, walk: Walk, budget: Budget) -> None:
        self.walk, self.budget = walk, budget
        stays, spans = _stays(walk), _spans(walk)
        every = (*spans, *_lasting(stays), *_anchors(stays))
        step = timedelta(seconds=gcd(DAY, *(one.exact // timedelta(seconds=1) for one in every)))
        starts, self._unit = [MONDAY], step
        if any(one.business_days for one in every):
            starts = [MONDAY + step / 2 * number for number in range(2 * WEEK * (timedelta(days=1) // step))]
            self._unit = step / PARTS
        self._day = timedelta(days=1) // self._unit
        due = [spans[0].after(one, WEEKS_OF_FIVE) for one in starts]
        self._due = (due, [spans[-1].after(one, WEEKS_OF_FIVE) for one in due] if len(spans) > 1 else due)
        friday = MONDAY + timedelta(days=FRIDAY)
        longest = max(one.after(friday, WEEKS_OF_FIVE) for one in {*_lasting(stays), INSTANT})
        self._weeks = 1 + (self._at(max(self._due[-1])) + self._at(longest) + PARTS) // (WEEK * self._day)
        self._size = self._weeks * WEEK * self._day
        self._cost = 1 + self._size * len(starts) // BITS_A_PLAY
        budget.take(TO_BEGIN * self._cost)
        self._begun = self._together(1 << self._at(one) for one in starts)
        self._top = self._together(1 << (self._size - 1) for _ in starts)
        self._lines: dict[tuple[Duration, bool], UpTo] = {}

    def is_late(self, path: list[State], step: str) -> bool:
        """Whether a run is late at a step if it takes a path."""
        moments = self._begun
        for before, state in pairwise(path):
            left, moments = self._left(before, moments), 0
            for way in self.walk.ways[before]:
                moments |= left.by(way) if way.target == state else 0
        return any(one.step == step for one in self._late_exits(path[-1], moments))

    @cached_property
    def late(self) -> dict[str, tuple[tuple[State, ...], Exit]]:
        """The steps at which a run is late, with a path to each, and how that ends."""
        found: dict[str, tuple[tuple[State, ...], Exit]] = {}
        seen: dict[State, int] = {}
        trails: list[tuple[State, int, int]] = []
        waiting: list[tuple[int, int]] = []

        def come(state: State, moments: int, before: int) -> None:
            been = seen.get(state, 0)
            if moments & ~been:
                seen[state] = been | moments
                heappush(waiting, (self.walk.regions.order[state[0]], len(trails)))
                trails.append((state, moments & ~been, before))

        for state in self.walk.starts:
            come(state, self._begun, -1)
        while waiting:
            _, number = heappop(waiting)
            state, moments, _ = trails[number]
            for one in self._late_exits(state, moments):
                found.setdefault(one.step, (_path(trails, number), one))
            left = self._left(state, moments)
            for way in self.walk.ways[state]:
                come(way.target, left.by(way), number)
        return found

    def _late_exits(self, state: State, moments: int) -> list[Exit]:
        left = self._left(state, moments) if self.walk.exits[state] else None
        return [one for one in self.walk.exits[state] if left is not None and left.by(one) & self._top]

    def _left(self, state: State, moments: int) -> Leaving:
        """When a state is left that is come to then."""
        self.budget.take(self._cost)
        left = Leaving(moments, 0, moments)
        for stay in self.walk.stays(state[0]):
            left = self._stayed(stay, left.free | left.late, extended=state[1] == EXTENDED)
        return left

    def _stayed(self, stay: Stay, moments: int, *, extended: bool) -> Leaving:
        free, past = 0, moments
        if stay.before is not None:
            line = self._line(stay.before, extended=extended)
            past = moments & ~line.all
            free = 0 if stay.fixed else line.onwards(moments & line.all)
            moments = past | self._moved(line.last(moments & line.all), _after(stay), extended=extended)
        if stay.forced is not None and stay.before is not None:
            return Leaving(free, past, moments)
        for one in stay.lasts:
            free |= 0 if stay.fixed else self._moved(moments, one, extended=extended, sooner=True)
            moments = self._moved(moments, one, extended=extended)
        return Leaving(free | moments, 0, moments)

    def _moved(self, moments: int, one: Duration, *, extended: bool, sooner: bool = False) -> int:
        """Moments so much later, with all between if it may be sooner; what is late stays late."""
        late, moments, found = moments & self._top, moments & ~self._top, 0
        shifts = [(moments, one.exact // self._unit)]
        if one.business_days:
            days = [_days_of(number, one.business_days) * self._day for number in range(WEEK)]
            shifts = [(moments & of_day, far) for of_day, far in zip(self._days, days, strict=True)]
        for some, far in shifts:
            found |= _smeared(some, far) if sooner else some << far
        line = self._line(INSTANT, extended=extended)
        beyond = self._top - line.behind
        return late | (found & line.all) | (((found & beyond) + beyond) & self._top)

    @cached_property
    def _days(self) -> list[int]:
        """The moments of each day of the week."""
        weekly = _joined([1] * self._weeks, WEEK * self._day)
        first = self._together(weekly for _ in self._due[0])
        return [((first << self._day) - first) << (self._day * number) for number in range(WEEK)]

    def _line(self, before: Duration, *, extended: bool) -> UpTo:
        """The moments up to so long before the clock is due."""
        found = self._lines.get((before, extended))
        if found is None:
            places = [self._at(before.before(due, WEEKS_OF_FIVE)) for due in self._due[extended]]
            behind = [2 << place if place >= 0 else 0 for place in places]
            found = UpTo(self._together(one - 1 if one else 0 for one in behind), self._together(behind))
            self._lines[before, extended] = found
        return found

    def _at(self, moment: datetime) -> int:
        return (moment - MONDAY) // self._unit

    def _together(self, parts: Iterable[int]) -> int:
        return _joined([*parts], self._size)


def _joined(parts: list[int], size: int) -> int:
    """Numbers of so many bits one behind the other."""
    while len(parts) > 1:
        parts = [one | other << size for one, other in zip_longest(parts[::2], parts[1::2], fillvalue=0)]
        size *= 2
    return parts[0]


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


@lru_cache(maxsize=4_096)
def _days_of(weekday: int, count: int) -> int:
    """How many days so many business days take from a day of the week."""
    start = MONDAY + timedelta(days=weekday)
    return (WEEKS_OF_FIVE.business_days_after(start, count) - start).days
