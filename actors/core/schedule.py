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

    def business_days_before(self, end: datetime, count: int) -> datetime:
        """The same local time `count` business days earlier, at most `DAYS_MAX` days."""
        local = end.astimezone(self.zone)
        day, left = local.date(), count
        for _ in range(DAYS_MAX):
            if not left:
                break
            day -= timedelta(days=1)
            left -= self.is_business_day(day)
        return datetime.combine(day, local.time(), local.tzinfo).astimezone(UTC)

    def business_days_between(self, start: datetime, end: datetime) -> int:
        """How many business days begin after the day of `start`, up to that of `end`."""
        day, last = start.astimezone(self.zone).date(), end.astimezone(self.zone).date()
        ahead = range(1, min((last - day).days, DAYS_MAX) + 1)
        return sum(self.is_business_day(day + timedelta(days=one)) for one in ahead)


_ISO = re.compile(
    r"P(?=.)(?:(\d{1,4})Y)?(?:(\d{1,4})M)?(?:(\d{1,5})W)?(?:(\d{1,5})D)?"
    r"(?:T(?=.)(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,10})S)?)?",
    re.ASCII,
)
_IN_TEXT = re.compile(r"""["'](P[0-9A-Z]{2,40})["']""")
_BUSINESS_DAYS = re.compile(r"P(\d{1,3})BD", re.ASCII)
DURATION_MAX = timedelta(days=3_660)
_MONTHS, _DAYS, _MONTH_DAYS = 12, 7, 31


class Duration(Struct, frozen=True, omit_defaults=True):
    """Months, or business days, and a length of time."""

    months: int = 0
    exact: timedelta = timedelta()
    business_days: int = 0

    def after(self, start: datetime, calendar: BusinessCalendar) -> datetime:
        """When it is over if it begins at `start`; the last day of a month where it has no such."""
        if self.business_days:
            return calendar.business_days_after(start, self.business_days) + self.exact
        return _months_on(start, self.months) + self.exact

    def before(self, end: datetime, calendar: BusinessCalendar) -> datetime:
        """When it has to begin to be over at `end`."""
        if self.business_days:
            return calendar.business_days_before(end - self.exact, self.business_days)
        return _months_on(end - self.exact, -self.months)

    def left(self, begun: datetime, at: datetime, calendar: BusinessCalendar) -> Duration:
        """What of it is left at a time before it is over, if it began at `begun`.

        Of business days those that have not begun are left, and the rest as a length of time.
        """
        end = self.after(begun, calendar)
        days = calendar.business_days_between(at, end) if self.business_days else 0
        return Duration(business_days=days, exact=end - calendar.business_days_after(at, days))


def _months_on(start: datetime, months: int) -> datetime:
    year, month = divmod(start.year * _MONTHS + start.month - 1 + months, _MONTHS)
    return start.replace(year=year, month=month + 1, day=min(start.day, monthrange(year, month + 1)[1]))


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


def durations_in(expression: str) -> list[str]:
    """The durations that the texts of an expression are."""
    return [one for one in _IN_TEXT.findall(expression) if is_duration(one)]


def is_duration(text: str) -> bool:
    """Whether a text is a duration."""
    try:
        duration(text)
    except ValueError:
        return False
    return True
