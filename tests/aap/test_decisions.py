"""What stands between an approval and its call: time, stops and changes; outcomes not told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agentapprovalprotocol import AsyncGate, Call, ConflictError, Gate

from tests.aap.support import ALLOWS, Agent, agent_of, assert_error
from tests.web.people import company
from tests.web.support import CompanyStream, Person

ASKS: dict[str, Any] = {"id": "refunds", "tool": "stripe.*", "decision": "ask"}


async def outcome_within(ann: Person, said: str) -> None:
    answer = await ann.put(f"{company(ann)}/policy", {"actions": {"outcome_within": said}})
    assert answer.status == 200, answer.raw


async def pause(ann: Person, **agent: str) -> None:
    answer = await ann.put(f"{company(ann)}/action-rules/pause", {"reason": "It refunds twice.", **agent})
    assert answer.status == 200, answer.raw


async def test_a_question_that_nobody_answers_expires(agent: Agent) -> None:
    asked = await agent.asks(timeout="1s")
    found = await agent.client.get(asked.id, wait=25)
    assert found.status == "expired"
    with pytest.raises(ConflictError, match="not_approved"):
        await agent.client.consume(found.id, "k")


async def test_an_approval_that_is_not_used_in_time_expires_and_stays_one(agent: Agent) -> None:
    await agent.rules({**ALLOWS, "expires": "PT1S"})
    found = await agent.asks()
    ended = await agent.boss.until({"id": found.id}, "completed")
    assert ended["outcome"] == "expired_unused"
    assert await agent.client.get(found.id) == found
    with pytest.raises(ConflictError, match="approval_expired"):
        await agent.client.consume(found.id, "k")


async def test_a_call_whose_outcome_is_not_told_is_in_doubt_and_asked_again(agent: Agent) -> None:
    await agent.rules(ALLOWS)
    await outcome_within(agent.boss, "PT1S")
    found = await agent.asks()
    used = await agent.client.consume(found.id, "k")
    parked = await agent.boss.until({"id": found.id}, "parked")
    assert parked["parked_at"] == "refunds"
    assert await agent.client.get(found.id) == used
    again = await agent.asks()
    assert again.status == "pending"
    run = await agent.boss.house.services.store.load(agent.boss.session["company"]["id"], again.id)
    assert run is not None
    assert run.action is not None
    assert run.action.why == f"the same call may have happened: {found.id}"
    late = await agent.client.report_outcome(found.id, "failed", "refused")
    assert late.consumption is not None
    assert late.consumption.outcome is not None
    assert (late.consumption.outcome.status, late.consumption.outcome.note) == ("failed", "refused")
    assert await agent.client.report_outcome(found.id, "failed", "refused") == late
    assert (await agent.boss.run({"id": found.id}))["status"] == "completed"


async def test_a_person_who_says_that_it_was_made_tells_no_outcome_of_the_agent(agent: Agent) -> None:
    await agent.rules(ALLOWS)
    await outcome_within(agent.boss, "PT1S")
    used = await agent.client.consume((await agent.asks()).id, "k")
    await agent.boss.until({"id": used.id}, "parked")
    await agent.decide(used.id, "done")
    assert await agent.client.get(used.id) == used
    late = await agent.client.report_outcome(used.id, "succeeded")
    assert late.consumption is not None
    assert late.consumption.outcome is not None
    assert await agent.client.get(used.id) == late


async def test_an_agent_that_is_stopped_asks_and_uses_nothing(agent: Agent) -> None:
    body = {"tool": "stripe.refund", "arguments": {}, "timeout": "10m"}
    found, used = await agent.approved(), await agent.approved(arguments={"n": 1})
    used = await agent.client.consume(used.id, "before")
    await pause(agent.boss, agent="support bot")
    refused = await agent.send("POST", "/v1/requests", body, Idempotency_Key="new")
    assert_error(refused, 503, "paused")
    assert int(refused.headers["Retry-After"]) > 0
    assert "It refunds twice." in refused.json["error"]["message"]
    held = await agent.send("POST", f"/v1/requests/{found.id}/consume", Idempotency_Key="k")
    assert_error(held, 503, "paused")
    assert await agent.client.get(found.id) == found
    assert await agent.client.consume(used.id, "before") == used
    assert (await agent.client.report_outcome(used.id, "succeeded")).consumption is not None
    async with agent_of(agent.boss, "other bot") as other:
        assert (await other.asks()).status == "pending"
    await agent.boss.delete(f"{company(agent.boss)}/action-rules/pause?agent=support%20bot")
    assert (await agent.client.consume(found.id, "k")).consumption is not None
    assert (await agent.send("POST", "/v1/requests", body, Idempotency_Key="new")).status == 201


async def test_what_was_asked_before_a_stop_is_told_under_it(agent: Agent) -> None:
    found = await agent.asks("k")
    await pause(agent.boss)
    assert await agent.asks("k") == found


async def rule_changed(agent: Agent) -> None:
    await agent.rules({**ASKS, "effect": "reversible"})


async def rule_gone(agent: Agent) -> None:
    await agent.rules()


Change = Callable[[Agent], Awaitable[None]]


@pytest.mark.parametrize("change", [rule_changed, rule_gone])
async def test_an_approval_does_not_stand_under_another_rule(agent: Agent, change: Change) -> None:
    await agent.rules(ASKS)
    found = await agent.approved()
    await change(agent)
    with pytest.raises(ConflictError, match="not_approved"):
        await agent.client.consume(found.id, "k")
    run = await agent.boss.run({"id": found.id})
    assert (run["status"], run["parked_at"]) == ("parked", "refunds")
    assert (await agent.client.get(found.id)).decision == found.decision
    with pytest.raises(ConflictError, match="not_approved"):
        await agent.client.consume(found.id, "k")


@pytest.mark.parametrize(
    "changes",
    [{"arguments": {"amount": 4901}}, {"tool": "stripe.refunds"}, {"server": "other"}, {"context": {"call_id": "2"}}],
)
async def test_an_approval_is_for_this_very_call(agent: Agent, changes: dict[str, Any]) -> None:
    found = await agent.approved(arguments={"amount": 4900})
    other = await agent.asks(**changes)
    assert (other.status, other.id == found.id) == ("pending", False)
    with pytest.raises(ConflictError, match="not_approved"):
        await agent.client.consume(other.id, "k")
    await agent.asks("one")
    with pytest.raises(ConflictError, match="idempotency_conflict"):
        await agent.asks("one", **changes)


async def test_an_approval_of_another_model_is_not_used(agent: Agent) -> None:
    found = await agent.approved()
    changed = await agent.boss.put(f"/api-keys/{agent.key['id']}", {"model": "m-2"})
    assert changed.status == 200, changed.raw
    with pytest.raises(ConflictError, match="not_approved"):
        await agent.client.consume(found.id, "k")


async def test_a_key_that_is_gone_uses_nothing_nor_does_one_of_the_same_name(agent: Agent) -> None:
    found = await agent.approved()
    await agent.boss.delete(f"/api-keys/{agent.key['id']}")
    assert_error(await agent.send("POST", f"/v1/requests/{found.id}/consume", Idempotency_Key="k"), 401)
    async with agent_of(agent.boss) as other:
        assert_error(await other.send("POST", f"/v1/requests/{found.id}/consume", Idempotency_Key="k"), 404)


async def test_a_budget_holds_for_requests_too(agent: Agent) -> None:
    await agent.rules({**ALLOWS, "budget": {"sum": "arguments.amount", "max": 100, "per": "P1D"}})
    asked = [await agent.asks(arguments={"amount": 60, "n": one}) for one in range(2)]
    assert [one.status for one in asked] == ["approved", "pending"]
    exact = await agent.send(
        "POST",
        "/v1/requests",
        data=b'{"tool":"stripe.x","arguments":{"amount":1.00000000000000000001},"timeout":"1m"}',
        Idempotency_Key="k",
    )
    assert exact.json["status"] == "pending"


async def answered(agent: Agent, decision: str = "approved", **more: Any) -> None:
    """Decide about the one action that waits, as soon as there is one."""
    async with CompanyStream(agent.boss, "") as stream:
        while True:
            open_gates = (await agent.boss.get("/gates/")).json
            if open_gates:
                await agent.decide(open_gates[0]["run_id"], decision, **more)
                return
            await anext(stream)


async def test_the_gate_of_the_client_waits_and_lets_the_call_be_made(agent: Agent) -> None:
    call = Call(
        "call-1", "stripe.refund", {"amount": 0.1, "big": 12345678901234567890}, server="stripe", reasoning="twice"
    )

    def run() -> tuple[bool, bool]:
        client = agent.blocking()
        verdict = Gate(client, context={"framework": "none"}).check(call)
        told = bool(verdict) and verdict.report("succeeded")  # type: ignore[union-attr]
        client.close()
        return bool(verdict), told

    waits = asyncio.create_task(asyncio.to_thread(run))
    await answered(agent)
    assert await waits == (True, True)
    second = await AsyncGate(agent.client, context={"framework": "none"}).check(call)
    assert getattr(second, "status", None) == "consumed"


async def test_the_gate_of_the_client_reads_why_a_person_denied(agent: Agent) -> None:
    waits = asyncio.create_task(AsyncGate(agent.client).check(Call("c", "stripe.refund", {"amount": 1})))
    await answered(agent, "denied", comment="not twice")
    verdict = await waits
    assert not verdict
    assert "not twice" in verdict.reason  # type: ignore[union-attr]


async def test_nothing_is_lost_when_the_service_starts_anew(agent: Agent) -> None:
    asked, found = await agent.asks("k"), await agent.approved(arguments={"n": 2})
    used = await agent.client.consume(found.id, "one")
    await agent.boss.house.restart()
    async with agent_of(agent.boss, "another") as fresh:
        fresh.key["key"] = agent.token
        fresh.client._headers["Authorization"] = f"Bearer {agent.token}"
        assert await fresh.asks("k") == asked
        assert await fresh.client.consume(found.id, "one") == used
        with pytest.raises(ConflictError, match="already_consumed"):
            await fresh.client.consume(found.id, "two")
