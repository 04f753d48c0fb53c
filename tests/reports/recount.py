"""The reports counted anew: each history is folded by the core, and the visits are looked at."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from actors.core.folding.evolve import evolve
from actors.core.messages import AUTOPILOT, CallSettled, Event, GateExpired, VerdictGiven, attribution
from actors.core.run import DONE, Run, Visit
from actors.ports import Commit
from daemon.model.reports.projection import Decision, FailedCall
from daemon.model.reports.questions import AGES, DaySpan, ListedGate, Times

Row = tuple[Any, ...]


@dataclass
class Recount:
    """What the histories of a company say, event by event."""

    decisions: list[Decision] = field(default_factory=list)
    cleared: list[tuple[str, str, str]] = field(default_factory=list)
    calls: list[tuple[str, str, str, datetime, str | None]] = field(default_factory=list)
    failures: list[FailedCall] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)

    @classmethod
    def of(cls, commits: Iterable[Commit]) -> Recount:
        """Fold commits in the order in which they were committed."""
        made = cls()
        for commit in commits:
            before = made.runs.get(commit.run.id)
            for event in commit.events:
                after = evolve(before, event)
                if before is not None:
                    made.look(before, event, after)
                before = after
            assert before is not None
            made.runs[before.id] = before
        return made

    def look(self, before: Run, event: Event, after: Run) -> None:
        """Note what an event changed."""
        was = before.at(event.step_id) if isinstance(event, (VerdictGiven, GateExpired, CallSettled)) else None
        if isinstance(event, (VerdictGiven, GateExpired)) and was is not None:
            self.decided(before, event, was, after)
        if isinstance(event, CallSettled) and was is not None and before.ended is None and called(was):
            self.called(before, event, was)
        resolved = {(one.step_id, one.visit): one.resolved_by for one in (*before.open, *before.trace)}
        for one in (*after.open, *after.trace):
            if one.resolved_by == AUTOPILOT and resolved.get((one.step_id, one.visit)) != AUTOPILOT:
                self.cleared.append((event.at.date().isoformat(), after.vertical, one.step_id))

    def decided(self, run: Run, event: VerdictGiven | GateExpired, was: Visit, after: Run) -> None:
        assert was.gate is not None
        who, opened_at = attribution(event), was.gate.opened_at
        still = after.at(was.step_id)
        closed = still is None or still.status != "parked" or still.visit != was.visit
        self.decisions.append(
            Decision(
                run.company_id,
                run.id,
                after.version,
                event.at,
                run.vertical,
                was.step_id,
                was.visit,
                was.gate.label,
                was.tier,
                event.decision,
                who.by,
                who.by_kind,
                who.on_behalf_of,
                closed,
                opened_at,
                round((event.at - opened_at).total_seconds() * 1_000_000),
            )
        )

    def called(self, run: Run, event: CallSettled, was: Visit) -> None:
        assert was.request is not None
        tool, error = was.request.tool, event.error
        day, code = event.at.date().isoformat(), None if error is None else error.code
        self.calls.append((day, run.vertical, tool, event.at, code))
        if error is not None:
            about = (run.vertical, was.step_id, was.visit, tool, error.code, error.status_code, event.attempts)
            self.failures.append(FailedCall(run.company_id, run.id, run.version + 1, event.at, *about))

    # ------------------------------------------------------------------- what reports answer

    def open_gates(self) -> list[ListedGate]:
        found = []
        for run in self.runs.values():
            for one in run.parked:
                assert one.gate is not None
                about = (run.vertical, one.tier, one.gate.label, one.gate.opened_at, one.gate.due_at)
                found.append(ListedGate(run.id, one.step_id, one.visit, *about))
        return sorted(found, key=lambda one: (one.opened_at, one.run_id, one.step_id))

    def ages(self, now: datetime) -> Counter[tuple[str, int, bool]]:
        """The open gates by tier, age and whether they are overdue."""
        found: Counter[tuple[str, int, bool]] = Counter()
        for one in self.open_gates():
            age = sum(now - one.opened_at > bound for bound in AGES)
            found[one.tier, age, one.due_at is not None and one.due_at <= now] += 1
        return found

    def within(self, span: DaySpan) -> Recount:
        """Only what happened within these days."""
        first, last = span.days
        return Recount(
            [one for one in self.decisions if span.first <= one.decided_at.date() <= span.last],
            [one for one in self.cleared if first <= one[0] <= last],
            [one for one in self.calls if first <= one[0] <= last],
            [one for one in self.failures if span.first <= one.failed_at.date() <= span.last],
            self.runs,
        )

    def by_people(self) -> list[Decision]:
        return [one for one in self.decisions if one.closed and one.by_kind != "deadline"]

    def expired(self) -> list[Decision]:
        return [one for one in self.decisions if one.by_kind == "deadline"]


def called(visit: Visit) -> bool:
    """Whether a call of the visit is out, for real, and nobody said that it is done."""
    done = visit.verdict is not None and visit.verdict.decision == DONE
    return visit.call_out and visit.request is not None and visit.request.mode == "live" and not done


def times(decisions: Sequence[Decision]) -> Times:
    """Counted by hand: half and nine of ten do not exceed the values at these places."""
    waited = sorted(one.waited_us for one in decisions)
    if not waited:
        return Times()
    number = len(waited)
    half = next(value for nth, value in enumerate(waited, 1) if nth * 2 >= number)
    most = next(value for nth, value in enumerate(waited, 1) if nth * 10 >= number * 9)
    return Times(number, sum(one.decision == "denied" for one in decisions), half, most)


def grouped(decisions: Iterable[Decision], *names: str) -> dict[Row, list[Decision]]:
    found: dict[Row, list[Decision]] = defaultdict(list)
    for one in decisions:
        found[tuple(getattr(one, name) for name in names)].append(one)
    return found
