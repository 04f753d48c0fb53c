"""The client reads reports, the rows that they count, and lists as CSV."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from daemon.client import Penstock
from tests.web.between import Between
from tests.web.support import House, Person


@pytest.fixture
async def api(house: House, ann: Person) -> AsyncIterator[Penstock]:
    async with Between(house) as line, Penstock(line.url, ann.token) as one:
        yield one


async def test_reports_and_their_rows_are_read(api: Penstock) -> None:
    run = await api.start("line", inputs={"amount": 5})
    await api.start("line", inputs={"amount": 6})
    await api.resume(run.id, gate="signoff", decision="denied")
    told = await api.report()
    assert (told.open.gates, told.decisions.decided, told.decisions.denied) == (1, 1, 1)
    assert [one.decided for one in [one async for one in api.report_days(first_day=told.last_day)]] == [1]
    assert [(one.step_id, one.open, one.denied) async for one in api.report_gates()] == [("signoff", 1, 1)]
    assert [one.verdicts async for one in api.report_people(last_day=told.last_day)] == [1]
    assert {one.step_id: one.people async for one in api.report_steps()} == {"look": 0, "signoff": 1}
    assert [one async for one in api.report_connectors()] == []
    assert [one async for one in api.report_clocks()] == []
    assert [one.run_id async for one in api.reported_decisions({"closed": True, "decision": "denied"})] == [run.id]
    assert [one async for one in api.reported_decisions({"closed": False})] == []
    assert [one.step_id async for one in api.reported_clearings({"vertical": "line"})] == ["look", "look"]
    assert [one async for one in api.reported_failures({"tool_id": "lookup"})] == []
    assert [one.overdue async for one in api.reported_gates({"tier": "high"})] == [False]


async def test_a_list_is_read_as_csv(api: Penstock) -> None:
    run = await api.start("line", inputs={"amount": 5})
    pieces = [piece async for piece in api.csv("/process-runs/", {"status": "parked", "view": "summary"})]
    header, row, end = b"".join(pieces).split(b"\r\n")
    assert header.startswith(b'"id","vertical","business_key",')
    assert row.startswith(f'"{run.id}","line","",'.encode())
    assert end == b""
