"""Rules for the actions of agents over HTTP, what they say of a call, and the stop switch."""

from __future__ import annotations

from typing import Any

import pytest

from actors.core.actions.deciding import SCALE
from daemon.model.actions import BudgetHold
from daemon.runtime.clock import utc_now
from tests.histories import action
from tests.web.people import colleague, company
from tests.web.support import House, Person, assert_invalid, assert_problem
from tests.web.test_api_keys import machine, made

REFUNDS: dict[str, Any] = {
    "id": "refunds",
    "tool": "stripe.refund*",
    "agent": "support-*",
    "when": "arguments.amount <= 100",
    "decision": "allow",
    "budget": {"sum": "arguments.amount", "max": 150, "per": "P1D"},
}
ASKS: dict[str, Any] = {
    "id": "large",
    "tool": "stripe.*",
    "decision": "ask",
    "gate": {"quorum": 2, "role": "admin", "editable": ["/amount"]},
    "expires": "PT30M",
}
DENIES: dict[str, Any] = {"id": "never", "tool": "db.drop*", "decision": "deny", "reason": "Nobody drops tables."}
RULES = [REFUNDS, ASKS, DENIES]


def rules_of(person: Person) -> str:
    return f"{company(person)}/action-rules"


def pause_of(person: Person) -> str:
    return f"{rules_of(person)}/pause"


async def put(ann: Person, rules: list[dict[str, Any]] = RULES, **headers: str) -> Any:
    return await ann.put(rules_of(ann), {"rules": rules}, **headers)


async def tried(ann: Person, tool: str = "stripe.refund", amount: float = 10, **said: Any) -> Any:
    body = {"tool": tool, "arguments": {"amount": amount}, "agent": "support-bot", **said}
    answer = await ann.post(f"{rules_of(ann)}/try", body)
    assert answer.status == 200, answer.raw
    return answer.json


async def test_as_many_rules_as_there_may_be_are_stored_whatever_checking_all_of_them_costs(ann: Person) -> None:
    many = [{**REFUNDS, "id": f"r{number}", "gate": {"quorum": 2}} for number in range(500)]
    stored = await put(ann, many)
    assert stored.status == 200, stored.raw
    assert len(stored.json["rules"]) == 500
    assert_invalid(await put(ann, [*many[:400], {**REFUNDS, "id": "r3"}]), "/rules/400/id")
    long = " || ".join(["arguments.amount == 1.5"] * 150)
    assert (await put(ann, [{**one, "when": long} for one in many[:200]])).status == 200


async def test_rules_are_replaced_whole_and_counted(ann: Person) -> None:
    empty = await ann.get(rules_of(ann))
    assert empty.json == {"rules": [], "version": 0, "unruled": 0, "paused": {"all": None, "agents": {}}}
    assert empty.headers["ETag"] == '"0"'
    stored = await put(ann)
    assert (stored.status, stored.headers["ETag"], stored.json["version"]) == (200, '"1"', 1)
    assert [one["version"] for one in stored.json["rules"]] == [1, 1, 1]
    for given, one in zip(RULES, stored.json["rules"], strict=True):
        budget = {"count": False, "of": "agent", **given["budget"]} if "budget" in given else None
        assert {name: one[name] for name in given} == {**given, **({} if budget is None else {"budget": budget})}
    assert (await ann.get(rules_of(ann))).json == stored.json
    again = await put(ann)
    assert again.json["version"] == 1


async def test_a_rule_that_says_the_same_keeps_its_version(ann: Person) -> None:
    await put(ann)
    changed = (await put(ann, [DENIES, {**REFUNDS, "when": "arguments.amount <= 50"}, ASKS])).json
    assert changed["version"] == 2
    assert {one["id"]: one["version"] for one in changed["rules"]} == {"never": 1, "refunds": 2, "large": 1}
    await put(ann, [ASKS])
    assert [one["version"] for one in (await put(ann)).json["rules"]] == [4, 1, 4]


