"""Any order of timers, pauses, verdicts and changes of the calendar: a clock is in one state, is
breached at most once, stands still for exactly as long as the run waits, and stops once.

The rules are stated here a second time, as plainly as they can be, and compared with the core.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actors.core.decider import TurnResult
from actors.core.gate_policy import AnchoredDeadline, Escalation
from actors.core.messages import (
    ClockBreached,
    ClockExtended,
    ClockPaused,
    ClockResumed,
    ClockWarned,
    Event,
    WaitBegan,
    WaitEnded,
)
from actors.core.people import Company
from actors.core.run import Clock, Run
from actors.core.schedule import BusinessCalendar
from actors.core.template import ClockExtension, ClockRule, Template
from tests.conversations import Conversation, fold
from tests.processes import choice, end, gate, parallel, process, task, wait

HOUR = timedelta(hours=1)
WITHIN = {"PT50H": timedelta(hours=50), "P4D": timedelta(days=4), "P3BD": None}
EXTENDED = timedelta(hours=30)


def template(within: str, pauses: tuple[str, ...], anchored: AnchoredDeadline | None) -> Template:
    """Two branches wait and loop beside each other; the act stands behind both."""
    made = process(
        parallel("fork"),
        wait("records", message="records"),
        wait("opinion", message="opinion", within="PT20H"),
        choice("extension", "high"),
        task("tell"),
        gate("signoff", deadline=anchored, on_deadline=None if anchored is None else Escalation("admin")),
        parallel("join"),
        task("send"),
        end(),
        ways="""fork -> records -> extension -[extended]-> tell -> join -> send -> end
                extension -[no]-> join
                extension -[again]-> records
                fork -> signoff -> opinion -> join
                signoff -[denied]-> end""",
    )
    extend = ClockExtension("extension", "extended", "PT30H", "tell")
    rule = ClockRule(
        id="notice",
        label="Notice",
        within=within,
        stops=("send",),
        pauses=pauses,
        extend=extend,
        warn=("PT10H", "PT3H"),
    )
    return replace(made, clocks=(rule,))


@dataclass(frozen=True)
class Say:
    """Something that happens after so many hours."""

    verb: str
    hours: int
    word: str


sayings = st.builds(
    Say,
    st.sampled_from(("due", "due", "due", "message", "message", "extension", "signoff", "review", "cancel", "propose")),
    st.sampled_from((0, 0, 1, 5, 12, 40, 100)),
    st.sampled_from(("records", "opinion", "extended", "no", "again", "approved", "denied")),
)


def say(talk: Conversation, one: Say) -> None:
    talk.passed += one.hours * HOUR
    match one.verb:
        case "due":
            talk.due()
        case "message":
            talk.deliver("records" if one.word in ("records", "again", "no") else "opinion")
        case "extension":
            talk.resume("extension", one.word if one.word in ("extended", "no", "again") else "again")
        case "signoff":
            talk.resume("signoff", "denied" if one.word == "denied" else "approved")
        case "propose":
            talk.propose("signoff")
        case "cancel" if one.word == "no":
            talk.cancel()
        case _:
            days = frozenset({date(2026, 3, 2) + timedelta(days=one.hours % 9)})
            talk.review(Company(solo=True, calendar=BusinessCalendar(holidays=days)))


class Ledger:
    """What the history says of the clock, kept apart from the core."""

    def __init__(self, pauses: tuple[str, ...]) -> None:
        self.pauses = pauses
        self.open: set[str] = set()
        self.since: datetime | None = None
        self.paused = timedelta()
        self.counts: dict[str, int] = {}

    def take(self, event: Event) -> None:
        """Add an event; who waits is known by the waits alone."""
        name = event.type
        self.counts[name] = self.counts.get(name, 0) + 1
        match event:
            case WaitBegan() if event.step_id in self.pauses:
                self.open.add(event.step_id)
            case WaitEnded():
                self.open.discard(event.step_id)
            case ClockPaused():
                assert self.since is None, "paused twice"
                assert event.during in self.open
                self.since = event.at
            case ClockResumed():
                assert self.since is not None, "resumed while it ran"
                self.paused += event.at - self.since
                self.since = None
                assert event.paused_s == self.paused.total_seconds()
            case ClockWarned() | ClockBreached() | ClockExtended():
                assert self.since is None or isinstance(event, ClockExtended)
                assert "clock_stopped" not in self.counts
            case _:
                pass

    def check(self, run: Run, clock: Clock, within: timedelta | None) -> None:
        for once in ("clock_started", "clock_breached", "clock_stopped", "clock_extended"):
            assert self.counts.get(once, 0) <= 1, once
        assert self.counts.get("clock_warned", 0) <= 2
        assert clock.paused == self.paused
        states = {"stopped": clock.stopped_at, "breached": clock.breached_at, "paused": clock.paused_at}
        assert clock.state == next((name for name, at in states.items() if at is not None), "running")
        assert (run.ended is not None) <= (clock.state == "stopped")
        waits = bool(self.open) and run.ended is None
        assert (clock.state == "paused") == (waits and clock.breached_at is None and clock.stopped_at is None)
        assert (clock.breached_at is not None) == ("clock_breached" in self.counts)
        if within is not None:
            spans = within + (EXTENDED if "clock_extended" in self.counts else timedelta())
            assert clock.due_at == clock.started_at + spans + clock.paused
        if clock.stopped_at is not None and clock.due_at is not None and clock.stopped_at != clock.due_at:
            assert (clock.breached_at is not None) == (clock.stopped_at > clock.due_at)
        if clock.state == "running" and clock.due_at is not None:
            assert run.wake_at is not None
            assert run.wake_at <= clock.due_at


@given(
    st.sampled_from(sorted(WITHIN)),
    st.sampled_from((("records",), ("opinion",), ("records", "opinion"), ())),
    st.booleans(),
    st.lists(sayings, max_size=14),
)
def test_a_clock_keeps_its_rules_whatever_happens(
    within: str, pauses: tuple[str, ...], anchored: bool, said: list[Say]
) -> None:
    deadline = AnchoredDeadline("notice", "PT6H") if anchored else None
    talk, book = Conversation(template(within, pauses, deadline)).start(), Ledger(pauses)
    for one in [None, *said]:
        if one is not None:
            say(talk, one)
        done: Any = talk.last
        for event in done.events if isinstance(done, TurnResult) else ():
            book.take(event)
        clock = talk.run.clock("notice")
        assert clock is not None
        book.check(talk.run, clock, WITHIN[within])
        if isinstance(done, TurnResult) and (one is None or one.verb != "propose") and clock.state == "running":
            assert clock.due_at is not None
            assert clock.due_at >= talk.run.updated_at, "what is past due is breached in the same turn"
        assert fold(talk.history) == talk.run
        visit = talk.run.at("signoff")
        if deadline is not None and visit is not None and visit.gate is not None and visit.gate.escalated is None:
            check_anchor(visit.gate.due_at, clock)


def check_anchor(due_at: datetime | None, clock: Clock) -> None:
    """The deadline is where the clock is, and nowhere while that does not go."""
    if clock.state in ("running", "breached") and due_at is not None and clock.due_at is not None:
        assert due_at == clock.due_at - 6 * HOUR
    elif clock.state in ("paused", "stopped"):
        assert due_at is None
