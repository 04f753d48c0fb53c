"""How long durations take at their longest and at their least, in seconds and in business days.

Nobody knows at publishing on which day of the week a case begins. So a business day counts as one
day, and each five of them begun as a weekend more; as a limit they have only the weekends that lie
between them for certain. Days that people do not work beside weekends of two days are not counted.
"""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from actors.core.schedule import Duration

DAY = 86_400
_WEEK, _BUSINESS_WEEK, _WEEKEND = 7, 5, 2
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_YEARS = _MONTHS * 2 + (31, 29, *_MONTHS[2:]) + _MONTHS
"""The months of four years, among them a leap year."""


class LongestTime(NamedTuple):
    """A length of time in both measures: seconds, and business days."""

    seconds: int = 0
    days: int = 0

    def plus(self, other: LongestTime) -> LongestTime:
        """Both, one after the other."""
        return LongestTime(self.seconds + other.seconds, self.days + other.days)


NO_TIME = LongestTime()


@lru_cache(maxsize=1_024)
def longest(one: Duration) -> LongestTime:
    """The most that a duration takes, whenever it begins."""
    if one.business_days:
        weekends = -(-one.business_days // _BUSINESS_WEEK)
        return LongestTime((one.business_days + _WEEKEND * weekends) * DAY, one.business_days)
    seconds = _month_days(one.months)[1] * DAY + _seconds(one.exact)
    return LongestTime(seconds, _business_days_covering(seconds))


@lru_cache(maxsize=1_024)
def least(one: Duration) -> LongestTime:
    """The least that a duration takes, as a limit gives it."""
    if one.business_days:
        weekends = (one.business_days - 1) // _BUSINESS_WEEK
        return LongestTime((one.business_days + _WEEKEND * weekends) * DAY, one.business_days)
    seconds = _month_days(one.months)[0] * DAY + _seconds(one.exact)
    return LongestTime(seconds, _business_days_within(seconds))


def certainly_before(one: Duration, *, from_business_day: bool) -> LongestTime:
    """The least that lies between a time and what is so long before it.

    Counted back from a day that people do not work on, the first of the business days is over
    before it begins.
    """
    found = least(one)
    return LongestTime(found.seconds, found.days - 1) if one.business_days and not from_business_day else found


def calendar_of(days: int) -> int:
    """The most seconds that so many business days take."""
    return longest(Duration(business_days=days)).seconds if days > 0 else days * DAY


def _seconds(exact: timedelta) -> int:
    return exact.days * DAY + exact.seconds


def _business_days_covering(seconds: int) -> int:
    """The fewest business days that are never over before so many seconds are."""
    weeks, rest = divmod(-(-seconds // DAY), _WEEK)
    return _BUSINESS_WEEK * weeks + min(rest, _BUSINESS_WEEK + 1) if rest else _covering_weeks(weeks)


def _covering_weeks(weeks: int) -> int:
    return _BUSINESS_WEEK * weeks + 1 if weeks else 0


def _business_days_within(seconds: int) -> int:
    """The most business days that are always over by then."""
    weeks, rest = divmod(seconds // DAY, _WEEK)
    return _BUSINESS_WEEK * weeks + max(0, rest - _WEEKEND)


@lru_cache(maxsize=256)
def _month_days(months: int) -> tuple[int, int]:
    """The fewest and the most days of so many months in a row."""
    cycles, rest = divmod(months, len(_YEARS))
    sums = (0, *accumulate(_YEARS * 2))
    found = [sums[start + rest] - sums[start] for start in range(len(_YEARS))]
    whole = cycles * sum(_YEARS)
    return whole + min(found), whole + max(found)


def written(one: Duration) -> str:
    """A duration in text of ISO 8601."""
    if one.business_days:
        return f"P{one.business_days}BD"
    days, (minutes, seconds) = one.exact.days, divmod(one.exact.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    date = f"{one.months}M" * bool(one.months) + f"{days}D" * bool(days)
    time = f"{hours}H" * bool(hours) + f"{minutes}M" * bool(minutes) + f"{seconds}S" * bool(seconds)
    return f"P{date}{'T' * bool(time)}{time}" if date or time else "PT0S"
