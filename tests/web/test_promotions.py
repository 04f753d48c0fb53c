"""Section 11: a run that ended in shadow is made again, live."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actors.core.messages import Promote
from tests.web.support import Answer, FarSide, House, Person, assert_problem

MAP = {"name": "inputs.name"}


@pytest.fixture
async def ended(ann: Person, far: FarSide) -> Any:
    """A run that ended in shadow; its connector is live since."""
    await ann.connect("answers", far.url, body_map=MAP, reversible=False)
    run = await ann.start("quick", {"name": "x"})
    await ann.connect("answers", far.url, body_map=MAP)
    return run


async def promote(ann: Person, run: Any, **headers: str) -> Answer:
    return await ann.post(f"/process-runs/{run['id']}/promote", {}, **headers)


async def test_the_live_run_sends_what_shadow_recorded(ann: Person, far: FarSide, ended: Any) -> None:
    assert (ended["promoted_from"], ended["promoted_to"], far.seen) == (None, None, [])
    answer = await promote(ann, ended)
    run = answer.json
    assert (answer.status, run["status"], run["promoted_from"]) == (201, "completed", ended["id"])
    assert answer.headers["Location"] == f"/process-runs/{run['id']}"
    assert [seen.body for seen in far.seen] == [{"name": "x"}]
    assert (await ann.run(ended))["promoted_to"] == run["id"]
    assert (run["inputs"], run["template"]) == (ended["inputs"], ended["template"])


async def test_a_run_is_promoted_once_however_often_it_is_asked_for(ann: Person, far: FarSide, ended: Any) -> None:
    answers = await asyncio.gather(*(promote(ann, ended) for _ in range(8)))
    assert sorted(answer.status for answer in answers) == [201, *[409] * 7]
    (made,) = [answer.json["id"] for answer in answers if answer.status == 201]
    assert_problem(await promote(ann, ended), 409, "not_promotable", promoted_to=made)
    assert len(far.seen) == 1


async def test_a_redacted_run_is_not_promoted(ann: Person, far: FarSide, ended: Any) -> None:
    request = {"pointers": ["/inputs/name"], "reason": "request 31"}
    assert (await ann.post(f"/process-runs/{ended['id']}/redact", request)).status == 200
    assert_problem(await promote(ann, ended), 409, "not_promotable")
    assert (await ann.run(ended))["promoted_to"] is None
    assert far.seen == []


async def test_the_same_key_is_answered_again(ann: Person, far: FarSide, ended: Any) -> None:
    one, again = [await promote(ann, ended, Idempotency_Key="k") for _ in range(2)]
    assert (one.raw, again.status, len(far.seen)) == (again.raw, 201, 1)


async def test_a_promotion_that_was_cut_off_before_the_run_began_is_completed(
    house: House, ann: Person, far: FarSide, ended: Any
) -> None:
    named = "0199c1f0-0000-7000-8000-00000000abcd"
    key = ((await ann.get("/auth/me")).json["company"]["id"], ended["id"])
    await house.services.directory.ask(key, Promote(promoted_to=named, by="ann", at=house.services.now()))
    assert (await ann.run(ended))["promoted_to"] == named
    answer = await promote(ann, ended)
    assert (answer.status, answer.json["id"], len(far.seen)) == (201, named, 1)


async def test_a_call_that_differs_parks_with_the_difference(ann: Person, far: FarSide, ended: Any) -> None:
    await ann.connect("answers", far.url, body_map={**MAP, "who": "inputs.name"})
    run = (await promote(ann, ended)).json
    assert (run["status"], run["parked_at"], far.seen) == ("parked", "ask", [])
    assert run["gate"]["differences"] == [{"pointer": "/body/who", "recorded": None, "now": '"x"'}]
    assert run["gate"]["reason"] == "the call is not the one that shadow recorded: /body/who"
    decided = (await ann.resume(run, "ask")).json
    assert (decided["status"], len(far.seen)) == ("completed", 1)


async def test_what_has_not_ended_or_has_called_something_is_409(ann: Person, far: FarSide) -> None:
    parked = await ann.start("line", {"amount": 1})
    assert_problem(await promote(ann, parked), 409, "not_promotable")
    await ann.connect("answers", far.url, body_map=MAP)
    live = await ann.start("quick", {"name": "x"})
    assert_problem(await promote(ann, live), 409, "not_promotable")
    assert_problem(await promote(ann, {"id": "0199c1f0-0000-7000-8000-00000000abcd"}), 404, "not_found")


async def test_a_report_compares_promoted_runs_with_what_shadow_recorded(ann: Person, far: FarSide, ended: Any) -> None:
    same = (await promote(ann, ended)).json
    await ann.connect("answers", far.url, body_map=MAP, reversible=False)
    other = await ann.start("quick", {"name": "y"})
    await ann.connect("answers", far.url, body_map={**MAP, "who": "inputs.name"})
    waits = (await promote(ann, other)).json
    first, second = (await ann.get("/reports/promotions/?vertical=quick")).json
    assert (first["run_id"], first["promoted_from"], first["differing"]) == (waits["id"], other["id"], 1)
    (call,) = first["calls"]
    assert (call["recorded"]["body"], call["sent"]) == ({"name": "y"}, None)
    assert (second["run_id"], second["compared"], second["differing"]) == (same["id"], 1, 0)
    assert second["calls"][0]["sent"]["body"] == {"name": "x"}
    page = await ann.get("/reports/promotions/?limit=1")
    assert [one["run_id"] for one in page.json] == [waits["id"]]
    assert 'rel="next"' in page.headers["Link"]
    assert (await ann.get("/reports/promotions/?vertical=line")).json == []
    assert b"promoted_from" in (await ann.get("/reports/promotions/", Accept="text/csv")).raw
