"""People who start runs that call the outside, decide on them, and remember what they were told."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.crash.wire import Answer, Lost, Unsent, Wire

PATIENCE_S = 20.0
PAUSE_S = 0.05
SLOW_S = 0.4
REQUESTS_EACH = 40
IRREVERSIBLE = "slow-pay"


class FarSide:
    """Notes the key of each call, and takes its time to answer."""

    def __init__(self, host: str) -> None:
        self.seen: dict[str, Counter[str]] = {}
        self._random = random.Random(1)
        app = web.Application()
        app.router.add_post("/{tool}", self._handle)
        self.server = TestServer(app, host=host)

    @property
    def twice(self) -> list[str]:
        """The irreversible calls that came more than once."""
        return [key for key, times in self.seen.get(IRREVERSIBLE, Counter()).items() if times > 1]

    async def _handle(self, request: web.Request) -> web.Response:
        tool = request.match_info["tool"]
        self.seen.setdefault(tool, Counter())[request.headers["Idempotency-Key"]] += 1
        await asyncio.sleep(self._random.random() * SLOW_S)
        return web.json_response({"did": tool})


@dataclass
class Told:
    """What was acknowledged: verdicts by run, and which runs were started."""

    verdicts: dict[str, str] = field(default_factory=dict)
    started: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    doubtful: int = 0


class Person:
    """One who pays and works, over connections that change, so that any daemon is asked."""

    def __init__(self, port: int, token: str, told: Told) -> None:
        self._wire = Wire(port, token)
        self._told = told
        self._asked = 0

    async def pay(self) -> None:
        """Start a payment, approve it, and see to it until it has ended."""
        run = await self._started("risky")
        answer = await self._decided(run, "signoff", "approved", f"pay-{run['id']}")
        if answer.status in (200, 202):
            self._told.verdicts[run["id"]] = "approved"
        await self.seen_through(run["id"])

    async def work(self) -> None:
        """Start a run that may repeat its call, and see to it until it has ended."""
        run = await self._started("busy")
        await self.seen_through(run["id"])

    async def seen_through(self, run_id: str) -> None:
        """Look at a run until it has ended; where nobody knows what came of a call, say that it was
        made.
        """
        while True:
            answer = await self.ask("GET", f"/process-runs/{run_id}")
            run = answer.json
            if answer.status == 200 and run["status"] in ("completed", "failed", "cancelled"):
                return
            if answer.status == 200 and run["status"] == "parked" and run["parked_at"] == "pay":
                self._told.doubtful += 1
                await self._decided(run, "pay", "done", f"done-{run_id}-{run['version']}")
            await asyncio.sleep(PAUSE_S)

    async def ask(self, method: str, path: str, body: Any = None, key: str | None = None) -> Answer:
        """The first answer that says for sure what happened: what may be repeated is."""
        headers = {} if key is None else {"Idempotency-Key": key}
        while True:
            self._asked += 1
            if self._asked % REQUESTS_EACH == 0:
                self._wire.close()
            try:
                answer = await self._wire.ask(method, path, body, headers, PATIENCE_S)
            except (Lost, Unsent):
                self._told.statuses[0] += 1
            else:
                self._told.statuses[answer.status] += 1
                if answer.status != 503:
                    return answer
                self._wire.close()
            await asyncio.sleep(PAUSE_S)

    async def _started(self, vertical: str) -> Any:
        key = f"start-{id(self)}-{self._asked}-{random.random()}"
        answer = await self.ask("POST", "/process-runs/", {"vertical": vertical}, key)
        assert answer.status in (201, 202), (answer.status, answer.body)
        self._told.started.append(answer.json["id"])
        return answer.json

    async def _decided(self, run: Any, gate: str, decision: str, key: str) -> Answer:
        body = {"gate": gate, "decision": decision, **({"output": {}} if decision == "done" else {})}
        return await self.ask("POST", f"/process-runs/{run['id']}/resume", body, key)


async def connect(port: int, token: str, far: FarSide) -> None:
    """Bind the tools of the templates to the far side, for real."""
    url = str(far.server.make_url("/")).rstrip("/")
    for tool in (IRREVERSIBLE, "slow-work"):
        how = {"base_url": url, "path": f"/{tool}", "method": "POST", "reversible": True, "timeout_s": 30}
        answer = await Wire(port, token).ask("PUT", f"/connectors/{tool}", how)
        assert answer.status == 201, answer.body
