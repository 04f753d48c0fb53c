"""Streams between agents and servers: cancelling, leaving, what servers say by themselves."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
from mcp.server.mcpserver import Context

from tests.gateway.test_calls import ALLOW, ASK, BOTH, REFUND, actions, decide, rule, text, until_one
from tests.gateway.test_passing import LEGACY, MODERN, SECRET, agent, at, serve, side
from tests.gateway.upstream import ToolSide
from tests.web.support import House, Person
from tests.web.test_api_keys import machine, made

__all__ = ["agent", "side"]


@BOTH
async def test_who_leaves_while_a_person_is_asked_gets_the_result_by_the_same_call(
    ann: Person, agent: Person, house: House, side: ToolSide, mode: str
) -> None:
    await serve(ann, side)
    await rule(ann, ASK)
    async with at(house, agent, mode) as client:
        with anyio.move_on_after(1.0):
            await client.call_tool("refund", REFUND)
        action = await until_one(ann, status="parked")
        await decide(ann, action)
        await until_one(ann, outcome="made")
        assert text(await client.call_tool("refund", REFUND)) == "refunded 49 of ch_1"
    assert side.called == ["refund"]
    assert "notifications/cancelled" not in side.methods


async def test_a_call_that_is_cancelled_on_the_wire_is_in_doubt(
    ann: Person, agent: Person, house: House, side: ToolSide
) -> None:
    await serve(ann, side)
    await rule(ann, ALLOW)
    async with at(house, agent, LEGACY) as client:
        async with anyio.create_task_group() as group:

            async def call() -> None:
                await client.call_tool("slow", {})

            group.start_soon(call)
            await side.going.wait()
            group.cancel_scope.cancel()
        action = await until_one(ann, outcome="unknown")
        assert "notifications/cancelled" in side.methods
    assert side.called == ["slow"]
    assert action["tool"] == "slow"


async def test_an_allowed_call_goes_on_when_the_agent_has_gone_and_its_result_waits(
    ann: Person, agent: Person, house: House, side: ToolSide
) -> None:
    await serve(ann, side)
    await rule(ann, ALLOW)
    async with at(house, agent, MODERN) as client:
        async with anyio.create_task_group() as group:

            async def call() -> None:
                await client.call_tool("slow", {})

            group.start_soon(call)
            await side.going.wait()
            group.cancel_scope.cancel()
        side.open.set()
        action = await until_one(ann, outcome="made")
        assert text(await client.call_tool("slow", {})) == "slowly done"
    assert side.called == ["slow"]
    assert [one["id"] for one in await actions(ann)] == [action["id"]]


async def test_another_agent_joins_nothing(ann: Person, agent: Person, house: House, side: ToolSide) -> None:
    await serve(ann, side, wait_s=0)
    await rule(ann, ASK)
    other = machine(house, await made(ann, name="other"))
    async with at(house, agent, LEGACY) as client, at(house, other, LEGACY) as stranger:
        await client.call_tool("refund", REFUND)
        action = await until_one(ann, status="parked")
        await decide(ann, action)
        await until_one(ann, outcome="made")
        theirs = await stranger.call_tool("refund", REFUND)
        assert theirs.is_error
        assert action["id"] not in text(theirs)
    assert side.called == ["refund"]


async def test_changes_of_the_list_of_tools_reach_the_agent(
    ann: Person, agent: Person, house: House, side: ToolSide
) -> None:
    await serve(ann, side)
    await rule(ann, ALLOW)
    heard: asyncio.Queue[str] = asyncio.Queue()

    @side.server.tool()
    async def grows(context: Context[Any, Any]) -> str:
        side.server.add_tool(lambda: "late", name="late")
        await context.session.send_tool_list_changed()
        return "grown"

    async def listen(message: Any) -> None:
        heard.put_nowait(message.method)

    async with at(house, agent, LEGACY, message_handler=listen) as client:
        before = {one.name for one in (await client.list_tools()).tools}
        assert text(await client.call_tool("grows", {})) == "grown"
        async with asyncio.timeout(60):
            assert await heard.get() == "notifications/tools/list_changed"
        after = {one.name for one in (await client.list_tools()).tools}
    assert after - before == {"late"}


async def test_a_tool_of_any_name_is_an_action(ann: Person, agent: Person, house: House, side: ToolSide) -> None:
    await serve(ann, side)
    await rule(ann, ALLOW)
    async with at(house, agent, LEGACY) as client:
        for name in ("a b", "a/b", "ü\n", "x" * 200):
            result = await client.call_tool(name, {})
            assert result.is_error
    assert side.called == []


async def test_the_secret_of_a_server_is_left_in_nothing_that_it_answers(
    ann: Person, agent: Person, house: House, side: ToolSide
) -> None:
    @side.server.tool(description=f"the key is {SECRET}")
    async def tells() -> str:
        return f"the key is {SECRET}"

    await serve(ann, side)
    await rule(ann, ALLOW)
    for mode in (LEGACY, MODERN):
        async with at(house, agent, mode) as client:
            assert SECRET not in str(await client.list_tools())
            result = await client.call_tool("tells", {})
            assert text(result) == "the key is ***"
    action = await ann.get(f"/actions/{(await actions(ann))[0]['id']}")
    assert SECRET.encode() not in action.raw
