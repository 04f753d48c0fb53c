"""A company's calendar, and the holidays of countries to begin one with."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from daemon.contract.base import Request, Response, example

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
HOLIDAYS_MAX = 1_000
WEEKEND_MAX = 6
YEAR_MIN, YEAR_MAX = 2000, 2100
COUNTRY = r"[A-Z]{2,3}"
SUBDIVISION = r"[A-Za-z0-9][A-Za-z0-9 -]{0,39}"
_DAY = r"\d{4}-\d{2}-\d{2}"


@cache
def time_zones() -> frozenset[str]:
    """The names of the time zones that every machine with this version knows."""
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())


def _zone(value: str) -> str:
    if value not in time_zones():
        raise ValueError("is no time zone of the IANA database, such as Europe/Vienna")
    return value


def _day(value: str) -> str:
    with suppress(ValueError):
        if re.fullmatch(_DAY, value, re.ASCII):
            return date.fromisoformat(value).isoformat()
    raise ValueError("is no date such as 2026-12-25")


Zone = Annotated[str, Field(max_length=64, json_schema_extra={"pattern": "^[A-Za-z0-9_+/-]+$"}), AfterValidator(_zone)]
Day = Annotated[str, Field(json_schema_extra={"format": "date"}), AfterValidator(_day)]


class CalendarChange(Request):
    """Members of a calendar to change; those that are left out stay as they are."""

    model_config = example({"timezone": "Europe/Vienna", "holidays": ["2026-12-25", "2027-01-01"]})

    timezone: Zone = "UTC"
    weekend: list[Weekday] = Field(default=["saturday", "sunday"], max_length=WEEKEND_MAX)
    holidays: list[Day] = Field(default=[], max_length=HOLIDAYS_MAX)


class Calendar(Response):
    """The business days of a company: all but weekend and holidays, as days begin in its zone."""

    model_config = example(
        {"timezone": "Europe/Vienna", "weekend": ["saturday", "sunday"], "holidays": ["2026-12-25", "2027-01-01"]}
    )

    timezone: str
    weekend: list[str]
    holidays: list[str]


class Holiday(Response):
    """A holiday and its name, in English where that is known."""

    date: str
    name: str


class Holidays(Response):
    """The public holidays of a country, or of a part of one, in a year."""

    model_config = example(
        {
            "country": "AT",
            "subdivision": None,
            "year": 2027,
            "holidays": [{"date": "2027-01-01", "name": "New Year's Day"}],
        }
    )

    country: str
    subdivision: str | None
    year: int
    holidays: list[Holiday]
