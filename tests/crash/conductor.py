"""Starts and ends the processes of the rig: a ledger, a driver, one life of the service after the
other, a checker.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.export import export
from tests.crash.lives import KILL, Ending, Endings, Lifecycle, failpoints, free_port, traceable
from tests.crash.provoke import PROVOKED, Stage, provoke, registered
from tests.crash.service import write_templates
from tests.crash.wire import Wire
from tests.crash.world import TEMPLATES, connectors

PERIOD_S = 3.8  # from one start to the next, on average, as far as the machine allows
LIFE_S = (0.3, 4.0)
PROVOKED_S = 8.0
REST_S = 150.0
POLL_S = 0.25


@dataclass
class Outcome:
    """How often the service ended in which way, at which failpoints, and what the checker has
    found.
    """

    ends: Counter[str] = field(default_factory=Counter)
    reached: set[str] = field(default_factory=set)
    failpoints: tuple[str, ...] = ()
    figures: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    sound: bool = True

    @property
    def kills(self) -> int:
        """How often the service was killed."""
        return self.ends.total()

    def take(self, report: str, *, sound: bool) -> None:
        """Add what a checker has printed: figures under their names, then examples of what does not
        fit.
        """
        self.sound = self.sound and sound
        for line in report.splitlines():
            name, gap, value = line.rpartition("  ")
            if gap and value.replace(",", "").isdigit():
                self.figures[name.strip()] += int(value.replace(",", ""))
            else:
                self.faults.append(line)

    def __str__(self) -> str:
        ways = ", ".join(f"{times:,} {name}" for name, times in self.ends.most_common())
        missed = [name for name in self.failpoints if name not in self.reached]
        left = f" (not {', '.join(missed)})" if missed else ""
        covered = f"{len(self.reached)} of {len(self.failpoints)}{left}"
        lines = [("kills", f"{self.kills:,} ({ways})"), ("failpoints covered", covered)]
        lines += [(name, f"{value:,}") for name, value in self.figures.items()]
        return "\n".join([*(f"{name:<36}{value}" for name, value in lines), *self.faults])


class Conductor:
    """A season of the rig, in a folder of its own; the outcome may be of several seasons."""

    def __init__(
        self, folder: Path, seed: str, clients: int, *, period_s: float = PERIOD_S, outcome: Outcome | None = None
    ) -> None:
        self._folder, self._seed, self._clients, self._period_s = folder, seed, clients, period_s
        self._random = random.Random(seed)
        self._port = free_port()
        self._driver, self._ledger = folder / "driver.jsonl", folder / "ledger.jsonl"
        self._history = folder / "history.jsonl"
        self._life: Lifecycle | None = None
        self.outcome = outcome or Outcome()

    async def perform(self, seconds: float, *, kills_min: int = 0, new_folder: bool = True) -> Outcome:
        """Kill for so long and so often, let everything come to rest, then compare.

        With `new_folder` the first kills come while the folder is made.
        """
        try:
            return await self._perform(seconds, kills_min, new_folder=new_folder)
        finally:
            await self._close()

    async def _perform(self, seconds: float, kills_min: int, *, new_folder: bool) -> Outcome:
        end = time.monotonic() + seconds
        write_templates(self._folder / "templates", TEMPLATES)
        endings = Endings(await failpoints(), self._seed, self.outcome.reached, traced=await traceable())
        async with spawned("tests.crash.ledger", str(self._ledger), self._seed) as ledger:
            far_port = int(await read_line(ledger))
            for ending in endings.first() if new_folder else ():
                await self._live(endings, ending)
            began, life = time.monotonic(), await self._up()
            token = await prepare(self._port, far_port)
            driving = (str(self._port), token, str(self._driver), self._seed, str(self._clients))
            async with spawned("tests.crash.driver", *driving) as driver:
                await self._end(endings, KILL, life, began)
                while time.monotonic() < end or self.outcome.kills < kills_min:
                    await self._live(endings, endings.next())
                life = await self._up()
                await finish(driver)
            await at_rest(self._port, token)
            await export(self._port, token, self._history)
            await life.kill()
            await finish(ledger)
        self.outcome.failpoints = endings.names
        await self._check()
        return self.outcome

    async def _start(self, ending: Ending) -> Lifecycle:
        self._life = await Lifecycle.start(self._folder, self._port, ending)
        return self._life

    async def _close(self) -> None:
        """End the service that is running, if one is."""
        if self._life is not None:
            await self._life.kill()

    async def _up(self) -> Lifecycle:
        """A life that nothing was planted in, ready to serve."""
        life = await self._start(KILL)
        if not await life.ready():
            raise AssertionError(f"the service does not start: {self._tail()}")
        return life

    async def _live(self, endings: Endings, ending: Ending) -> None:
        """One life, from its start to its end."""
        began, life = time.monotonic(), await self._start(ending)
        if ending.kind == "kill" and self._random.random() < 0.1:
            await asyncio.sleep(self._random.uniform(0.0, 1.0))  # killed while it starts
            await life.kill()
            self.outcome.ends["while starting"] += 1
            return
        if await life.ready() and ending.kind == "failpoint":
            await provoke(ending.name, Stage(self._folder, self._port, life.pid))
        await self._end(endings, ending, life, began)

    async def _end(self, endings: Endings, ending: Ending, life: Lifecycle, began: float) -> None:
        left_s = self._period_s - (time.monotonic() - began)
        life_s = min(max(LIFE_S[0], left_s * self._random.uniform(0.4, 1.6)), LIFE_S[1])
        provoked = ending.kind == "failpoint" and ending.name in PROVOKED
        by_itself = await life.ends_by_itself(PROVOKED_S if provoked else life_s)
        if not by_itself:
            await life.kill()
        endings.came(ending, by_itself=by_itself)
        self.outcome.ends[ending.label if by_itself else "at random"] += 1

    async def _check(self) -> None:
        files = map(str, (self._driver, self._ledger, self._history))
        async with spawned("tests.crash.checker", *files) as checker:
            report, _ = await checker.communicate()
        if checker.returncode not in (0, 1) or not report:
            raise AssertionError("the checker has failed")
        self.outcome.take(report.decode(), sound=checker.returncode == 0)

    def _tail(self) -> str:
        return (self._folder / "service.log").read_text(encoding="utf-8")[-2_000:]


async def prepare(port: int, far_port: int) -> str:
    """Register, and bind the tools to the ledger."""
    token = await registered(port, "ada@example.test")
    wire = Wire(port, token)
    for tool, how in connectors(far_port).items():
        answer = await wire.ask("PUT", f"/connectors/{tool}", how)
        if answer.status != 201:
            raise AssertionError(f"{tool} was not bound: {answer.status}")
    return token


async def at_rest(port: int, token: str) -> None:
    """Wait until no run executes any more, or for as long as anything that is pending may take."""
    wire, end = Wire(port, token), time.monotonic() + REST_S
    while time.monotonic() < end:
        answer = await wire.ask("GET", "/process-runs/?status=executing&limit=1")
        if answer.status == 200 and not answer.json:
            return
        await asyncio.sleep(POLL_S)


@asynccontextmanager
async def spawned(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A program of the rig; it ends when its standard input does."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*(sys.executable, "-m", *arguments), stdin=pipe, stdout=pipe)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def read_line(process: asyncio.subprocess.Process) -> str:
    """What a program says next."""
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()


async def finish(process: asyncio.subprocess.Process) -> None:
    """Let a program come to its end."""
    assert process.stdin is not None
    process.stdin.close()
    if await asyncio.wait_for(process.wait(), REST_S) != 0:
        raise AssertionError("a program of the rig has failed")
