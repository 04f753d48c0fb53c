"""Reports over the API: numbers, the rows behind them, days, rights, and other companies."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.people import colleague
from tests.web.support import Person, assert_problem
from tests.web.test_lists import pages


async def report(person: Person, query: str = "") -> Any:
    answer = await person.get(f"/reports/summary{query}")
    assert answer.status == 200, answer.raw
    return answer.json


async def rows(person: Person, path: str) -> list[Any]:
    return [row for page in await pages(person, path) for row in page]


async def test_everything_that_is_acknowledged_is_counted_at_once(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    before = await report(ann)
    assert (before["open"]["gates"], before["decisions"]["decided"], before["complete"]) == (1, 0, True)
    await ann.resume(run, "signoff")
    after = await report(ann)
    assert (after["open"]["gates"], after["decisions"]["decided"], after["decisions"]["denied"]) == (0, 1, 0)
    assert after["decisions"]["median_s"] > 0
    done = await ann.run(run)
    alone = [step["step_id"] for step in done["trace"] if step["resolved_by"] == "autopilot"]
    assert after["steps"] == {"autopilot": len(alone), "people": 1}
    assert {one["step_id"] for one in await rows(ann, "/reports/steps/")} == {*alone, "signoff"}
    cleared = await rows(ann, "/reports/cleared-steps/?limit=1&vertical=line")
    assert [one["step_id"] for one in cleared] == alone[::-1]
    assert [one["run_id"] for one in await rows(ann, f"/reports/cleared-steps/?step_id={alone[0]}")] == [run["id"]]
    assert await rows(ann, "/reports/cleared-steps/?vertical=quick") == []


async def test_each_number_is_that_of_a_list(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    runs = [await ann.start("line", {"amount": amount}) for amount in (1, 2, 3, 4)]
    await bob.resume(runs[0], "signoff", "denied")
    await bob.resume(runs[1], "signoff")
    await ann.resume(runs[2], "signoff")
    told = await report(ann)
    decided = await rows(ann, "/reports/decisions/?closed=true&by_kind=person&limit=1")
    assert [one["run_id"] for one in decided] == [runs[2]["id"], runs[1]["id"], runs[0]["id"]]
    assert told["decisions"]["decided"] == len(decided)
    denied = await rows(ann, "/reports/decisions/?decision=denied&vertical=line&step_id=signoff")
    assert (told["decisions"]["denied"], [one["by"] for one in denied]) == (1, [bob.email])
    assert [(one["by"], one["verdicts"], one["denied"]) for one in await rows(ann, "/reports/people/")] == [
        (ann.email, 1, 0),
        (bob.email, 2, 1),
    ]
    [gate] = await rows(ann, "/reports/gates/")
    assert (gate["vertical"], gate["step_id"], gate["open"], gate["decided"]) == ("line", "signoff", 1, 3)
    opened = await rows(ann, "/reports/open-gates/?tier=high")
    assert [one["run_id"] for one in opened] == [runs[3]["id"]]
    [age] = told["open"]["by_age"]
    bounds = f"opened_from={age['opened_from']}&tier={age['tier']}"
    assert (await rows(ann, f"/reports/open-gates/?{bounds}") == opened) is (age["gates"] == 1)
    assert await rows(ann, "/reports/open-gates/?overdue=true") == []
    [day] = await rows(ann, "/reports/days/")
    assert (day["decided"], day["denied"], day["autopilot"]) == (3, 1, told["steps"]["autopilot"])


async def test_pages_of_open_gates_lead_through_all_of_them_once(ann: Person) -> None:
    runs = [(await ann.start("line", {"amount": amount}))["id"] for amount in range(3)]
    found = await pages(ann, "/reports/open-gates/?limit=1")
    assert [one["run_id"] for page in found for one in page] == runs
    gates = await pages(ann, "/reports/steps/?limit=1")
    assert all(len(page) == 1 for page in gates)


async def test_a_tool_whose_last_call_failed_is_failing(ann: Person) -> None:
    await ann.connect("lookup", "http://127.0.0.1:9", method="GET")
    run = await ann.start("line", {"amount": 5})
    assert run["status"] == "failed"
    told = await report(ann)
    assert told["calls"] == {"calls": 1, "failed": 1, "failing": 1}
    [tool] = await rows(ann, "/reports/connectors/")
    assert (tool["tool_id"], tool["calls"], tool["failed"], tool["failing"]) == ("lookup", 1, 1, True)
    [failed] = await rows(ann, "/reports/failed-calls/?tool_id=lookup")
    assert (failed["run_id"], failed["step_id"], failed["code"]) == (run["id"], "look", tool["last_error"])
    assert await rows(ann, "/reports/failed-calls/?tool_id=payment") == []


async def test_viewers_read_reports_and_other_companies_see_nothing(ann: Person, eve: Person) -> None:
    viewer = await colleague(ann, "vic", "viewer")
    run = await ann.start("line", {"amount": 5})
    await ann.resume(run, "signoff")
    assert (await report(viewer))["decisions"]["decided"] == 1
    other = await report(eve)
    assert (other["decisions"]["decided"], other["steps"], other["open"]["by_age"]) == (
        0,
        {"autopilot": 0, "people": 0},
        [],
    )
    for path in (
        "days",
        "gates",
        "people",
        "steps",
        "connectors",
        "decisions",
        "cleared-steps",
        "failed-calls",
        "open-gates",
    ):
        assert await rows(eve, f"/reports/{path}/") == []


async def test_only_the_days_that_are_asked_for_count(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    await ann.resume(run, "signoff")
    today = (await report(ann))["last_day"]
    assert (await report(ann, f"?first_day={today}"))["decisions"]["decided"] == 1
    [day] = await rows(ann, "/reports/days/")
    assert day["day"] == today


@pytest.mark.parametrize(
    "query",
    [
        "/summary?first_day=soon",
        "/summary?first_day=2020-01-01",
        "/summary?last_day=2020-01-01",
        "/promotions/?last_day=0001-01-08",
        "/promotions/?last_day=9999-12-31",
        "/summary?first_day=9999-01-01",
        "/days/?format=xml",
        "/decisions/?by_kind=nobody",
        "/decisions/?closed=perhaps",
        "/open-gates/?tier=odd",
        "/open-gates/?opened_from=2026-01-01T00:00:00",
        "/open-gates/?opened_from=soon",
        "/open-gates/?overdue=yes",
    ],
)
async def test_what_cannot_be_counted_is_refused(ann: Person, query: str) -> None:
    assert_problem(await ann.get(f"/reports{query}"), 422, "invalid")


async def test_a_cursor_of_another_list_is_refused(ann: Person) -> None:
    for path in ("days", "decisions", "cleared-steps", "open-gates"):
        assert_problem(await ann.get(f"/reports/{path}/?cursor=eHg"), 400, "malformed_cursor")
