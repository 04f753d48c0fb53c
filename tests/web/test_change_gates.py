"""Changes that loosen wait for another person, where the company says so."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.web.people import colleague, company, give, member_id
from tests.web.support import Answer, CompanyStream, House, Person, assert_invalid, assert_problem
from tests.web.test_functions import bind
from tests.web.test_makers import LIVE, key_of, office
from tests.web.test_own_templates import document, publish
from tests.web.test_policy import policy_of

ALL = ["go_live", "policy_off", "publish_laxer"]
STRICT: dict[str, Any] = {"quorum": 2}


async def gated(ann: Person, *acts: str, function: str | None = None, **more: Any) -> None:
    """Put acts behind the gate of the company."""
    said = {"change_gates": {"acts": [*acts] or ALL, "function": function}, **more}
    answer = await ann.put(policy_of(ann), said)
    assert (answer.status, answer.json["change_gates"]["function"]) == (200, function), answer.raw


async def decides(person: Person, change: Any, word: str = "approve", **said: Any) -> Answer:
    path = f"{company(person)}/changes/{change['id']}/{word}"
    return await person.post(path, {"digest": change["digest"], **said})


async def changes(person: Person) -> Any:
    answer = await person.get(f"{company(person)}/changes/")
    assert answer.status == 200, answer.raw
    return answer.json


async def logged(person: Person) -> list[Any]:
    """The events about changes in the company's log, oldest first."""
    found = [one["event"] for one in (await person.get("/audit/log?limit=200")).json]
    return [one for one in reversed(found) if one["type"].startswith("change_")]


async def draft(person: Person, one: dict[str, Any]) -> Answer:
    """Store a draft and ask for its publication."""
    path = f"/process-templates/{one['vertical']}"
    assert (await person.put(f"{path}/draft", one)).status == 200
    return await person.post(f"{path}/publish")


async def test_a_company_of_one_admin_waits_for_nobody(ann: Person) -> None:
    await colleague(ann, "mo", "manager")
    await gated(ann, solo=False)
    assert (await ann.put(policy_of(ann), {"solo": True})).status == 200
    await publish(ann, document(**STRICT))
    await publish(ann, document())
    assert (await ann.put("/connectors/cash-box", LIVE)).status == 201
    assert (await ann.put(policy_of(ann), {"change_gates": None})).json["change_gates"] is None
    assert await changes(ann) == []


async def test_a_company_without_gates_waits_for_nobody(ann: Person) -> None:
    await office(ann)
    assert (await ann.put(policy_of(ann), {"solo": False})).status == 200
    assert (await ann.put(policy_of(ann), {"solo": True})).status == 200
    await publish(ann, document(**STRICT))
    await publish(ann, document())
    assert (await ann.put("/connectors/cash-box", LIVE)).status == 201


async def test_a_laxer_version_waits_and_is_published_in_the_name_of_who_asked(ann: Person) -> None:
    bob, _ = await office(ann)
    await gated(ann)
    await publish(bob, document(**STRICT))
    asked = await draft(bob, document())
    change = asked.json
    assert (asked.status, change["act"], change["what"], change["by"]) == (
        202,
        "publish_laxer",
        "petty-cash",
        bob.email,
    )
    assert change["asked"]["version"] == 2
    assert [one["version"] for one in (await ann.get("/process-templates/petty-cash/versions/")).json] == [1]
    approved = await decides(ann, change, comment="as agreed")
    assert (approved.status, approved.json["status"], approved.json["decided_by"]) == (200, "approved", ann.email)
    newest, _ = (await ann.get("/process-templates/petty-cash/versions/")).json
    assert (newest["version"], newest["published_by"]) == (2, bob.email)
    requested, decided = await logged(ann)
    assert (requested["type"], requested["by"], requested["digest"]) == (
        "change_requested",
        bob.email,
        change["digest"],
    )
    assert (decided["type"], decided["by"], decided["asked_by"]) == ("change_approved", ann.email, bob.email)
    assert (decided["comment"], decided["digest"]) == ("as agreed", change["digest"])


