"""What reports are asked, and the cases that judges are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple

from actors.core.autonomy import CalibrationCase, Record, fit
from daemon.contract.autonomy import ReliabilityBin
from daemon.model.reading import Sight

DAYS_MAX = 90
DAYS_DEFAULT = 30
KEPT = timedelta(days=DAYS_MAX + 1)
"""Rows of ended gates and calls are dropped when they are older."""
AGES = (timedelta(hours=1), timedelta(days=1), timedelta(days=3), timedelta(days=7))
"""The bounds between the ages that open gates are counted by."""


class DaySpan(NamedTuple):
    """Whole days of UTC, the last one included."""

    first: date
    last: date

    @property
    def bounds(self) -> tuple[str, str]:
        """The text that every stored time within is not below, and below."""
        return self.first.isoformat(), (self.last + timedelta(days=1)).isoformat()

    @property
    def days(self) -> tuple[str, str]:
        """The first day and the last, as they are stored."""
        return self.first.isoformat(), self.last.isoformat()


class Times(NamedTuple):
    """Decisions, and how long they took: the median, and what nine of ten did not exceed."""

    decided: int = 0
    denied: int = 0
    median_us: int | None = None
    p90_us: int | None = None


class OpenCount(NamedTuple):
    """The open gates of a tier and an age; `age` counts the bounds that they are beyond."""

    tier: str
    age: int
    gates: int
    overdue: int
    oldest_at: datetime


class Totals(NamedTuple):
    """The numbers of a company over some days."""

    open: Sequence[OpenCount]
    times: Times
    expired: int
    autopilot: int
    calls: int
    failed_calls: int


class DayNumbers(NamedTuple):
    """What happened on a day of UTC."""

    day: str
    times: Times = Times()
    expired: int = 0
    autopilot: int = 0
    calls: int = 0
    failed_calls: int = 0


class GateNumbers(NamedTuple):
    """A gate of a template: what is open there, and how it was decided."""

    vertical: str
    step_id: str
    label: str
    open: int = 0
    overdue: int = 0
    expired: int = 0
    times: Times = Times()


class PersonNumbers(NamedTuple):
    """The verdicts of a person."""

    by: str
    times: Times
    last_at: datetime


class ToolNumbers(NamedTuple):
    """The calls of a tool; it is failing where the last one had an error."""

    tool_id: str
    calls: int
    failed: int
    last_at: datetime
    last_error: str | None


class ClockNumbers(NamedTuple):
    """A clock of a template: those that go now, and those that have stopped within the days.

    Times are those that were left to acts in time, and by which late ones came late.
    """

    vertical: str
    clock: str
    label: str
    open: int = 0
    overdue: int = 0
    next_due_at: datetime | None = None
    kept: int = 0
    breached: int = 0
    ended: int = 0
    median_left_us: int | None = None
    least_left_us: int | None = None
    most_late_us: int | None = None


class ListedGate(NamedTuple):
    """An open gate as reports count it."""

    run_id: str
    step_id: str
    visit: int
    vertical: str
    tier: str
    label: str
    opened_at: datetime
    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class RowQuery:
    """Which rows, behind the last one of the page before: its time, run and seq or step."""

    limit: int = 50
    after: tuple[str, str, str] | None = None
    vertical: str | None = None
    step_id: str | None = None
    sight: Sight | None = None
    """What of them may be listed; None for all."""


@dataclass(frozen=True, slots=True)
class DecisionQuery(RowQuery):
    """Decisions, the newest first."""

    decision: str | None = None
    by: str | None = None
    by_kind: str | None = None
    closed: bool | None = None


@dataclass(frozen=True, slots=True)
class FailureQuery(RowQuery):
    """Failed calls, the newest first."""

    tool_id: str | None = None


@dataclass(frozen=True, slots=True)
class OpenQuery(RowQuery):
    """Open gates, the oldest first; `due_by` those that were due by then."""

    tier: str | None = None
    opened_from: datetime | None = None
    opened_before: datetime | None = None
    due_by: datetime | None = None


BINS = 10
STEPS_MAX = 200


class JudgedStep(NamedTuple):
    """A step in one version of its template; `about` is a tool and models, as JSON, if known."""

    vertical: str
    step_id: str
    template_version: int
    about: str = ""


class JudgedCase(NamedTuple):
    """A visit that a person decided though its panel was for clearing."""

    at: datetime
    run_id: str
    seq: int
    visit: int
    raw: float
    why: str
    approved: bool


class Reliability(NamedTuple):
    """How far raw confidence is from what people decide: by bin, on average, and squared."""

    bins: tuple[ReliabilityBin, ...]
    calibration_error: float
    brier: float


def record_of(cases: Sequence[JudgedCase]) -> Record:
    """What is known of a step by its cases."""
    return fit([CalibrationCase(one.raw, one.approved) for one in cases])


def reliability(cases: Sequence[JudgedCase]) -> Reliability | None:
    """How reliable raw confidence was; None without a case."""
    if not cases:
        return None
    found: dict[int, list[JudgedCase]] = {}
    for one in cases:
        found.setdefault(min(int(one.raw * BINS), BINS - 1), []).append(one)
    bins = tuple(_bin(place, found[place]) for place in sorted(found))
    apart = sum(one.cases * abs(one.mean_raw - one.approved) for one in bins)
    squared = sum((one.raw - one.approved) ** 2 for one in cases)
    return Reliability(bins, apart / len(cases), squared / len(cases))


def _bin(place: int, cases: Sequence[JudgedCase]) -> ReliabilityBin:
    """Cases whose raw confidence is from `low` to below `high`; the last contains that, too."""
    number = len(cases)
    approved = sum(one.approved for one in cases) / number
    mean_raw = sum(one.raw for one in cases) / number
    return ReliabilityBin(low=place / BINS, high=(place + 1) / BINS, cases=number, mean_raw=mean_raw, approved=approved)
