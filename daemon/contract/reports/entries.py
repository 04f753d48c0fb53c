"""The rows that reports count."""

from __future__ import annotations

from datetime import datetime

from daemon.contract.base import Response
from daemon.contract.runs import ByKind
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
