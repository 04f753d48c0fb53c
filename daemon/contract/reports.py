"""Reports: numbers over days of UTC, with times in seconds, and the rows that they count.

Of all values in order, the median is the first that half of them do not exceed, and `p90_s` the
first that nine of ten do not: both are values that there were.
"""

from __future__ import annotations

from datetime import date, datetime

from pydantic import Field

from daemon.contract.base import Response, example
from daemon.contract.runs import ByKind, Call, Difference, Status
from daemon.contract.templates import Tier


class OpenAge(Response):
    """Gates of a tier that opened within the bounds and are open; null where there is no bound."""

    tier: Tier
    opened_from: datetime | None = None
    opened_before: datetime | None = None
    gates: int
    overdue: int


class ReportedOpen(Response):
    """What is open now."""

    gates: int
    overdue: int
    oldest_at: datetime | None = None
    by_age: tuple[OpenAge, ...] = ()


class ReportedDecisions(Response):
    """Gates that people closed, of these the denied ones, and those that a deadline closed."""

    decided: int
    denied: int
    expired: int
    median_s: float | None = None
    p90_s: float | None = None


class ReportedSteps(Response):
    """Steps that the autopilot cleared alone, and those that people decided on."""

    autopilot: int
    people: int


class ReportedCalls(Response):
    """Calls of tools that ended; a connector is failing while its last call ended with an error."""

    calls: int
    failed: int
    failing: int


class Report(Response):
    """The numbers of a company over some days.

    `complete` is false while the service still counts what happened before an upgrade.
    """

    first_day: date
    last_day: date
    at: datetime
    complete: bool = True
    open: ReportedOpen
    decisions: ReportedDecisions
    steps: ReportedSteps
    calls: ReportedCalls


class ReportDay(Response):
    """What happened on a day."""

    day: date
    decided: int
    denied: int
    expired: int
    median_s: float | None = None
    p90_s: float | None = None
    autopilot: int
    calls: int
    failed_calls: int


class ReportGate(Response):
    """A gate of a template: what is open there now, and how it was decided."""

    vertical: str
    step_id: str
    label: str
    open: int
    overdue: int
    decided: int
    denied: int
    expired: int
    median_s: float | None = None
    p90_s: float | None = None


class ReportPerson(Response):
    """The verdicts of a person, also those that left a quorum open or were withdrawn later."""

    by: str
    verdicts: int
    denied: int
    median_s: float | None = Field(None, description="From the opening of the gate to the verdict.")
    p90_s: float | None = None
    last_at: datetime


class ReportStep(Response):
    """How often a step was cleared by the autopilot, and decided on by people."""

    vertical: str
    step_id: str
    autopilot: int
    people: int


class ReportConnector(Response):
    """The calls of a tool that ended; `failing` while the last one ended with an error."""

    tool_id: str
    calls: int
    failed: int
    failing: bool
    last_at: datetime
    last_error: str | None = None


class ReportClock(Response):
    """A clock of a template: those that go now, and those that have stopped within the days.

    `kept` are those that an act stopped in time, and `breached` all others that were breached: the
    `overdue`, which still go, too. The end of the run closed the `ended` ones without an act.
    """

    model_config = example(
        {
            "vertical": "prior-auth",
            "clock": "notice",
            "label": "Decision and notice",
            "open": 12,
            "overdue": 1,
            "next_due_at": "2026-01-08T09:00:00Z",
            "kept": 240,
            "breached": 3,
            "ended": 5,
            "median_left_s": 187200.0,
            "least_left_s": 420.0,
            "most_late_s": 86400.0,
        }
    )

    vertical: str
    clock: str
    label: str
    open: int
    overdue: int
    next_due_at: datetime | None = Field(None, description="When the first of those is due that are not overdue.")
    kept: int
    breached: int
    ended: int
    median_left_s: float | None = Field(None, description="What was left when the act was done.")
    least_left_s: float | None = None
    most_late_s: float | None = Field(None, description="By how much the latest act came late.")


class ReportedDecision(Response):
    """A verdict, or what a deadline decided; `closed` where the gate closed with it."""

    run_id: str
    seq: int
    at: datetime
    vertical: str
    step_id: str
    visit: int
    label: str
    tier: Tier
    decision: str
    by: str
    by_kind: ByKind
    on_behalf_of: str | None = None
    closed: bool
    opened_at: datetime
    waited_s: float


class ReportedClearing(Response):
    """A step that the autopilot cleared alone, and why it could."""

    run_id: str
    seq: int
    at: datetime
    vertical: str
    step_id: str
    visit: int
    reason: str | None = None


class ReportedFailure(Response):
    """A call that ended with an error, after so many attempts."""

    run_id: str
    seq: int
    at: datetime
    vertical: str
    step_id: str
    visit: int
    tool_id: str
    code: str
    status_code: int | None = None
    attempts: int


class ReportedGate(Response):
    """An open gate."""

    run_id: str
    step_id: str
    visit: int
    vertical: str
    tier: Tier
    label: str
    opened_at: datetime
    due_at: datetime | None = None
    overdue: bool


class ComparedCall(Response):
    """A call of a promoted run beside the one that shadow recorded.

    `recorded` is null where shadow made none, `sent` where the live run has made none so far.
    """

    step_id: str
    visit: int | None = None
    recorded: Call | None = None
    sent: Call | None = None
    differences: tuple[Difference, ...] = ()
    decided_by: str | None = None


class ReportedPromotion(Response):
    """A run in shadow, and the live run that made it again; `differing` counts such calls."""

    run_id: str
    promoted_from: str
    at: datetime
    by: str
    vertical: str
    status: Status
    compared: int
    differing: int
    calls: tuple[ComparedCall, ...]
