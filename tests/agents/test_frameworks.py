"""Each framework asks before it calls, by the guide's programs: waiting, paused, and over MCP."""

from __future__ import annotations

import json
import socket
import sqlite3
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from agentapprovalprotocol.receiver import sign

from tests.agents.support import PATIENT, World, again, printed, task, until, world
from tests.gateway.upstream import tool_side

RULES: tuple[dict[str, Any], ...] = (
    {"id": "small", "tool": "refund", "when": "arguments.amount < 100", "decision": "allow"},
    {
        "id": "large",
        "tool": "*",
        "when": "arguments.amount > 9999",
        "decision": "deny",
        "reason": "Nobody pays so much.",
    },
)
DENIED = "A reviewer at the AAP (Agent Approval Protocol) provider denied this call. Their note: "
BEFORE = "This approved call was already attempted, so it was not run again. "
FRAMEWORKS = pytest.mark.parametrize(
    ("fake", "name"), [("langgraph", "langgraph"), ("pydantic_ai", "pydantic_ai"), ("openai_agents", "openai")]
)
PAID = "paying 4900 of ch_2 back"


@FRAMEWORKS
async def test_an_agent_waits_for_rules_and_people(tmp_path: Path, fake: str, name: str) -> None:
    async with world(tmp_path) as one:
        one.write(fake)
        await one.rules(*RULES)
        tasks = [task("ch_1", 49), task("ch_2", 4900), task("ch_3", 4901), task("ch_4", 10_000)]
        async with one.running(f"{name}_agent.py", *tasks) as agent:
            asked = await one.asked(4900)
            assert (asked["agent"], asked["reasoning"]) == ("support bot", "The charge ch_2 was doubled.")
            assert asked["arguments"] == {"charge": "ch_2", "amount": 4900}
            await one.decide(asked)
            await one.decide(await one.asked(4901), "denied", comment="Not twice.")
            said = await printed(agent)
        assert said[:4] == ["paying 49 of ch_1 back", "49 of ch_1 is paid back", PAID, "4900 of ch_2 is paid back"]
        assert said[4:] == [f"{DENIED}Not twice.", f"{DENIED}Nobody pays so much."]
        assert await one.actions() == [(49, "made"), (4900, "made"), (4901, "denied"), (10_000, "denied")]


@FRAMEWORKS
async def test_an_agent_reads_that_nobody_decided_in_time(tmp_path: Path, fake: str, name: str) -> None:
    async with world(tmp_path) as one:
        one.write(fake)
        one.change(f"{name}_agent.py", '"10m"', '"1s"')
        async with one.running(f"{name}_agent.py", task("ch_2", 4900)) as agent:
            said = await printed(agent)
        assert said == ["The approval window or permission to start this call expired. The call was not run."]
        assert await one.actions() == [(4900, "expired")]


@FRAMEWORKS
async def test_an_agent_waits_on_while_the_service_is_killed_and_starts_anew(
    tmp_path: Path, fake: str, name: str
) -> None:
    async with world(tmp_path) as one:
        one.write(fake, PATIENT)
        async with one.running(f"{name}_agent.py", task("ch_2", 4900)) as agent:
            await one.asked(4900)
            async with again(one) as later:
                await later.decide(await later.asked(4900))
                assert await printed(agent) == [PAID, "4900 of ch_2 is paid back"]
                assert await later.actions() == [(4900, "made")]


@dataclass
class Paused:
    """An agent that pauses, and stores where it stands."""

    world: World
    name: str
    port: int

    @property
    def env(self) -> dict[str, str]:
        return {"PORT": str(self.port), "AGENT_URL": f"http://127.0.0.1:{self.port}"}

    @property
    def kept(self) -> dict[str, str]:
        found: dict[str, str] = json.loads((self.world.folder / "instance.json").read_text(encoding="utf-8"))
        return found

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Tasks]:
        """The agent, as soon as it takes tasks; what it prints goes to a file."""
        async with (
            self.world.running(f"{self.name}_pauses.py", **self.env),
            aiohttp.ClientSession(self.env["AGENT_URL"], timeout=aiohttp.ClientTimeout(240)) as session,
        ):
            tasks = Tasks(session, self.kept)
            await until(tasks.serves, wanted=True)
            yield tasks

    def stored(self) -> dict[Path, bytes]:
        """What the agent stores of its tasks."""
        files = [*self.world.folder.glob("threads.db*"), *self.world.folder.glob("????????-*.json")]
        return {path: path.read_bytes() for path in files}

    def restore(self, stored: dict[Path, bytes]) -> None:
        """Put back what was stored before."""
        for path in self.stored():
            path.unlink()
        for path, data in stored.items():
            path.write_bytes(data)

    def tamper(self) -> None:
        """Have the stored call pay 9900 in place of 4900."""
        for path in self.world.folder.glob("????????-*.json"):
            path.write_text(path.read_text(encoding="utf-8").replace("4900", "9900"), encoding="utf-8")
        if (self.world.folder / "threads.db").exists():
            with sqlite3.connect(self.world.folder / "threads.db") as db:
                for table, column in (("checkpoints", "checkpoint"), ("writes", "value")):
                    rows = db.execute(f"SELECT rowid, {column} FROM {table}").fetchall()  # noqa: S608 - its own names
                    for row, value in rows:
                        changed = value.replace(b"\xcd\x13\x24", b"\xcd\x26\xac")
                        db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (changed, row))  # noqa: S608
            db.close()


