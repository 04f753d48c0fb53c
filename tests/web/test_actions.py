"""Actions over HTTP: what rules allow, deny or ask about, once per key, and who may cancel them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.web.people import colleague, company
from tests.web.support import PATIENCE_S, Answer, FarSide, House, Person, assert_invalid, assert_problem
from tests.web.test_api_keys import machine, made

RULES: list[dict[str, Any]] = [
    {"id": "small", "tool": "refund", "when": "arguments.amount <= 100", "decision": "allow"},
    {"id": "large", "tool": "refund", "when": "arguments.amount <= 10000", "decision": "ask"},
    {"id": "never", "tool": "refund", "decision": "deny", "reason": "Nobody refunds so much."},
]


def rules_of(person: Person) -> str:
    return f"{company(person)}/action-rules"


async def put(ann: Person, rules: list[dict[str, Any]]) -> None:
    answer = await ann.put(rules_of(ann), {"rules": rules})
    assert answer.status == 200, answer.raw


@pytest.fixture
async def agent(ann: Person, house: House) -> Person:
    """The holder of an agent's key, in a company with rules for refunds."""
    await put(ann, RULES)
    return machine(house, await made(ann))


async def ask(one: Person, amount: float = 10, key: str = "k", *, tool: str = "refund", **more: Any) -> Answer:
    headers = {name: more.pop(name) for name in ("Prefer",) if name in more}
    body = {"tool": tool, "arguments": {"amount": amount}, **more}
    return await one.post("/actions/", body, Idempotency_Key=key, **headers)


async def test_an_allowed_call_without_a_connector_is_recorded_and_not_made(agent: Person) -> None:
    answer = await ask(agent, reasoning="charged twice", context={"ticket": 7})
    found = answer.json
    assert (answer.status, answer.headers["Location"]) == (201, f"/actions/{found['id']}"), answer.raw
    assert {name: found[name] for name in ("kind", "status", "outcome", "tool", "arguments", "made", "decision")} == {
        "kind": "action",
        "status": "completed",
        "outcome": "made",
        "tool": "refund",
        "arguments": {"amount": 10},
        "made": None,
        "decision": "allow",
    }
    assert (found["agent"], found["reasoning"], found["context"]) == ("triage agent", "charged twice", {"ticket": 7})
    assert (found["rule"]["id"], found["rule"]["version"]) == ("small", 1)
    assert (await agent.get(f"/actions/{found['id']}")).json == found


async def test_a_denial_by_rule_says_which_and_why(agent: Person) -> None:
    answer = await ask(agent, 20_000)
    assert answer.status == 201
    told = [answer.json[name] for name in ("status", "outcome", "decision", "reason", "gate")]
    assert told == ["completed", "denied", "deny", "Nobody refunds so much.", None]
    assert answer.json["rule"]["id"] == "never"


async def test_what_is_asked_of_people_is_answered_at_once_unless_one_waits(agent: Person, ann: Person) -> None:
    answer = await ask(agent, 500)
    found = answer.json
    assert (answer.status, found["status"], found["outcome"], found["gate"]["step_id"]) == (
        202,
        "parked",
        None,
        "large",
    )
    assert (await agent.get(f"/actions/{found['id']}")).json == found
    waits = asyncio.create_task(ask(agent, 501, "k2", Prefer="wait=60"))
    while len(open_ := (await ann.get("/actions/?status=parked")).json) < 2:  # noqa: ASYNC110 - as soon as it is there
        await asyncio.sleep(0)
    assert not waits.done()
    assert (await ann.resume(open_[0], "large")).status == 200
    ended = await waits
    assert (ended.status, ended.json["outcome"], ended.json["arguments"]) == (201, "made", {"amount": 501})


async def connected(ann: Person, far: FarSide, **how: Any) -> None:
    await ann.connect("refund", far.url, body_map={"amount": "amount"}, **how)


def pause_of(person: Person) -> str:
    return f"{rules_of(person)}/pause"


