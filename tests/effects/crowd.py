"""People who drive runs at random and turn tools from shadow to live and back, while the service
comes and goes.
"""

from __future__ import annotations

import asyncio
import math
import signal
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.crash.service import ENDED, Service
from tests.effects.generated import TOOLS
from tests.effects.world import JSON, Books, Gone, ask, rests

UNBOUND, NEVER, ALWAYS, TURNED = TOOLS[:2], TOOLS[2:4], TOOLS[4:6], TOOLS[6:]
METHODS = ("POST", "POST", "PUT", "PATCH", "GET", "DELETE")
WAYS = ("ok",) * 94 + ("refuse",) * 3 + ("effect-then-reset",) * 3
TURNS_MAX = 60
WORKERS = 32
PATIENCE_S = 300.0


@dataclass(eq=False)
class Errand:
    """A run that somebody sees through, deciding at random."""

    number: int
    vertical: str
    random: Random
    inputs: JSON = field(init=False)
    run_id: str = ""
    turns: int = 0

    def __post_init__(self) -> None:
        self.inputs = {"amount": self.random.randint(0, 100), "way": self.random.choice(WAYS)}

    async def see_through(self, service: Service) -> None:
        """Drive the run to its end."""
        if not self.run_id:
            body = {"vertical": self.vertical, "inputs": self.inputs, "auto_resolve": self.number % 5 > 0}
            status, run = await ask(service, "POST", "/process-runs/", body, Idempotency_Key=f"errand-{self.number}")
            assert status in {201, 202}, run
            self.run_id = run["id"]
        while (run := await rests(service, self.run_id))["status"] not in ENDED:
            status, answer = await self._turn(service, run)
            assert status in {200, 202, 409, 412}, answer

    async def _turn(self, service: Service, run: JSON) -> tuple[int, Any]:
        self.turns += 1
        path = f"/process-runs/{self.run_id}"
        if self.turns > TURNS_MAX:
            return await ask(service, "POST", f"{path}/cancel")
        if run["status"] == "failed":
            return await ask(service, "POST", f"{path}/retry")
        gate = self.random.choice(run["gates"])
        verdict = {"gate": gate["step_id"], "decision": self._decision(gate["decisions"])}
        if self.random.random() < 0.5:
            verdict["digest"] = gate["digest"]
        return await ask(service, "POST", f"{path}/resume", verdict)

    def _decision(self, decisions: list[str]) -> str:
        if decisions == ["approved", "denied"]:
            return "denied" if self.random.random() < 0.1 else "approved"
        return self.random.choice(decisions)


@dataclass
class Setting:
    """A version of a connector: whether it was live, and when it may have been in force."""

    reversible: bool
    since: float
    until: float = math.inf


@dataclass
class Switchboard:
    """All settings of all tools so far; one change at a time."""

    books: Books
    random: Random
    settings: dict[str, dict[int, Setting]] = field(default_factory=dict)
    _unsure: tuple[str, float] | None = None
    _change: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def begin(self, service: Service) -> None:
        for tool in (*NEVER, *ALWAYS, *TURNED):
            await self.turn(service, tool, tool in ALWAYS)

    async def turn(self, service: Service, tool: str, reversible: bool) -> None:
        """Store the connector anew."""
        connector = {
            "base_url": self.books.url(TOOLS.index(tool)),
            "path": f"/ok/ok/{tool}",
            "method": self.random.choice(METHODS),
            "query_map": {"way": "inputs.way"},
            "reversible": reversible,
        }
        async with self._change:
            if self._unsure is not None:
                raise Gone  # first has to be seen what became of the change that was cut off
            self._unsure = (tool, time.time())
            status, stored = await ask(service, "PUT", f"/connectors/{tool}", connector)
            assert status in {200, 201}, stored
            self._learn(stored)

    async def catch_up(self, service: Service) -> None:
        """See what became of a change that was cut off."""
        if self._unsure is not None:
            _, stored = await ask(service, "GET", f"/connectors/{self._unsure[0]}")
            self._learn(stored)

    def _learn(self, stored: JSON) -> None:
        assert self._unsure is not None
        tool, since = self._unsure
        known = self.settings.setdefault(tool, {})
        if stored["version"] not in known:
            for earlier in known.values():
                earlier.until = min(earlier.until, time.time())
            known[stored["version"]] = Setting(stored["reversible"], since)
        self._unsure = None


async def wave(
    service: Service, errands: Sequence[Errand], board: Switchboard, ends: int, number: signal.Signals | None
) -> list[Errand]:
    """Have errands run until so many have ended, and then end the service, or else all; returns the
    ended ones.
    """
    waiting, ended, enough = deque(errands), list[Errand](), asyncio.Event()

    async def work() -> None:
        while waiting:
            errand = waiting.popleft()
            try:
                await errand.see_through(service)
                ended.append(errand)
                if len(ended) >= ends:
                    enough.set()
                if board.random.random() < 0.4:
                    await board.turn(service, board.random.choice(TURNED), board.random.random() < 0.5)
            except Gone:
                return

    workers: list[asyncio.Task[Any]] = [asyncio.create_task(work()) for _ in range(WORKERS)]
    watch: asyncio.Task[Any] = asyncio.create_task(enough.wait())
    finished: set[asyncio.Task[Any]] = set()
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not enough.is_set():
                done, _ = await asyncio.wait({watch, *workers} - finished, return_when=asyncio.FIRST_COMPLETED)
                finished |= done
                for one in done:
                    one.result()
        if number is not None:
            service.process.send_signal(number)
            await service.process.wait()
        await asyncio.gather(*workers)
    finally:
        for task in (*workers, watch):
            task.cancel()
    return ended
