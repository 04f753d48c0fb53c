"""Records as rows of a database, and back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actors.core.run import Run
    from actors.ports import Receipt

INTEGER_MAX = 2**63 - 1


def iso(at: datetime) -> str:
    """A time as it is stored; it sorts as text."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def iso_or_null(at: datetime | None) -> str | None:
    return None if at is None else iso(at)


def time_or_none(at: str | None) -> datetime | None:
    return None if at is None else datetime.fromisoformat(at)


def bounded(limit: int) -> int:
    """A value for LIMIT; to SQLite a negative one means no limit."""
    return max(0, min(limit, INTEGER_MAX))


def below(before: int | None) -> int:
    """The upper bound of a page: the end of the page before, or none."""
    return INTEGER_MAX if before is None else min(before, INTEGER_MAX)


def run_row(run: Run) -> tuple[int, bool, str, str, str, str, str]:
    """Version, resting, status, parked, updated_at, vertical, created_at."""
    return run.version, run.resting, *run_status(run), run.vertical, iso(run.created_at)


def run_timer(run: Run) -> tuple[str | None, bool, str | None]:
    """When something is due next, whether people or the calendar matter, when a clock is due."""
    return iso_or_null(run.wake_at), run.reviewed, iso_or_null(run.clock_due_at)


def run_status(run: Run) -> tuple[str, str, str]:
    parked = [visit.step_id for visit in run.parked]
    return run.status, "|".join(("", *parked, "")) if parked else "", iso(run.updated_at)


def receipt_row(receipt: Receipt, at: str) -> tuple[Any, ...]:
    key = (receipt.company_id, receipt.path, receipt.key)
    return (*key, receipt.fingerprint, receipt.run_id, receipt.status, receipt.headers, receipt.body, at)
