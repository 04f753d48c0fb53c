"""The clock."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The time in UTC, aware."""
    return datetime.now(UTC)