async def approve(ann: Person, found: Any, gate: str = "large", decision: str = "approved") -> Answer:
    return await ann.resume(found, gate, decision)


async def in_doubt(ann: Person, agent: Person, far: FarSide) -> Any:
    """An action of which nobody knows whether it happened."""
    far.open.clear()
    await connected(ann, far, timeout_s=0.5)
    answer = await ask(agent)
    assert (answer.status, answer.json["status"], answer.json["outcome"]) == (202, "parked", "unknown"), answer.raw
    far.open.set()
    return answer.json


async def test_a_call_in_shadow_says_that_it_was_not_sent(ann: Person, agent: Person, far: FarSide) -> None:
    await connected(ann, far, reversible=False)
    answer = await ask(agent)
    shown = [answer.json[name] for name in ("status", "outcome", "made", "mode")]
    assert shown == ["completed", "made", None, "shadow"]
    assert (await ask(agent, 500, "k2")).json["mode"] == "shadow"
    assert (await ask(agent, 20_000, "k3")).json["mode"] is None
    assert far.seen == []
    await connected(ann, far)
    assert (await ask(agent, 11, "k4")).json["mode"] == "live"


async def test_a_call_that_fails_says_why(ann: Person, agent: Person, far: FarSide) -> None:
    far.status, far.answer = 422, {"error": "no such charge"}
    await connected(ann, far)
    answer = await ask(agent)
    assert (answer.status, answer.json["status"], answer.json["outcome"]) == (201, "failed", "failed"), answer.raw
    assert "422" in answer.json["reason"]
    assert [one["outcome"] for one in (await ann.get("/actions/?view=summary")).json] == ["failed"]


async def test_a_key_is_required(agent: Person) -> None:
    refused = await agent.post("/actions/", {"tool": "refund"})
    assert_problem(refused, 400, "idempotency_key_required", retryable=False)
    assert (await agent.get("/actions/")).json == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/tool"),
        ({"tool": ""}, "/tool"),
        ({"tool": "refund", "arguments": []}, "/arguments"),
        ({"tool": "refund", "timeout": "10m"}, "/timeout"),
        ({"tool": "refund", "timeout": "PT0S"}, "/timeout"),
        ({"tool": "refund", "timeout": "P1M"}, "/timeout"),
        ({"tool": "refund", "timeout": "P2BD"}, "/timeout"),
        ({"tool": "refund", "agent": "another"}, "/agent"),
    ],
)
async def test_what_is_wrong_is_said_by_its_pointer(agent: Person, body: dict[str, Any], pointer: str) -> None:
    assert_invalid(await agent.post("/actions/", body, Idempotency_Key="k"), pointer)


async def test_a_live_call_is_made_once_and_a_repeat_is_answered_alike(
    ann: Person, agent: Person, far: FarSide
) -> None:
    await connected(ann, far)
    first = await ask(agent)
    assert (first.status, first.json["outcome"], first.json["made"]) == (201, "made", {"amount": 10})
    assert first.json["result"] == {"ok": True}
    again = await ask(agent)
    assert (again.status, again.raw, again.headers["Idempotency-Replayed"]) == (201, first.raw, "true")
    assert_problem(await ask(agent, 11), 422, "idempotency_key_reused")
    assert [one.body for one in far.seen] == [{"amount": 10}]


async def test_repeats_at_once_are_one_action(ann: Person, agent: Person, far: FarSide) -> None:
    await connected(ann, far)
    answers = await asyncio.gather(*(ask(agent) for _ in range(20)))
    assert {one.raw for one in answers} == {answers[0].raw}
    assert len(far.seen) == 1


