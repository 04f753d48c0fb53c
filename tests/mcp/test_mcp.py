"""An agent at the service, by the official SDK over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.programs import announced
from tests.web.operators import Operator
from tests.web.people import company
from tests.web.support import House, Person

GUIDE = Path("docs/agents.md").absolute()
TOOLS = {
    "list_templates",
    "get_canvas",
    "list_gates",
    "preview_gate",
    "get_run",
    "get_run_events",
    "start_run",
    "request_action",
    "get_action",
    "propose",
}
AGENT = {"name": "triage agent", "role": "member", "kind": "agent"}


@pytest.fixture
async def key(ann: Person) -> str:
    answer = await ann.post("/api-keys", AGENT)
    assert answer.status == 201, answer.raw
    return str(answer.json["key"])


def environment(house: House, key: str) -> dict[str, str]:
    url = str(house.client.make_url("")).rstrip("/")
    return {"PENSTOCK_URL": url, "PENSTOCK_API_KEY": key, "PATH": os.environ["PATH"]}


@asynccontextmanager
async def over_stdio(house: House, key: str) -> AsyncIterator[Client]:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "daemon", "mcp"], env=environment(house, key), cwd=Path.cwd()
    )
    async with Client(stdio_client(command)) as client:
        yield client


@asynccontextmanager
async def over_http(house: House, key: str) -> AsyncIterator[str]:
    """The address of a server that is configured with this key, or with none."""
    async with announced("daemon", "mcp", "--http", "--port", "0", env=environment(house, key)) as (_, port):
        yield f"http://127.0.0.1:{port}/mcp"


@asynccontextmanager
async def agent_at(address: str, **headers: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


async def said(client: Client, tool: str, /, **arguments: Any) -> Any:
    """What a tool gives."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, tool: str, /, **arguments: Any) -> str:
    """Why a tool gives nothing."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content
    return "".join(getattr(part, "text", "") for part in result.content)


async def test_an_agent_over_stdio_reads_the_inbox_and_starts_runs(house: House, key: str) -> None:
    async with over_stdio(house, key) as agent:
        assert {tool.name for tool in (await agent.list_tools()).tools} == TOOLS
        assert "line" in {one["vertical"] for one in (await said(agent, "list_templates"))["templates"]}
        assert (await said(agent, "get_canvas", vertical="line"))["gates"] == ["signoff"]
        run = await said(agent, "start_run", vertical="line", inputs={"amount": 5})
        assert (run["status"], run["created_by"]) == ("parked", "triage agent")
        waiting = (await said(agent, "list_gates"))["gates"]
        assert [(one["run_id"], one["gate"]["step_id"]) for one in waiting] == [(run["id"], "signoff")]
        assert (waiting[0]["can_decide"], waiting[0]["why_not"]) == (False, "machine")
        found = (await said(agent, "preview_gate", run_id=run["id"], step_id="signoff"))["decisions"]
        assert [one["decision"] for one in found] == ["approved", "denied"]
        assert (await said(agent, "get_run", run_id=run["id"]))["id"] == run["id"]
        events = (await said(agent, "get_run_events", run_id=run["id"]))["events"]
        assert events[0]["type"] == "run_started"
        assert "not_found" in await refused(agent, "get_run", run_id="01900000-0000-7000-8000-000000000000")


async def test_a_long_inbox_is_read_in_answers_of_bounded_size_and_nothing_is_left_out(
    house: House, key: str, ann: Person
) -> None:
    runs = [await ann.start("line", {"amount": amount}) for amount in range(12)]
    async with over_stdio(house, key) as agent:
        for run in runs:
            await said(agent, "propose", run_id=run["id"], gate="signoff", decision="approved", comment="x" * 4_000)
        found: list[str] = []
        asked: dict[str, Any] = {}
        while True:
            answer = await said(agent, "list_gates", **asked)
            assert len(json.dumps(answer)) <= 100_000
            found += [one["run_id"] for one in answer["gates"]]
            if answer["next_cursor"] is None:
                break
            asked["cursor"] = answer["next_cursor"]
    assert len(found) == len(set(found)) == len(runs)


async def test_a_start_that_is_repeated_under_its_key_counts_once(house: House, key: str) -> None:
    async with over_stdio(house, key) as agent:
        wanted = {"vertical": "line", "inputs": {"amount": 5}, "idempotency_key": "once"}
        runs = [await said(agent, "start_run", **wanted) for _ in range(2)]
        assert runs[0]["id"] == runs[1]["id"]


async def test_an_agent_asks_for_an_action_and_reads_what_came_of_it(house: House, key: str, ann: Person) -> None:
    never = {"id": "never", "tool": "drop", "decision": "deny", "reason": "Nobody drops tables."}
    await ann.put(f"{company(ann)}/action-rules", {"rules": [never]})
    async with over_stdio(house, key) as agent:
        wanted = {"tool": "refund", "arguments": {"amount": 5}, "context": {"ticket": 7}, "idempotency_key": "once"}
        asked = [await said(agent, "request_action", **wanted, timeout="PT1H") for _ in range(2)]
        assert asked[0] == asked[1]
        assert (asked[0]["status"], asked[0]["context"], asked[0]["agent"]) == ("parked", {"ticket": 7}, AGENT["name"])
        await ann.resume(asked[0], "unruled", "denied")
        assert (await said(agent, "get_action", action_id=asked[0]["id"]))["outcome"] == "denied"
        denied = await said(agent, "request_action", tool="drop")
        assert (denied["outcome"], denied["reason"]) == ("denied", "Nobody drops tables.")
        blurred = await refused(agent, "request_action", tool="drop", arguments={"n": 1234567890123456.78})
        assert "send it as a string" in blurred


async def test_what_a_tool_does_not_take_is_refused_and_nothing_is_done(house: House, key: str) -> None:
    async with over_stdio(house, key) as agent:
        for tool, wrong in (
            ("start_run", {"vertical": "line", "input": {"amount": 5}}),
            ("list_gates", {"cursor": "behind"}),
            ("get_run", {"run_id": ""}),
        ):
            assert re.search(f"no argument input|{list(wrong)[-1]}\n", await refused(agent, tool, **wrong))
        blurred = {"amount": 5, "parts": [{"sum": 1234567890123456.78}]}
        assert "send it as a string" in await refused(agent, "start_run", vertical="line", inputs=blurred)
        assert (await said(agent, "list_gates"))["gates"] == []


async def test_over_http_each_caller_has_the_rights_of_its_own_token(
    house: House, key: str, ann: Person, eve: Person
) -> None:
    run = await ann.start("line", {"amount": 5})
    async with over_http(house, key) as address:
        async with agent_at(address) as agent:
            assert (await said(agent, "get_run", run_id=run["id"]))["id"] == run["id"]
        async with agent_at(address, **eve.bearer) as stranger:
            assert "not_found" in await refused(stranger, "get_run", run_id=run["id"])
        for header in (f"Basic {key}", "Bearer", "Bearer psk_forged"):
            async with agent_at(address, Authorization=header) as nobody:
                assert "not_authenticated" in await refused(nobody, "get_run", run_id=run["id"])


async def test_without_a_key_callers_over_http_need_a_token(house: House, key: str) -> None:
    async with over_http(house, "") as address:
        async with agent_at(address) as nobody:
            assert "not_authenticated" in await refused(nobody, "list_templates")
        async with agent_at(address, Authorization=f"Bearer {key}") as agent:
            assert (await said(agent, "list_gates"))["gates"] == []


async def test_names_of_other_hosts_are_refused(house: House, key: str) -> None:
    async with over_http(house, key) as address, httpx2.AsyncClient() as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        accepted = {"Accept": "application/json, text/event-stream"}
        rebound = await http.post(address, json=body, headers={**accepted, "Host": "rebound.test"})
        assert rebound.status_code == 421
        foreign = await http.post(address, json=body, headers={**accepted, "Origin": "http://rebound.test"})
        assert foreign.status_code == 403


async def test_a_proposal_goes_to_the_service_and_decides_nothing(house: House, key: str, ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    async with over_stdio(house, key) as agent:
        unknown = {"run_id": "01900000-0000-7000-8000-000000000000", "gate": "signoff", "decision": "approved"}
        assert "not_found" in await refused(agent, "propose", **unknown)
        made = await said(agent, "propose", **{**unknown, "run_id": run["id"]}, confidence=0.9, comment="It fits.")
        assert (made["by"], made["by_kind"]) == ("triage agent", "agent")
    (proposal,) = (now := await ann.run(run))["gate"]["proposals"]
    assert (now["status"], proposal["by"], proposal["confidence"]) == ("parked", "triage agent", 0.9)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("mcp",), "PENSTOCK_API_KEY"),
        (("mcp", "--http", "--host", "192.0.2.1"), "--allowed-host"),
    ],
)
async def test_a_server_that_nobody_could_use_safely_does_not_start(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    result = await Operator("http://127.0.0.1:1", tmp_path).says(*arguments)
    assert result.exit_code != 0
    assert sentence in result.output


async def test_without_the_sdk_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "daemon.mcp.server", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    result = await Operator("http://127.0.0.1:1", tmp_path).says("mcp")
    assert result.exit_code != 0
    assert "penstockd[mcp]" in result.output


async def test_the_agent_of_the_guide_reads_explains_and_proposes(
    house: House, key: str, ann: Person, tmp_path: Path
) -> None:
    run = await ann.start("prior-auth")
    script = tmp_path / "agent.py"
    script.write_text(re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)[0])
    env = {**environment(house, key), "PYTHONPATH": str(Path.cwd())}
    agent = await asyncio.create_subprocess_exec(sys.executable, script, stdout=asyncio.subprocess.PIPE, env=env)
    printed = (await agent.communicate())[0].decode()
    assert agent.returncode == 0
    assert printed.strip() in GUIDE.read_text(encoding="utf-8")
    now = await ann.run(run)
    assert (now["status"], now["gate"]["proposals"][0]["by"]) == ("parked", "triage agent")
