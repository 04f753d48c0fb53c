"""Delegations: who may decide as another member for a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from daemon.runtime.clock import utc_now
from daemon.settings import Settings
from tests.web.people import colleague, company, delegate, give, member_id
from tests.web.support import House, Person, assert_invalid, assert_problem
from tests.web.test_companies import company_of


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"company_delegations_max": 3})


def after(**by: int) -> str:
    return (utc_now() + timedelta(**by)).isoformat()


async def listed(person: Person) -> list[str]:
    return [one["id"] for one in (await person.get("/delegations/")).json]


async def ended(ann: Person) -> list[Any]:
    """The ends of delegations in the company's log, the newest first."""
    events = [one["event"] for one in (await ann.get("/audit/log")).json]
    return [one for one in events if one["type"] == "delegation_ended"]


async def test_a_delegation_is_made_listed_to_both_and_known_to_gates_once_it_is_answered(ann: Person) -> None:
    bob, kim = await colleague(ann, "bob", "manager"), await colleague(ann, "kim", "manager")
    made = await delegate(bob, kim, verticals=["line"])
    assert made.status == 201
    assert made.headers["Location"] == f"/delegations/{made.json['id']}"
    assert (made.json["giver"], made.json["to"]) == (await member_id(bob), await member_id(kim))
    [known] = (await company_of(ann)).delegations
    assert known.covers(await member_id(bob), await member_id(kim), "line", utc_now())
    assert not known.covers(await member_id(bob), await member_id(kim), "quick", utc_now())
    assert not known.covers(await member_id(bob), await member_id(kim), "line", utc_now() + timedelta(days=2))
    assert await listed(bob) == await listed(kim) == await listed(ann) == [made.json["id"]]
    assert (await bob.get("/delegations")).json == [made.json]
    [event] = [one["event"] for one in (await ann.get("/audit/log")).json if one["event"]["type"] == "delegation_made"]
    assert (event["by"], event["verticals"]) == (bob.email, ["line"])


