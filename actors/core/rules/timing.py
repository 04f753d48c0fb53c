"""What a clock allows, and how long people and waits may keep a run at a step while it runs."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from actors.core.gate_policy import AnchoredDeadline, Escalation
from actors.core.rules.conditions import Facts, at_due, lengths
from actors.core.rules.regions import Regions
from actors.core.rules.spans import NO_TIME, LongestTime, calendar_of, certainly_before, least, longest, written
from actors.core.schedule import Duration, duration, durations_in, is_duration
from actors.core.template import ClockRule, Node, Template

QUESTION = "question:"
"""Before the gate whose questions pause a clock."""


class TimeLimit(NamedTuple):
    """How long a clock allows where `facts` are known; `added` counts once it is extended.

    An `assumed` one counts where the expression has no answer, for as long as one of the inputs is
    `missing`, or without end where none is named.
    """

    within: Duration
    added: Duration | None
    text: str
    facts: Facts
    assumed: bool = False
    missing: frozenset[str] = frozenset()

    def time(self, *, extended: bool) -> LongestTime:
        """The least time that it allows."""
        added = least(self.added) if extended and self.added is not None else NO_TIME
        return least(self.within).plus(added)

    @property
    def in_business_days(self) -> bool:
        return self.within.business_days > 0

    def said(self, *, extended: bool) -> str:
        """The same in text of ISO 8601."""
        one, more = self.within, self.added
        if not extended or more is None:
            return self.text
        if bool(one.business_days) != bool(more.business_days):
            return as_text(self.time(extended=True), in_business_days=False)
        days = one.business_days + more.business_days
        return written(Duration(one.months + more.months, one.exact + more.exact, days))


def limits(clock: ClockRule) -> tuple[TimeLimit, ...] | None:
    """What a clock allows in each case; None where its text does not tell."""
    added = None if clock.extend is None else duration(clock.extend.by)
    if isinstance(clock.within, str):
        return (TimeLimit(duration(clock.within), added, clock.within, {}),)
    found = lengths(clock.within.text)
    if found is None or not all(one.text is None or is_duration(one.text) for one in found):
        return None
    cases = [(one.text, one.facts) for one in found if one.text is not None]
    assumed = [(text, one) for one in found if one.text is None for text in _shortest(clock.within.text)]
    return (
        *(TimeLimit(duration(text), added, text, facts) for text, facts in cases),
        *(
            TimeLimit(duration(text), added, text, one.facts, assumed=True, missing=one.missing)
            for text, one in assumed
            if (text, one.facts) not in cases
        ),
    )


def _shortest(text: str) -> tuple[str, ...]:
    """The shortest durations that an expression names: which it is depends on the calendar."""
    named = sorted(durations_in(text), key=lambda one: least(duration(one)).seconds)
    by_unit = {duration(one).business_days > 0: one for one in reversed(named)}
    return tuple(by_unit.values())


def as_text(time: LongestTime, *, in_business_days: bool) -> str:
    """A time in text of ISO 8601, in the measure of its limit."""
    if in_business_days:
        return f"P{time.days}BD"
    return written(Duration(exact=timedelta(seconds=min(time.seconds, calendar_of(time.days)))))


class Stay(NamedTuple):
    """What keeps a run at a step.

    First until so long `before` the clock is due, or until a time that counts from its `start`, or
    for nothing; then for its `cost`, which one without an end has not: what it `lasts`, bit by bit.
    People may end it sooner, but not one that is `fixed`. Once the first time is past, a `forced`
    one leads on at once, and only over its outcome.
    """

    cost: LongestTime | None = NO_TIME
    before: Duration | None = None
    after: LongestTime = NO_TIME
    start: LongestTime | None = None
    forced: str | None = None
    lasts: tuple[Duration, ...] = ()
    fixed: bool = False

    @property
    def anchored(self) -> bool:
        return self.before is not None or self.start is not None


UNBOUNDED = Stay(None)


class Timing:
    """How long a run stays at the steps of a template while a clock runs."""

    def __init__(self, template: Template, clock: ClockRule, regions: Regions) -> None:
        self.clock = clock
        self.regions = regions
        self.clocks = {one.id: one for one in template.clocks}
        self.pauses = frozenset(one for one in clock.pauses if not one.startswith(QUESTION))

    def stays(self, node: Node) -> tuple[Stay, ...]:
        """What keeps a run at a step, one after the other."""
        found = [self._gate(node)] if node.gate else []
        if node.wait is not None and node.id not in self.pauses:
            found.append(self._wait(node))
        return tuple(found)

    def _gate(self, node: Node) -> Stay:
        deadline, outcome = node.policy.deadline, node.policy.on_deadline
        again: tuple[Duration, ...] = ()
        if deadline is None or outcome is None:
            return UNBOUNDED
        if isinstance(outcome, Escalation):
            if outcome.again is not None:
                again = (duration(outcome.again),)
            elif not isinstance(deadline, AnchoredDeadline) or deadline.clock != self.clock.id:
                return UNBOUNDED
        forced = outcome if isinstance(outcome, str) else None
        if isinstance(deadline, AnchoredDeadline):
            stay = Stay(_together(again), duration(deadline.before), forced=forced, lasts=again)
            return self._anchored(node.id, deadline.clock, stay)
        lasts = (duration(deadline), *again)
        return Stay(_together(lasts), lasts=lasts)

    def _wait(self, node: Node) -> Stay:
        wait = node.wait
        assert wait is not None  # noqa: S101 - the caller has looked
        if (length := wait.duration or wait.within) is not None:
            return Stay(longest(duration(length)), lasts=(duration(length),), fixed=wait.message is None)
        until = None if wait.until is None else at_due(wait.until.text)
        if until is None:
            return UNBOUNDED
        exact = Duration(exact=timedelta(seconds=abs(until.seconds)))
        if until.seconds <= 0:
            return self._anchored(node.id, until.clock, Stay(before=exact, fixed=True))
        stay = Stay(before=Duration(), after=longest(exact), lasts=(exact,), fixed=True)
        return self._anchored(node.id, until.clock, stay)

    def _anchored(self, step: str, clock_id: str, stay: Stay) -> Stay:
        """A stay by a clock; by another one, where that runs, and is due as can be told."""
        if clock_id == self.clock.id:
            return stay
        other = self.clocks.get(clock_id)
        if other is None or step in self.regions.idle(other) or (due := self._due_at_most(other)) is None:
            return UNBOUNDED
        sooner = certainly_before(stay.before or Duration(), from_business_day=False)
        after, again = stay.after, stay.cost or NO_TIME
        left = LongestTime(
            max(0, due.seconds + after.seconds - sooner.seconds), max(0, due.days + after.days - sooner.days)
        )
        if self._begins_by(other):
            return Stay(again, start=left, forced=stay.forced)
        return Stay(left.plus(again))

    def _due_at_most(self, other: ClockRule) -> LongestTime | None:
        """The most that another clock takes; None where nobody can tell."""
        if not {*other.pauses} <= {*self.clock.pauses} or (other.since is not None and not self._begins_by(other)):
            return None
        cases = limits(other) or ()
        spans = [longest(one.within).plus(NO_TIME if one.added is None else longest(one.added)) for one in cases]
        return LongestTime(max(one.seconds for one in spans), max(one.days for one in spans))

    def _begins_by(self, other: ClockRule) -> bool:
        """Whether another clock begins with this one, or before it."""
        if other.since is not None:
            return self.clock.since is not None and self.clock.since.text == other.since.text
        return other.from_step in (None, self.clock.from_step)


def _together(lasts: tuple[Duration, ...]) -> LongestTime:
    """The most that durations take one after the other; business days of all count together."""
    found, days = NO_TIME, sum(one.business_days for one in lasts)
    for one in (Duration(business_days=days), *(one for one in lasts if not one.business_days)):
        found = found.plus(longest(one))
    return found