async def test_with_if_match_only_what_was_seen_is_replaced(ann: Person) -> None:
    assert (await put(ann, If_Match='"0"')).status == 200
    refused = await put(ann, [ASKS], If_Match='"0"')
    assert_problem(refused, 412, "stale")
    assert refused.json["etag"] == '"1"'
    assert_problem(await put(ann, RULES, If_Match='"0"'), 412, "stale")
    assert (await put(ann, [ASKS], If_Match='"1"')).json["version"] == 2
    assert (await put(ann, [ASKS], If_Match="*")).status == 200


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"id": "Refunds"}, "/rules/1/id"),
        ({"id": "never"}, "/rules/1/id"),
        ({"id": "unruled"}, "/rules/1/id"),
        ({"tool": ""}, "/rules/1/tool"),
        ({"decision": "maybe"}, "/rules/1/decision"),
        ({"tier": "low"}, "/rules/1/tier"),
        ({"when": "arguments.amount <"}, "/rules/1/when"),
        ({"when": "arguments.amount"}, "/rules/1/when"),
        ({"when": "inputs.amount < 1"}, "/rules/1/when"),
        ({"when": "spent.sum < 5"}, "/rules/1/when"),
        ({"when": "timestamp('x') < timestamp('y')"}, "/rules/1/when"),
        ({"when": "arguments.l.all(x, arguments.l.all(y, x == y))"}, "/rules/1/when"),
        ({"budget": {"max": 5, "per": "P1D"}}, "/rules/1/budget"),
        ({"budget": {"count": True, "sum": "arguments.n", "max": 5, "per": "P1D"}}, "/rules/1/budget"),
        ({"budget": {"sum": "amount", "max": 5, "per": "P1D"}}, "/rules/1/budget/sum"),
        ({"budget": {"count": True, "max": -1, "per": "P1D"}}, "/rules/1/budget/max"),
        ({"budget": {"count": True, "max": 0.0000001, "per": "P1D"}}, "/rules/1/budget/max"),
        ({"budget": {"count": True, "max": 5, "per": "P3BD"}}, "/rules/1/budget/per"),
        ({"expires": "soon"}, "/rules/1/expires"),
        ({"gate": {"editable": ["amount"]}}, "/rules/1/gate/editable/0"),
        ({"gate": {"editable": "amount"}}, "/rules/1/gate/editable"),
        ({"gate": {"quorum": 0}}, "/rules/1/gate"),
        ({"gate": {"quorum": "two"}}, "/rules/1/gate/quorum"),
        ({"gate": {"quorums": 2}}, "/rules/1/gate/quorums"),
        ({"gate": {"deadline": "PT1H"}}, "/rules/1/gate"),
        ({"more": 1}, "/rules/1/more"),
    ],
)
async def test_what_is_wrong_is_said_by_its_pointer(ann: Person, changes: dict[str, Any], pointer: str) -> None:
    refused = await put(ann, [DENIES, {**ASKS, **changes}])
    assert_invalid(refused, pointer)
    assert (await ann.get(rules_of(ann))).json["version"] == 0


@pytest.mark.one_daemon
async def test_rules_that_take_too_long_to_look_at_are_refused_and_simple_ones_take_no_process(
    ann: Person, house: House
) -> None:
    for worker in house.services.evaluator.pool.workers:
        worker._wall_s = 0.0
    assert_invalid(await put(ann, RULES), "/rules")
    assert (await put(ann, [DENIES])).status == 200


async def test_the_first_rule_that_fits_decides_and_a_try_counts_nothing(ann: Person) -> None:
    await put(ann)
    allowed = {"decision": "allow", "rule": "refunds", "version": 1, "why": None}
    for _ in range(20):
        assert await tried(ann, amount=100) == allowed
    assert await tried(ann, amount=101) == {"decision": "ask", "rule": "large", "version": 1, "why": None}
    assert await tried(ann, agent="sales") == {"decision": "ask", "rule": "large", "version": 1, "why": None}
    assert (await tried(ann, "db.drop_table"))["decision"] == "deny"
    assert await tried(ann, "mail.send") == {"decision": "ask", "rule": "unruled", "version": 0, "why": "no rule fits"}
    failed = await tried(ann, "stripe.refund", arguments={})
    assert failed["decision"] == "ask"
    assert failed["why"].startswith("condition failed")


