"""The rows that reports count, read from tables or from the events, and calibration."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

from aiohttp import web

from actors.core.autonomy import CASES_MIN, WINDOW, CompanyAutonomy, PanelVerdict, Record, decide_clearance
from actors.core.calls import shown
from actors.core.commands.promotions import ComparedCall, compared
from actors.core.messages import AUTOPILOT, CallSettled, RunPromoted, StepCleared
from actors.core.run import Run
from daemon.contract import reports as contract
from daemon.contract.autonomy import Calibration
from daemon.contract.templates import TIERS
from daemon.model.event_log import HistoryFilter, LoggedEvent, Position
from daemon.model.reading import Sight
from daemon.model.reports.projection import Decision, FailedCall
from daemon.model.reports.questions import (
    STEPS_MAX,
    DecisionQuery,
    FailureQuery,
    JudgedCase,
    JudgedStep,
    ListedGate,
    OpenQuery,
    record_of,
    reliability,
)
from daemon.runtime.json_codec import loads
from daemon.templates.documents import ACTION_VERTICAL
from daemon.web.bodies import page_limit
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import LISTED, Operation
from daemon.web.problems import HttpProblem
from daemon.web.resources.changes import member_of
from daemon.web.resources.pages import REPORTS_IN_TURN, in_turn, moment, one_of, page_response, rendered
from daemon.web.resources.reports import DAYS, caught_up, flag, row_after, row_name, seconds, span_of
from daemon.web.resources.run_commands import current, sight_of
from daemon.web.responses import from_cursor, json_response, list_response, next_page, to_cursor
from daemon.web.services import SERVICES, Services

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
        found = await store.reported_decisions(company_id, span, replace(query, sight=await sight_of(request)))
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
        found = await store.reported_failures(company_id, span, replace(query, sight=await sight_of(request)))
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
        found = await store.reported_gates(company_id, replace(query, sight=await sight_of(request)))
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


Show = Callable[[web.Request, Sequence[LoggedEvent]], Awaitable[list[tuple[Position, dict[str, Any]]]]]
"""The rows that events make, each with where its event stands."""


async def matching_page(
    request: web.Request,
    cursor: str,
    types: tuple[str, ...],
    show: Show,
    *,
    by: str | None = None,
    text: str | None = None,
) -> web.Response:
    """A page of what events of these types make, those that were committed last first.

    It looks at a bounded number of events, so that it may be empty and announce another.
    """
    company_id, store = principal_of(request).company_id, request.app[SERVICES].store
    limit, span = page_limit(request), span_of(request)
    since = datetime.combine(span.first, time.min, UTC)
    until = datetime.combine(span.last + timedelta(days=1), time.min, UTC)
    which = HistoryFilter(types, by, text, since, until)
    async with in_turn(request):
        sight = await sight_of(request)
        found, further = await store.read_matching(company_id, await _begun(request, cursor), which, limit, sight=sight)
        shown = await show(request, found)
        items = await rendered(request, shown, limit, lambda one: one[1])
    if len(items) < len(shown):
        further = shown[len(items) - 1][0]
    if further is None:
        return list_response(items)
    return list_response(items, next_page(request, to_cursor(cursor, store.event_ids.encode(company_id, further))))


async def _begun(request: web.Request, cursor: str) -> Position:
    """Where the page begins: before the last event of the page before, or at the end."""
    company_id, store, text = (
        principal_of(request).company_id,
        request.app[SERVICES].store,
        from_cursor(request, cursor),
    )
    if text is None:
        return await store.log_end(company_id)
    found = store.event_ids.parse(company_id, text)
    if found is None:
        raise HttpProblem("malformed_cursor", "The cursor is none that this list has given; begin again without one.")
    return found[0]


CLEARINGS = "report-cleared-steps"
CLEARING_TYPES = ("step_cleared", "call_settled")


@Operation(
    "List the cleared steps that reports count",
    "read",
    list[contract.ReportedClearing],
    query=(*LISTED, *DAYS, "vertical", "step_id"),
)
@csv_list(contract.ReportedClearing, "cleared-steps")
async def list_reported_clearings(request: web.Request) -> web.Response:
    """Steps that the autopilot cleared alone within the days, those that were committed last first.

    A page looks at a bounded number of events, so that it may be empty and announce another.
    """
    return await matching_page(
        request, CLEARINGS, CLEARING_TYPES, _of_templates, by=AUTOPILOT, text=request.query.get("step_id")
    )


async def _of_templates(request: web.Request, found: Sequence[LoggedEvent]) -> list[tuple[Position, dict[str, Any]]]:
    """The events of the step and the template that are asked for."""
    company_id = principal_of(request).company_id
    verticals: dict[str, str | None] = {}
    step_id, vertical = request.query.get("step_id"), request.query.get("vertical")
    shown = []
    for one in found:
        event = one.event
        assert isinstance(event, StepCleared | CallSettled)  # noqa: S101 - they are asked for
        if step_id not in (None, event.step_id):
            continue
        if one.run_id not in verticals:
            run = await current(request.app[SERVICES], (company_id, one.run_id))
            verticals[one.run_id] = None if run is None else run.vertical
        known = verticals[one.run_id]
        if known is not None and vertical in (None, known):
            row = contract.ReportedClearing.view(event, run_id=one.run_id, seq=one.seq, vertical=known)
            shown.append((one.position, row))
    return shown


PROMOTIONS = "report-promotions"
PROMOTION_TYPES = ("run_promoted",)


@Operation(
    "Compare promoted runs with what shadow recorded",
    "read",
    list[contract.ReportedPromotion],
    query=(*LISTED, *DAYS, "vertical"),
)
@csv_list(contract.ReportedPromotion, "promotions")
async def list_reported_promotions(request: web.Request) -> web.Response:
    """What each run in shadow would have sent, and what its live run sent, where they differ.

    The last promotion first. A page looks at a bounded number of events, so that it may be empty
    and announce another.
    """
    return await matching_page(request, PROMOTIONS, PROMOTION_TYPES, _compared)


async def _compared(request: web.Request, found: Sequence[LoggedEvent]) -> list[tuple[Position, dict[str, Any]]]:
    """The promotions of the template that is asked for, newest first."""
    company_id, vertical = principal_of(request).company_id, request.query.get("vertical")
    rows = []
    for one in found:
        assert isinstance(one.event, RunPromoted)  # noqa: S101 - it is asked for
        run = await current(request.app[SERVICES], (company_id, one.event.promoted_to))
        if run is None or vertical not in (None, run.vertical) or not await _is_seen(request, run):
            continue
        calls = compared(run)
        row = contract.ReportedPromotion.view(
            one.event,
            run_id=run.id,
            promoted_from=one.run_id,
            vertical=run.vertical,
            status=run.status,
            compared=len(calls),
            differing=sum(1 for call in calls if call.differences),
            calls=[_call_json(call) for call in calls],
        )
        rows.append((one.position, row))
    return rows


async def _is_seen(request: web.Request, run: Run) -> bool:
    """Whether a run that another one leads to is not closed to the caller."""
    return await request.app[SERVICES].reading.may_read(await sight_of(request), run)


def _call_json(call: ComparedCall) -> dict[str, Any]:
    both = {"recorded": shown(call.recorded), "sent": shown(call.sent)}
    return contract.ComparedCall.view(call, **both)


DISAGREEMENTS_MAX = 20


@Operation("Get the calibration", "read", Calibration)
async def get_calibration(request: web.Request) -> web.Response:
    """How often people approve what panels would clear, by step and version of its template.

    Everything committed before the request is counted, but for runs that the caller may not read.
    """
    services, company_id = request.app[SERVICES], member_of(request).company_id
    async with in_turn(request, REPORTS_IN_TURN):
        await caught_up(request)
        autonomy = await services.identity.autonomies.for_company(company_id)
        sight = await sight_of(request)
        found = await services.store.judged_steps(company_id, STEPS_MAX, sight)
        steps = [await _step(services, company_id, step, cleared, autonomy, sight=sight) for step, cleared in found]
    return json_response({"cases_min": CASES_MIN, "steps": steps})


async def _step(
    services: Services,
    company_id: str,
    step: JudgedStep,
    cleared: int,
    autonomy: CompanyAutonomy,
    *,
    sight: Sight | None,
) -> dict[str, Any]:
    cases = await services.store.judged_cases(company_id, step, WINDOW, sight)
    effect = await _effect(services, company_id, step)
    return await services.offload.run(company_id, lambda: _shown(step, cases, cleared, autonomy, effect))


async def _effect(services: Services, company_id: str, step: JudgedStep) -> str | None:
    """The effect of a step as it was judged; irreversible where nobody knows any more."""
    if step.vertical == ACTION_VERTICAL:
        rules = (await services.deciding.rules.current(company_id)).rules
        known = [one.effect for one in rules if (one.id, one.version) == (step.step_id, step.template_version)]
        return known[0] if known else "irreversible"
    found = await services.catalog.version(company_id, step.vertical, step.template_version)
    has = found is not None and found.template.has(step.step_id)
    return found.template.node(step.step_id).effect if found is not None and has else "irreversible"


def _shown(
    step: JudgedStep, cases: Sequence[JudgedCase], cleared: int, autonomy: CompanyAutonomy, effect: str | None
) -> dict[str, Any]:
    record, found = record_of(cases), reliability(cases)
    return {
        **_about(step),
        "cases": record.cases,
        "agreed": record.agreed,
        "agreement": record.agreement,
        "cleared": cleared,
        "would_clear": sum(_would_clear(step, one, record, autonomy, effect) for one in cases),
        "floor": autonomy.floor(effect),
        "curve": [{"raw": one.raw, "estimate": one.estimate, "lower": one.lower} for one in record.curve],
        "bins": [] if found is None else [one.model_dump() for one in found.bins],
        "calibration_error": None if found is None else found.calibration_error,
        "brier": None if found is None else found.brier,
        "disagreements": [
            {"run_id": one.run_id, "visit": one.visit, "raw": one.raw, "at": one.at}
            for one in reversed(cases)
            if not one.approved
        ][:DISAGREEMENTS_MAX],
    }


def _about(step: JudgedStep) -> dict[str, Any]:
    """What the numbers of a step are about."""
    known = {"tool": None, "server": None, "model": None, "judges": {}} | loads((step.about or "{}").encode())
    return {**step._asdict(), **known}


def _would_clear(
    step: JudgedStep, one: JudgedCase, record: Record, autonomy: CompanyAutonomy, effect: str | None
) -> bool:
    heard = PanelVerdict(one.run_id, step.vertical, step.step_id, one.visit, effect, one.raw, step.template_version)
    return decide_clearance(autonomy, record, heard).why in ("calibrated", "learned", "sampled")
