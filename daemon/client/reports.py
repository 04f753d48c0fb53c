"""The API of reports: numbers over some days, the rows that they count, and lists as CSV."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import date
from typing import Any

from pydantic import TypeAdapter

from daemon.client.base import BaseClient
from daemon.client.transport import CONNECTION_ERRORS, ApiRequest, path
from daemon.contract.reports.entries import ReportedDecision, ReportedFailure, ReportedGate
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
FAILURES = TypeAdapter(list[ReportedFailure])
OPEN_GATES = TypeAdapter(list[ReportedGate])


class ReportsClient(BaseClient):
    """What is open, and how people, the autopilot and connectors did; days are days of UTC.

    Without days it is the last 30; filters are those of the API.
    """

    async def report(self, first_day: date | None = None, last_day: date | None = None) -> Report:
        """The numbers of the dashboard."""
        return await self._get(Report, "reports", "summary", query=_asked(first_day=first_day, last_day=last_day))

    def report_days(self, **days: Any) -> AsyncIterator[ReportDay]:
        return self._all("/reports/days/", DAYS, _asked(**days))

    def report_gates(self, **days: Any) -> AsyncIterator[ReportGate]:
        return self._all("/reports/gates/", GATES, _asked(**days))

    def report_people(self, **days: Any) -> AsyncIterator[ReportPerson]:
        return self._all("/reports/people/", PEOPLE, _asked(**days))

    def report_steps(self, **days: Any) -> AsyncIterator[ReportStep]:
        return self._all("/reports/steps/", STEPS, _asked(**days))

    def report_connectors(self, **days: Any) -> AsyncIterator[ReportConnector]:
        return self._all("/reports/connectors/", CONNECTORS, _asked(**days))

    def reported_decisions(self, **asked: Any) -> AsyncIterator[ReportedDecision]:
        """Verdicts of people and decisions of deadlines, the newest first."""
        return self._all("/reports/decisions/", DECISIONS, _asked(**asked))

    def reported_failures(self, **asked: Any) -> AsyncIterator[ReportedFailure]:
        """Calls that ended with an error, the newest first."""
        return self._all("/reports/failed-calls/", FAILURES, _asked(**asked))

    def reported_gates(self, **asked: Any) -> AsyncIterator[ReportedGate]:
        """Open gates, the oldest first."""
        return self._all("/reports/open-gates/", OPEN_GATES, _asked(**asked))

    async def csv(self, *segments: str, **asked: Any) -> AsyncIterator[bytes]:
        """A list as CSV, piece by piece: `csv("process-runs", status="parked")`.

        One that breaks off raises Unreachable, so half a list never passes for a whole one.
        """
        try:
            request = ApiRequest("GET", f"{path(*segments)}/", _asked(**asked, format="csv"))
            async with self._transport.stream(request) as response:
                async for piece in response.content.iter_any():
                    yield piece
        except CONNECTION_ERRORS as error:
            raise self._transport.unreachable(error) from error


def _asked(**asked: Any) -> dict[str, str]:
    """What is asked for as the parameters of a query."""
    given = {name: value for name, value in asked.items() if value is not None}
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}
