"""Calendars: a company's time zone, weekend and holidays."""

from __future__ import annotations

from datetime import UTC, date, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog

from actors.core.schedule.calendars import WEEKDAYS, Calendar
from daemon.model.events.calendars import CalendarForm

_log = structlog.get_logger("penstock")


def core_calendar(form: CalendarForm) -> Calendar:
    """A calendar as the core counts with it."""
    weekend = frozenset(map(WEEKDAYS.index, form.weekend))
    return Calendar(_zone(form.timezone), weekend, frozenset(map(date.fromisoformat, form.holidays)))


def _zone(name: str) -> tzinfo:
    """A time zone; UTC for one that this version does not know."""
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:
        _log.error("timezone_unknown", timezone=name)
        return UTC
