"""Calendars: a company's time zone, weekend and holidays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from msgspec import structs

from actors.core.schedule.calendars import WEEKDAYS, Calendar
from daemon.identity.tokens import Principal
from daemon.model.audit_events import Logged
from daemon.model.events.company import CalendarChanged, CalendarForm
from daemon.model.people.companies import StoredCalendar
from daemon.stores.store import Store

_log = structlog.get_logger("penstock")


class Calendars:
    """Reads and changes calendars; a change counts on every daemon when it returns."""

    def __init__(self, repository: Store, now: Callable[[], datetime], changed: Callable[[str], None]) -> None:
        """`changed` is called with the company after each change."""
        self._repository = repository
        self._now = now
        self._changed = changed

    async def calendar(self, company_id: str) -> CalendarForm:
        stored = await self._repository.calendar(company_id)
        return CalendarForm() if stored is None else stored.calendar

    async def change(self, principal: Principal, changes: Mapping[str, Any]) -> CalendarForm:
        """Change members of the company's calendar."""
        company_id, by = principal.company_id, principal.email
        while True:
            stored, at = await self._repository.calendar(company_id), self._now()
            before, number = (CalendarForm(), 1) if stored is None else (stored.calendar, stored.number + 1)
            after = _ordered(structs.replace(before, **changes))
            if after == before:
                return after
            changed = CalendarChanged(at=at, by=by, before=before, after=after, number=number, via=principal.via)
            fresh = StoredCalendar(company_id, after, number, at, by)
            if await self._repository.put_calendar(fresh, Logged(company_id, changed, caller=principal.caller)):
                self._changed(company_id)
                return after


def core_calendar(form: CalendarForm) -> Calendar:
    """A calendar as the core counts with it."""
    weekend = frozenset(map(WEEKDAYS.index, form.weekend))
    return Calendar(_zone(form.timezone), weekend, frozenset(map(date.fromisoformat, form.holidays)))


def _ordered(form: CalendarForm) -> CalendarForm:
    """The same calendar with each day once and in order."""
    weekend = tuple(sorted(set(form.weekend), key=WEEKDAYS.index))
    return structs.replace(form, weekend=weekend, holidays=tuple(sorted(set(form.holidays))))


def _zone(name: str) -> tzinfo:
    """A time zone; UTC for one that this version does not know."""
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:
        _log.error("timezone_unknown", timezone=name)
        return UTC
