"""Calendars: the business days of a company."""

from __future__ import annotations

import re

from aiohttp import web

from daemon.contract import company as contract
from daemon.contract.company import COUNTRY, SUBDIVISION, YEAR_MAX, YEAR_MIN
from daemon.identity.company.settings import UnknownCountry, UnknownSubdivision, public_holidays
from daemon.web.bodies import read
from daemon.web.operations import Operation
from daemon.web.problems import invalid
from daemon.web.resources.people.policies import member_of
from daemon.web.responses import json_response
from daemon.web.services import SERVICES


@Operation("Get the calendar", "read", contract.Calendar)
async def get_calendar(request: web.Request) -> web.Response:
    """The company's time zone, weekend and holidays, by which business days are counted."""
    principal = member_of(request)
    form = await request.app[SERVICES].identity.calendars.for_company(principal.company_id)
    return json_response(contract.Calendar.view(form))


@Operation(
    "Change the calendar", "policy", contract.Calendar, request=contract.CalendarChange, problems=(403, 409, 507)
)
async def put_calendar(request: web.Request) -> web.Response:
    """Changes members of the calendar; those that are left out stay as they are.

    Deadlines in business days that are open move with it.
    """
    principal, services = member_of(request), request.app[SERVICES]
    body = await read(request, contract.CalendarChange)
    await services.stored.store_more(principal.company_id)
    changes = {name: tuple(one) if isinstance(one, list) else one for name, one in _given(body).items()}
    form = await services.identity.calendars.change(principal, changes)
    return json_response(contract.Calendar.view(form))


@Operation("List the holidays of a country", "read", contract.Holidays, query=("country", "year", "subdivision"))
async def list_holidays(request: web.Request) -> web.Response:
    """The public holidays of a country in a year, for a calendar; nothing is stored.

    `country` is an ISO 3166-1 code, `subdivision` the code of one of its parts, such as a state.
    """
    principal, services = member_of(request), request.app[SERVICES]
    country, year, part = _country(request), _year(request), _subdivision(request)
    try:
        found = await services.offload.run(principal.company_id, lambda: public_holidays(country, part, year))
    except UnknownCountry:
        raise invalid(("/country", "is no country whose holidays are known")) from None
    except UnknownSubdivision as unknown:
        raise invalid(("/subdivision", f"is no part of that country; those are: {unknown}")) from None
    days = [{"date": day, "name": name} for day, name in found]
    return json_response({"country": country, "subdivision": part, "year": year, "holidays": days})


def _given(body: contract.CalendarChange) -> dict[str, object]:
    return body.model_dump(exclude_unset=True)


def _country(request: web.Request) -> str:
    text = request.query.get("country", "")
    if not re.fullmatch(COUNTRY, text):
        raise invalid(("/country", "has to be an ISO 3166-1 code in capitals, such as AT"))
    return text


def _year(request: web.Request) -> int:
    text = request.query.get("year", "")
    if not re.fullmatch(r"[0-9]{4}", text) or not YEAR_MIN <= int(text) <= YEAR_MAX:
        raise invalid(("/year", f"has to be a year from {YEAR_MIN} to {YEAR_MAX}"))
    return int(text)


def _subdivision(request: web.Request) -> str | None:
    text = request.query.get("subdivision") or None
    if text is not None and not re.fullmatch(SUBDIVISION, text):
        raise invalid(("/subdivision", "has to be the code of a part of that country"))
    return text
