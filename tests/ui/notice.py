"""Runs of the process that has a clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.ui.service import Company


def started(company: Company, *, ago: timedelta, records: bool = False) -> Any:
    """A run whose case was received so long ago."""
    received = (datetime.now(UTC) - ago).isoformat(timespec="seconds").replace("+00:00", "Z")
    return company.start("notice", {"received_at": received, "records": records})
