"""The guide's programs as processes, and a person of a real service who decides on their calls."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.crash.service import POLL_S, Service, environment
from tests.programs import announced, stopped

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', GUIDE, re.DOTALL | re.MULTILINE))
PYTHON = ROOT / ".venv" / "agents" / "bin" / "python"
PATIENCE_S = 150.0
PATIENT = """
from agentapprovalprotocol import AsyncClient, Client

for one in (AsyncClient, Client):
    one.__init__.__kwdefaults__["retry_budget"] = 240.0
"""
"""What a service that starts anew on a busy machine needs of its clients."""


def task(charge: str, amount: int) -> str:
    """What the guide tells an agent."""
    return f"Charge {charge} was paid twice. Pay {amount} back."


@dataclass
class World:
    """A service in a process of its own, its one person, and a folder with the guide's programs."""

    folder: Path
    service: Service
    company: str = ""
    key: str = ""

    @property
    def env(self) -> dict[str, str]:
        """What the guide's programs and commands read."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PENSTOCK_", "OPENAI_"))}
        path = f"{Path(sys.executable).parent}:{own['PATH']}"
        port = self.service.address.rpartition(":")[2]
        said = {"PENSTOCK_URL": self.service.address, "PENSTOCK_PORT": port, "PENSTOCK_API_KEY": self.key}
        return {**own, **said, "PATH": path, "HOME": str(self.folder), "PYTHONUNBUFFERED": "1"}

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        status, answer = await self.service.send(method, path, body, **headers)
        assert status < 300, (status, answer)
        return answer

    async def made(self, name: str, **how: str) -> str:
        """An API key."""
        made = await self.send("POST", "/api-keys/", {"name": name, "kind": "agent", "role": "member", **how})
        return str(made["key"])

    async def rules(self, *rules: dict[str, Any]) -> None:
        await self.send("PUT", f"/companies/{self.company}/action-rules", {"rules": list(rules)})

    async def asked(self, amount: int) -> dict[str, Any]:
        """The action of that amount, as soon as it waits for a person."""
        headers = {"Authorization": f"Bearer {self.service.token}", "Accept": "text/event-stream"}
        timeout = aiohttp.ClientTimeout(PATIENCE_S)
        async with self.service.session.get(f"{self.service.address}/events", headers=headers, timeout=timeout) as told:
            while True:
                for one in await self.send("GET", "/actions/?status=parked"):
                    if one["arguments"]["amount"] == amount:
                        return dict(one)
                async for line in told.content:
                    if line.startswith(b"event: gate_opened"):
                        break

    async def decide(self, action: Mapping[str, Any], decision: str = "approved", **more: str) -> None:
        gate = action["gate"]["step_id"]
        await self.send("POST", f"/process-runs/{action['id']}/resume", {"gate": gate, "decision": decision, **more})

    async def actions(self) -> list[Any]:
        """What became of each action, oldest first."""
        return [(one["arguments"]["amount"], one["outcome"]) for one in reversed(await self.send("GET", "/actions/"))]

    def write(self, fake: str, more: str = "") -> None:
        """The files of the guide, and a model for them."""
        for name, text in BLOCKS.items():
            if name.endswith(".py"):
                (self.folder / name).write_text(text, encoding="utf-8")
        model = Path(__file__).with_name("fakes") / f"{fake}.py"
        (self.folder / "model.py").write_text(model.read_text(encoding="utf-8") + more, encoding="utf-8")

    def change(self, name: str, old: str, new: str) -> None:
        """Change one place of a program."""
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")

    @asynccontextmanager
    async def running(self, *arguments: str, **env: str) -> AsyncIterator[Process]:
        """A program of the guide."""
        if not PYTHON.exists():
            pytest.fail("make .venv/agents/made")
        process = await asyncio.create_subprocess_exec(
            PYTHON, *arguments, stdout=PIPE, env={**self.env, **env}, cwd=self.folder
        )
        try:
            yield process
        finally:
            await stopped(process)


async def printed(process: Process) -> list[str]:
    """What a program says until its end, which has to be a good one."""
    async with asyncio.timeout(PATIENCE_S):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode().splitlines()


@asynccontextmanager
async def served(folder: Path, port: int = 0, token: str = "") -> AsyncIterator[Service]:
    """The service on what is stored in the folder."""
    env = environment(folder)
    del env["PENSTOCK_TEMPLATES_DIR"]
    arguments = ("daemon", "serve", "--port", str(port), "--log-level", "error")
    async with AsyncExitStack() as stack:
        process, bound = await stack.enter_async_context(
            announced(*arguments, env=env, log=folder / "service.log", cwd=ROOT)
        )
        session = await stack.enter_async_context(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE_S)))
        yield Service(process, f"http://127.0.0.1:{bound}", folder / "service.log", session, token)


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    """A service with a company of one person, and a key of an agent."""
    async with served(folder) as service:
        await service.register()
        one = World(folder, service)
        one.company = (await one.send("GET", "/auth/me"))["company"]["id"]
        one.key = await one.made("support bot")
        yield one


@asynccontextmanager
async def again(before: World) -> AsyncIterator[World]:
    """The same after a kill, at the same address."""
    await before.service.kill()
    port = int(before.service.address.rpartition(":")[2])
    async with served(before.folder, port, before.service.token) as service:
        yield World(before.folder, service, before.company, before.key)


async def until(read: Any, wanted: Any) -> None:
    """Wait until another process says so."""
    async with asyncio.timeout(PATIENCE_S):
        while await read() != wanted:  # noqa: ASYNC110 - of another process
            await asyncio.sleep(POLL_S)
