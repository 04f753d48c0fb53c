"""The rows that reports count."""

from __future__ import annotations

from datetime import datetime

from daemon.contract.base import Response
from daemon.contract.runs import ByKind, Call, Difference, Status
from daemon.contract.templates import Tier


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