async def test_without_verticals_it_is_for_all(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    assert (await delegate(ann, bob)).json["verticals"] is None
    [known] = (await company_of(ann)).delegations
    assert known.verticals == ()


async def test_others_do_not_see_a_delegation(ann: Person, eve: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    other = await colleague(ann, "other", "manager")
    made = (await delegate(ann, bob)).json["id"]
    assert await listed(other) == await listed(eve) == []
    for stranger in (other, eve):
        assert_problem(await stranger.delete(f"/delegations/{made}"), 404, "not_found")
    assert await listed(bob) == [made]


async def test_its_giver_ends_a_delegation_and_so_does_an_admin_and_nobody_else(ann: Person) -> None:
    bob, kim = await colleague(ann, "bob", "manager"), await colleague(ann, "kim", "manager")
    first, second = [(await delegate(bob, kim)).json["id"] for _ in range(2)]
    refused = assert_problem(await kim.delete(f"/delegations/{first}"), 403, "forbidden")
    assert refused["reason"] == "role"
    assert (await bob.delete(f"/delegations/{first}")).status == 204
    assert [one.to for one in (await company_of(ann)).delegations] == [await member_id(kim)]
    assert (await ann.delete(f"/delegations/{second}")).status == 204
    assert (await company_of(ann)).delegations == ()
    assert_problem(await bob.delete(f"/delegations/{first}"), 404, "not_found")
    assert [(one["by"], one["delegation"], one["reason"]) for one in await ended(ann)] == [
        (ann.email, second, "ended"),
        (bob.email, first, "ended"),
    ]


async def test_who_may_not_decide_any_more_ends_what_was_given(ann: Person) -> None:
    bob, kim = await colleague(ann, "bob", "manager"), await colleague(ann, "kim", "manager")
    made = (await delegate(bob, kim)).json["id"]
    await give(ann, bob, "viewer")
    assert_problem(await delegate(bob, kim), 403, "forbidden", required="manager")
    assert (await bob.delete(f"/delegations/{made}")).status == 204


async def test_a_delegation_ends_when_either_is_removed(ann: Person) -> None:
    bob, kim = await colleague(ann, "bob", "manager"), await colleague(ann, "kim", "manager")
    for giver, to, gone in ((ann, bob, bob), (kim, ann, kim)):
        made = (await delegate(giver, to)).json["id"]
        assert (await ann.delete(f"{company(ann)}/members/{await member_id(gone)}")).status == 204
        assert await listed(ann) == []
        assert (await company_of(ann)).delegations == ()
        newest = (await ended(ann))[0]
        assert (newest["delegation"], newest["reason"], newest["by"]) == (made, "removed", ann.email)


async def test_a_delegation_that_cannot_be_is_refused_by_pointer(ann: Person, eve: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    assert_invalid(await delegate(ann, ann), "/to")
    assert_invalid(await delegate(ann, bob, to=await member_id(eve)), "/to")
    assert_invalid(await delegate(ann, bob, to="nobody"), "/to")
    assert_invalid(await delegate(ann, bob, until=after(hours=-1)), "/until")
    assert_invalid(await delegate(ann, bob, **{"from": after(days=-9)}, until=after(days=-1)), "/until")
    assert_invalid(await delegate(ann, bob, until=after(days=367)), "/until")
    assert_invalid(await delegate(ann, bob, until="tomorrow"), "/until")
    assert_invalid(await delegate(ann, bob, **{"from": "2026-01-01T00:00:00"}), "/from")
    assert_invalid(await delegate(ann, bob, verticals=[]), "/verticals")
    assert_invalid(await delegate(ann, bob, verticals=["line", "no-such"]), "/verticals/1")
    assert_invalid(await delegate(ann, bob, begins=after()), "/begins")
    assert_invalid(await ann.post("/delegations", {"to": await member_id(bob)}), "/from", "/until")
    assert await listed(ann) == []


async def test_an_invited_person_is_given_nothing(ann: Person) -> None:
    pending = (await ann.post(f"{company(ann)}/members", {"email": "p@p.test", "role": "manager"})).json["id"]
    assert_invalid(await delegate(ann, ann, to=pending), "/to")


async def test_a_machine_neither_gives_nor_gets(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    key = await ann.post("/api-keys", {"name": "robot", "kind": "service", "role": "admin"})
    robot = Person(ann.house, {**ann.session, "token": key.json["key"]})
    when = {"from": after(), "until": after(days=1)}
    refused = await robot.post("/delegations", {"to": await member_id(bob), **when})
    assert_problem(refused, 403, "forbidden", reason="machine")
    assert_invalid(await delegate(ann, bob, to=key.json["id"]), "/to")


async def test_a_repeat_under_a_key_makes_one_delegation(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    body = {"to": await member_id(bob), "from": after(), "until": after(days=1)}
    first = await ann.post("/delegations", body, Idempotency_Key="once")
    again = await ann.post("/delegations/", body, Idempotency_Key="once")
    assert (first.status, again.raw) == (201, first.raw)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert await listed(ann) == [first.json["id"]]
    assert_problem(
        await ann.post("/delegations", {**body, "until": after(days=2)}, Idempotency_Key="once"),
        422,
        "idempotency_key_reused",
    )


async def test_a_company_has_so_many_delegations_at_a_time(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    made = [await delegate(ann, bob) for _ in range(4)]
    assert [one.status for one in made] == [201, 201, 201, 507]
    assert_problem(made[3], 507, "quota_exceeded", budget="company_delegations", limit=3)
    assert (await ann.delete(f"/delegations/{made[0].json['id']}")).status == 204
    assert (await delegate(ann, bob)).status == 201


async def test_delegations_come_in_pages_and_outlive_a_restart(house: House, ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    made = [(await delegate(ann, bob)).json["id"] for _ in range(3)]
    await house.restart()
    first = await ann.get("/delegations/?limit=2")
    following = first.headers["Link"].partition(">")[0].removeprefix("<")
    rest = await ann.get(following)
    assert [one["id"] for one in (*first.json, *rest.json)] == made
    assert len((await company_of(ann)).delegations) == 3