async def test_a_version_as_strict_as_the_one_before_it_waits_for_nobody(ann: Person) -> None:
    bob, _ = await office(ann)
    await gated(ann)
    await publish(bob, document(**STRICT))
    change = (await draft(bob, document())).json
    assert (await decides(ann, change)).status == 200
    assert (await publish(bob, document("Petty cash again")))["version"] == 3


async def test_a_repeat_of_what_waits_is_answered_alike(ann: Person) -> None:
    bob, _ = await office(ann)
    await gated(ann)
    await publish(bob, document(**STRICT))
    assert (await bob.put("/process-templates/petty-cash/draft", document())).status == 200
    path, key = "/process-templates/petty-cash/publish", {"Idempotency-Key": "once"}
    first, second = [await bob.post(path, {}, **key) for _ in range(2)]
    assert (first.status, second.status, second.json) == (202, 202, first.json)
    assert len(await changes(ann)) == 1
    where, said = f"{company(ann)}/changes/{first.json['id']}/approve", {"digest": first.json["digest"]}
    done, again = [await ann.post(where, said, **{"Idempotency-Key": "done"}) for _ in range(2)]
    assert (done.status, again.status, again.json) == (200, 200, done.json)


async def test_a_connector_goes_live_and_is_changed_live_by_two(ann: Person, house: House) -> None:
    bob, cyd = await office(ann)
    await gated(ann)
    asked = await bob.put("/connectors/cash-box", {**LIVE, "auth_type": "bearer", "auth_token": "s3cret-canary"})
    assert (asked.status, asked.json["act"], asked.json["what"]) == (202, "go_live", "cash-box"), asked.raw
    assert (await ann.get("/connectors/cash-box")).status == 404
    assert b"s3cret-canary" not in asked.raw + (await ann.get(f"{company(ann)}/changes/")).raw
    await house.restart()
    assert (await decides(cyd, asked.json)).status == 200
    stored = (await ann.get("/connectors/cash-box")).json
    assert (stored["reversible"], stored["auth_token_set"], stored["updated_by"]) == (True, True, bob.email)
    again = await bob.put("/connectors/cash-box", {**LIVE, "auth_type": "bearer", "path": "/else"})
    assert again.status == 202
    same = await bob.put("/connectors/cash-box", {**LIVE, "auth_type": "bearer"})
    assert (same.status, same.json["version"]) == (200, stored["version"])
    assert (await bob.put("/connectors/cash-box", {**LIVE, "reversible": False})).status == 200
    assert_problem(await decides(ann, again.json), 412, "changed")


async def test_what_turns_off_protection_waits_and_what_turns_it_on_does_not(ann: Person) -> None:
    bob, _ = await office(ann)
    await gated(ann, solo=False, functions="required")
    offs: tuple[dict[str, Any], ...] = (
        {"solo": True},
        {"functions": "optional"},
        {"change_gates": None},
        {"change_gates": {"acts": ["go_live", "policy_off"]}},
        {"change_gates": {"acts": ALL, "function": "director"}},
    )
    for off in offs:
        answer = await bob.put(policy_of(bob), off)
        assert (answer.status, answer.json["act"]) == (202, "policy_off"), (off, answer.raw)
    ons: tuple[dict[str, Any], ...] = ({"passwords": True}, {"archive_after_days": 30}, {"templates": []})
    for on in ons:
        assert (await bob.put(policy_of(bob), on)).status == 200
    assert len(await changes(ann)) == len(offs)


async def test_readers_that_become_more_wait_and_those_that_become_fewer_do_not(ann: Person) -> None:
    bob, _ = await office(ann)
    await publish(bob, document())

    def reads(**rule: Any) -> dict[str, Any]:
        return {"readers": {"petty-cash": rule}}

    await gated(ann, "policy_off", **reads(groups=["auditors"], role="admin"))
    wider: tuple[dict[str, Any], ...] = (
        {"readers": {}},
        reads(groups=["auditors", "others"], role="admin"),
        reads(groups=["auditors"], role="manager"),
        reads(functions=["director"]),
        reads(role="admin", starter=True),
    )
    for one in wider:
        assert (await bob.put(policy_of(bob), one)).status == 202, one
    for one in (reads(groups=["auditors"], role="owner"), reads(groups=["auditors"]), reads()):
        assert (await bob.put(policy_of(bob), one)).status == 200, one