async def test_an_approved_call_is_made_and_a_denied_one_is_not(ann: Person, agent: Person, far: FarSide) -> None:
    await connected(ann, far)
    yes, no = (await ask(agent, 500)).json, (await ask(agent, 600, "k2")).json
    assert yes["gate"]["effect"]["body"] == {"amount": 500}
    assert (await approve(ann, yes)).status == 200
    assert (await approve(ann, no, decision="denied")).status == 200
    found = [(await agent.get(f"/actions/{one['id']}")).json for one in (yes, no)]
    assert [(one["status"], one["outcome"], one["made"]) for one in found] == [
        ("completed", "made", {"amount": 500}),
        ("completed", "denied", None),
    ]
    assert [one.body for one in far.seen] == [{"amount": 500}]


async def test_nobody_answers_in_time_and_the_call_is_not_made(ann: Person, agent: Person, far: FarSide) -> None:
    await connected(ann, far)
    waits = await ask(agent, 500, timeout="PT1S", Prefer="wait=30")
    assert (waits.status, waits.json["outcome"], waits.json["made"]) == (201, "expired", None), waits.raw
    assert far.seen == []


async def test_a_call_in_doubt_is_listed_and_the_same_call_is_asked_about(
    ann: Person, agent: Person, far: FarSide, house: House
) -> None:
    first = await in_doubt(ann, agent, far)
    assert [one["id"] for one in (await ann.get("/actions/?outcome=unknown")).json] == [first["id"]]
    other = machine(house, await made(ann, name="another"))
    again = (await ask(other)).json
    assert (again["status"], again["decision"]) == ("parked", "ask")
    assert again["why"] == f"the same call may have happened: {first['id']}"
    assert (await ask(other, 11, "k2")).json["outcome"] == "made"
    assert len(far.seen) == 2


async def test_the_same_call_of_another_agent_while_it_is_under_way_is_asked_about(
    ann: Person, agent: Person, far: FarSide, house: House
) -> None:
    await connected(ann, far)
    far.open.clear()
    first = asyncio.create_task(ask(agent))
    await far.arrived.wait()
    other = machine(house, await made(ann, name="another"))
    second = (await ask(other)).json
    assert (second["decision"], second["why"][:28]) == ("ask", "the same call is under way: ")
    far.open.set()
    assert (await first).json["outcome"] == "made"
    assert (await ask(other, key="k2")).json["decision"] == "allow"
    assert len(far.seen) == 2


async def test_who_is_stopped_asks_for_nothing_and_what_waits_stays(ann: Person, agent: Person) -> None:
    waits = (await ask(agent, 500)).json
    await ann.put(pause_of(ann), {"agent": "triage agent", "reason": "It refunds twice."})
    refused = await ask(agent, 10, "k2")
    assert_problem(refused, 503, "paused", retryable=False, reason="It refunds twice.", outcome="not_applied")
    assert refused.headers["Retry-After"] == "30"
    assert [one["id"] for one in (await ann.get("/actions/")).json] == [waits["id"]]
    assert (await ask(ann)).json["outcome"] == "made"
    await ann.delete(f"{pause_of(ann)}?agent=triage%20agent")
    assert (await ask(agent, 10, "k2")).json["outcome"] == "made"


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_is_approved_is_held_while_the_agent_is_stopped(
    ann: Person, agent: Person, far: FarSide, house: House, *, restarted: bool
) -> None:
    await connected(ann, far)
    found = (await ask(agent, 500)).json
    await ann.put(pause_of(ann), {"reason": "The refunds are wrong."})
    approved = await ann.post(
        f"/process-runs/{found['id']}/resume", {"gate": "large", "decision": "approved"}, Prefer="respond-async"
    )
    assert approved.status == 202
    store = house.services.store
    while not await store.call_held(ann.session["company"]["id"], found["id"]):  # noqa: ASYNC110 - in a moment
        await asyncio.sleep(0)
    if restarted:
        await house.restart()
    held = (await ann.get(f"/actions/{found['id']}")).json
    assert (held["status"], held["outcome"], held["made"] is None or restarted) == (
        "executing",
        None,
        held["made"] is None or restarted,
    )
    assert far.seen == []
    await ann.delete(pause_of(ann))
    ended = await ann.until(found, "completed")
    assert ended["outcome"] == "made"
    assert [one.body for one in far.seen] == [{"amount": 500}]


