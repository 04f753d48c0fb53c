"""The inbox: who may decide, urgency, search, claims, several verdicts, business keys."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.effort import Effort
from tests.web.people import colleague
from tests.web.support import Answer, Person, assert_problem


async def gates(person: Person, query: str = "") -> list[Any]:
    answer = await person.get(f"/gates/?{query}")
    assert answer.status == 200, answer.raw
    found: list[Any] = answer.json
    return found


async def starts(person: Person, vertical: str, inputs: Any = None, **more: Any) -> Answer:
    return await person.post("/process-runs/", {"vertical": vertical, "inputs": inputs or {}, **more})


async def test_open_gates_of_all_runs_are_listed_with_who_may_decide_and_why_not(ann: Person) -> None:
    bob, eve = await colleague(ann, "bob", "manager"), await colleague(ann, "eve", "viewer")
    plain, strict = await ann.start("line", {"amount": 5}), await ann.start("signatures")
    found = {one["run_id"]: one for one in await gates(ann)}
    assert set(found) == {plain["id"], strict["id"]}
    one = found[plain["id"]]
    assert (one["vertical"], one["title"], one["can_decide"], one["why_not"]) == ("line", "A line", True, None)
    assert one["gate"] == plain["gate"]
    assert found[strict["id"]]["why_not"] == "group"
    assert {one["why_not"] for one in await gates(eve)} == {"role"}
    assert [one["run_id"] for one in await gates(bob, "mine=true")] == [plain["id"]]
    await ann.resume(plain, "signoff")
    assert [one["run_id"] for one in await gates(ann)] == [strict["id"]]


async def test_a_page_reads_a_run_once_however_many_of_its_gates_are_listed(ann: Person) -> None:
    ids = [f"g{number}" for number in range(60)]
    about = {"kind": "gateway", "label": "Both", "flow": "parallel"}
    steps = [
        {"id": "fork", **about, "branches": [{"branch": one, "to": one} for one in ids]},
        *({"id": one, "kind": "gate", "label": "Sign", "next": "join"} for one in ids),
        {"id": "join", **about, "next": "done"},
        {"id": "done", "kind": "end", "label": "Done", "outcome": "done"},
    ]
    made = await ann.put("/process-templates/wide/draft", {"vertical": "wide", "title": "Wide", "steps": steps})
    assert made.status == 200, made.raw
    assert (await ann.post("/process-templates/wide/publish")).status == 201
    await ann.start("wide")
    await gates(ann, "view=row&limit=60")

    async def effort(limit: int) -> int:
        with Effort() as done:
            assert len(await gates(ann, f"view=row&limit={limit}")) == limit
        return done.steps

    few = await effort(10)
    assert await effort(50) < 3 * few


async def test_the_only_person_is_told_that_they_decide_alone(ann: Person) -> None:
    await ann.start("signatures")
    [one] = await gates(ann)
    assert (one["can_decide"], one["solo"]) == (True, True)


async def test_what_is_due_first_stands_first_then_the_older(ann: Person) -> None:
    old, new = await ann.start("line", {"amount": 1}), await ann.start("line", {"amount": 2})
    due = await ann.start("clock")
    assert [one["run_id"] for one in await gates(ann)] == [due["id"], old["id"], new["id"]]
    assert [one["run_id"] for one in await gates(ann, "due_before=2100-01-01T00:00:00Z")] == [due["id"]]
    assert [one["run_id"] for one in await gates(ann, "vertical=line&tier=high")] == [old["id"], new["id"]]
    first = await ann.get("/gates/?limit=2")
    link = first.headers["Link"].partition("<")[2].partition(">")[0]
    assert [one["run_id"] for one in (await ann.get(link)).json] == [new["id"]]


@pytest.mark.parametrize(
    "query",
    [
        *("mine=perhaps", "tier=odd", "due_before=soon", "due_before=2026-01-01T00:00:00"),
        *("due_before=9999-12-31T23:59:59-14:00", "opened_before=0001-01-01T00:00:00%2B14:00"),
    ],
)
async def test_a_query_that_cannot_be_is_refused(ann: Person, query: str) -> None:
    assert_problem(await ann.get(f"/gates/?{query}"), 422, "invalid")


async def test_words_find_gates_by_label_business_key_and_inputs(ann: Person) -> None:
    one = (await starts(ann, "line", {"amount": 204417}, business_key="PO-2026/17")).json
    other = (await starts(ann, "line", {"amount": 5})).json
    assert {run["run_id"] for run in await gates(ann, "q=sign")} == {one["id"], other["id"]}
    for words in ("2044", "po 17", "PO-2026/17", "204417 SIGN-OFF"):
        assert [run["run_id"] for run in await gates(ann, f"q={words}")] == [one["id"]], words
    assert await gates(ann, "q=nothing") == []


@pytest.mark.parametrize(
    "hostile", ["%22", "%22*", "a%22%20OR%20%22b", "NEAR(a%20b)", "%00", "-", "*", "y:z", "%26%7C!()", "x" * 7_000]
)
async def test_no_text_is_an_operator_or_an_error(ann: Person, hostile: str) -> None:
    await ann.start("line", {"amount": 5})
    assert await gates(ann, f"q={hostile}") == []


async def test_another_company_sees_and_finds_nothing(ann: Person, eve: Person) -> None:
    run = await ann.start("line", {"amount": 204417})
    assert await gates(eve) == await gates(eve, "q=204417") == []
    assert (await eve.get(f"/process-runs/{run['id']}/gates/signoff")).status == 404


async def test_a_gate_is_read_and_claimed_which_binds_nobody(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    run = await ann.start("line", {"amount": 5})
    path = f"/process-runs/{run['id']}/gates/signoff"
    one = await bob.get(path)
    assert (one.status, one.headers["ETag"], one.json["claimed_by"]) == (
        200,
        (await ann.get(f"/process-runs/{run['id']}")).headers["ETag"],
        None,
    )
    assert (await bob.post(f"{path}/claim")).json["claimed_by"] == bob.email
    assert [one["claimed_by"] for one in await gates(ann)] == [bob.email]
    assert (await ann.post(f"{path}/claim")).json["claimed_by"] == ann.email
    assert (await ann.delete(f"{path}/claim")).json["claimed_by"] is None
    await bob.post(f"{path}/claim")
    assert (await ann.resume(run, "signoff")).status == 200
    assert (await bob.post(f"{path}/claim")).status == (await bob.get(path)).status == 404


async def test_several_verdicts_are_each_decided_as_if_they_came_alone(ann: Person) -> None:
    runs = [await ann.start("line", {"amount": number}) for number in range(3)]
    verdicts: list[Any] = [
        {"run_id": run["id"], "gate": "signoff", "decision": "approved", "digest": run["gate"]["digest"]}
        for run in runs
    ]
    verdicts[1]["digest"] = "sha256:else"
    del verdicts[2]["digest"]
    verdicts.append({"run_id": "nobody", "gate": "signoff", "decision": "approved", "digest": "x"})
    answer = await ann.post("/gates/verdicts", {"verdicts": verdicts}, Idempotency_Key="all")
    assert [one["status"] for one in answer.json["results"]] == [200, 412, 422, 404]
    assert answer.json["results"][0]["run"]["status"] == "completed"
    again = await ann.post("/gates/verdicts", {"verdicts": verdicts}, Idempotency_Key="all")
    assert (again.json, again.headers["Idempotency-Replayed"]) == (answer.json, "true")
    assert_problem(await ann.post("/gates/verdicts", {"verdicts": []}), 422, "invalid")
    assert_problem(await ann.post("/gates/verdicts", {"verdicts": [{}] * 101}), 422, "invalid")


async def test_a_unique_business_key_is_given_to_one_unfinished_run(ann: Person, eve: Person) -> None:
    body = {"business_key": "PO-17", "unique": True}
    answers = await asyncio.gather(*(starts(ann, "line", {"amount": 5}, **body) for _ in range(5)))
    assert sorted(answer.status for answer in answers) == [201, 409, 409, 409, 409]
    run = next(answer.json for answer in answers if answer.status == 201)
    assert {answer.json["run_id"] for answer in answers if answer.status == 409} == {run["id"]}
    assert run["business_key"] == "PO-17"
    assert [one["id"] for one in (await ann.get("/process-runs/?business_key=PO-17")).json] == [run["id"]]
    assert (await starts(ann, "direct", **body)).status == 201
    assert (await starts(eve, "line", {"amount": 5}, **body)).status == 201
    await ann.resume(run, "signoff")
    assert (await starts(ann, "line", {"amount": 5}, **body)).status == 201


async def test_a_gate_asks_its_question_with_the_values_of_the_run_wherever_it_is_read(ann: Person) -> None:
    run = await ann.start("refund", {"order_id": "O-61822", "amount": 333.1, "days_since_delivery": 30})
    [row] = await gates(ann, "view=row")
    events = (await ann.get(f"/process-runs/{run['id']}/events")).json
    told = [one["question"] for one in events if one["type"] == "gate_opened"]
    assert {run["gate"]["question"], row["gate"]["question"], *told} == {"Refund 333.10 for order O-61822?"}
    plain = await ann.start("line", {"amount": 5})
    assert plain["gate"]["question"] is None
