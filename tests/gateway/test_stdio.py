"""`penstock mcp gateway`: the same over stdio."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.gateway.test_calls import ALLOW, ASK, BOTH, REFUND, decide, rule, text, until_one
from tests.gateway.test_passing import agent, at, serve, side
from tests.gateway.upstream import ToolSide
from tests.web.support import House, Person

__all__ = ["agent", "side"]


@BOTH
async def test_an_agent_reaches_a_server_over_stdio(
    ann: Person, agent: Person, house: House, side: ToolSide, mode: str
) -> None:
    await serve(ann, side)
    await rule(ann, ALLOW)
    url = str(house.client.make_url("")).rstrip("/")
    env = {"PENSTOCK_URL": url, "PENSTOCK_API_KEY": agent.token, "PATH": os.environ["PATH"]}
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "daemon", "mcp", "gateway", "tools"], env=env, cwd=Path.cwd()
    )
    told: list[float] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async with Client(stdio_client(command), mode=mode) as client, at(house, None, mode, side.url) as direct:
        assert (await client.list_tools()).tools == (await direct.list_tools()).tools
        assert text(await client.call_tool("refund", REFUND)) == "refunded 49 of ch_1"
        await rule(ann, ASK)
        side.open.set()
        calling = asyncio.create_task(client.call_tool("slow", {}, progress_callback=progress))
        await decide(ann, await until_one(ann, status="parked"))
        assert text(await calling) == "slowly done"
        assert told
    assert side.called == ["refund", "slow"]
