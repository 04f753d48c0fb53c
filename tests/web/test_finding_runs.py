"""Runs are found by words, id, person and time, on both stores, and saved views are kept."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from tests.web.people import colleague
from tests.web.support import Person, assert_problem
from tests.web.test_lists import ids, pages


async def starts(person: Person, **more: Any) -> Any:
    answer = await person.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 5}, **more})
    assert answer.status == 201, answer.raw
    return answer.json


async def test_words_find_runs_by_key_input_template_person_and_id(ann: Person, eve: Person) -> None:
    one = await starts(ann, business_key="PO-2026/17", inputs={"amount": 204417, "party": "Müller & Co"})
    other = await starts(ann)
    await starts(eve, business_key="PO-2026/17")
    for words in ("PO-2026/17", "2044", "müll", "204417 CO", one["id"], one["id"][:23]):
        assert await ids(ann, f"?q={quote(words)}") == [one["id"]], words
    assert await ids(ann, "?q=line") == await ids(ann, f"?q={ann.email}") == [other["id"], one["id"]]
    assert await ids(ann, "?q=nothing") == await ids(ann, "?q=-") == []
    assert await ids(ann, "?q=line&status=completed") == []
    assert await ids(ann, "?q=line&parked_at=signoff") == [other["id"], one["id"]]


async def test_pages_of_what_was_found_lead_through_all_of_it_once(ann: Person) -> None:
    started = [(await starts(ann, business_key=f"case {number}"))["id"] for number in range(5)]
    for query in ("q=case", f"created_by={ann.email}", "created_after=2020-01-01T00:00:00Z", f"id={started[0][:8]}"):
        found = await pages(ann, f"/process-runs/?limit=2&{query}")
        assert [run["id"] for page in found for run in page] == started[::-1], query


async def test_runs_are_found_by_the_beginning_of_their_id_and_by_who_started_them(ann: Person) -> None:
    bob = await colleague(ann, "bob", "member")
    one, other = await starts(ann), await starts(bob)
    assert await ids(ann, f"?id={one['id']}") == [one["id"]]
    assert await ids(ann, "?id=ffff") == []
    assert await ids(ann, f"?created_by={bob.email}") == [other["id"]]
    assert await ids(ann, f"?created_by={bob.email}&q=line") == [other["id"]]
    assert await ids(ann, "?created_by=nobody@example.test") == []


async def test_runs_are_found_between_two_times(ann: Person) -> None:
    run = await starts(ann)
    at = datetime.fromisoformat(run["created_at"])
    before, after = (quote((at + timedelta(seconds=by)).isoformat()) for by in (-1, 1))
    assert await ids(ann, f"?created_after={before}&created_before={after}") == [run["id"]]
    assert await ids(ann, f"?created_after={quote(at.isoformat())}") == [run["id"]]
    assert await ids(ann, f"?created_before={quote(at.isoformat())}") == []
    assert await ids(ann, f"?created_after={after}&status=parked") == []


@pytest.mark.parametrize("query", ["id=XYZ", "id=", "created_after=today", "created_before=2026-01-01T00:00:00"])
async def test_a_filter_of_runs_that_cannot_be_is_refused(ann: Person, query: str) -> None:
    assert_problem(await ann.get(f"/process-runs/?{query}"), 422, "invalid")


async def test_a_row_of_a_run_says_what_it_is_and_where_it_waits(ann: Person) -> None:
    run = await starts(ann, business_key="PO-17", inputs={"amount": 7, "note": "x" * 500})
    [row] = (await ann.get("/process-runs/?view=row")).json
    gate = {name: run["gate"][name] for name in ("step_id", "label", "tier")}
    assert (row["id"], row["business_key"], row["inputs"]) == (run["id"], "PO-17", {"amount": 7})
    assert (row["status"], row["gates"], row["created_by"]) == ("parked", [gate], ann.email)


async def test_a_person_keeps_views_that_nobody_else_sees(ann: Person) -> None:
    bob = await colleague(ann, "bob", "viewer")
    body = {"query": "risk=high&q=a b"}
    saved = await ann.put("/saved-views/inbox/High%20%26%20old", body)
    assert (saved.status, saved.json["name"], saved.json["query"]) == (200, "High & old", body["query"])
    await ann.put("/saved-views/runs/Failed", {"query": "status=failed"})
    await ann.put("/saved-views/runs/Failed", {"query": "status=failed&template=line"})
    assert [(one["list"], one["name"]) for one in (await ann.get("/saved-views/")).json] == [
        ("inbox", "High & old"),
        ("runs", "Failed"),
    ]
    [kept] = (await ann.get("/saved-views/?list=runs")).json
    assert kept["query"] == "status=failed&template=line"
    assert (await bob.get("/saved-views/")).json == []
    assert (await bob.delete("/saved-views/runs/Failed")).status == 404
    assert (await ann.delete("/saved-views/runs/Failed")).status == 204
    assert (await ann.get("/saved-views/?list=runs")).json == []


async def test_a_view_that_cannot_be_kept_is_refused(ann: Person) -> None:
    assert_problem(await ann.put("/saved-views/else/x", {"query": ""}), 404, "not_found")
    assert_problem(await ann.put(f"/saved-views/runs/{'x' * 81}", {"query": ""}), 422, "invalid")
    assert_problem(await ann.put("/saved-views/runs/x", {"query": "x" * 2_001}), 422, "invalid")
    for number in range(100):
        assert (await ann.put(f"/saved-views/runs/{number}", {"query": ""})).status == 200
    assert_problem(await ann.put("/saved-views/runs/more", {"query": ""}), 507, "quota_exceeded")
    assert (await ann.put("/saved-views/runs/7", {"query": "q=a"})).status == 200


@pytest.mark.parametrize("amount", [10**12, 12345678901234567, 2**63 - 1, 0, 1e21])
async def test_a_row_has_each_sum_however_many_digits_it_has(ann: Person, amount: float) -> None:
    await starts(ann, inputs={"amount": amount, "note": "x"})
    for rows in ("/process-runs/?view=row", "/gates/?view=row"):
        assert (await ann.get(rows)).json[0]["inputs"]["amount"] == amount
