"""The API of lists with filters and of reports: runs, events, saved views, numbers and rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import date, datetime
from typing import Any

from pydantic import TypeAdapter

from daemon.client.transport import CONNECTION_ERRORS, ApiRequest, BaseClient, filters
from daemon.contract.audit import AgentEntry
from daemon.contract.events import CompanyEvent
from daemon.contract.lists import RunRow, SavedView
from daemon.contract.reports import (
    Report,
    ReportClock,
    ReportConnector,
    ReportDay,
    ReportedClearing,
    ReportedDecision,
    ReportedFailure,
    ReportedGate,
    ReportedPromotion,
    ReportGate,
    ReportPerson,
    ReportStep,
)
from daemon.contract.runs import Run

RUNS = TypeAdapter(list[Run])
RUN_ROWS = TypeAdapter(list[RunRow])
LOG = TypeAdapter(list[dict[str, Any]])
AGENTS = TypeAdapter(list[AgentEntry])
EVENTS = TypeAdapter(list[CompanyEvent])
VIEWS = TypeAdapter(list[SavedView])


class ListsClient(BaseClient):
    """What can be searched and filtered; `limit` is the size of a page."""

    def runs(
        self,
        /,
        *,
        status: str | None = None,
        vertical: str | None = None,
        parked_at: str | None = None,
        business_key: str | None = None,
        limit: int = 50,
        **more: str | datetime | None,
    ) -> AsyncIterator[Run]:
        """The runs, newest first.

        `more` are further filters: `q`, `id` (its beginning), `created_by`, `created_after`,
        `created_before` and `clock_due_before`.
        """
        asked = filters(status=status, vertical=vertical, parked_at=parked_at, business_key=business_key, **more)
        return self._all("/process-runs/", RUNS, {**asked, "limit": str(limit)})

    def run_rows(self, /, *, limit: int = 50, **which: str | datetime | None) -> AsyncIterator[RunRow]:
        """The same as rows: what a list shows of each."""
        return self._all("/process-runs/", RUN_ROWS, {**filters(**which), "limit": str(limit), "view": "row"})

    def audit_log(self, /, **which: str | datetime | None) -> AsyncIterator[dict[str, Any]]:
        """The company's own log, newest first: log-ins, changes of connectors and webhooks.

        `type`, `by`, `since`, `until` and `q` narrow it down.
        """
        return self._all("/audit/log", LOG, filters(**which))

    def agent_log(self, /, *, limit: int = 50, **which: str | datetime | None) -> AsyncIterator[AgentEntry]:
        """What agents did, who oversaw it, and their stops, by `agent`, `since` and `until`."""
        return self._all("/audit/agents/", AGENTS, {**filters(**which), "limit": str(limit)})

    def find_events(self, /, *, limit: int = 50, **which: str | datetime | None) -> AsyncIterator[CompanyEvent]:
        """The events of all runs that match, newest first: `type`, `by`, `since`, `until`, `q`."""
        return self._all("/events", EVENTS, {**filters(**which), "limit": str(limit)})

    def views(self, wanted: str | None = None) -> AsyncIterator[SavedView]:
        """The caller's saved views: of a list, `inbox`, `runs` or `audit`, or of all."""
        return self._all("/saved-views/", VIEWS, filters(list=wanted))

    async def put_view(self, wanted: str, name: str, query: str) -> SavedView:
        return await self._put(SavedView, "saved-views", wanted, name, body={"query": query})

    async def delete_view(self, wanted: str, name: str) -> None:
        """Forget a view; no error when there is none."""
        await self._delete("saved-views", wanted, name)


DAYS = TypeAdapter(list[ReportDay])
GATES = TypeAdapter(list[ReportGate])
PEOPLE = TypeAdapter(list[ReportPerson])
STEPS = TypeAdapter(list[ReportStep])
CONNECTORS = TypeAdapter(list[ReportConnector])
CLOCKS = TypeAdapter(list[ReportClock])
DECISIONS = TypeAdapter(list[ReportedDecision])
CLEARINGS = TypeAdapter(list[ReportedClearing])
FAILURES = TypeAdapter(list[ReportedFailure])
OPEN_GATES = TypeAdapter(list[ReportedGate])
PROMOTIONS = TypeAdapter(list[ReportedPromotion])


