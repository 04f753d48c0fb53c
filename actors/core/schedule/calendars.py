"""Business days: a company's time zone, weekend and holidays."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo

from msgspec import Struct

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAYS_MAX = 3_660
"""No count of business days takes longer than that many days."""


class Calendar(Struct, frozen=True):
    """Days count in `zone`; `weekend` holds numbers of weekdays, Monday is 0."""

    zone: tzinfo = UTC
    weekend: frozenset[int] = frozenset({5, 6})
    holidays: frozenset[date] = frozenset()

    def is_business_day(self, day: date) -> bool:
        """Whether people work on that day."""
        return day.weekday() not in self.weekend and day not in self.holidays

    def business_days_after(self, start: datetime, count: int) -> datetime:
        """The same local time `count` business days later, and at most `DAYS_MAX` days later.

        Day 1 is the first business day after the one on which it begins.
        """
        local = start.astimezone(self.zone)
        day, left = local.date(), count
        for _ in range(DAYS_MAX):
            if not left:
                break
            day += timedelta(days=1)
            left -= self.is_business_day(day)
        at = datetime.combine(day, local.time(), local.tzinfo)
        return at.astimezone(UTC)
