"""The numbers of reports: one summary, and lists by day, gate, person, step and connector."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from aiohttp import web

from daemon.contract.reports import numbers as contract
from daemon.model.reports.questions import (
    AGES,
    DayNumbers,
    DaySpan,
    GateNumbers,
    OpenCount,
    PersonNumbers,
    StepNumbers,
    Times,
    ToolNumbers,
    Totals,
)
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import LISTED, Operation
from daemon.web.resources.pages import REPORTS_IN_TURN, in_turn
from daemon.web.resources.reports.asked import DAYS, caught_up, numbers_page, seconds, span_of
from daemon.web.responses import json_response
from daemon.web.services import SERVICES


@Operation("Get the numbers of the dashboard", "read", contract.Report, query=DAYS)
async def get_report(request: web.Request) -> web.Response:
    """What is open now, and how people, the autopilot and connectors did over some days.

    Days are days of UTC, at most the last 90. Everything committed before the request is counted.
    Each number has a list of the rows that it counts.
    """
    span, company_id, store = span_of(request), principal_of(request).company_id, request.app[SERVICES].store
    async with in_turn(request, REPORTS_IN_TURN):
        complete, now = await caught_up(request), request.app[SERVICES].now()
        totals = await store.report_totals(company_id, span, now)
        tools = await store.report_tools(company_id, span)
    failing = sum(tool.last_error is not None for tool in tools)
    return json_response(_report_json(totals, span, now, complete=complete, failing=failing))


@Operation("List the numbers of days", "read", list[contract.ReportDay], query=(*LISTED, *DAYS))
@csv_list(contract.ReportDay, "days")
async def list_report_days(request: web.Request) -> web.Response:
    """The days on which anything was decided, cleared or called, the first one first."""
    span, company_id = span_of(request), principal_of(request).company_id
    async with in_turn(request, REPORTS_IN_TURN):
        await caught_up(request)
        found = await request.app[SERVICES].store.report_days(company_id, span)
    return await numbers_page(request, "report-days", found, key=lambda one: (one.day,), show=_day_json)


@Operation("List the numbers of gates", "read", list[contract.ReportGate], query=(*LISTED, *DAYS))
@csv_list(contract.ReportGate, "gates")
async def list_report_gates(request: web.Request) -> web.Response:
    """The gates that are open now or were closed within the days, by template and step."""
    span, company_id = span_of(request), principal_of(request).company_id
    async with in_turn(request, REPORTS_IN_TURN):
        await caught_up(request)
        now = request.app[SERVICES].now()
        found = await request.app[SERVICES].store.report_gates(company_id, span, now)
    return await numbers_page(
        request, "report-gates", found, key=lambda one: (one.vertical, one.step_id), show=_gate_json
    )


@Operation("List the numbers of people", "read", list[contract.ReportPerson], query=(*LISTED, *DAYS))
@csv_list(contract.ReportPerson, "people")
async def list_report_people(request: web.Request) -> web.Response:
    """Who gave verdicts within the days, how many, and how long they took."""
    span, company_id = span_of(request), principal_of(request).company_id
    async with in_turn(request, REPORTS_IN_TURN):
        await caught_up(request)
        found = await request.app[SERVICES].store.report_people(company_id, span)
    return await numbers_page(request, "report-people", found, key=lambda one: (one.by,), show=_person_json)


@Operation("List the numbers of steps", "read", list[contract.ReportStep], query=(*LISTED, *DAYS))
@csv_list(contract.ReportStep, "steps")
async def list_report_steps(request: web.Request) -> web.Response:
    """The steps that the autopilot cleared or people decided on within the days."""
    span, company_id = span_of(request), principal_of(request).company_id
    async with in_turn(request, REPORTS_IN_TURN):
        await caught_up(request)
        found = await request.app[SERVICES].store.report_steps(company_id, span)
    return await numbers_page(
        request, "report-steps", found, key=lambda one: (one.vertical, one.step_id), show=StepNumbers._asdict
    )


@Operation("List the numbers of connectors", "read", list[contract.ReportConnector], query=(*LISTED, *DAYS))
@csv_list(contract.ReportConnector, "connectors")
async def list_report_connectors(request: web.Request) -> web.Response:
    """The tools that were called within the days, and whether their last call failed.

    Calls in shadow mode do not count, nor does one that was still out when its run ended.
    """
    span, company_id = span_of(request), principal_of(request).company_id
    async with in_turn(request, REPORTS_IN_TURN):
        await caught_up(request)
        found = await request.app[SERVICES].store.report_tools(company_id, span)
    return await numbers_page(request, "report-connectors", found, key=lambda one: (one.tool_id,), show=_tool_json)


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


def _tool_json(one: ToolNumbers) -> dict[str, Any]:
    return {**one._asdict(), "failing": one.last_error is not None}