class ReportsClient(BaseClient):
    """What is open, and how people, the autopilot and connectors did; days are days of UTC.

    Without days it is the last 30; filters are those of the API.
    """

    async def report(self, first_day: date | None = None, last_day: date | None = None) -> Report:
        """The numbers of the dashboard."""
        return await self._get(Report, "reports", "summary", query=_asked(first_day=first_day, last_day=last_day))

    def report_days(self, first_day: date | None = None, last_day: date | None = None) -> AsyncIterator[ReportDay]:
        return self._all("/reports/days/", DAYS, _asked(first_day=first_day, last_day=last_day))

    def report_gates(self, first_day: date | None = None, last_day: date | None = None) -> AsyncIterator[ReportGate]:
        return self._all("/reports/gates/", GATES, _asked(first_day=first_day, last_day=last_day))

    def report_people(self, first_day: date | None = None, last_day: date | None = None) -> AsyncIterator[ReportPerson]:
        return self._all("/reports/people/", PEOPLE, _asked(first_day=first_day, last_day=last_day))

    def report_steps(self, first_day: date | None = None, last_day: date | None = None) -> AsyncIterator[ReportStep]:
        return self._all("/reports/steps/", STEPS, _asked(first_day=first_day, last_day=last_day))

    def report_connectors(
        self, first_day: date | None = None, last_day: date | None = None
    ) -> AsyncIterator[ReportConnector]:
        return self._all("/reports/connectors/", CONNECTORS, _asked(first_day=first_day, last_day=last_day))

    def report_clocks(self, first_day: date | None = None, last_day: date | None = None) -> AsyncIterator[ReportClock]:
        return self._all("/reports/clocks/", CLOCKS, _asked(first_day=first_day, last_day=last_day))

    def reported_decisions(self, which: Mapping[str, Any] | None = None) -> AsyncIterator[ReportedDecision]:
        """Verdicts of people and decisions of deadlines, the newest first: `{"closed": True}`."""
        return self._all("/reports/decisions/", DECISIONS, _asked(**(which or {})))

    def reported_clearings(self, which: Mapping[str, Any] | None = None) -> AsyncIterator[ReportedClearing]:
        """Steps that the autopilot cleared alone, the newest first: `{"step_id": "pull-chart"}`."""
        return self._all("/reports/cleared-steps/", CLEARINGS, _asked(**(which or {})))

    def reported_failures(self, which: Mapping[str, Any] | None = None) -> AsyncIterator[ReportedFailure]:
        """Calls that ended with an error, the newest first: `{"tool_id": "chart-fetch"}`."""
        return self._all("/reports/failed-calls/", FAILURES, _asked(**(which or {})))

    def reported_gates(self, which: Mapping[str, Any] | None = None) -> AsyncIterator[ReportedGate]:
        """Open gates, the oldest first: `{"overdue": True}`."""
        return self._all("/reports/open-gates/", OPEN_GATES, _asked(**(which or {})))

    def reported_promotions(self, which: Mapping[str, Any] | None = None) -> AsyncIterator[ReportedPromotion]:
        """Promoted runs beside what shadow recorded, the last first: `{"vertical": "refund"}`."""
        return self._all("/reports/promotions/", PROMOTIONS, _asked(**(which or {})))

    async def csv(self, address: str, which: Mapping[str, Any] | None = None) -> AsyncIterator[bytes]:
        """A list as CSV, piece by piece: `csv("/process-runs/", {"status": "parked"})`.

        One that breaks off raises Unreachable, so half a list never passes for a whole one.
        """
        try:
            request = ApiRequest("GET", address, _asked(**{**(which or {}), "format": "csv"}))
            async with self._transport.stream(request) as response:
                async for piece in response.content.iter_any():
                    yield piece
        except CONNECTION_ERRORS as error:
            raise self._transport.unreachable(error) from error


def _asked(**asked: Any) -> dict[str, str]:
    """What is asked for as the parameters of a query."""
    given = {name: value for name, value in asked.items() if value is not None}
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}
