"""What the service knows of a company's people, for its gates."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest

from actors.core.people import Company
from daemon.identity.company import companies as known
from daemon.runtime.clock import new_id, utc_now
from tests.web.people import colleague, company, delegate, give, invited, member_id
from tests.web.support import House, Person
from tests.web.test_policy import policy_of


async def company_of(person: Person) -> Company:
    """The company of a person, as one of the daemons knows it."""
    return await person.house.services.identity.companies.load(person.session["company"]["id"])


async def test_active_members_are_known_by_address_with_role_and_groups(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    await invited(ann, "pending@ann.test")
    await ann.put(f"{company(ann)}/groups/nurses", {"members": [await member_id(bob)]})
    await ann.put(f"{company(ann)}/groups/board", {"members": [await member_id(bob), await member_id(ann)]})
    people = (await company_of(ann)).people
    assert {email: (one.role, sorted(one.groups)) for email, one in people.items()} == {
        ann.email: ("owner", ["board"]),
        bob.email: ("manager", ["board", "nurses"]),
    }
    assert people[bob.email].member_id == await member_id(bob)


async def test_who_was_invited_in_other_letters_is_known_as_the_token_says(ann: Person) -> None:
    invitation = (await invited(ann, "Bob@Bob.test"))["invitation"]["token"]
    bob = await ann.house.register("bob")
    assert (await bob.post("/invitations/accept", {"token": invitation})).status == 200
    assert bob.email in (await company_of(ann)).people
    assert [one["email"] for one in (await ann.get(f"{company(ann)}/members")).json] == [ann.email, bob.email]


async def test_changes_of_people_groups_and_policy_are_known_once_they_are_answered(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    path = f"{company(ann)}/groups/nurses"
    for _ in range(3):
        await give(ann, bob, "viewer")
        assert (await company_of(ann)).people[bob.email].role == "viewer"
        await give(ann, bob, "manager")
        assert (await company_of(ann)).people[bob.email].role == "manager"
        await ann.put(path, {"members": [await member_id(bob)]})
        assert (await company_of(ann)).people[bob.email].groups == {"nurses"}
        await ann.send("DELETE", path)
        assert (await company_of(ann)).people[bob.email].groups == frozenset()


async def test_who_decides_alone_does_so_until_a_second_one_joins_and_never_again(ann: Person) -> None:
    assert (await company_of(ann)).solo
    await invited(ann, "pending@ann.test")
    assert (await company_of(ann)).solo
    bob = await colleague(ann, "bob")
    assert not (await company_of(ann)).solo
    assert (await ann.send("DELETE", f"{company(ann)}/members/{await member_id(bob)}")).status == 204
    assert list((await company_of(ann)).people) == [ann.email]
    assert not (await company_of(ann)).solo


async def test_a_policy_ends_deciding_alone(ann: Person) -> None:
    assert (await company_of(ann)).solo
    await ann.put(policy_of(ann), {"solo": False})
    assert not (await company_of(ann)).solo


async def test_a_delegation_ends_with_the_membership_of_either(ann: Person) -> None:
    bob, eve = await colleague(ann, "bob", "manager"), await colleague(ann, "eve", "manager")
    await delegate(ann, bob)
    await delegate(bob, eve)
    await delegate(ann, eve)
    assert len((await company_of(ann)).delegations) == 3
    await ann.send("DELETE", f"{company(ann)}/members/{await member_id(bob)}")
    [left] = (await company_of(ann)).delegations
    assert (left.giver, left.to) == (await member_id(ann), await member_id(eve))
    events = [one["event"] for one in (await ann.get("/audit/log")).json]
    ended = [one for one in events if one["type"] == "delegation_ended"]
    assert {(one["by"], one["reason"]) for one in ended} == {(ann.email, "removed")}
    assert len(ended) == 2


@pytest.mark.one_daemon
async def test_listeners_are_told_which_company_changed(ann: Person) -> None:
    told: list[str] = []
    ann.house.services.identity.companies.subscribe(told.append)
    bob = await colleague(ann, "bob")
    await ann.put(f"{company(ann)}/groups/nurses", {"members": [await member_id(bob)]})
    await ann.put(policy_of(ann), {"solo": False})
    assert set(told) == {ann.session["company"]["id"]}
    assert len(told) >= 3


async def test_of_many_who_ask_at_once_each_gets_what_stands(ann: Person) -> None:
    found = await asyncio.gather(*(company_of(ann) for _ in range(50)))
    assert len({id(one) for one in found}) == 1


async def test_a_company_that_changes_while_it_is_read_is_read_again(ann: Person) -> None:
    reading = asyncio.create_task(company_of(ann))
    changing = asyncio.create_task(ann.put(policy_of(ann), {"solo": False}))
    await asyncio.gather(reading, changing)
    assert not (await company_of(ann)).solo


async def test_no_more_companies_are_kept_than_there_is_room_for(
    house: House, ann: Person, eve: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "COMPANIES_MAX", 1)
    first = await company_of(ann)
    assert await company_of(ann) is first
    assert list((await company_of(eve)).people) == [eve.email]
    assert await company_of(ann) is not first
    assert (await house.services.identity.companies.load(new_id())).people == {}


async def test_a_delegation_that_ends_by_its_time_is_told_as_a_change(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    made = (await delegate(ann, bob)).json
    company_id, at = ann.session["company"]["id"], [utc_now()]
    kept, told = known.Companies(ann.house.services.store, lambda: at[0]), list[str]()
    kept.subscribe(told.append)
    assert len((await kept.load(company_id)).delegations) == 1
    at[0] = datetime.fromisoformat(made["until"])
    assert (await kept.load(company_id)).delegations == ()
    assert told == [company_id]
    assert await kept.load(company_id) is await kept.load(company_id)