@dataclass
class Tasks:
    """What is asked of an agent that pauses."""

    session: aiohttp.ClientSession
    kept: dict[str, str]

    async def serves(self) -> bool:
        try:
            async with self.session.get("/"):
                return True
        except aiohttp.ClientConnectionError:
            return False

    async def begin(self, name: str, text: str) -> Any:
        async with self.session.put(f"/tasks/{name}", data=text) as answer:
            assert answer.status == 200
            return (await answer.json())["answer"]

    async def answer(self, name: str) -> Any:
        async with self.session.get(f"/tasks/{name}") as answer:
            assert answer.status == 200
            return (await answer.json())["answer"]

    async def tell(self, action: str, secret: str = "") -> int:
        """A message that the action was decided, signed rightly or otherwise."""
        message, at = str(uuid.uuid4()), int(datetime.now(UTC).timestamp())
        said = {"type": "request.resolved", "instance_id": self.kept["instance_id"], "request_id": action}
        body = json.dumps({"id": message, **said}).encode()
        signature = sign(secret or self.kept["secret"], message, at, body)
        headers = {"webhook-id": message, "webhook-timestamp": str(at), "webhook-signature": signature}
        async with self.session.post("/aap/events", data=body, headers=headers) as answer:
            return answer.status


async def paused(one: World, fake: str, name: str) -> Paused:
    """An agent with an instance that is told of decisions."""
    one.write(fake)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        agent = Paused(one, name, bound.getsockname()[1])
    key = await one.made("agent platform", kind="service", role="admin")
    async with one.running("register.py", PENSTOCK_PROVISIONER_KEY=key, **agent.env) as registering:
        assert await printed(registering) == []
    assert (one.folder / "instance.json").stat().st_mode & 0o777 == 0o600
    return agent


@FRAMEWORKS
async def test_an_agent_that_pauses_is_woken_after_both_were_killed(tmp_path: Path, fake: str, name: str) -> None:
    first, second, third = (str(uuid.uuid4()) for _ in range(3))
    async with world(tmp_path) as one:
        agent = await paused(one, fake, name)
        await one.rules(*RULES)
        async with agent.serving() as tasks:
            assert await tasks.begin(first, task("ch_1", 49)) == "49 of ch_1 is paid back"
            assert await tasks.begin(second, task("ch_2", 4900)) is None
            assert await tasks.begin(third, task("ch_3", 4901)) is None
        async with again(one) as later, agent.serving() as tasks:
            await later.decide(await later.asked(4901), "denied", comment="Not twice.")
            await until(lambda: tasks.answer(third), f"{DENIED}Not twice.")
            assert await tasks.answer(second) is None
            await later.decide(await later.asked(4900))
            await until(lambda: tasks.answer(second), "4900 of ch_2 is paid back")
            assert await later.actions() == [(49, "made"), (4900, "made"), (4901, "denied")]


@FRAMEWORKS
async def test_nothing_but_a_decision_opens_a_call_that_is_paused(tmp_path: Path, fake: str, name: str) -> None:
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    async with world(tmp_path) as one:
        agent = await paused(one, fake, name)
        async with agent.serving() as tasks:
            await tasks.begin(first, task("ch_2", 4900))
            asked = await one.asked(4900)
            assert await tasks.tell(asked["id"], "whsec_" + "A" * 43 + "=") == 401
            assert await tasks.tell(asked["id"]) == 204
            assert await tasks.answer(first) is None
        before = agent.stored()
        async with agent.serving() as tasks:
            await one.decide(asked)
            await until(lambda: tasks.answer(first), "4900 of ch_2 is paid back")
        agent.restore(before)
        async with agent.serving() as tasks:
            await tasks.tell(asked["id"])
            await until(lambda: tasks.answer(first), f"{BEFORE}Request approval again if it still needs to happen.")
            await tasks.begin(second, task("ch_2", 4900))
            asked = await one.asked(4900)
        agent.tamper()
        async with agent.serving() as tasks:
            await one.decide(asked)
            await one.asked(9900)
            assert await tasks.answer(second) is None
        assert await one.actions() == [(4900, "made"), (4900, None), (9900, None)]


@FRAMEWORKS
async def test_an_agent_reaches_tools_through_the_gateway(tmp_path: Path, fake: str, name: str) -> None:
    async with world(tmp_path) as one, tool_side() as side:
        one.write(fake)
        await one.rules(*RULES)
        await one.send("PUT", "/mcp-servers/payments", {"url": side.url, "reversible": True})
        async with one.running(f"{name}_mcp.py", task("ch_2", 4900), task("ch_4", 10_000)) as agent:
            await one.decide(await one.asked(4900))
            paid, denied = await printed(agent)
        assert paid == "refunded 4900 of ch_2"
        assert "Nobody pays so much." in denied
        assert side.called == ["refund"]
        assert await one.actions() == [(4900, "made"), (10_000, "denied")]
