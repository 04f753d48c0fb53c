"""The inbox as a list: rows, orders, filters, counts, and who may decide, asked of the service."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.people import colleague, company, delegate, member_id
from tests.web.support import Person, assert_problem
from tests.web.test_lists import following

LATER, EARLIER = "2100-01-01T00:00:00Z", "2020-01-01T00:00:00Z"


async def ids(person: Person, query: str = "") -> list[str]:
    answer = await person.get(f"/gates/?{query}")
    assert answer.status == 200, answer.raw
    return [one["run_id"] for one in answer.json]


async def count(person: Person, query: str = "") -> tuple[int, int]:
    answer = await person.get(f"/gates/count?{query}")
    assert answer.status == 200, answer.raw
    return answer.json["open"], answer.json["mine"]


async def test_a_row_has_what_a_list_shows_and_nothing_that_is_large(ann: Person) -> None:
    inputs = {"amount": 204417, "note": "x" * 5_000, "party": "Müller & Co", "parts": [1, 2]}
    body = {"vertical": "line", "inputs": inputs, "business_key": "PO-17"}
    run = (await ann.post("/process-runs/", body)).json
    [row] = (await ann.get("/gates/?view=row")).json
    assert row["inputs"] == {"amount": 204417, "party": "Müller & Co"}
    assert (row["run_id"], row["business_key"], row["title"], row["can_decide"]) == (run["id"], "PO-17", "A line", True)
    head = row["gate"]
    assert {name: head[name] for name in ("step_id", "digest", "tier", "opened_at", "decisions")} == {
        name: run["gate"][name] for name in ("step_id", "digest", "tier", "opened_at", "decisions")
    }
    assert (head["mode"], head["needs"], head["verdicts"], head["blocked"]) == ("shadow", [], 0, False)
    assert "policy" not in head
    assert_problem(await ann.get("/gates/?view=summary"), 422, "invalid")


async def test_gates_come_by_urgency_risk_or_age_in_pages_without_a_gap(ann: Person) -> None:
    old, due = await ann.start("line", {"amount": 1}), await ann.start("clock")
    new = await ann.start("line", {"amount": 2})
    one, two, three = old["id"], new["id"], due["id"]
    orders = {"urgency": [three, one, two], "oldest": [one, three, two], "newest": [two, three, one]}
    for order, wanted in orders.items():
        assert await ids(ann, f"order={order}") == wanted, order
        first = await ann.get(f"/gates/?order={order}&limit=2")
        assert [gate["run_id"] for gate in first.json] == wanted[:2]
        link = following(first)
        assert link is not None
        assert [gate["run_id"] for gate in (await ann.get(link)).json] == wanted[2:]
        assert_problem(await ann.get(link.replace(f"order={order}", "order=risk")), 400, "malformed_cursor")
    assert sorted(await ids(ann, "order=risk")) == sorted(orders["urgency"])
    assert_problem(await ann.get("/gates/?order=odd"), 422, "invalid")


async def test_gates_are_found_by_run_by_age_and_by_who_is_asked(ann: Person) -> None:
    plain, strict = await ann.start("line", {"amount": 5}), await ann.start("signatures")
    assert await ids(ann, f"run_id={plain['id']}") == [plain["id"]]
    assert sorted(await ids(ann, f"opened_before={LATER}")) == sorted([plain["id"], strict["id"]])
    assert await ids(ann, f"opened_before={EARLIER}") == []
    [group] = strict["gate"]["policy"]["groups"][:1]
    assert await ids(ann, f"group={group}") == [strict["id"]]
    assert await ids(ann, "group=nobody") == []
    assert plain["id"] in await ids(ann, "role=manager")
    assert await count(ann, f"group={group}") == (1, 1)  # a company of one decides alone
    for query in ("role=viewer", "opened_before=soon", "mine=perhaps"):
        assert_problem(await ann.get(f"/gates/?{query}"), 422, "invalid")


async def test_the_count_is_that_of_the_list_for_everybody(ann: Person, eve: Person) -> None:
    await ann.start("line", {"amount": 5})
    strict = await ann.start("signatures")
    bob, cy = await colleague(ann, "bob", "manager"), await colleague(ann, "cy", "viewer")
    for person in (ann, bob, cy, eve):
        mine, every = await ids(person, "mine=true"), await ids(person)
        assert await count(person) == (len(every), len(mine)), person.email
        assert await count(person, "vertical=line") == (
            len(await ids(person, "vertical=line")),
            len(await ids(person, "vertical=line&mine=true")),
        )
    assert (await count(bob), await count(cy), await count(eve)) == ((2, 1), (2, 0), (0, 0))
    assert await count(ann, f"q={strict['id']}") == (1, 0)
    assert await count(ann, "q=-") == (0, 0)


async def test_who_has_decided_is_asked_no_more_and_again_after_taking_it_back(ann: Person) -> None:
    bob, dan = await colleague(ann, "bob", "manager"), await colleague(ann, "dan", "manager")
    members = {"members": [await member_id(one) for one in (bob, dan)]}
    assert (await ann.put(f"{company(ann)}/groups/finance", members)).status == 200
    run = await ann.start("signatures")
    assert await count(bob) == (1, 1)
    verdict = {"gate": "sign", "decision": "approved", "form": {"units": 1, "reason": "ordered"}}
    answer = await bob.post(f"/process-runs/{run['id']}/resume", verdict)
    assert answer.status == 202, answer.raw
    assert (await count(bob), await ids(bob, "mine=true")) == ((1, 0), [])
    assert (await count(dan), await ids(dan, "mine=true")) == ((1, 1), [run["id"]])
    await bob.delete(f"/process-runs/{run['id']}/gates/sign/verdict")
    assert await count(bob) == (1, 1)


async def test_a_verdict_for_another_closes_a_gate_to_both_while_the_delegation_lasts(ann: Person) -> None:
    bob, dan = await colleague(ann, "bob", "manager"), await colleague(ann, "dan", "manager")
    members = {"members": [await member_id(one) for one in (bob, dan)]}
    assert (await ann.put(f"{company(ann)}/groups/finance", members)).status == 200
    run = await ann.start("signatures")
    made = await delegate(bob, dan)
    assert made.status == 201, made.raw
    verdict = {"gate": "sign", "decision": "approved", "form": {"units": 1, "reason": "ordered"}}
    answer = await dan.post(f"/process-runs/{run['id']}/resume", {**verdict, "on_behalf_of": await member_id(bob)})
    assert answer.status == 202, answer.raw
    for person in (bob, dan):
        assert (await count(person), await ids(person, "mine=true")) == ((1, 0), [])
    assert (await bob.delete(f"/delegations/{made.json['id']}")).status == 204
    for person in (bob, dan):
        mine = await ids(person, "mine=true")
        assert (await count(person), mine) == ((1, 1), [run["id"]]), person.email


async def test_words_find_gates_by_template_person_and_id(ann: Person) -> None:
    run: Any = await ann.start("line", {"amount": 5})
    await ann.start("clock")
    for words in (run["id"], run["id"][:18], "line"):
        assert run["id"] in await ids(ann, f"q={words}"), words
    assert len(await ids(ann, f"q={ann.email}")) == 2


@pytest.mark.parametrize("path", ["/gates/", "/gates/count", "/process-runs/", "/audit/log", "/saved-views/"])
async def test_an_unknown_filter_is_refused(ann: Person, path: str) -> None:
    assert_problem(await ann.get(f"{path}?colour=red"), 422, "invalid")
