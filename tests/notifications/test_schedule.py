"""Quiet hours and digests by the clock of a time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from actors.core.people import Company
from actors.core.schedule import BusinessCalendar
from daemon.model.events.company import NotificationTerms, StoredQuietHours
from daemon.notifications.audience import due_at, quiet_until, zone_of

VIENNA = ZoneInfo("Europe/Vienna")


def at(text: str) -> datetime:
    """A time of Vienna."""
    return datetime.fromisoformat(text).replace(tzinfo=VIENNA)


def quiet(begins: str, ends: str, timezone: str | None = None) -> NotificationTerms:
    return NotificationTerms(quiet_hours=StoredQuietHours(begins=begins, ends=ends, timezone=timezone))


@pytest.mark.parametrize(
    ("hours", "now", "until"),
    [
        (("22:00", "07:00"), "2026-03-02T21:59:59", None),
        (("22:00", "07:00"), "2026-03-02T22:00:00", "2026-03-03T07:00:00"),
        (("22:00", "07:00"), "2026-03-03T06:59:59", "2026-03-03T07:00:00"),
        (("22:00", "07:00"), "2026-03-03T07:00:00", None),
        (("12:00", "13:30"), "2026-03-03T12:30:00", "2026-03-03T13:30:00"),
        (("12:00", "13:30"), "2026-03-03T13:30:00", None),
        # The clock goes forward by an hour in that night, and back in that.
        (("22:00", "07:00"), "2026-03-28T23:00:00", "2026-03-29T07:00:00"),
        (("22:00", "07:00"), "2026-10-24T23:00:00", "2026-10-25T07:00:00"),
    ],
)
def test_quiet_hours_end_at_their_time_of_the_day(hours: tuple[str, str], now: str, until: str | None) -> None:
    found = quiet_until(quiet(*hours), at(now).astimezone(UTC), VIENNA)
    assert found == (None if until is None else at(until))


@pytest.mark.parametrize("hours", [("22:00", "02:30"), ("02:15", "02:45"), ("02:30", "07:00"), ("01:00", "02:00")])
@pytest.mark.parametrize("night", ["2026-03-28T21:00:00", "2026-10-24T21:00:00"])
def test_quiet_hours_are_one_stretch_that_ends_ahead_of_all_within_it_whatever_the_clock_does(
    hours: tuple[str, str], night: str
) -> None:
    times = [at(night).astimezone(UTC) + timedelta(minutes=5 * number) for number in range(12 * 12)]
    found = [(now, until) for now in times if (until := quiet_until(quiet(*hours), now, VIENNA)) is not None]
    assert all(now < until for now, until in found)
    assert [now for now, _ in found] == [now for now in times if found[0][0] <= now < found[0][1]]
    assert len({until for _, until in found}) == 1


def test_nothing_is_quiet_without_quiet_hours() -> None:
    assert quiet_until(NotificationTerms(), at("2026-03-02T03:00:00"), VIENNA) is None


def test_quiet_hours_are_in_the_zone_they_name_or_else_in_that_of_the_company() -> None:
    company = Company(calendar=BusinessCalendar(zone=VIENNA))
    assert zone_of(quiet("22:00", "07:00"), company) == VIENNA
    assert zone_of(NotificationTerms(), company) == VIENNA
    assert zone_of(quiet("22:00", "07:00", "Asia/Tokyo"), company) == ZoneInfo("Asia/Tokyo")


@pytest.mark.parametrize(
    ("digest", "now", "due"),
    [
        (None, "2026-03-02T10:20:30", "2026-03-02T10:20:30"),
        ("PT1H", "2026-03-02T10:20:30", "2026-03-02T11:00:00"),
        ("PT1H", "2026-03-02T11:00:00", "2026-03-02T12:00:00"),
        ("P1D", "2026-03-02T07:59:59", "2026-03-02T08:00:00"),
        ("P1D", "2026-03-02T08:00:00", "2026-03-03T08:00:00"),
    ],
)
def test_digests_come_on_the_hour_or_at_eight(digest: Any, now: str, due: str) -> None:
    assert due_at(NotificationTerms(digest=digest), at(now), VIENNA) == at(due)


def test_each_hour_of_a_year_has_a_digest_within_the_next_one() -> None:
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    for hours in range(0, 24 * 365, 7):
        now = begun + timedelta(hours=hours, minutes=17)
        assert timedelta(0) < due_at(NotificationTerms(digest="PT1H"), now, VIENNA) - now <= timedelta(hours=1)
        assert timedelta(0) < due_at(NotificationTerms(digest="P1D"), now, VIENNA) - now <= timedelta(hours=25)
