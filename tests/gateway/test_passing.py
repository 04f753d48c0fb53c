"""What passes through between agents and their servers, by the SDK on both sides."""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.abc import MetaPathFinder
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from daemon.web.resources.mcp.gateway import INBOUND
from tests.gateway.upstream import ToolSide, tool_side
from tests.web.support import House, Person, assert_problem
from tests.web.test_api_keys import machine, made

SECRET = "a secret of the server"
LEGACY, MODERN = "legacy", "2026-07-28"


@pytest.fixture
async def side() -> AsyncIterator[ToolSide]:
    async with tool_side() as one:
        yield one


@pytest.fixture
async def agent(ann: Person, house: House) -> Person:
    return machine(house, await made(ann, name="bot"))


async def serve(ann: Person, side: ToolSide, **how: Any) -> None:
    body = {"url": side.url, "auth_type": "bearer", "auth_token": SECRET, "reversible": True, **how}
    answer = await ann.put("/mcp-servers/tools", body)
    assert answer.status in {200, 201}, answer.raw


@asynccontextmanager
async def at(house: House, agent: Person | None, mode: str, url: str = "", **how: Any) -> AsyncIterator[Client]:
    """A client of an agent at the gateway, or at a server itself."""
    address = url or str(house.client.make_url("/mcp/tools"))
    headers = {} if agent is None else agent.bearer
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(address, http_client=http, max_sse_event_size=None), mode=mode, **how) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_tools_are_listed_as_the_server_has_them(
    ann: Person, agent: Person, house: House, side: ToolSide, mode: str
) -> None:
    await serve(ann, side)
    async with at(house, agent, mode) as client, at(house, None, mode, side.url) as direct:
        ours, theirs = await client.list_tools(), await direct.list_tools()
        assert ours == theirs
        assert {one.name for one in ours.tools} >= {"refund", "look", "slow"}
    credentials = {headers.get("authorization") for headers, _ in side.messages}
    assert credentials == {f"Bearer {SECRET}", None}
    assert all(agent.token not in str(headers) for headers, _ in side.messages)


async def test_a_session_is_that_of_its_agent_alone(ann: Person, agent: Person, house: House, side: ToolSide) -> None:
    await serve(ann, side)
    other = machine(house, await made(ann, name="other"))
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    headers = {"Accept": "application/json, text/event-stream"}
    begun = await agent.post(
        "/mcp/tools", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, **headers
    )
    assert begun.status == 200, begun.raw
    session = begun.headers["Mcp-Session-Id"]
    upstream = {value for received, _ in side.messages for name, value in received.items() if "session" in name}
    assert session not in upstream
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    more = {**headers, "Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-06-18"}
    assert (await agent.post("/mcp/tools", listing, **more)).status == 200
    before = len(side.messages)
    refused = await other.post("/mcp/tools", listing, **more)
    assert refused.status == 404
    assert refused.json["error"]["message"] == "There is no such session."
    made_up = await agent.post("/mcp/tools", listing, **{**more, "Mcp-Session-Id": "made-up"})
    assert made_up.status == 404
    assert len(side.messages) == before


@pytest.mark.parametrize(
    ("body", "headers", "code"),
    [
        (b"{", {}, -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "method": "tools/call"}', {}, -32700),
        (b"[]", {}, -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', {"MCP-Protocol-Version": "2025-03-26"}, -32022),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}', {}, -32022),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2024-11-05"}}',
            {},
            -32022,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "refund"}}',
            {"MCP-Protocol-Version": "2025-06-18", "Mcp-Method": "tools/list"},
            -32020,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "refund"}}',
            {"MCP-Protocol-Version": "2025-06-18", "Mcp-Name": "look"},
            -32020,
        ),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}',
            {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"},
            -32602,
        ),
    ],
)
async def test_what_two_readers_may_take_otherwise_is_refused(
    ann: Person, agent: Person, side: ToolSide, body: bytes, headers: dict[str, str], code: int
) -> None:
    await serve(ann, side)
    answer = await agent.send("POST", "/mcp/tools", data=body, **headers)
    assert (answer.status, answer.json["error"]["code"]) == (400, code)
    assert side.messages == []


async def test_only_who_may_ask_for_actions_reaches_a_server(
    ann: Person, eve: Person, agent: Person, side: ToolSide
) -> None:
    assert_problem(await agent.post("/mcp/tools", {}), 404, "not_found")
    await serve(ann, side)
    assert_problem(await eve.post("/mcp/tools", {}), 404, "not_found")


async def test_the_guard_of_egress_counts(ann: Person, agent: Person, side: ToolSide) -> None:
    for url in ("http://169.254.169.254/latest", "http://[::1]:9/mcp", "http://10.0.0.1/mcp"):
        assert (await ann.put("/mcp-servers/tools", {"url": url})).status in {200, 201}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        answer = await agent.post("/mcp/tools", listing, MCP_Protocol_Version="2025-06-18")
        assert answer.status == 502
        assert "egress_refused" in answer.json["error"]["message"]


async def test_without_the_protocols_package_there_is_no_gateway(
    ann: Person, agent: Person, side: ToolSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    await serve(ann, side)
    monkeypatch.setitem(sys.modules, "mcp.shared.inbound", None)
    assert_problem(await agent.post("/mcp/tools", {}), 501, "mcp_not_installed")


async def test_the_package_is_loaded_beside_the_event_loop(
    ann: Person, agent: Person, side: ToolSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    class Finder(MetaPathFinder):
        def find_spec(self, name: str, *_: Any) -> None:
            if name == INBOUND:
                threads.append(threading.get_ident())

    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, INBOUND, raising=False)
    await serve(ann, side)
    assert (await agent.post("/mcp/tools", {})).status == 400
    assert threads
    assert threading.get_ident() not in threads