async def test_a_second_factor_of_fewer_people_waits(ann: Person) -> None:
    bob, _ = await office(ann)
    await gated(ann, second_factor_from="owner")
    assert (await bob.put(policy_of(bob), {"second_factor_from": None})).status == 202


async def test_the_gate_itself_is_not_lifted_by_one_even_where_no_other_policy_is_gated(ann: Person) -> None:
    bob, _ = await office(ann)
    await gated(ann, "go_live", solo=False)
    assert (await bob.put(policy_of(bob), {"solo": True})).status == 200
    change = (await bob.put(policy_of(bob), {"change_gates": None})).json
    assert change["status"] == "open"
    assert (await decides(ann, change)).status == 200
    assert (await ann.get(policy_of(ann))).json["change_gates"] is None
    assert (await bob.put("/connectors/cash-box", LIVE)).status == 201


async def test_who_asked_does_not_approve_and_machines_and_managers_do_not(ann: Person) -> None:
    bob, _ = await office(ann)
    mo = await colleague(ann, "mo", "manager")
    await gated(ann, solo=False)
    change = (await bob.put(policy_of(bob), {"solo": True})).json
    for word in ("approve", "deny"):
        assert_problem(await decides(bob, change, word), 403, "forbidden", reason="asked")
        assert_problem(await decides(mo, change, word), 403, "forbidden", required="admin")
        answer = await machine_of(ann, change, word)
        assert_problem(answer, 403, "forbidden", reason="machine")
    assert_problem(await mo.get(f"{company(mo)}/changes/"), 403, "forbidden")
    assert (await changes(bob))[0]["status"] == "open"


async def machine_of(ann: Person, change: Any, word: str) -> Answer:
    """What a service's key is answered that decides."""
    key = await key_of(ann, name=f"robot-{word}")
    return await key.post(f"{company(ann)}/changes/{change['id']}/{word}", {"digest": change["digest"]})


async def test_the_maker_of_the_key_that_asked_does_not_approve(ann: Person) -> None:
    bob, cyd = await office(ann)
    await gated(ann)
    key = await key_of(bob)
    asked = await key.put("/connectors/cash-box", LIVE)
    assert (asked.status, asked.json["by"], asked.json["by_kind"]) == (202, "robot", "service")
    assert_problem(await decides(bob, asked.json), 403, "forbidden", reason="asked")
    assert (await decides(cyd, asked.json)).status == 200
    assert (await ann.get("/connectors/cash-box")).json["updated_by"] == "robot"


async def test_a_change_of_a_key_that_was_deleted_is_stale(ann: Person) -> None:
    bob, cyd = await office(ann)
    await gated(ann)
    change = (await (await key_of(bob)).put("/connectors/cash-box", LIVE)).json
    [listed] = (await ann.get("/api-keys/")).json
    assert (await bob.delete(f"/api-keys/{listed['id']}")).status == 204
    assert_problem(await decides(bob, change), 403, "forbidden", reason="asked")
    assert_problem(await decides(cyd, change), 412, "changed")
    assert (await ann.get("/connectors/cash-box")).status == 404


async def test_a_change_of_who_is_no_admin_any_more_is_stale(ann: Person) -> None:
    bob, cyd = await office(ann)
    await gated(ann)
    change = (await bob.put("/connectors/cash-box", LIVE)).json
    assert (await give(ann, bob, "viewer")).status == 200
    assert_problem(await decides(cyd, change), 412, "changed")


async def test_who_fills_the_function_approves_and_other_admins_do_not(ann: Person) -> None:
    bob, cyd = await office(ann)
    mo = await colleague(ann, "mo", "viewer")
    await bind(ann, mo)
    await gated(ann, function="director", solo=False)
    change = (await bob.put(policy_of(bob), {"solo": True})).json
    assert_problem(await decides(cyd, change), 403, "forbidden", reason="not_entitled")
    assert [one["id"] for one in await changes(mo)] == [change["id"]]
    assert (await decides(mo, change)).status == 200
    assert (await ann.get(policy_of(ann))).json["solo"] is True


