"""The protocol at its edges: cancelling, errors, schemas, bounds, revisions, and changes."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest
from mcp import MCPError
from structlog.testing import capture_logs

from tests.gateway.test_calls import ALLOW, ASK, BOTH, DENY, REFUND, actions, decide, rule, text, until_one
from tests.gateway.test_passing import LEGACY, agent, at, serve, side
from tests.gateway.upstream import ToolSide, tool_side
from tests.web.people import company
from tests.web.support import Answer, House, Person, assert_problem
from tests.web.test_api_keys import machine, made

__all__ = ["agent", "side"]
OLDEST = "2025-06-18"
ACCEPTS = {"Accept": "application/json, text/event-stream"}
CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "refund", "arguments": REFUND}}
SCHEMA = (
    '{ "type" :"object","properties":\t{"z":{"maximum":1e2,"minimum":-0.0,"default":1.0,"multipleOf":1E-2},'
    '"a\\u00e9\\/":{"const":12345678901234567890123},"é😀":{"enum":["\\ud83d\\ude00", 1.50 ,null]}}  , "$defs":{}}'
)


class Wire:
    """An agent that speaks the oldest revision itself."""

    def __init__(self, who: Person) -> None:
        self._who, self._headers = who, {**ACCEPTS}

    async def begin(self) -> Answer:
        """Agree upon the revision, and begin a session."""
        params = {"protocolVersion": OLDEST, "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
        begun = await self.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        self._headers |= {"Mcp-Session-Id": begun.headers["Mcp-Session-Id"], "MCP-Protocol-Version": OLDEST}
        assert (await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})).status == 202
        return begun

    async def post(self, message: Any) -> Answer:
        return await self._who.post("/mcp/tools", message, **self._headers)


async def test_who_cancels_while_a_person_is_asked_waits_no_longer_and_the_action_stays(
    ann: Person, agent: Person, house: House, side: ToolSide
) -> None:
    await serve(ann, side)
    await rule(ann, ASK)
    wire, stranger = Wire(agent), Wire(machine(house, await made(ann, name="other")))
    await wire.begin()
    await stranger.begin()
    calling = asyncio.create_task(wire.post(CALL))
    action = await until_one(ann, status="parked")
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7, "reason": "enough"}}
    assert (await stranger.post(cancel)).status == 202
    assert not calling.done()
    heard = side.methods.count("notifications/cancelled")
    assert (await wire.post(cancel)).status == 202
    gone = await calling
    assert (gone.status, b'"id":7' in gone.raw) == (200, False)
    assert side.methods.count("notifications/cancelled") == heard
    assert (await until_one(ann))["status"] == "parked"
    await decide(ann, action)
    await until_one(ann, outcome="made")
    assert b"refunded 49 of ch_1" in (await wire.post({**CALL, "id": 8})).raw
    assert (side.called, len(await actions(ann))) == (["refund"], 1)


@BOTH
async def test_an_error_of_a_server_that_has_not_begun_comes_as_it_is(
    ann: Person, agent: Person, house: House, side: ToolSide, mode: str
) -> None:
    @side.server.tool()
    async def refuses() -> str:
        raise MCPError(-32602, "there is no such charge", {"charge": 1})

    await serve(ann, side)
    await rule(ann, ALLOW)
    async with at(house, agent, mode) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("refuses", {})
    assert (refused.value.code, refused.value.message) == (-32602, "there is no such charge")
    (action,) = await actions(ann)
    assert action["outcome"] == "failed"
    (failed,) = await failures(ann, action)
    assert failed["code"] == "call_failed"
    assert all(said in failed["excerpt"] for said in ("-32602", "there is no such charge"))


@BOTH
async def test_an_error_of_a_server_that_may_have_begun_is_told_with_the_doubt(
    ann: Person, agent: Person, house: House, side: ToolSide, mode: str
) -> None:
    @side.server.tool()
    async def breaks() -> str:
        raise MCPError(-32001, "the ledger\0 is busy")

    await serve(ann, side)
    await rule(ann, ALLOW)
    async with at(house, agent, mode) as client:
        result = await client.call_tool("breaks", {})
    (action,) = await actions(ann)
    assert (result.is_error, action["outcome"]) == (True, "unknown")
    for said in ("Nobody knows", action["id"], "-32001: the ledger\ufffd is busy"):
        assert said in text(result)
    (failed,) = await failures(ann, action)
    assert "-32001: the ledger\ufffd is busy" in failed["detail"]


async def failures(ann: Person, action: dict[str, Any]) -> list[dict[str, Any]]:
    """What calls of an action failed with, as its run has it."""
    run = (await ann.get(f"/process-runs/{action['id']}")).json
    return [one["error"] for one in run["trace"] if one.get("error")]


async def test_schemas_pass_byte_for_byte(ann: Person, agent: Person, side: ToolSide) -> None:
    await serve(ann, side)
    wire = Wire(agent)
    await wire.begin()
    side.says["tools/list"] = f'{{"tools":[{{"name":"odd","inputSchema":{SCHEMA},"outputSchema": {SCHEMA}}}] }}'
    listed = await wire.post({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    assert listed.raw == b'{"jsonrpc":"2.0","id":2,"result":%s}' % side.says["tools/list"].encode()


@BOTH
async def test_a_result_above_the_bound_is_a_clear_error_and_the_call_stays_known(
    ann: Person, agent: Person, house: House, side: ToolSide, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await serve(ann, side)
    await rule(ann, ALLOW)
    monkeypatch.setattr("daemon.connectors.mcp.MESSAGE_BYTES_MAX", 100_000)
    async with at(house, agent, mode) as client:
        fits = await client.call_tool("large", {"size": 40_000})
        assert len(text(fits)) == 40_000
        result = await client.call_tool("large", {"size": 200_000})
        assert result.is_error
        assert "A message is larger than 100000 bytes." in text(result)
        action = (await actions(ann))[0]
        assert (action["outcome"], action["id"] in text(result)) == ("unknown", True)
        assert action["id"] in text(await client.call_tool("large", {"size": 200_000}))
        assert text(await client.call_tool("look", {"charge": "ch_1"})) == "looked at ch_1"
    assert side.called == ["large", "large", "look"]


async def test_the_oldest_revision_begins_lists_and_calls(ann: Person, agent: Person, side: ToolSide) -> None:
    await serve(ann, side)
    await rule(ann, {**ALLOW, "tool": "look"}, DENY)
    wire = Wire(agent)
    begun = await wire.begin()
    assert b'"protocolVersion":"%s"' % OLDEST.encode() in begun.raw
    listed = await wire.post({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    assert b'"name":"refund"' in listed.raw
    looked = await wire.post({**CALL, "params": {"name": "look", "arguments": {"charge": "ch_1"}}})
    denied = await wire.post({**CALL, "id": 8})
    assert b"looked at ch_1" in looked.raw
    assert b"Nobody refunds." in denied.raw
    assert all(b"resultType" not in one.raw for one in (looked, denied))
    assert {headers.get("mcp-protocol-version") for headers, _ in side.messages[1:]} == {OLDEST}
    assert side.called == ["look"]


@pytest.mark.parametrize("accepts", ["application/json", ACCEPTS["Accept"]])
async def test_who_waits_with_a_key_that_is_deleted_is_answered_no_more(
    ann: Person, house: House, side: ToolSide, accepts: str
) -> None:
    await serve(ann, side)
    await rule(ann, ASK)
    key = await made(ann, name="bot")
    path, headers = "/mcp/tools", {"Accept": accepts, "MCP-Protocol-Version": OLDEST}
    with capture_logs() as logs:
        calling = asyncio.create_task(machine(house, key).post(path, CALL, **headers))
        action = await until_one(ann, status="parked")
        await key_gone(ann, key, side)
        if accepts == "application/json":
            assert_problem(await calling, 401, "not_authenticated")
        else:
            with pytest.raises(aiohttp.ClientPayloadError):
                await calling
    assert not [one for one in logs if one["event"] == "unhandled_exception"]
    assert (await until_one(ann))["id"] == action["id"]
    assert side.called == []


async def new_rule(ann: Person, _: dict[str, Any], __: ToolSide) -> None:
    await rule(ann, {**ASK, "reason": "other words"})


async def key_gone(ann: Person, key: dict[str, Any], _: ToolSide) -> None:
    assert (await ann.delete(f"/api-keys/{key['id']}")).status == 204


async def new_model(ann: Person, key: dict[str, Any], _: ToolSide) -> None:
    assert (await ann.put(f"/api-keys/{key['id']}", {"model": "m-2"})).status == 200


async def new_url(ann: Person, _: dict[str, Any], other: ToolSide) -> None:
    await serve(ann, other, wait_s=0)


async def new_tool(ann: Person, _: dict[str, Any], side: ToolSide) -> None:
    await serve(ann, side, wait_s=0, tools={"refund": {"tier": "critical"}})


@pytest.mark.parametrize("change", [new_rule, key_gone, new_model, new_url, new_tool])
async def test_what_changes_between_yes_and_call_is_never_made(
    ann: Person, house: House, side: ToolSide, change: Any
) -> None:
    await serve(ann, side, wait_s=0)
    await rule(ann, ASK)
    key, pause = await made(ann, name="bot"), f"{company(ann)}/action-rules/pause"
    async with tool_side() as other, at(house, machine(house, key), LEGACY) as client:
        assert (await client.call_tool("refund", REFUND)).is_error
        action = await until_one(ann, status="parked")
        assert (await ann.put(pause, {"reason": "Look first."})).status == 200
        gate = (await ann.get(f"/actions/{action['id']}")).json["gate"]
        body = {"gate": gate["step_id"], "decision": "approved", "digest": gate["digest"]}
        said = await ann.post(f"/process-runs/{action['id']}/resume", body, Prefer="respond-async")
        assert said.status == 202
        await until_one(ann, status="executing")
        await change(ann, key, other if change is new_url else side)
        assert (await ann.delete(pause)).status == 204
        again = await until_one(ann, status="parked")
        assert (again["id"], again["outcome"]) == (action["id"], None)
        later = (await ann.get(f"/actions/{action['id']}")).json["gate"]
        assert (later["visit"], later["digest"] == gate["digest"]) == (gate["visit"] + 1, False)
        assert side.called == other.called == []
