""" "Always allow this": a narrow rule is proposed, an admin accepts it, and nobody else can."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.asking import ASKS, Agent, ruled
from tests.web.people import colleague, company
from tests.web.support import House, Person, assert_problem
from tests.web.test_change_gates import decides

SMALL: dict[str, Any] = {**ASKS, "when": "arguments.amount <= 100"}
NEVER: dict[str, Any] = {"id": "never", "tool": "*", "decision": "deny", "reason": "Too much."}


@pytest.fixture
async def helper(house: House, ann: Person) -> Agent:
    await ruled(ann, SMALL, NEVER)
    return await Agent.named(house, ann, model="m-1")


async def proposes(person: Person, run_id: str) -> Any:
    return await person.post(f"/actions/{run_id}/rule-proposal", {}, Idempotency_Key=f"propose {run_id}")


async def rules(ann: Person) -> Any:
    return (await ann.get(f"{company(ann)}/action-rules")).json["rules"]


async def test_a_manager_proposes_and_only_an_admin_accepts(ann: Person, house: House, helper: Agent) -> None:
    past = [await helper.asks({"amount": amount}) for amount in (1, 100, 101)]
    await helper.asks({"amount": 1}, server="pay")
    other = await Agent.named(house, ann, "other", "m-1")
    await other.asks({"amount": 1})
    await helper.becomes("m-2")
    await helper.asks({"amount": 2})
    await helper.becomes("m-1")
    bob, before = await colleague(ann, "bob", "manager"), await rules(ann)
    asked = await proposes(bob, past[1].id)
    assert asked.status == 202, asked.raw
    change = asked.json
    assert (change["act"], change["what"], change["by"], change["status"]) == (
        *("action_rule", "stripe.refund", bob.email),
        "open",
    )
    rule = change["asked"]["rule"]
    assert {name: rule[name] for name in ("id", "tool", "server", "agent", "model", "when", "decision")} == {
        "id": "always-stripe-refund",
        "tool": "stripe.refund",
        "server": "",
        "agent": "helper",
        "model": "m-1",
        "when": SMALL["when"],
        "decision": "allow",
    }
    assert [one["id"] for one in change["asked"]["through"]] == [past[1].id, past[0].id]
    assert (await proposes(bob, past[1].id)).json["id"] == change["id"]
    assert await rules(ann) == before


async def test_an_admin_accepts_a_rule_and_nobody_else(ann: Person, house: House, helper: Agent) -> None:
    bob, lou = await colleague(ann, "bob", "manager"), await colleague(ann, "lou", "admin")
    change, before = (await proposes(bob, (await helper.asks({"amount": 5})).id)).json, await rules(ann)
    assert_problem(await decides(bob, change), 403, "forbidden", reason="role")
    path = f"{company(ann)}/changes/{change['id']}/approve"
    assert (await helper.person.post(path, {"digest": change["digest"]})).status == 403
    assert await rules(ann) == before
    assert (await decides(lou, change, comment="as agreed")).json["status"] == "approved"
    assert [one["id"] for one in await rules(ann)] == ["always-stripe-refund", "refunds", "never"]
    assert [one["version"] for one in await rules(ann)] == [2, 1, 1]
    assert (await ann.put(f"{company(ann)}/action-rules", {"rules": [*map(plain, await rules(ann))]})).status == 200
    allowed = await helper.asks({"amount": 3})
    assert (allowed.status, allowed.action and allowed.action.decision) == ("completed", "allow")
    denied = await helper.asks({"amount": 101})
    assert (denied.ended and denied.ended.outcome) == "denied"
    other = await Agent.named(house, ann, "other", "m-1")
    said: tuple[dict[str, Any], ...] = ({"server": "pay"}, {"tool": "stripe.charge"})
    parked = [await other.asks({"amount": 3}), *[await helper.asks({"amount": 3}, **one) for one in said]]
    for model in ("m-2", None):
        await helper.becomes(model)
        parked.append(await helper.asks({"amount": 3}))
    assert {one.status for one in parked} == {"parked"}


def plain(rule: dict[str, Any]) -> dict[str, Any]:
    """A rule as it is put."""
    return {name: one for name, one in rule.items() if name not in ("version", "hits")}


async def test_the_only_admin_accepts_their_own_proposal(ann: Person, helper: Agent) -> None:
    change = (await proposes(ann, (await helper.asks({"amount": 5})).id)).json
    assert change["why_not"] in (None, "asked")
    assert (await decides(ann, change)).json["status"] == "approved"
    assert len(await rules(ann)) == 3
    assert_problem(await decides(ann, change), 409, "already_decided")


async def test_a_denied_proposal_changes_nothing(ann: Person, helper: Agent) -> None:
    change, before = (await proposes(ann, (await helper.asks({"amount": 5})).id)).json, await rules(ann)
    assert (await decides(ann, change, "deny")).json["status"] == "denied"
    assert await rules(ann) == before


async def test_a_proposal_is_stale_once_the_rules_are_others(ann: Person, helper: Agent) -> None:
    change = (await proposes(ann, (await helper.asks({"amount": 5})).id)).json
    await ruled(ann, SMALL)
    assert_problem(await decides(ann, change), 412, "changed")
    assert [one["id"] for one in await rules(ann)] == ["refunds"]


async def test_what_no_rule_fits_is_allowed_behind_all_others(ann: Person, helper: Agent) -> None:
    await ruled(ann)
    run = await helper.asks({"amount": 5}, tool="Mail: Send!")
    change = (await proposes(ann, run.id)).json
    await decides(ann, change)
    (rule,) = await rules(ann)
    assert (rule["id"], rule["tool"], rule["effect"]) == ("always-mail-send", "Mail: Send!", "irreversible")


@pytest.mark.parametrize("case", ["denied", "allowed", "changed", "gone", "a glob"])
async def test_no_rule_is_proposed_where_the_rule_does_not_ask_by_itself(ann: Person, helper: Agent, case: str) -> None:
    if case == "allowed":
        await ruled(ann, {**SMALL, "decision": "allow"})
    run = await helper.asks(
        {"amount": 101 if case == "denied" else 5}, tool="stripe.*" if case == "a glob" else "stripe.x"
    )
    if case in ("changed", "gone"):
        await ruled(ann, *([{**SMALL, "reason": "new"}] if case == "changed" else []))
    assert_problem(await proposes(ann, run.id), 409, "not_proposable")


async def test_who_may_not_decide_proposes_no_rule(ann: Person, eve: Person, helper: Agent) -> None:
    run = await helper.asks({"amount": 5})
    for person in (await colleague(ann, "bob", "member"), helper.person):
        assert (await proposes(person, run.id)).status == 403
    assert (await proposes(eve, run.id)).status == 404
    plain_run = await ann.start("line", {"amount": 5})
    assert (await proposes(ann, plain_run["id"])).status == 404