async def opened_anew(ann: Person, found: Any) -> str:
    """What the history says of the gate that was opened for a second time, once it was."""
    path = f"/process-runs/{found['id']}/events"
    async with asyncio.timeout(PATIENCE_S):
        while True:
            opened = [one for one in (await ann.get(path)).json if one["type"] == "gate_opened"]
            if len(opened) > 1:
                return str(opened[-1])


async def test_a_question_names_arguments_as_the_condition_does(ann: Person, house: House) -> None:
    rule = {**RULES[1], "question": "Refund {arguments.amount:.2f}?"}
    await put(ann, [rule])
    found = (await ask(machine(house, await made(ann)), 500)).json
    assert found["gate"]["question"] == "Refund 500.00?"
    wrong = await ann.put(rules_of(ann), {"rules": [{**rule, "question": "Refund {amount}?"}]})
    assert_invalid(wrong, "/rules/0/question")
    assert "{arguments.…}" in wrong.json["errors"][0]["detail"]


async def changed_rule(ann: Person, key: dict[str, Any]) -> None:
    await put(ann, [RULES[0], {**RULES[1], "question": "May it?"}, RULES[2]])


async def deleted_key(ann: Person, key: dict[str, Any]) -> None:
    assert (await ann.delete(f"/api-keys/{key['id']}")).status == 204


@pytest.mark.parametrize(
    ("change", "said"), [(changed_rule, "the rule large has changed"), (deleted_key, "key is gone")]
)
async def test_what_was_approved_is_not_sent_once_rule_or_key_has_changed(
    ann: Person, far: FarSide, house: House, change: Any, said: str
) -> None:
    await put(ann, RULES)
    key = await made(ann)
    await connected(ann, far)
    found = (await ask(machine(house, key), 500)).json
    await ann.put(pause_of(ann), {"reason": "Look first."})
    body = {"gate": "large", "decision": "approved"}
    assert (await ann.post(f"/process-runs/{found['id']}/resume", body, Prefer="respond-async")).status == 202
    await change(ann, key)
    await ann.delete(pause_of(ann))
    again = await ann.until(found, "parked")
    assert again["gate"]["reason"].startswith("changed since approval"), again["gate"]
    assert far.seen == []
    assert said in await opened_anew(ann, found)
    assert again["gate"]["digest"] != found["gate"]["digest"]
    assert (await approve(ann, found)).status == 200
    assert (await ann.until(found, "completed"))["outcome"] == "made"
    assert len(far.seen) == 1


@pytest.mark.parametrize(
    ("change", "said"), [(changed_rule, "the rule large has changed"), (deleted_key, "key is gone")]
)
async def test_an_open_gate_asks_anew_once_rule_or_key_has_changed(
    ann: Person, house: House, change: Any, said: str
) -> None:
    await put(ann, RULES)
    key = await made(ann)
    found = (await ask(machine(house, key), 500)).json
    await change(ann, key)
    assert said in await opened_anew(ann, found)
    body = {"gate": "large", "decision": "approved", "digest": found["gate"]["digest"]}
    stale = await ann.post(f"/process-runs/{found['id']}/resume", body)
    assert stale.status in (409, 412), stale.raw
    now = (await ann.get(f"/actions/{found['id']}")).json
    assert now["gate"]["digest"] != found["gate"]["digest"]


