"""Verdicts of one member in the place of another, as delegations allow."""

from __future__ import annotations

import pytest

from tests.web.people import colleague, company, delegate, member_id
from tests.web.support import Answer, EventStream, Person, assert_problem
from tests.web.test_gate_policies import FORM, finance, signs


async def signs_for(person: Person, giver: Person, run: object) -> Answer:
    """An approval in the place of another."""
    return await signs(person, run, form=FORM, on_behalf_of=await member_id(giver))


async def test_a_verdict_in_the_place_of_another_has_the_other_s_rights_and_names_both(ann: Person) -> None:
    bob, cyd, kim = [await colleague(ann, name, "manager") for name in ("bob", "cyd", "kim")]
    await finance(ann, bob, cyd)
    run = await ann.start("signatures")
    assert (await signs(kim, run, form=FORM)).json["reason"] == "group"
    await delegate(bob, kim)
    first = await signs_for(kim, bob, run)
    assert (first.status, first.json["status"]) == (202, "parked")
    [verdict] = first.json["gate"]["verdicts"]
    assert (verdict["by"], verdict["on_behalf_of"]) == (kim.email, bob.email)
    assert (await signs(bob, run, form=FORM)).json["code"] == "already_decided"
    assert (await signs(cyd, run, form=FORM)).json["outcome"] == "paid"


async def test_nobody_decides_for_another_without_a_delegation_or_after_it(ann: Person) -> None:
    bob, kim = [await colleague(ann, name, "manager") for name in ("bob", "kim")]
    await finance(ann, bob)
    run = await ann.start("signatures")
    assert (await signs_for(kim, bob, run)).status == 403
    made = (await delegate(bob, kim, verticals=["line"])).json["id"]
    assert (await signs_for(kim, bob, run)).status == 403
    await bob.delete(f"/delegations/{made}")
    made = (await delegate(bob, kim)).json["id"]
    await bob.delete(f"/delegations/{made}")
    assert (await signs_for(kim, bob, run)).status == 403


async def test_four_eyes_hold_for_both_who_are_behind_a_verdict(ann: Person) -> None:
    bob, kim = [await colleague(ann, name, "manager") for name in ("bob", "kim")]
    await finance(ann, ann, bob, kim)
    await delegate(ann, bob)
    await delegate(bob, kim)
    run = await ann.start("signatures")
    assert (await signs_for(bob, ann, run)).json["reason"] == "four_eyes"
    of_kim = await kim.start("signatures")
    assert (await signs_for(kim, bob, of_kim)).json["reason"] == "four_eyes"


async def test_a_verdict_in_the_place_of_another_ends_with_the_delegation_and_with_the_delegate(ann: Person) -> None:
    bob, cyd, kim = [await colleague(ann, name, "manager") for name in ("bob", "cyd", "kim")]
    await finance(ann, bob, cyd)
    for ends in ("the delegation", "the delegate"):
        made = (await delegate(bob, kim)).json["id"]
        run = await ann.start("signatures")
        async with EventStream(ann, run["id"]) as stream:
            assert (await signs_for(kim, bob, run)).status == 202
            if ends == "the delegation":
                assert (await bob.delete(f"/delegations/{made}")).status == 204
            else:
                assert (await ann.delete(f"{company(ann)}/members/{await member_id(kim)}")).status == 204
            while (await anext(stream))["event"] != "verdict_withdrawn":
                pass
        assert (await signs(cyd, run, form=FORM)).status == 202
        assert (await signs(bob, run, form=FORM)).json["outcome"] == "paid"


@pytest.mark.parametrize("role", ["viewer", "member"])
async def test_it_is_the_givers_right_that_counts_whatever_the_role_of_who_decides(ann: Person, role: str) -> None:
    bob, kim = await colleague(ann, "bob", "manager"), await colleague(ann, "kim", role)
    run = await ann.start("line", {"amount": 5})
    path, body = f"/process-runs/{run['id']}/resume", {"gate": "signoff", "decision": "approved"}
    instead = {**body, "on_behalf_of": await member_id(bob)}
    assert_problem(await kim.post(path, instead), 403, "forbidden", required="manager")
    assert await inbox(kim) == ([False], [], 0)
    assert (await delegate(bob, kim)).status == 201
    assert await inbox(kim) == ([True], [run["id"]], 1)
    assert_problem(await kim.post(path, body), 403, "forbidden", reason="role")
    assert_problem(await kim.post(f"/process-runs/{run['id']}/cancel", {}), 403, "forbidden", reason="role")
    decided = await kim.post(path, instead)
    assert (decided.status, decided.json["outcome"]) == (200, "paid")
    verdict = next(one["verdict"] for one in decided.json["trace"] if one["step_id"] == "signoff")
    assert (verdict["by"], verdict["on_behalf_of"]) == (kim.email, bob.email)


async def test_a_delegate_who_is_barred_stays_so(ann: Person) -> None:
    bob, kim = await colleague(ann, "bob", "manager"), await colleague(ann, "kim", "member")
    await finance(ann, bob)
    run = await kim.start("signatures")
    await delegate(bob, kim)
    assert (await signs_for(kim, bob, run)).json["reason"] == "four_eyes"
    assert await inbox(kim) == ([False], [], 0)


async def inbox(person: Person) -> tuple[list[bool], list[str], int]:
    """Whether the person may decide at each gate; their gates; and how many those are."""
    every, mine = (await person.get("/gates/")).json, (await person.get("/gates/?mine=true")).json
    count = (await person.get("/gates/count")).json["mine"]
    rows = (await person.get("/gates/?view=row")).json
    assert [one["can_decide"] for one in rows] == [one["can_decide"] for one in every]
    return [one["can_decide"] for one in every], [one["run_id"] for one in mine], count