async def test_a_budget_that_the_call_would_pass_asks(ann: Person, house: House) -> None:
    await put(ann)
    at = utc_now()
    company_id = ann.session["company"]["id"]
    hold = BudgetHold(company_id, "refunds", "support-bot", "run-1", 60 * SCALE, at)
    assert (await house.services.store.hold_budget(hold, at, 150 * SCALE)).held
    assert (await tried(ann, amount=90))["decision"] == "allow"
    asked = await tried(ann, amount=91)
    assert (asked["decision"], asked["why"]) == ("ask", "budget")
    assert (await tried(ann, amount=91, agent="support-2"))["decision"] == "allow"


async def test_hits_of_a_rule_are_counted(ann: Person, house: House) -> None:
    await put(ann)
    company_id = ann.session["company"]["id"]
    for number in range(2):
        await house.services.store.append(action(f"0199c1f0-0000-7000-8000-00000000000{number}", company_id))
    hits = (await ann.get(rules_of(ann))).json["rules"][0]["hits"]
    assert hits == {"allow": 0, "ask": 0, "deny": 0}  # those of histories are of long ago
    found = await house.services.store.rule_hits(company_id, utc_now().replace(year=2020))
    assert found == {"refunds": {"allow": 2}}


async def test_changes_are_in_the_log(ann: Person) -> None:
    await put(ann)
    await ann.put(pause_of(ann), {"agent": "support-bot", "reason": "It refunds twice."})
    log = (await ann.get("/audit/log")).json
    events = {one["event"]["type"]: one for one in log}
    rules, pauses = events["action_rules_changed"], events["action_pauses_changed"]
    assert rules["change"]["action"] == "change_action_rules"
    assert [one["id"] for one in rules["event"]["after"]["rules"]] == ["refunds", "large", "never"]
    assert pauses["event"]["after"]["agents"]["support-bot"]["reason"] == "It refunds twice."


async def test_a_manager_stops_agents_and_lets_them_go_on(ann: Person, house: House) -> None:
    kim = await colleague(ann, "kim", "manager")
    company_id = ann.session["company"]["id"]
    pauses = house.services.deciding.pauses
    stopped = await kim.put(pause_of(ann), {"agent": "support-bot", "reason": "It refunds twice."})
    assert stopped.status == 200
    said = stopped.json["agents"]["support-bot"]
    assert (said["reason"], said["by"]) == ("It refunds twice.", "kim@kim.test")
    assert (await ann.get(rules_of(ann))).json["paused"] == stopped.json
    assert pauses.why(company_id, "support-bot") is not None
    assert pauses.why(company_id, "sales") is None
    assert (await kim.put(pause_of(ann), {"reason": "A flood."})).json["all"]["reason"] == "A flood."
    assert pauses.why(company_id, "sales") is not None
    assert (await kim.delete(pause_of(ann))).status == 204
    assert (await kim.delete(f"{pause_of(ann)}?agent=support-bot")).status == 204
    assert pauses.why(company_id, "support-bot") is None
    assert (await kim.delete(f"{pause_of(ann)}?agent=support-bot")).status == 204
    assert_invalid(await kim.put(pause_of(ann), {"agent": "support-bot"}), "/reason")
    assert_invalid(await kim.put(pause_of(ann), {"reason": ""}), "/reason")


async def test_neither_a_member_nor_a_machine_stops_agents_or_sets_rules(ann: Person, house: House) -> None:
    member = await colleague(ann, "mia", "member")
    service = machine(house, await made(ann, role="admin", kind="service"))
    body = {"reason": "No."}
    for one in (member, service):
        assert (await one.put(pause_of(ann), body)).status == 403
        assert (await one.delete(pause_of(ann))).status == 403
        assert (await one.put(rules_of(ann), {"rules": []})).status == 403
        assert (await one.post(f"{rules_of(ann)}/try", {"tool": "x"})).status == 403
    kim = await colleague(ann, "kim", "manager")
    assert (await kim.put(rules_of(ann), {"rules": []})).status == 403
    assert (await member.get(rules_of(ann))).status == 200


async def test_rules_of_another_company_are_not_found(ann: Person, house: House) -> None:
    bob = await house.register("bob")
    assert (await bob.get(rules_of(ann))).status == 404
    assert (await bob.put(rules_of(ann), {"rules": []})).status == 404
    assert (await bob.put(pause_of(ann), {"reason": "No."})).status == 404
