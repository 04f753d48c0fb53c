"""The company's log and the events of runs, by type, person, time and text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from tests.web.people import colleague
from tests.web.support import Person, assert_problem
from tests.web.test_lists import pages

CONNECTOR = {"base_url": "http://127.0.0.1:9", "method": "GET", "path": "/x"}
AHEAD = quote((datetime.now(UTC) + timedelta(days=1)).isoformat())


async def found(person: Person, path: str) -> list[Any]:
    return [one for page in await pages(person, path) for one in page]


async def test_the_log_is_narrowed_down_and_each_entry_keeps_its_place_in_the_chain(ann: Person) -> None:
    bob = await colleague(ann, "bob", "admin")
    for number in range(3):
        await (ann if number else bob).put(f"/connectors/tool-{number}", CONNECTOR)
    every = {one["seq"]: one for one in await found(ann, "/audit/log")}
    changed = await found(ann, "/audit/log?type=connector_changed&limit=2")
    assert [one["event"]["tool_id"] for one in changed] == ["tool-2", "tool-1", "tool-0"]
    assert all(every[one["seq"]] == one for one in changed)
    assert [one["event"]["tool_id"] for one in await found(ann, f"/audit/log?by={bob.email}&q=TOOL-")] == ["tool-0"]
    both = {one["event"]["type"] for one in await found(ann, "/audit/log?type=connector_changed,registered")}
    assert both == {"connector_changed", "registered"}
    last = changed[0]["event"]["at"]
    assert [one["seq"] for one in await found(ann, f"/audit/log?since={quote(last)}")] == [changed[0]["seq"]]
    before = await found(ann, f"/audit/log?until={quote(last)}")
    assert {one["seq"] for one in before} == set(every) - {changed[0]["seq"]}
    assert await found(ann, f"/audit/log?since={AHEAD}") == []


async def test_events_of_runs_are_narrowed_down_newest_first(ann: Person, eve: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    one, other = await ann.start("line", {"amount": 5}), await ann.start("line", {"amount": 204417})
    await eve.start("line", {"amount": 204417})
    verdict = {"gate": "signoff", "decision": "approved", "comment": "Looks Good"}
    assert (await bob.post(f"/process-runs/{one['id']}/resume", verdict)).status == 200
    await ann.resume(other, "signoff", "denied")
    given = await found(ann, "/events?type=verdict_given&limit=1")
    assert [event["run_id"] for event in given] == [other["id"], one["id"]]
    assert [event["run_id"] for event in await found(ann, f"/events?type=verdict_given&by={bob.email}")] == [one["id"]]
    assert [event["run_id"] for event in await found(ann, "/events?q=looks%20good")] == [one["id"]]
    assert [event["run_id"] for event in await found(ann, "/events?type=run_started&q=204417")] == [other["id"]]
    at = quote(given[0]["event"]["at"])
    assert [event["run_id"] for event in await found(ann, f"/events?type=verdict_given&since={at}")] == [other["id"]]
    assert [event["run_id"] for event in await found(ann, f"/events?type=verdict_given&until={at}")] == [one["id"]]
    assert await found(ann, f"/events?since={AHEAD}") == []


async def test_a_page_that_has_looked_at_enough_leads_on(ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.stores.tables.lists.matching_events.SCANNED_MAX", 2)
    started = [(await ann.start("quick"))["id"] for _ in range(4)]
    told = await found(ann, "/events?type=run_started")
    assert [event["run_id"] for event in told] == started[::-1]


@pytest.mark.parametrize("query", ["type=Odd", "type=", "since=soon", "until=2026-01-01"])
@pytest.mark.parametrize("path", ["/audit/log", "/events"])
async def test_a_filter_of_a_history_that_cannot_be_is_refused(ann: Person, path: str, query: str) -> None:
    assert_problem(await ann.get(f"{path}?{query}"), 422, "invalid")