async def test_the_list_says_why_a_reader_may_not_decide(ann: Person) -> None:
    bob, cyd = await office(ann)
    mo = await colleague(ann, "mo", "viewer")
    await bind(ann, mo)
    await gated(ann, function="director", solo=False)
    change = (await bob.put(policy_of(bob), {"solo": True})).json
    assert change["why_not"] == "asked"
    shown = [(await changes(one))[0]["why_not"] for one in (bob, cyd, mo)]
    assert shown == ["asked", "not_entitled", None]
    denied = await decides(mo, change, "deny")
    assert (denied.json["why_not"], (await changes(cyd))[0]["why_not"]) == (None, None)


async def test_open_pages_of_others_are_told_that_a_change_waits(ann: Person) -> None:
    bob, _ = await office(ann)
    await gated(ann, solo=False)
    async with CompanyStream(ann, "") as stream:
        assert (await bob.put(policy_of(bob), {"solo": True})).status == 202
        assert (await anext(stream))["event"] == "people_changed"


async def test_admins_approve_where_nobody_but_who_asked_fills_the_function(ann: Person) -> None:
    bob, cyd = await office(ann)
    await bind(ann, bob)
    await gated(ann, function="director", solo=False)
    change = (await bob.put(policy_of(bob), {"solo": True})).json
    assert_problem(await decides(bob, change), 403, "forbidden", reason="asked")
    assert (await decides(cyd, change)).status == 200


async def test_a_denied_change_is_not_done_and_not_approved_later(ann: Person) -> None:
    bob, cyd = await office(ann)
    await gated(ann, solo=False)
    change = (await bob.put(policy_of(bob), {"solo": True})).json
    denied = await decides(ann, change, "deny", comment="not now")
    assert (denied.status, denied.json["status"], denied.json["comment"]) == (200, "denied", "not now")
    assert_problem(await decides(cyd, change), 409, "already_decided", decision="denied", decided_by=ann.email)
    assert (await ann.get(policy_of(ann))).json["solo"] is False
    assert [one["type"] for one in await logged(ann)] == ["change_requested", "change_denied"]


@pytest.mark.parametrize("act", ALL)
async def test_what_stands_otherwise_by_then_closes_the_change(ann: Person, act: str) -> None:
    bob, _ = await office(ann)
    await gated(ann, solo=False)
    if act == "policy_off":
        change = (await bob.put(policy_of(bob), {"solo": True})).json
        assert (await bob.put(policy_of(bob), {"archive_after_days": 30})).status == 200
    elif act == "go_live":
        assert (await bob.put("/connectors/cash-box", {**LIVE, "reversible": False})).status == 201
        change = (await bob.put("/connectors/cash-box", LIVE)).json
        assert (await bob.put("/connectors/cash-box", {**LIVE, "reversible": False, "path": "/else"})).status == 200
    else:
        await publish(bob, document(**STRICT))
        change = (await draft(bob, document())).json
        path = "/process-templates/petty-cash/draft"
        assert (await bob.put(path, document("Another title"))).status == 200
    for _ in range(2):
        assert_problem(await decides(ann, change), 412, "changed")
    [shown] = await changes(ann)
    assert (shown["act"], shown["status"], shown["decided_by"]) == (act, "stale", ann.email)
    last = (await logged(ann))[-1]
    assert (last["type"], last["reason"]) == ("change_denied", "stale")


@pytest.mark.parametrize("act", ALL)
async def test_of_two_admins_who_approve_at_once_one_does_it_once(ann: Person, act: str) -> None:
    bob, cyd = await office(ann)
    await gated(ann, solo=False)
    if act == "policy_off":
        change = (await bob.put(policy_of(bob), {"solo": True})).json
    elif act == "go_live":
        change = (await bob.put("/connectors/cash-box", LIVE)).json
    else:
        await publish(bob, document(**STRICT))
        change = (await draft(bob, document())).json
    answers = await asyncio.gather(*(decides(one, change) for one in (ann, cyd, ann, cyd)))
    assert sorted(one.status for one in answers) == [200, 409, 409, 409]
    assert {one.json["code"] for one in answers if one.status == 409} == {"already_decided"}
    assert [one["type"] for one in await logged(ann)] == ["change_requested", "change_approved"]
    done = {"policy_off": "policy_changed", "go_live": "connector_changed", "publish_laxer": "template_published"}[act]
    found = [one["event"] for one in (await ann.get("/audit/log?limit=200")).json]
    counted = sum(one["type"] == done and one["by"] == bob.email for one in found)
    assert counted == (2 if act == "publish_laxer" else 1)


