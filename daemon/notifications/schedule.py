"""When notifications are sent: quiet hours and digests, in a time zone."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from actors.core.people.company import Company
from daemon.model.events.notifications import NotificationTerms

DAILY_AT = time(8)
"""When a daily digest is sent."""
HOURLY = "PT1H"


def zone_of(terms: NotificationTerms, company: Company) -> tzinfo:
    """The time zone of the quiet hours, or else of the company's calendar."""
    quiet = terms.quiet_hours
    return company.calendar.zone if quiet is None or quiet.timezone is None else ZoneInfo(quiet.timezone)


def quiet_until(terms: NotificationTerms, at: datetime, zone: tzinfo) -> datetime | None:
    """When the quiet hours end that a time lies in; None outside of them."""
    quiet = terms.quiet_hours
    if quiet is None:
        return None
    local = at.astimezone(zone)
    begins, ends, clock = time.fromisoformat(quiet.begins), time.fromisoformat(quiet.ends), local.time()
    if begins < ends:
        inside, days = begins <= clock < ends, 0
    else:
        inside, days = clock >= begins or clock < ends, int(clock >= begins)
    if not inside:
        return None
    return datetime.combine(local.date() + timedelta(days=days), ends, zone).astimezone(UTC)


def due_at(terms: NotificationTerms, at: datetime, zone: tzinfo) -> datetime:
    """When something that happened at a time is to be sent: at once, or with the next digest."""
    if terms.digest is None:
        return at
    if terms.digest == HOURLY:
        return at.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    local = at.astimezone(zone)
    days = int(local.time() >= DAILY_AT)
    return datetime.combine(local.date() + timedelta(days=days), DAILY_AT, zone).astimezone(UTC)
