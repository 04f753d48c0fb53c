"""People: invited, joined, given roles, removed, grouped; in one company or several."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from daemon.web.sse import BEAT_S
from tests.web.people import colleague, company, give, invited, member_id
from tests.web.support import PASSWORD, CompanyStream, EventStream, House, Person


async def test_who_is_invited_joins_with_a_new_account_and_is_listed(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    assert bob.session["company"] == ann.session["company"]
    assert bob.session["role"] == "manager"
    first, second = (await ann.get(f"{company(ann)}/members")).json
    assert (first["email"], first["role"], first["status"]) == (ann.email, "owner", "active")
    assert (second["email"], second["name"], second["role"]) == ("bob@bob.test", "Bob", "manager")
    assert second["invited_by"] == ann.email
    assert second["joined_at"] > second["invited_at"]


async def test_a_pending_member_is_listed_and_another_invitation_replaces_the_first(ann: Person) -> None:
    first = await invited(ann, "bob@bob.test")
    second = await invited(ann, "Bob@bob.test", "viewer")
    assert second["id"] == first["id"]
    assert [one["status"] for one in (await ann.get(f"{company(ann)}/members")).json] == ["active", "pending"]
    gone = await ann.house.send("POST", "/auth/invitation", {"token": first["invitation"]["token"]})
    assert (gone.status, gone.json["code"]) == (410, "invitation_expired")
    found = await ann.house.send("POST", "/auth/invitation", {"token": second["invitation"]["token"]})
    assert found.json["role"] == "viewer"
    assert found.json["company"] == "ann inc"
    assert found.json["has_account"] is False


async def test_a_member_is_not_invited_again(ann: Person) -> None:
    await colleague(ann, "bob")
    answer = await ann.post(f"{company(ann)}/members", {"email": "BOB@bob.test", "role": "viewer"})
    assert (answer.status, answer.json["code"]) == (409, "already_member")


@pytest.mark.one_daemon
async def test_an_invitation_counts_once_for_whom_it_is_for_and_for_seven_days(
    ann: Person, eve: Person, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = (await invited(ann, eve.email))["invitation"]["token"]
    stranger = await ann.post("/invitations/accept", {"token": token})
    assert (stranger.status, stranger.json["reason"]) == (403, "email")
    joined = await eve.post("/invitations/accept", {"token": token})
    assert joined.status == 200
    assert joined.json["company"] == ann.session["company"]
    again = await eve.post("/invitations/accept", {"token": token})
    assert (again.status, again.json["code"]) == (410, "invitation_expired")
    assert (await eve.post("/invitations/accept", {"token": "never-issued"})).status == 404
    late = (await invited(ann, "bob@bob.test"))["invitation"]["token"]
    now = house.services.identity.invitations._now
    monkeypatch.setattr(house.services.identity.invitations, "_now", lambda: now() + timedelta(days=7))
    assert (await house.send("POST", "/auth/invitation", {"token": late})).status == 410


async def test_the_invitation_of_a_removed_member_has_ended(ann: Person) -> None:
    pending = await invited(ann, "bob@bob.test")
    assert (await ann.delete(f"{company(ann)}/members/{pending['id']}")).status == 204
    looked = await ann.house.send("POST", "/auth/invitation", {"token": pending["invitation"]["token"]})
    assert looked.status == 410


async def test_an_invitation_goes_on_with_another_role_when_that_is_changed(ann: Person, eve: Person) -> None:
    new, known = await invited(ann, "bob@bob.test", "admin"), await invited(ann, eve.email, "admin")
    for one in (new, known):
        changed = await ann.send("PATCH", f"{company(ann)}/members/{one['id']}", {"role": "viewer"})
        assert (changed.json["role"], changed.json["status"]) == ("viewer", "pending")
    body = {"email": "bob@bob.test", "password": PASSWORD, "invitation": new["invitation"]["token"]}
    assert (await ann.house.send("POST", "/auth/register", body)).json["role"] == "viewer"
    joined = await eve.post("/invitations/accept", {"token": known["invitation"]["token"]})
    assert (joined.status, joined.json["role"]) == (200, "viewer")
    assert (await eve.post("/invitations/accept", {"token": known["invitation"]["token"]})).status == 410


async def test_of_many_who_accept_one_invitation_at_once_one_joins_and_the_others_are_told_that_it_was_used(
    ann: Person, eve: Person
) -> None:
    token = (await invited(ann, eve.email))["invitation"]["token"]
    answers = await asyncio.gather(*(eve.post("/invitations/accept", {"token": token}) for _ in range(6)))
    assert sorted(one.status for one in answers) == [200, *(5 * [410])]


async def test_a_person_of_several_companies_switches_and_logs_in_where_they_were_last(
    ann: Person, eve: Person, house: House
) -> None:
    token = (await invited(ann, eve.email, "viewer"))["invitation"]["token"]
    there = Person(house, (await eve.post("/invitations/accept", {"token": token})).json)
    me = (await there.get("/auth/me")).json
    assert [(one["name"], one["role"]) for one in me["companies"]] == [("ann inc", "viewer"), ("eve inc", "owner")]
    assert me["kind"] == "person"
    login = {"email": eve.email, "password": PASSWORD}
    assert (await house.send("POST", "/auth/login", login)).json["company"]["name"] == "ann inc"
    home = eve.session["company"]["id"]
    back = await there.post("/auth/switch", {"company_id": home})
    assert (back.status, back.json["role"]) == (200, "owner")
    assert (await house.send("POST", "/auth/login", login)).json["company"]["name"] == "eve inc"
    there_again = {**login, "company_id": ann.session["company"]["id"]}
    assert (await house.send("POST", "/auth/login", there_again)).json["company"]["name"] == "ann inc"
    unknown = "0199c1f0-0000-7000-8000-000000000009"
    assert (await there.post("/auth/switch", {"company_id": unknown})).status == 404
    refused = await house.send("POST", "/auth/login", {**login, "company_id": unknown})
    assert (refused.status, refused.json["reason"]) == (403, "no_company")


async def test_a_changed_role_counts_at_once_for_tokens_already_out(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    run = await ann.start("line", {"amount": 1})
    assert (await give(ann, bob, "viewer")).json["role"] == "viewer"
    refused = await bob.resume(run, "signoff")
    assert (refused.status, refused.json["required"], refused.json["reason"]) == (403, "manager", "role")
    assert (await bob.get("/auth/me")).json["role"] == "viewer"
    assert (await give(ann, bob, "manager")).status == 200
    assert (await bob.resume(run, "signoff")).status == 200


async def test_a_removed_member_is_nobody_at_once_and_has_no_company_left(ann: Person, house: House) -> None:
    bob = await colleague(ann, "bob", "manager")
    gone = await member_id(bob)
    run = await ann.start("line", {"amount": 1})
    async with EventStream(bob, run["id"], Last_Event_ID="99") as stream:
        assert (await ann.delete(f"{company(ann)}/members/{gone}")).status == 204
        assert (await ann.resume(run, "signoff")).status == 200
        assert [event async for event in stream] == []
    assert (await bob.get("/auth/me")).status == 401
    refused = await house.send("POST", "/auth/login", {"email": bob.email, "password": PASSWORD})
    assert (refused.status, refused.json["reason"]) == (403, "no_company")
    await house.restart()
    assert (await bob.get("/auth/me")).status == 401
    token = (await invited(ann, bob.email))["invitation"]["token"]
    body = {"email": bob.email, "password": PASSWORD, "invitation": token}
    wrong = await house.send("POST", "/auth/register", {**body, "password": "incorrect horse"})
    assert (wrong.status, wrong.json["code"]) == (409, "email_taken")
    back = await house.send("POST", "/auth/register", body)
    assert (back.status, back.json["role"]) == (201, "member")
    assert (await bob.get("/auth/me")).status == 401


async def test_streams_of_the_company_tell_that_people_changed_and_end_for_who_was_removed(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    member = f"{company(ann)}/members/{await member_id(bob)}"
    async with asyncio.timeout(BEAT_S / 2), CompanyStream(ann, "") as of_ann, CompanyStream(bob, "") as of_bob:
        assert (await give(ann, bob, "viewer")).status == 200
        assert [(await anext(one))["event"] for one in (of_ann, of_bob)] == ["people_changed"] * 2
        assert (await ann.delete(member)).status == 204
        assert (await anext(of_ann))["data"] == {"type": "people_changed"}
        assert [event async for event in of_bob] == []
    refused = await bob.get("/auth/me")
    assert (refused.status, refused.json["code"], refused.json["reason"]) == (
        401,
        "not_authenticated",
        "membership_ended",
    )


async def test_nobody_gives_a_role_above_their_own_or_touches_who_has_one(ann: Person) -> None:
    chief, second = await colleague(ann, "bob", "admin"), await colleague(ann, "cid", "manager")
    answer = await chief.post(f"{company(ann)}/members", {"email": "dan@dan.test", "role": "owner"})
    assert answer.status == 422
    assert (await give(chief, second, "admin")).status == 200
    owner = f"{company(ann)}/members/{await member_id(ann)}"
    for refused in (await chief.send("PATCH", owner, {"role": "viewer"}), await chief.delete(owner)):
        assert (refused.status, refused.json["code"]) == (409, "last_owner")
    assert (await give(ann, second, "viewer")).status == 200
    low = await second.post(f"{company(ann)}/members", {"email": "dan@dan.test", "role": "viewer"})
    assert (low.status, low.json["required"], low.json["reason"]) == (403, "admin", "role")


async def test_a_member_may_leave_and_not_remove_others(ann: Person) -> None:
    bob, cid = await colleague(ann, "bob", "viewer"), await colleague(ann, "cid", "viewer")
    refused = await bob.delete(f"{company(ann)}/members/{await member_id(cid)}")
    assert (refused.status, refused.json["required"]) == (403, "admin")
    assert (await bob.delete(f"{company(ann)}/members/{await member_id(bob)}")).status == 204
    assert (await bob.get("/auth/me")).status == 401


async def test_the_owner_hands_the_company_over_and_becomes_an_admin(ann: Person) -> None:
    bob = await colleague(ann, "bob", "viewer")
    heir = {"member_id": await member_id(bob)}
    refused = await bob.post(f"{company(ann)}/owner", heir)
    assert (refused.status, refused.json["required"]) == (403, "owner")
    done = await ann.post(f"{company(ann)}/owner", heir, Idempotency_Key="once")
    assert (done.status, done.json["role"]) == (200, "owner")
    again = await ann.post(f"{company(ann)}/owner", heir, Idempotency_Key="once")
    assert (again.status, again.json["required"]) == (403, "owner")  # a right that the first request gave away
    assert (await ann.get("/auth/me")).json["role"] == "admin"
    assert (await bob.get("/auth/me")).json["role"] == "owner"


async def test_an_invitation_is_repeated_under_its_key_with_the_same_token(ann: Person, house: House) -> None:
    body = {"email": "bob@bob.test", "role": "member"}
    first = await ann.post(f"{company(ann)}/members", body, Idempotency_Key="one")
    await house.restart()
    again = await ann.post(f"{company(ann)}/members", body, Idempotency_Key="one")
    assert again.json == first.json
    assert again.headers["Idempotency-Replayed"] == "true"


async def test_an_acceptance_is_repeated_under_its_key_with_the_same_session(ann: Person, eve: Person) -> None:
    body = {"token": (await invited(ann, eve.email))["invitation"]["token"]}
    first = await eve.post("/invitations/accept", body, Idempotency_Key="one")
    again = await eve.post("/invitations/accept", body, Idempotency_Key="one")
    assert (first.status, again.json) == (200, first.json)


async def test_groups_are_written_listed_and_deleted_and_whoever_leaves_is_in_none(ann: Person) -> None:
    bob = await colleague(ann, "bob")
    one, two = await member_id(ann), await member_id(bob)
    path = f"{company(ann)}/groups/physicians"
    assert (await ann.put(path, {"members": [two, one, two]})).json["members"] == sorted([one, two])
    assert (await ann.get(f"{company(ann)}/groups")).json == [{"name": "physicians", "members": sorted([one, two])}]
    strange = await ann.put(path, {"members": [one, "nobody"]})
    assert strange.json["errors"][0]["pointer"] == "/members/1"
    await ann.delete(f"{company(ann)}/members/{two}")
    assert (await bob.put(path, {"members": []})).status == 401
    assert (await ann.get(f"{company(ann)}/groups")).json[0]["members"] == [one]
    assert (await ann.delete(path)).status == 204
    assert (await ann.delete(path)).status == 404
    assert (await ann.put(f"{company(ann)}/groups/No-Good", {"members": []})).status == 404


async def test_a_company_of_others_is_not_there(ann: Person, eve: Person) -> None:
    for path in (f"{company(eve)}/members", f"{company(eve)}/groups"):
        assert (await ann.get(path)).status == 404
    body = {"email": "bob@bob.test", "role": "member"}
    assert (await ann.post(f"{company(eve)}/members", body)).status == 404


async def test_registration_takes_a_company_or_an_invitation_and_not_both_or_none(house: House, ann: Person) -> None:
    token = (await invited(ann, "bob@bob.test"))["invitation"]["token"]
    person = {"email": "bob@bob.test", "password": PASSWORD}
    for body in (person, {**person, "invitation": token, "company_name": "Bob inc"}):
        assert (await house.send("POST", "/auth/register", body)).status == 422
    other = {**person, "email": "cid@cid.test", "invitation": token}
    refused = await house.send("POST", "/auth/register", other)
    assert (refused.status, refused.json["reason"]) == (403, "email")


async def test_a_changed_password_ends_the_sessions_in_all_companies(ann: Person, eve: Person, house: House) -> None:
    token = (await invited(ann, eve.email))["invitation"]["token"]
    there = Person(house, (await eve.post("/invitations/accept", {"token": token})).json)
    assert len((await eve.get("/auth/sessions")).json) == 2
    assert (await there.post("/auth/password", {"current": PASSWORD, "new": "battery staple"})).status == 204
    assert (await there.get("/auth/me")).status == 200
    assert (await eve.get("/auth/me")).status == 401


async def test_what_becomes_of_members_is_in_the_log_of_the_company(ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    await give(ann, bob, "viewer")
    await ann.put(f"{company(ann)}/groups/physicians", {"members": [await member_id(bob)]})
    await bob.send("PATCH", "/auth/me", {"name": "Robert"})
    await ann.delete(f"{company(ann)}/members/{await member_id(bob)}")
    log = (await ann.get("/audit/log?limit=200")).json
    actions = [one["change"]["action"] for one in log if one["change"] is not None]
    found = [one for one in actions if one not in {"log_in", "register"}]
    assert found[::-1] == ["invite_member", "join", "change_role", "change_group", "change_name", "remove_member"]
    assert (await ann.get(f"{company(ann)}/members")).json[0]["name"] is None
