"""Policies: what a company asks of its people, and who may change it."""

from __future__ import annotations

from typing import Any

from tests.web.support import House, Person, assert_invalid, assert_problem


def policy_of(person: Person) -> str:
    return f"/companies/{person.session['company']['id']}/policy"


async def test_a_policy_asks_for_nothing_until_it_is_changed(ann: Person) -> None:
    answer = await ann.get(policy_of(ann))
    nothing: dict[str, Any] = {
        "archive_after_days": None,
        "second_factor_from": None,
        "solo": True,
        "passwords": True,
        "functions": "optional",
        "change_gates": None,
        "templates": [],
        "readers": {},
        "actions": {"outcome_within": "PT10M"},
    }
    assert (answer.status, answer.json) == (200, nothing)


async def test_a_change_of_a_policy_leaves_what_it_does_not_name_and_is_audited(ann: Person) -> None:
    after: dict[str, Any] = {
        "archive_after_days": None,
        "second_factor_from": None,
        "solo": False,
        "passwords": True,
        "functions": "optional",
        "change_gates": None,
        "templates": [],
        "readers": {},
        "actions": {"outcome_within": "PT10M"},
    }
    assert (await ann.put(policy_of(ann), {"solo": False})).json == after
    changed = await ann.put(policy_of(ann), {"second_factor_from": None})
    assert (changed.status, changed.json) == (200, after)
    events = [one["event"] for one in (await ann.get("/audit/log")).json]
    [event] = [one for one in events if one["type"] == "policy_changed"]
    assert (event["by"], event["before"]["solo"], event["after"]["solo"]) == (ann.email, True, False)


async def test_a_policy_outlives_a_restart(house: House, ann: Person) -> None:
    await ann.put(policy_of(ann), {"solo": False})
    await house.restart()
    assert (await ann.get(policy_of(ann))).json["solo"] is False


async def test_the_policy_of_another_company_is_not_there(ann: Person, eve: Person) -> None:
    assert_problem(await eve.get(policy_of(ann)), 404, "not_found")
    assert_problem(await eve.put(policy_of(ann), {"solo": False}), 404, "not_found")


async def test_a_policy_with_an_unknown_role_or_member_is_refused(ann: Person) -> None:
    assert_invalid(await ann.put(policy_of(ann), {"second_factor_from": "king"}), "/second_factor_from")
    assert_invalid(await ann.put(policy_of(ann), {"sole": True}), "/sole")


async def test_a_policy_names_the_templates_that_a_company_uses_and_every_other_one_starts_too(ann: Person) -> None:
    chosen = await ann.put(policy_of(ann), {"templates": ["refund", "aml", "refund"]})
    assert chosen.json["templates"] == ["refund", "aml"]
    assert (await ann.post("/process-runs/", {"vertical": "prior-auth"})).status == 201
    assert_invalid(await ann.put(policy_of(ann), {"templates": ["aml", "none"]}), "/templates/1")
    assert (await ann.put(policy_of(ann), {"solo": False})).json["templates"] == ["refund", "aml"]


async def test_a_policy_says_how_long_an_agent_has_to_tell_an_outcome(ann: Person) -> None:
    set_to = await ann.put(policy_of(ann), {"actions": {"outcome_within": "PT2H"}})
    assert (set_to.status, set_to.json["actions"]) == (200, {"outcome_within": "PT2H"})
    assert (await ann.put(policy_of(ann), {"solo": False})).json["actions"] == {"outcome_within": "PT2H"}
    for wrong in ("soon", "P3BD", "P1M", "P31D", "PT0S"):
        refused = await ann.put(policy_of(ann), {"actions": {"outcome_within": wrong}})
        assert_invalid(refused, "/actions/outcome_within")
    assert (await ann.put(policy_of(ann), {"actions": None})).json["actions"] == {"outcome_within": "PT10M"}
