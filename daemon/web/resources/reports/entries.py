"""The rows that reports count: decisions, failed calls and open gates."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from aiohttp import web

from daemon.contract.reports import entries as contract
from daemon.contract.templates import TIERS
from daemon.model.reports.projection import Decision, FailedCall
from daemon.model.reports.questions import DecisionQuery, FailureQuery, ListedGate, OpenQuery
from daemon.web.bodies import page_limit
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import LISTED, Operation
from daemon.web.resources.lists.filters import moment, one_of
from daemon.web.resources.pages import REPORTS_IN_TURN, in_turn, page_response
from daemon.web.resources.reports.asked import (
    DAYS,
    caught_up,
    flag,
    row_after,
    row_name,
    seconds,
    span_of,
)
from daemon.web.services import SERVICES

DECISIONS, FAILURES, GATES = "report-decisions", "report-failed-calls", "report-open-gates"
WHERE = ("vertical", "step_id")
DECIDERS = ("person", "deadline")


@Operation(
    "List the decisions that reports count",
    "read",
    list[contract.ReportedDecision],
    query=(*LISTED, *DAYS, *WHERE, "decision", "by", "by_kind", "closed"),
)
@csv_list(contract.ReportedDecision, "decisions")
async def list_reported_decisions(request: web.Request) -> web.Response:
    """Verdicts of people and decisions of deadlines within the days, the newest first.

    `closed=true&by_kind=person` are the decisions that the summary counts.
    """
    span, limit, asked = span_of(request), page_limit(request), request.query.get
    query = DecisionQuery(
        limit=limit + 1,
        after=row_after(request, DECISIONS),
        **_where(request),
        decision=asked("decision"),
        by=asked("by"),
        by_kind=one_of(request, "by_kind", DECIDERS),
        closed=flag(request, "closed"),
    )
    async with in_turn(request, REPORTS_IN_TURN):
        await caught_up(request)
        company_id, store = principal_of(request).company_id, request.app[SERVICES].store
        found = await store.reported_decisions(company_id, span, query)
        return await page_response(
            request,
            found,
            limit,
            DECISIONS,
            name=lambda last: row_name(last.decided_at, last.run_id, last.seq),
            show=_decision_json,
        )


@Operation(
    "List the failed calls that reports count",
    "read",
    list[contract.ReportedFailure],
    query=(*LISTED, *DAYS, *WHERE, "tool_id"),
)
@csv_list(contract.ReportedFailure, "failed-calls")
async def list_reported_failures(request: web.Request) -> web.Response:
    """Calls of tools that ended with an error within the days, the newest first."""
    span, limit, after = span_of(request), page_limit(request), row_after(request, FAILURES)
    tool_id = request.query.get("tool_id")
    query = FailureQuery(limit=limit + 1, after=after, **_where(request), tool_id=tool_id)
    async with in_turn(request, REPORTS_IN_TURN):
        await caught_up(request)
        company_id, store = principal_of(request).company_id, request.app[SERVICES].store
        found = await store.reported_failures(company_id, span, query)
        return await page_response(
            request,
            found,
            limit,
            FAILURES,
            name=lambda last: row_name(last.failed_at, last.run_id, last.seq),
            show=_failure_json,
        )


@Operation(
    "List the open gates that reports count",
    "read",
    list[contract.ReportedGate],
    query=(*LISTED, *WHERE, "tier", "opened_from", "opened_before", "overdue"),
)
@csv_list(contract.ReportedGate, "open-gates")
async def list_reported_gates(request: web.Request) -> web.Response:
    """Gates that are open now, the oldest first."""
    limit, now = page_limit(request), request.app[SERVICES].now()
    query = OpenQuery(
        limit=limit + 1,
        after=row_after(request, GATES),
        **_where(request),
        tier=one_of(request, "tier", TIERS),
        opened_from=moment(request, "opened_from"),
        opened_before=moment(request, "opened_before"),
        due_by=now if flag(request, "overdue") else None,
    )
    async with in_turn(request, REPORTS_IN_TURN):
        await caught_up(request)
        company_id, store = principal_of(request).company_id, request.app[SERVICES].store
        found = await store.reported_gates(company_id, query)
        return await page_response(
            request,
            found,
            limit,
            GATES,
            name=lambda last: row_name(last.opened_at, last.run_id, last.step_id),
            show=lambda one: _gate_json(one, now),
        )


def _where(request: web.Request) -> dict[str, Any]:
    return {name: request.query.get(name) for name in WHERE}


def _decision_json(one: Decision) -> dict[str, Any]:
    waited = {"at": one.decided_at, "waited_s": seconds(one.waited_us)}
    return contract.ReportedDecision.view(one, **waited)


def _failure_json(one: FailedCall) -> dict[str, Any]:
    return contract.ReportedFailure.view(one, at=one.failed_at)


def _gate_json(one: ListedGate, now: datetime) -> dict[str, Any]:
    return contract.ReportedGate.view(one, overdue=one.due_at is not None and one.due_at <= now)
