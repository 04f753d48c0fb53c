"""The clock, and ids that sort by time."""

from __future__ import annotations

from datetime import UTC, datetime

from uuid_utils import uuid7


def utc_now() -> datetime:
    return datetime.now(UTC)


def new_id() -> str:
    return str(uuid7())
