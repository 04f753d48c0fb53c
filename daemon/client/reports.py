"""The API of reports: numbers over some days, the rows that they count, and lists as CSV."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import date
from typing import Any

from pydantic import TypeAdapter

from daemon.client.base import BaseClient
from daemon.client.transport import CONNECTION_ERRORS, ApiRequest
from daemon.contract.reports.entries import (
    ReportedClearing,
    ReportedDecision,
    ReportedFailure,
    ReportedGate,
    ReportedPromotion,
)
from daemon.contract.reports.numbers import (
    Report,
    ReportConnector,
    ReportDay,
    ReportGate,
    ReportPerson,
    ReportStep,
)

DAYS = TypeAdapter(list[ReportDay])
GATES = TypeAdapter(list[ReportGate])
PEOPLE = TypeAdapter(list[ReportPerson])
STEPS = TypeAdapter(list[ReportStep])
CONNECTORS = TypeAdapter(list[ReportConnector])
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
