"""The guide's commands do what it says, and it names what is installed."""

from __future__ import annotations

import asyncio
import json
import re
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.agents.support import BLOCKS, GUIDE, PATIENCE_S, ROOT, World, printed, task, world
from tests.crash.service import PERSON, FarSide
from tests.gateway.upstream import tool_side

LOCK = (ROOT / "tests" / "agents" / "frameworks.txt").read_text(encoding="utf-8")


async def shell(one: World, commands: str, **env: str) -> str:
    """What commands of the guide print for a person who has logged in."""
    login = f"echo '{PERSON['password']}' | penstock login {PERSON['email']} --password-stdin >/dev/null\n"
    process = await asyncio.create_subprocess_exec(
        "bash", "-eu", "-c", login + commands, stdout=PIPE, env={**one.env, **env}, cwd=one.folder
    )
    async with asyncio.timeout(PATIENCE_S):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


def block(beginning: str) -> str:
    """The commands without a name that begin so."""
    [found] = [
        text
        for text in re.findall(r"^```sh\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
        if text.startswith(beginning)
    ]
    return str(found)


async def test_the_commands_of_an_admin_and_an_approver(tmp_path: Path) -> None:
    async with world(tmp_path) as one:
        await one.send("DELETE", f"/api-keys/{(await one.send('GET', '/api-keys/'))[0]['id']}")
        one.write("langgraph")
        (tmp_path / "rules.yaml").write_text(BLOCKS["rules.yaml"], encoding="utf-8")
        key = re.search(r"psk_\S{20,}", await shell(one, block('penstock api-keys create "support bot"')))
        assert key is not None
        one.key = key[0]
        tried = await shell(one, BLOCKS["set the rules"])
        assert re.findall(r"^(allow|ask) +(\S+)", tried, re.MULTILINE) == [
            ("allow", "small-refunds"),
            ("ask", "refunds"),
        ]
        async with one.running("langgraph_agent.py", task("ch_1", 49), task("ch_1", 4900)) as agent:
            asked = await one.asked(4900)
            assert asked["gate"]["question"] == "Was the customer charged twice?"
            assert "refund" in await shell(
                one, BLOCKS["decide"].replace(" --comment", " --yes --comment"), ACTION=asked["id"]
            )
            said = await printed(agent)
        assert said[:2] == ["paying 49 of ch_1 back", "49 of ch_1 is paid back"]
        assert said[2].endswith("Not charged twice.")
        pause, resume = BLOCKS["stop"].splitlines()
        await shell(one, pause)
        body = {"tool": "refund", "arguments": {"amount": 1}}
        status, refused = await one.service.send(
            "POST", "/actions/", body, Idempotency_Key="k", Authorization=f"Bearer {one.key}"
        )
        assert (status, refused["code"], "It refunds twice." in refused["detail"]) == (503, "paused", True)
        await shell(one, resume)
        assert "psk_" in await shell(one, BLOCKS["a key that makes keys"])


async def test_a_client_over_stdio_reaches_a_server_of_tools(tmp_path: Path) -> None:
    async with world(tmp_path) as one, tool_side() as side:
        assert json.loads(
            await shell(one, BLOCKS["the admin's part"].replace("https://tools.example.com/mcp", side.url))
        )["tools"] == {"look": {"effect": "read", "tier": None}}
        server = json.loads(BLOCKS["mcp.json"])["mcpServers"]["payments"]
        env = {**one.env, **server["env"], "PENSTOCK_URL": one.service.address, "PENSTOCK_API_KEY": one.key}
        command = StdioServerParameters(command=server["command"], args=server["args"], env=env)
        async with Client(stdio_client(command)) as client:
            calling = asyncio.create_task(client.call_tool("refund", {"charge": "ch_2", "amount": 4900}))
            await one.decide(await one.asked(4900))
            [content] = (await calling).content
            assert getattr(content, "text", None) == "refunded 4900 of ch_2"


async def test_a_program_asks_over_http(tmp_path: Path) -> None:
    commands = BLOCKS["ask over HTTP"]
    assert commands.endswith("call $API/actions/$ACTION\n")
    asking = commands.removesuffix("call $API/actions/$ACTION\n").replace("Prefer: wait=30", "Prefer: wait=0")
    async with world(tmp_path) as one, FarSide() as far:
        far.released.set()
        await one.service.connect(far, "refund")
        begun = json.loads(await shell(one, asking))
        assert begun["status"] == "parked"
        await one.decide(await one.asked(4900))
        await one.service.stands_still(begun["id"])

        async def read(text: str) -> Any:
            return json.loads(await shell(one, text, ACTION=begun["id"]))

        again = await read(asking)
        found = await read(asking.partition("call $API")[0] + "call $API/actions/$ACTION\n")
        assert (again["id"], found["outcome"], found["reasoning"]) == (begun["id"], "made", "The charge was doubled.")
        assert far.seen.total() == 1


def test_what_the_guide_installs_is_what_is_tried() -> None:
    named = set(re.findall(r'pip\s+install ("?[^`\n]+)', GUIDE))
    names = {name for line in named for name in re.findall(r"[a-z][a-z0-9-]+(?=\[|\"|\s|$)", line)}
    more = {"langchain-mcp-adapters", "langgraph-checkpoint-sqlite", "pydantic-ai-slim", "starlette", "uvicorn"}
    assert names == {"agentapprovalprotocol", *more}
    assert all(f"\n{name}==" in LOCK for name in names)
    development = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    [pin] = re.findall(r"^agentapprovalprotocol==\S+", LOCK, re.MULTILINE)
    assert f"\n{pin} " in development


async def test_a_task_is_given_and_read_by_the_commands_of_the_guide(tmp_path: Path) -> None:
    assert task("ch_1", 4900) in BLOCKS["give it a task"]
    assert f'python langgraph_agent.py "{task("ch_1", 4900)}"\n' == block("python langgraph_agent.py")
