"""Who approves an action: four eyes, delegations and groups hold as at any other gate."""

from __future__ import annotations

import pytest

from tests.web.asking import ASKS, Agent, ruled
from tests.web.people import colleague, company, delegate, member_id
from tests.web.support import House, Person, assert_problem
from tests.web.test_gates_of_actions import decides, gate


@pytest.fixture
async def bob(ann: Person) -> Person:
    return await colleague(ann, "bob", "manager")


async def test_who_made_the_key_of_an_agent_is_no_second_eye_nor_lends_one(
    house: House, ann: Person, bob: Person
) -> None:
    await ruled(ann, {**ASKS, "gate": {"four_eyes": ["starter"]}})
    run = await (await Agent.named(house, ann)).asks()
    assert [(await gate(one, run.id))["why_not"] for one in (ann, bob)] == ["four_eyes", None]
    assert_problem(await decides(ann, run.id), 403, "forbidden", reason="four_eyes")
    await delegate(ann, bob)
    lent = await decides(bob, run.id, on_behalf_of=await member_id(ann))
    assert_problem(lent, 403, "forbidden", reason="four_eyes")
    assert (await decides(bob, run.id)).json["outcome"] == "made"


async def test_a_quorum_counts_who_decides_for_another_and_the_other_as_one(
    house: House, ann: Person, bob: Person
) -> None:
    await ruled(ann, {**ASKS, "gate": {"quorum": 2}})
    run = await (await Agent.named(house, ann)).asks()
    await delegate(ann, bob)
    lent = {"on_behalf_of": await member_id(ann)}
    assert (await decides(bob, run.id, **lent)).status == 202
    assert_problem(await decides(ann, run.id), 409, "already_decided")
    cyd = await colleague(ann, "cyd", "manager")
    assert (await decides(cyd, run.id)).json["outcome"] == "made"


async def test_a_group_decides_and_its_work_is_handed_over_with_the_right(
    house: House, ann: Person, bob: Person
) -> None:
    members = {"members": [await member_id(bob)]}
    assert (await ann.put(f"{company(ann)}/groups/finance", members)).status == 200
    await ruled(ann, {**ASKS, "gate": {"groups": ["finance"]}})
    run = await (await Agent.named(house, ann)).asks()
    cyd = await colleague(ann, "cyd", "manager")
    assert_problem(await decides(cyd, run.id), 403, "forbidden", reason="group")
    await delegate(bob, cyd)
    done = await decides(cyd, run.id, on_behalf_of=await member_id(bob))
    assert done.json["outcome"] == "made"
    verdict = done.json["trace"][0]["verdict"]
    assert (verdict["by"], verdict["on_behalf_of"]) == (cyd.email, bob.email)
