"""What a probe has around it: a service, a far side, and a count of answers."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tests.attack.report import Report
from tests.attack.service import Target
from tests.attack.wire import Answer, ask
from tests.load.pump import wire
from tests.programs import announced

PASSWORD = "correct horse"
INPUTS = {"member_id": "M-1", "procedure_code": "70551", "diagnosis": "G43.909"}
SHOWN_MAX = 6
RESTS_S = 20.0


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@dataclass(slots=True)
class Tally:
    """How the requests of one probe were answered; 0 where the connection ended first."""

    statuses: Counter[int] = field(default_factory=Counter)
    mistakes: Counter[str] = field(default_factory=Counter)

    def note(self, answer: Answer | None) -> Answer | None:
        self.statuses[0 if answer is None else answer.status] += 1
        mistake = None if answer is None else answer.mistake()
        if mistake is not None:
            self.mistakes[mistake] += 1
        return answer

    def check(self, report: Report, name: str) -> None:
        """Every refusal has the contract's form."""
        report.told(f"{name}: answers", dict(sorted(self.statuses.items())))
        report.most(f"{name}: answered otherwise than the contract says", sum(self.mistakes.values()), 0)
        for mistake, _ in self.mistakes.most_common(SHOWN_MAX):
            report.told("  example", mistake)


@dataclass(slots=True)
class FarSide:
    """The other end of connectors and webhooks; a process of its own."""

    port: int

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def counts(self) -> Counter[str]:
        """How often each path and each call was asked for: by path, and by its idempotency key."""
        answer = await ask(self.port, wire("GET", "/counts"))
        assert answer is not None
        return Counter(answer.json)

    async def calls_per_visit(self, path: str) -> int:
        """The most often that one visit of one step has called a path."""
        counts = await self.counts()
        return max((times for key, times in counts.items() if key.startswith(f"{path} ")), default=0)


@asynccontextmanager
async def far_side(folder: Path) -> AsyncIterator[FarSide]:
    async with announced("tests.attack.probes.far_side", env={}, log=folder / "far-side") as (_, port):
        yield FarSide(port)


@dataclass(slots=True)
class World:
    """A running service under probes."""

    target: Target
    far: FarSide

    async def call(
        self, method: str, path: str, body: Any = None, token: str | None = None, *, source: str | None = None
    ) -> Answer | None:
        """One request on a connection of its own, from any address of the loopback network."""
        headers = {} if token is None else bearer(token)
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return await ask(self.target.port, wire(method, path, raw, headers), source=source)

    async def company(self, name: str, source: str = "127.0.0.1") -> str:
        """A token of a new company."""
        body = {"email": f"{name}@attack.test", "password": PASSWORD, "company_name": name}
        answer = await self.call("POST", "/auth/register", body, source=source)
        assert answer is not None
        assert answer.status == 201, answer.body
        return str(answer.json["token"])

    async def connect(self, token: str, tool: str, path: str, **fields: Any) -> bool:
        """Store a connector that calls the far side; whether it is a valid one."""
        connector = {"base_url": self.far.url(), "path": path, "reversible": True, "retries": 0, **fields}
        answer = await self.call("PUT", f"/connectors/{tool}", connector, token)
        assert answer is not None
        assert answer.status in {200, 201, 422}, answer.body
        return answer.status != 422

    async def start(
        self, token: str, inputs: Mapping[str, Any] = INPUTS, vertical: str = "prior-auth"
    ) -> Answer | None:
        body = {"vertical": vertical, "inputs": inputs}
        return await self.call("POST", "/process-runs/", body, token)

    async def rested(self, token: str, run_id: str) -> dict[str, Any]:
        """The run as soon as it no longer executes, or as it is after a while."""
        run: dict[str, Any] = {}
        with suppress(TimeoutError):
            async with asyncio.timeout(RESTS_S):
                while run.get("status", "executing") == "executing":
                    answer = await self.call("GET", f"/process-runs/{run_id}", token=token)
                    run = answer.json if answer is not None and answer.status == 200 else {}
                    await asyncio.sleep(0.1)
        return run


class Probe:
    """One way to stop the service. `attack` is cancelled when its time is over."""

    name: ClassVar[str]
    settings: ClassVar[Mapping[str, str]] = {}
    templates: ClassVar[Mapping[str, str]] = {}

    def __init__(self) -> None:
        self.tally = Tally()

    async def prepare(self, world: World) -> None:
        """What has to stand before."""

    async def attack(self, world: World) -> None:
        raise NotImplementedError

    def enough(self) -> bool:
        """Whether there is something to check, which may come late on a slow machine."""
        return True

    async def check(self, world: World, report: Report) -> None:
        """What holds beside the bars that all probes share."""
        self.tally.check(report, self.name)


async def paced(every_s: float, work: Any) -> None:
    """Call `work` with a number at a steady pace for ever, however long each call takes."""
    began, number = time.monotonic(), 0
    async with asyncio.TaskGroup() as group:
        while True:
            group.create_task(work(number))
            number += 1
            await asyncio.sleep(max(0.0, began + number * every_s - time.monotonic()))