async def test_a_change_that_waited_too_long_is_neither_approved_nor_counted(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, _ = await office(ann)
    await gated(ann, solo=False)
    monkeypatch.setattr("daemon.identity.company.changes.LIFETIME", timedelta(0))
    change = (await bob.put(policy_of(bob), {"solo": True})).json
    assert_problem(await decides(ann, change), 410, "change_expired")
    assert_problem(await decides(ann, change, "deny"), 410, "change_expired")
    assert [one["status"] for one in await changes(ann)] == ["expired"]


async def test_a_company_has_so_many_open_changes(ann: Person) -> None:
    bob, _ = await office(ann)
    await gated(ann, solo=False)
    for _ in range(100):
        assert (await bob.put(policy_of(bob), {"solo": True})).status == 202
    full = await bob.put(policy_of(bob), {"solo": True})
    assert_problem(full, 507, "quota_exceeded", budget="company_changes", limit=100)
    page = await ann.get(f"{company(ann)}/changes/?limit=60")
    assert len(page.json) == 60
    assert 'rel="next"' in page.headers["Link"]
    assert (await decides(ann, (await changes(ann))[0], "deny")).status == 200
    assert (await bob.put(policy_of(bob), {"solo": True})).status == 202


async def test_another_digest_an_unknown_change_and_one_of_another_company_are_refused(
    ann: Person, eve: Person
) -> None:
    bob, _ = await office(ann)
    await gated(ann, solo=False)
    change = (await bob.put(policy_of(bob), {"solo": True})).json
    other = {**change, "digest": "sha256:" + "0" * 64}
    assert_problem(await decides(ann, other), 412, "stale")
    assert_problem(await decides(ann, {**change, "id": await member_id(ann)}), 404, "not_found")
    assert_problem(await decides(eve, change), 404, "not_found")
    path = f"{company(ann)}/changes/{change['id']}/approve"
    assert_problem(await eve.post(path, {"digest": change["digest"]}), 404, "not_found")
    assert_invalid(await ann.post(path, {"digest": change["digest"], "by": "x"}), "/by")
    assert_invalid(await ann.put(policy_of(ann), {"change_gates": {"acts": []}}), "/change_gates/acts")
    assert_invalid(await ann.put(policy_of(ann), {"change_gates": {"acts": ["all"]}}), "/change_gates/acts/0")


async def test_a_check_says_what_a_version_makes_laxer_and_whether_it_waits(ann: Person) -> None:
    bob, _ = await office(ann)

    async def told(person: Person, one: dict[str, Any]) -> tuple[list[Any], bool]:
        answer = await person.post("/process-templates/validate", one)
        assert answer.status == 200, answer.raw
        found = [(each["step_id"], each["by"], each["before"]["quorum"]) for each in answer.json["loosened"]]
        return found, answer.json["awaits_approval"]

    assert await told(bob, document()) == ([], False)
    await publish(ann, document(**STRICT))
    assert await told(bob, document(**STRICT)) == ([], False)
    assert await told(bob, document()) == ([("signoff", [bob.email], 2)], False)
    assert await told(await key_of(bob), document()) == ([("signoff", [bob.email], 2)], False)
    await gated(ann)
    assert await told(bob, document()) == ([("signoff", [bob.email], 2)], True)
    assert (await decides(ann, (await draft(bob, document())).json)).status == 200
    # What was laxer before stays so for who made it, and waits for nobody anew.
    assert await told(bob, document("Again")) == ([("signoff", [bob.email], 2)], False)
    assert await told(ann, document("Again")) == ([], False)
