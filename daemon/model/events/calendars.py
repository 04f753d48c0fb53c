"""The business days of a company, as they are stored and logged."""

from __future__ import annotations

from msgspec import Struct

from actors.core.messages import EventBase


class CalendarForm(Struct, frozen=True, kw_only=True):
    """A time zone by its IANA name, weekdays by name, and holidays as ISO 8601 dates."""

    timezone: str = "UTC"
    weekend: tuple[str, ...] = ("saturday", "sunday")
    holidays: tuple[str, ...] = ()


class CalendarChanged(EventBase, frozen=True, kw_only=True, tag="calendar_changed"):
    """The business days of a company were changed for the `number`th time."""

    after: CalendarForm
    before: CalendarForm
    by: str
    number: int
    via: str
