"""The five failures that the demo of CTRLRun shows, each at a real service and a far side."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
from agentapprovalprotocol import ConflictError

from tests.aap.support import Agent, agent_of
from tests.web.conftest import _fast, ann, blank, database_url, far, house, settings, usual
from tests.web.support import Answer, FarSide, House, Person, assert_problem
from tests.web.test_actions import rules_of
from tests.web.test_api_keys import AGENT, machine

__all__ = ["_fast", "ann", "blank", "database_url", "far", "house", "settings", "usual"]

RULES: tuple[dict[str, Any], ...] = (
    {"id": "small", "tool": "stripe.refund", "when": "arguments.amount <= 100000", "decision": "allow"},
    {"id": "large", "tool": "stripe.refund", "when": "arguments.amount <= 1000000", "decision": "ask"},
    {"id": "never", "tool": "stripe.refund", "decision": "deny"},
)
SUPPORT, FINANCE = "support agent", "finance agent"
ROOT = Path(__file__).parents[2]


@pytest.fixture
async def support(ann: Person, far: FarSide) -> AsyncIterator[Agent]:
    """An agent under the rules of the demo; what it is allowed reaches the far side."""
    async with agent_of(ann, SUPPORT) as one:
        await one.rules(*RULES)
        maps = {"payment": "payment", "amount": "amount"}
        await ann.connect("stripe.refund", far.url, body_map=maps, timeout_s=0.5)
        yield one


async def refund(one: Person, payment: str, amount: int, key: str) -> Answer:
    body = {"tool": "stripe.refund", "arguments": {"payment": payment, "amount": amount}}
    return await one.post("/actions/", body, Idempotency_Key=key)


async def test_a_retry_after_a_lost_response_is_asked_of_a_person_and_not_sent(
    ann: Person, house: House, support: Agent, far: FarSide
) -> None:
    agent = machine(house, support.key)
    far.open.clear()
    lost = (await refund(agent, "txn_1", 50_000, "first")).json
    far.open.set()
    assert (lost["decision"], lost["status"], lost["outcome"]) == ("allow", "parked", "unknown")
    assert (await refund(agent, "txn_1", 50_000, "first")).json["id"] == lost["id"]
    retry = (await refund(agent, "txn_1", 50_000, "retry")).json
    assert (retry["decision"], retry["status"]) == ("ask", "parked")
    assert retry["why"] == f"the same call may have happened: {lost['id']}"
    assert len(far.seen) == 1
    assert (await ann.resume(lost, "small", "done")).status == 200
    assert (await ann.get(f"/actions/{lost['id']}")).json["outcome"] == "made"
    assert len(far.seen) == 1


async def test_an_approval_lets_no_other_amount_through(
    ann: Person, house: House, support: Agent, far: FarSide
) -> None:
    agent = machine(house, support.key)
    asked = (await refund(agent, "txn_2", 200_000, "k")).json
    assert (await ann.resume(asked, "large")).status == 200
    assert_problem(await refund(agent, "txn_2", 500_000, "k"), 422, "idempotency_key_reused")
    assert (await refund(agent, "txn_2", 500_000, "other")).json["status"] == "parked"
    assert [one.body["amount"] for one in far.seen] == [200_000]
    own = await support.approved(arguments={"payment": "txn_2", "amount": 300_000})
    larger = await support.asks(arguments={"payment": "txn_2", "amount": 500_001})
    with pytest.raises(ConflictError, match="not_approved"):
        await support.client.consume(larger.id, "k")
    used = await support.client.consume(own.id, "k")
    assert used.arguments == {"payment": "txn_2", "amount": 300_000}


async def test_of_two_agents_with_the_same_refund_one_makes_it(
    ann: Person, house: House, support: Agent, far: FarSide
) -> None:
    far.open.clear()
    async with agent_of(ann, FINANCE) as other:
        first = asyncio.create_task(refund(machine(house, support.key), "txn_123", 50_000, "a"))
        await far.arrived.wait()
        second = (await refund(machine(house, other.key), "txn_123", 50_000, "b")).json
    far.open.set()
    made = (await first).json
    assert (second["decision"], second["status"]) == ("ask", "parked")
    assert second["why"] == f"the same call is under way: {made['id']}"
    assert (made["outcome"], len(far.seen)) == ("made", 1)


async def test_an_approval_is_used_once(ann: Person, house: House, support: Agent, far: FarSide) -> None:
    agent = machine(house, support.key)
    asked = (await refund(agent, "txn_4", 200_000, "k")).json
    assert (await ann.resume(asked, "large")).status == 200
    replayed = await refund(agent, "txn_4", 200_000, "k")
    assert (replayed.json["id"], replayed.headers["Idempotency-Replayed"]) == (asked["id"], "true")
    assert_problem(await ann.resume(asked, "large"), 409, "not_parked")
    assert (await refund(agent, "txn_4", 200_000, "again")).json["status"] == "parked"
    assert len(far.seen) == 1
    own = await support.approved(arguments={"payment": "txn_5", "amount": 200_000})
    await support.client.consume(own.id, "one")
    with pytest.raises(ConflictError, match="already_consumed"):
        await support.client.consume(own.id, "two")


async def test_no_agent_gets_more_than_an_admin_gave_it(
    ann: Person, house: House, support: Agent, far: FarSide
) -> None:
    async with agent_of(ann, FINANCE) as finance:
        limits = ((SUPPORT, 200_000), (FINANCE, 2_500_000))
        await support.rules(
            *(
                {**RULES[2], "id": f"beyond-{number}", "agent": name, "when": f"arguments.amount > {most}"}
                for number, (name, most) in enumerate(limits)
            ),
            {**RULES[2], "id": "nobody-else", "when": f"!(agent in {[name for name, _ in limits]})"},
            *RULES,
        )
        bots = [machine(house, one.key) for one in (support, finance)]
        beyond = (await refund(bots[0], "txn_5", 5_000_000, "k")).json
        assert (beyond["decision"], beyond["outcome"], far.seen) == ("deny", "denied", [])
        for bot in bots:
            refused = [
                await bot.put(rules_of(ann), {"rules": []}),
                await bot.post("/api-keys", {**AGENT, "name": "helper"}),
                await bot.put(f"/api-keys/{support.key['id']}", {"scopes": {"call": ["*"]}}),
                await bot.resume(beyond, "large"),
            ]
            assert [one.status for one in refused] == [403] * len(refused), [one.raw for one in refused]
            assert {one.json["reason"] for one in refused} == {"machine"}
        within = (await refund(bots[0], "txn_6", 150_000, "k6")).json
        assert (within["decision"], within["rule"]["id"], within["status"]) == ("ask", "large", "parked")
    async with agent_of(ann, "unknown agent") as unknown:
        assert (await unknown.asks(arguments={"amount": 1})).status == "denied"


def test_the_page_names_each_failure_by_its_test_and_no_test_that_is_none() -> None:
    page = (ROOT / "docs" / "explanation" / "agents.md").read_text()
    named = re.findall(r"`(?:(tests/[\w/]+\.py)::)?(test_\w+)`", page)
    here = {name for name, one in globals().items() if name.startswith("test_") and iscoroutinefunction(one)}
    assert here == {test for file, test in named if not file}
    assert [test for file, test in named if file and f"def {test}(" not in (ROOT / file).read_text()] == []
