"""Lets the swarm loose on daemons that are killed in turn, then reads what the checker needs."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from tests.cluster.daemons import Corded, Daemon, make_keys
from tests.crash.provoke import registered
from tests.crash.service import write_templates
from tests.crash.wire import Wire
from tests.postgres import Server
from tests.programs import stopped
from tests.swarm.agents import PAUSE_S, Agent, Caller
from tests.swarm.checker import figures
from tests.swarm.law import SERVER, TOOLS
from tests.swarm.notes import Notes, read_arrivals, read_record
from tests.swarm.people import Admin, Person

PEOPLE = 4
READERS = 16
LIFE_MAX_S = 40.0
ANSWERS = 600
"""Daemons give half as many answers on average before one is killed, or live that long."""
LOOKS_S = 0.05
FINISH_S = 90.0
RESTS_S = 120.0
OUTCOME_WITHIN = "PT20S"
OUTCOME_WITHIN_S = 20.0


@dataclass(frozen=True)
class Size:
    """How much of it there is."""

    actions: int
    agents: int = 50
    daemons: int = 1
    seconds: float = 1_500.0
    seed: str = "swarm"


@dataclass
class Outcome:
    """What there was, and how often a daemon was killed."""

    notes: Notes = field(default_factory=Notes)
    kills: int = 0
    took_s: float = 0.0
    out_of_time: bool = False

    def __str__(self) -> str:
        said = {**figures(self.notes), "kills": f"{self.kills} in {self.took_s:,.0f} s"}
        return "\n".join(f"{name:<26}{value}" for name, value in said.items())


@asynccontextmanager
async def outside(folder: Path, seed: str) -> AsyncIterator[tuple[str, str, Path]]:
    """The outside: the address of its API, that of its tools, and the file of what reaches it."""
    file = folder / "arrivals.jsonl"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.swarm.outside", str(file), seed), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        api, tools = orjson.loads(await asyncio.wait_for(process.stdout.readline(), RESTS_S))
        yield api, tools, file
    finally:
        await stopped(process)


class Rig:
    """One performance in a folder; on SQLite without a database."""

    def __init__(self, folder: Path, size: Size, database: Server | None) -> None:
        self._folder, self._size, self._database = folder, size, database
        self._random = random.Random(size.seed)
        self._daemons: list[Daemon] = []
        self._over = asyncio.Event()
        self.outcome = Outcome()

    async def perform(self) -> Outcome:
        """Let all of it happen, and read what came of it."""
        began = time.monotonic()
        write_templates(self._folder / "templates")
        make_keys(self._folder)
        async with AsyncExitStack() as stack:
            api, tools, file = await stack.enter_async_context(outside(self._folder, self._size.seed))
            await self._serve(stack)
            self._token = await registered(self._ports[0], "ada@example.test")
            self._owner = Caller(self._ports, self._token, self.outcome.notes, self._size.seed)
            await self._prepare(api, tools)
            await self._play(api)
            await self._rest()
            wires = [Wire(self._ports[one % len(self._ports)], self._token) for one in range(READERS)]
            await read_record(wires, self.outcome.notes)
            self.outcome.notes.arrivals = read_arrivals(file.read_bytes())
        self.outcome.took_s = time.monotonic() - began
        return self.outcome

    @property
    def _ports(self) -> list[int]:
        return [one.place.port for one in self._daemons]

    async def _serve(self, stack: AsyncExitStack) -> None:
        url = None if self._database is None else await self._database.made()
        for number in range(self._size.daemons):
            place = Corded(0 if self._database is None else self._database.port)
            settings = {} if url is None else {"database_url": place.url(url), "lease_s": "3.0"}
            daemon = Daemon(self._folder, number, place, settings)
            stack.push_async_callback(daemon.close)
            await daemon.open()
            self._daemons.append(daemon)

    async def _prepare(self, api: str, tools: str) -> None:
        """Bind the tools to the outside, and put the first rules in force."""
        for tool in TOOLS:
            body = {"n": "inputs.n", "amount": "inputs.amount"}
            how = {"base_url": api, "path": f"/penstock/{tool}", "method": "POST", "body_map": body}
            await self._done("PUT", f"/connectors/{tool}", {**how, "reversible": True, "timeout_s": 30, "retries": 0})
        await self._done("PUT", f"/mcp-servers/{SERVER}", {"url": tools, "reversible": True, "wait_s": 0})
        company = (await self._done("GET", "/auth/me"))["company"]["id"]
        await self._done("PUT", f"/companies/{company}/policy", {"actions": {"outcome_within": OUTCOME_WITHIN}})
        self._admin = Admin(*self._caller("admin"), company=company)
        await self._admin.change()

    async def _done(self, method: str, path: str, body: Any = None) -> Any:
        answer = await self._owner.ask(method, path, body)
        assert answer.status in (200, 201), (path, answer.status, answer.body)
        return answer.json

    def _caller(self, name: str, token: str = "") -> tuple[list[int], str, Notes, str]:
        return self._ports, token or self._token, self.outcome.notes, f"{self._size.seed}-{name}"

    async def _play(self, api: str) -> None:
        names = [f"agent-{number}" for number in range(self._size.agents)]
        timeout = aiohttp.ClientTimeout(60)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as http:
            agents = []
            for name in names:
                key = await self._done("POST", "/api-keys", {"name": name, "role": "member", "kind": "agent"})
                agents.append(Agent(name, self._caller(name, key["key"]), http, api))
            people = [Person(*self._caller(f"person-{number}")) for number in range(PEOPLE)]
            async with asyncio.TaskGroup() as group:
                beside = [
                    *(group.create_task(one.work(self._over)) for one in people),
                    group.create_task(self._admin.oversee(names, self._over)),
                    group.create_task(self._kill()),
                ]
                async with asyncio.TaskGroup() as wanting:
                    numbers = iter(range(1, self._size.actions + 1))
                    until = time.monotonic() + self._size.seconds
                    for agent in agents:
                        wanting.create_task(self._want(agent, numbers, until))
                self._over.set()
                del beside

    async def _want(self, agent: Agent, numbers: Any, until: float) -> None:
        for n in numbers:
            if time.monotonic() > until:
                self.outcome.out_of_time = True
                return
            await agent.want(n)
        await agent.finish(min(until, time.monotonic() + FINISH_S))

    async def _kill(self) -> None:
        """Kill one daemon after the other, each once it serves again."""
        while not self._over.is_set():
            for daemon in self._daemons:
                await daemon.ready()
                await self._live()
                if self._over.is_set():
                    return
                await daemon.killed()
                self.outcome.kills += 1

    async def _live(self) -> None:
        """Let the daemons give some answers."""
        statuses, most = self.outcome.notes.statuses, min(ANSWERS, self._size.actions // 2)
        until = time.monotonic() + LIFE_MAX_S
        wanted = statuses.total() - statuses[0] + self._random.randint(1, most)
        while statuses.total() - statuses[0] < wanted and time.monotonic() < until:
            if self._over.is_set():
                return
            await asyncio.sleep(LOOKS_S)

    async def _rest(self) -> None:
        """Wait until no call is out any more, and people have decided what they decide."""
        person, until = Person(*self._caller("last")), time.monotonic() + RESTS_S
        await asyncio.sleep(OUTCOME_WITHIN_S)
        while time.monotonic() < until:
            decided = await person.round()
            busy = await self._done("GET", "/actions/?status=executing&view=summary&limit=1")
            if not decided and not busy:
                return
            await asyncio.sleep(PAUSE_S)
