"""The clock, and ids that sort by time."""

from __future__ import annotations

from datetime import UTC, datetime

from uuid_utils import uuid7

SKEW_MIN_S = 1.0
"""From where on clocks of two machines are said to be apart."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def skew_s(before: datetime, other: datetime, after: datetime) -> float:
    """Seconds that another clock, read between two readings of this one, is certainly ahead."""
    return (other - min(max(other, before), after)).total_seconds()


def new_id() -> str:
    return str(uuid7())
