"""The numbers of reports: one summary, and lists by day, gate, person, step and connector."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

from aiohttp import web

from daemon.contract import reports as contract
from daemon.model.reading import Sight
from daemon.model.reports.questions import (
    AGES,
    DAYS_DEFAULT,
    DAYS_MAX,
    ClockNumbers,
    DayNumbers,
    DaySpan,
    GateNumbers,
    OpenCount,
    PersonNumbers,
    Times,
    ToolNumbers,
    Totals,
)
from daemon.stores.store import Store
from daemon.web.bodies import page_limit
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import LISTED, Operation
from daemon.web.problems import HttpProblem, invalid, pointer
from daemon.web.resources.pages import REPORTS_IN_TURN, in_turn, one_of, page_response
from daemon.web.resources.run_commands import sight_of
from daemon.web.responses import from_cursor, json_response
from daemon.web.services import SERVICES

T = TypeVar("T")
DAYS = ("first_day", "last_day")
FLAGS = {"true": True, "false": False}
MICROSECONDS = 1_000_000


async def caught_up(request: web.Request) -> bool:
    """Count what was committed so far; returns whether that is all."""
    return await request.app[SERVICES].reports.catch_up(principal_of(request).company_id)


def span_of(request: web.Request) -> DaySpan:
    """The days that are asked for; without any the last ones up to today."""
    today = request.app[SERVICES].now().astimezone(UTC).date()
    last = _day(request, "last_day", today)
    if not today - timedelta(days=DAYS_MAX) < last < date.max:
        raise invalid((pointer("last_day"), f"has to be one of the last {DAYS_MAX} days, or later, before {date.max}"))
    first = _day(request, "first_day", last - timedelta(days=DAYS_DEFAULT - 1))
    if first > last:
        raise invalid((pointer("first_day"), "has to be the last day or before it"))
    if first <= today - timedelta(days=DAYS_MAX):
        raise invalid((pointer("first_day"), f"has to be one of the last {DAYS_MAX} days, today included"))
    return DaySpan(first, last)


def flag(request: web.Request, name: str) -> bool | None:
    text = one_of(request, name, tuple(FLAGS))
    return None if text is None else FLAGS[text]


def seconds(waited_us: int | None) -> float | None:
    return None if waited_us is None else waited_us / MICROSECONDS


def row_after(request: web.Request, kind: str) -> tuple[str, str, str] | None:
    """The last row of the page before: its time, run, and seq or step."""
    text = from_cursor(request, kind)
    if text is None:
        return None
    try:
        at, run_id, last = map(str, json.loads(text))
        datetime.fromisoformat(at)
    except (ValueError, TypeError):
        raise HttpProblem("malformed_cursor", "The cursor is none that this list has given.") from None
    return at, run_id, last


def row_name(at: datetime, run_id: str, last: object) -> str:
    """How the page behind a row names it."""
    return json.dumps([at.astimezone(UTC).isoformat(timespec="microseconds"), run_id, str(last)])


async def _numbers(
    request: web.Request,
    name: str,
    find: Callable[[Store, str, DaySpan, Sight | None], Awaitable[Sequence[T]]],
    by: Sequence[str],
    show: Callable[[T], Any],
) -> web.Response:
    """A page of the numbers of some days, which are few: all are counted, in the order of `by`."""
    span, limit, kind = span_of(request), page_limit(request), f"report-{name}"
    after = from_cursor(request, kind)
    behind = None if after is None else _names(after)
    async with in_turn(request, REPORTS_IN_TURN):
        await caught_up(request)
        store, company_id = request.app[SERVICES].store, principal_of(request).company_id
        found = await find(store, company_id, span, await sight_of(request))

    def key(one: T) -> list[str]:
        return [getattr(one, name) for name in by]

    left = [one for one in found if behind is None or key(one) > behind]
    return await page_response(
        request, left[: limit + 1], limit, kind, name=lambda last: json.dumps(key(last)), show=show
    )


def _names(text: str) -> list[str]:
    try:
        return [str(name) for name in json.loads(text)]
    except (ValueError, TypeError):
        raise HttpProblem("malformed_cursor", "The cursor is none that this list has given.") from None


def _day(request: web.Request, name: str, default: date) -> date:
    text = request.query.get(name)
    if text is None:
        return default
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise invalid((pointer(name), "has to be a day, as 2026-03-02")) from None


@Operation("Get the numbers of the dashboard", "read", contract.Report, query=DAYS)
async def get_report(request: web.Request) -> web.Response:
    """What is open now, and how people, the autopilot and connectors did over some days.

    Days are days of UTC, at most the last 90. Everything committed before the request is counted.
    Each number has a list of the rows that it counts.
    """
    span, company_id, store = span_of(request), principal_of(request).company_id, request.app[SERVICES].store
    async with in_turn(request, REPORTS_IN_TURN):
        complete, now = await caught_up(request), request.app[SERVICES].now()
        sight = await sight_of(request)
        totals = await store.report_totals(company_id, span, now, sight)
        tools = await store.report_tools(company_id, span, sight)
    failing = sum(tool.last_error is not None for tool in tools)
    return json_response(_report_json(totals, span, now, complete=complete, failing=failing))


@Operation("List the numbers of days", "read", list[contract.ReportDay], query=(*LISTED, *DAYS))
@csv_list(contract.ReportDay, "days")
async def list_report_days(request: web.Request) -> web.Response:
    """The days on which anything was decided, cleared or called, the first one first."""
    return await _numbers(request, "days", Store.report_days, ("day",), _day_json)


@Operation("List the numbers of gates", "read", list[contract.ReportGate], query=(*LISTED, *DAYS))
@csv_list(contract.ReportGate, "gates")
async def list_report_gates(request: web.Request) -> web.Response:
    """The gates that are open now or were closed within the days, by template and step."""
    now = request.app[SERVICES].now()
    return await _numbers(
        request,
        "gates",
        lambda store, company_id, span, sight: store.report_gates(company_id, span, now, sight),
        ("vertical", "step_id"),
        _gate_json,
    )


@Operation("List the numbers of people", "read", list[contract.ReportPerson], query=(*LISTED, *DAYS))
@csv_list(contract.ReportPerson, "people")
async def list_report_people(request: web.Request) -> web.Response:
    """Who gave verdicts within the days, how many, and how long they took."""
    return await _numbers(request, "people", Store.report_people, ("by",), _person_json)


@Operation("List the numbers of steps", "read", list[contract.ReportStep], query=(*LISTED, *DAYS))
@csv_list(contract.ReportStep, "steps")
async def list_report_steps(request: web.Request) -> web.Response:
    """The steps that the autopilot cleared or people decided on within the days.

    Of a template that has runs which the caller may not read, the autopilot's are not counted.
    """
    return await _numbers(request, "steps", Store.report_steps, ("vertical", "step_id"), contract.ReportStep.model_dump)


@Operation("List the numbers of connectors", "read", list[contract.ReportConnector], query=(*LISTED, *DAYS))
@csv_list(contract.ReportConnector, "connectors")
async def list_report_connectors(request: web.Request) -> web.Response:
    """The tools that were called within the days, and whether their last call failed.

    Calls in shadow mode do not count, nor does one that was still out when its run ended. Those of
    a template that has runs which the caller may not read do not, either.
    """
    return await _numbers(request, "connectors", Store.report_tools, ("tool_id",), _tool_json)


@Operation("List the numbers of clocks", "read", list[contract.ReportClock], query=(*LISTED, *DAYS))
@csv_list(contract.ReportClock, "clocks")
async def list_report_clocks(request: web.Request) -> web.Response:
    """The clocks of the law that go now or stopped within the days: kept, breached, and how near.

    A late act counts as a breach, as does a clock that is overdue now.
    """
    return await _numbers(request, "clocks", Store.report_clocks, ("vertical", "clock"), _clock_json)


def _report_json(totals: Totals, span: DaySpan, now: datetime, *, complete: bool, failing: int) -> dict[str, Any]:
    opened = totals.open
    return {
        "first_day": span.first,
        "last_day": span.last,
        "at": now,
        "complete": complete,
        "open": {
            "gates": sum(one.gates for one in opened),
            "overdue": sum(one.overdue for one in opened),
            "oldest_at": min((one.oldest_at for one in opened), default=None),
            "by_age": [_age_json(one, now) for one in opened],
        },
        "decisions": {**_times_json(totals.times), "expired": totals.expired},
        "steps": {"autopilot": totals.autopilot, "people": totals.times.decided},
        "calls": {"calls": totals.calls, "failed": totals.failed_calls, "failing": failing},
    }


def _age_json(one: OpenCount, now: datetime) -> dict[str, Any]:
    bounds = (None, *(now - age for age in AGES), None)
    return {
        "tier": one.tier,
        "opened_from": bounds[one.age + 1],
        "opened_before": bounds[one.age],
        "gates": one.gates,
        "overdue": one.overdue,
    }


def _times_json(times: Times) -> dict[str, Any]:
    return {
        "decided": times.decided,
        "denied": times.denied,
        "median_s": seconds(times.median_us),
        "p90_s": seconds(times.p90_us),
    }


def _day_json(one: DayNumbers) -> dict[str, Any]:
    counts = {"autopilot": one.autopilot, "calls": one.calls, "failed_calls": one.failed_calls}
    return {"day": one.day, **_times_json(one.times), "expired": one.expired, **counts}


def _gate_json(one: GateNumbers) -> dict[str, Any]:
    about = {"vertical": one.vertical, "step_id": one.step_id, "label": one.label}
    return {**about, "open": one.open, "overdue": one.overdue, **_times_json(one.times), "expired": one.expired}


def _person_json(one: PersonNumbers) -> dict[str, Any]:
    times = _times_json(one.times)
    return {"by": one.by, "verdicts": times.pop("decided"), **times, "last_at": one.last_at}


def _clock_json(one: ClockNumbers) -> dict[str, Any]:
    times = ("median_left", "least_left", "most_late")
    shown = {f"{name}_s": seconds(getattr(one, f"{name}_us")) for name in times}
    return contract.ReportClock.view(one, **shown)


def _tool_json(one: ToolNumbers) -> dict[str, Any]:
    return {**one._asdict(), "failing": one.last_error is not None}
