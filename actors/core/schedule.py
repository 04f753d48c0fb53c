"""Business calendars, and durations in business days or ISO 8601."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from msgspec import Struct

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAYS_MAX = 3_660
"""No count of business days takes longer than that many days."""


class BusinessCalendar(Struct, frozen=True):
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


_ISO = re.compile(
    r"P(?=.)(?:(\d{1,4})Y)?(?:(\d{1,4})M)?(?:(\d{1,5})W)?(?:(\d{1,5})D)?"
    r"(?:T(?=.)(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,10})S)?)?",
    re.ASCII,
)
_BUSINESS_DAYS = re.compile(r"P(\d{1,3})BD", re.ASCII)
DURATION_MAX = timedelta(days=3_660)
_MONTHS, _DAYS, _MONTH_DAYS = 12, 7, 31


class Duration(Struct, frozen=True):
    """Months and a length of time, or business days."""

    months: int = 0
    exact: timedelta = timedelta()
    business_days: int = 0

    def after(self, start: datetime, calendar: BusinessCalendar) -> datetime:
        """When it is over if it begins at `start`; the last day of a month where it has no such."""
        if self.business_days:
            return calendar.business_days_after(start, self.business_days)
        year, month = divmod(start.year * _MONTHS + start.month - 1 + self.months, _MONTHS)
        day = min(start.day, monthrange(year, month + 1)[1])
        return start.replace(year=year, month=month + 1, day=day) + self.exact


@lru_cache(maxsize=1_024)
def duration(text: str) -> Duration:
    """Read a duration; ValueError when it is none, is empty, or takes more than ten years."""
    found = _BUSINESS_DAYS.fullmatch(text)
    if found is not None:
        made = Duration(business_days=int(found[1]))
    else:
        found = _ISO.fullmatch(text)
        if found is None:
            message = f"{text!r} is no ISO 8601 duration such as PT72H or P3BD"
            raise ValueError(message)
        years, months, weeks, days, hours, minutes, seconds = (int(one or 0) for one in found.groups())
        exact = timedelta(days=weeks * _DAYS + days, hours=hours, minutes=minutes, seconds=seconds)
        made = Duration(years * _MONTHS + months, exact)
    about = made.exact + timedelta(days=made.months * _MONTH_DAYS + made.business_days * _DAYS)
    if not timedelta() < about <= DURATION_MAX:
        message = f"{text} has to be longer than nothing and at most ten years"
        raise ValueError(message)
    return made


def is_duration(text: str) -> bool:
    """Whether a text is a duration."""
    try:
        duration(text)
    except ValueError:
        return False
    return True
