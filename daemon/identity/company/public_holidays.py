"""The public holidays of countries, to begin a calendar with."""

from __future__ import annotations

from functools import lru_cache

LANGUAGE = "en_US"


class UnknownCountry(Exception):
    """There are no holidays of this country."""


class UnknownSubdivision(Exception):
    """The country has no such part with holidays of its own; the argument names those it has."""


@lru_cache(256)
def public_holidays(country: str, subdivision: str | None, year: int) -> tuple[tuple[str, str], ...]:
    """Dates with names, in order; it takes some milliseconds."""
    import holidays  # noqa: PLC0415 - takes a fifteenth of a second, and few ask

    parts = holidays.list_supported_countries(include_aliases=True).get(country)
    if parts is None:
        raise UnknownCountry
    if subdivision is not None and subdivision not in parts:
        raise UnknownSubdivision(", ".join(parts))
    found = holidays.country_holidays(country, subdiv=subdivision, years=year, language=LANGUAGE)
    return tuple((day.isoformat(), name) for day, name in sorted(found.items()))