async def test_one_cancels_ones_own_and_a_manager_any(ann: Person, agent: Person, house: House) -> None:
    own, others = (await ask(agent, 500)).json, (await ask(agent, 600, "k2")).json
    stranger = machine(house, await made(ann, name="another"))
    refused = await stranger.delete(f"/actions/{own['id']}")
    assert_problem(refused, 403, "forbidden", reason="machine")
    member, manager = await colleague(ann, "mia", "member"), await colleague(ann, "max", "manager")
    assert_problem(await member.delete(f"/actions/{own['id']}"), 403, "forbidden", required="manager")
    gone = await agent.send("DELETE", f"/actions/{own['id']}", {"reason": "the wrong charge"})
    assert (gone.status, gone.json["status"], gone.json["outcome"], gone.json["reason"]) == (
        200,
        "cancelled",
        "cancelled",
        "the wrong charge",
    )
    assert (await manager.delete(f"/actions/{others['id']}")).json["outcome"] == "cancelled"
    assert_problem(await agent.delete(f"/actions/{own['id']}"), 409, "not_cancellable")


async def test_what_is_no_action_is_not_found(ann: Person, agent: Person, eve: Person) -> None:
    run, found = await ann.start("line", {"amount": 5}), (await ask(agent, 500)).json
    for who, one in ((ann, run), (eve, found)):
        assert_problem(await who.get(f"/actions/{one['id']}"), 404, "not_found")
        assert_problem(await who.delete(f"/actions/{one['id']}"), 404, "not_found")
    assert_problem(await ann.get("/actions/x"), 404, "not_found")
    assert (await eve.get("/actions/")).json == []


async def test_actions_are_listed_by_what_they_are(ann: Person, agent: Person, house: House) -> None:
    other = machine(house, await made(ann, name="another"))
    ids = [
        (await ask(agent)).json["id"],
        (await ask(agent, 500, "k2")).json["id"],
        (await ask(other, 20_000, "k3")).json["id"],
        (await ask(other, 5, "k4", tool="mail", server="post")).json["id"],
    ]

    async def listed(query: str) -> list[int]:
        return [ids.index(one["id"]) for one in (await ann.get(f"/actions/?{query}")).json]

    assert await listed("") == [3, 2, 1, 0]
    assert await listed("agent=another") == [3, 2]
    assert await listed("tool=mail") == [3]
    assert await listed("server=post") == [3]
    assert await listed("status=parked") == [3, 1]
    assert await listed("outcome=denied") == [2]
    assert await listed("rule=small") == [0]
    assert_invalid(await ann.get("/actions/?status=asleep"), "/status")
    first = await ann.get("/actions/?limit=3")
    path = first.headers["Link"].split(";")[0].strip("<>")
    assert [one["id"] for one in first.json + (await ann.get(path)).json] == ids[::-1]
    whole, row = (await ann.get("/actions/")).json[0], (await ann.get("/actions/?view=summary")).json[0]
    assert whole == (await ann.get(f"/actions/{ids[3]}")).json
    assert {name: whole.get(name) for name in row if name not in ("rule", "way")} == {
        name: one for name, one in row.items() if name not in ("rule", "way")
    }
    table = await ann.get("/actions/?format=csv&view=summary")
    assert table.raw.decode().splitlines()[0].startswith('"id","kind","status","outcome","tool"')
    assert len(table.raw.decode().splitlines()) == 5


async def test_an_agent_that_reads_no_actions_cancels_its_own(ann: Person, agent: Person, house: House) -> None:
    blind = machine(house, await made(ann, name="blind", scopes={"read": ["line"]}))
    own, others = (await ask(blind, 500)).json, (await ask(agent, 600)).json
    assert_problem(await blind.get(f"/actions/{own['id']}"), 404, "not_found")
    gone = await blind.send("DELETE", f"/actions/{own['id']}", {"reason": "a mistake"}, Idempotency_Key="c")
    assert (gone.status, gone.json["id"], gone.json["outcome"]) == (200, own["id"], "cancelled")
    again = await blind.send("DELETE", f"/actions/{own['id']}", {"reason": "a mistake"}, Idempotency_Key="c")
    assert again.raw == gone.raw
    assert_problem(await blind.delete(f"/actions/{own['id']}"), 409, "not_cancellable")
    assert_problem(await blind.delete(f"/actions/{others['id']}"), 404, "not_found")
