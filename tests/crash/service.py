"""The real service in a process of its own, somebody who uses it, and a far side that answers when
it is told to.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
from aiohttp import web

from tests.listening import Listener

T = TypeVar("T")
PROGRAM = (sys.executable, "-m", "daemon")
READY = "Penstock is ready at "
POLL_S = 0.05
PATIENCE_S = 30.0
AT_ONCE = 64
ENDED = frozenset({"completed", "failed", "cancelled"})
PERSON = {"email": "ada@example.test", "password": "correct horse", "company_name": "Example"}
TEMPLATES = {
    # Parks at once; after the verdict two shadowed steps lead to the end.
    "held": """
  - {id: look, kind: task, label: Look it up, tool: look, effect: read, next: signoff}
  - {id: signoff, kind: gate, label: Sign, next: {approved: note, denied: refused}}
  - {id: note, kind: task, label: Note it, tool: note, effect: read, next: file}
  - {id: file, kind: task, label: File it, tool: file, effect: read, next: closed}
  - {id: closed, kind: end, label: Closed, outcome: closed}
  - {id: refused, kind: end, label: Refused, outcome: refused}
""",
    # Executes from the start: its call may be repeated.
    "busy": """
  - {id: look, kind: task, label: Look it up, tool: look, effect: read, next: work}
  - {id: work, kind: task, label: Work, tool: slow-work, effect: reversible, next: worked}
  - {id: worked, kind: end, label: Worked, outcome: worked}
""",
    # Executes after the verdict: its call must not be repeated.
    "risky": """
  - {id: signoff, kind: gate, label: Sign, next: pay}
  - {id: pay, kind: task, label: Pay, tool: slow-pay, effect: irreversible, next: paid}
  - {id: paid, kind: end, label: Paid, outcome: paid}
""",
}


def write_templates(folder: Path, templates: Mapping[str, str] = TEMPLATES) -> Path:
    """A folder with these templates, the ones above unless others are given."""
    folder.mkdir()
    for vertical, steps in templates.items():
        head = f"vertical: {vertical}\nversion: 1\ntitle: A process\ndescription: It is killed in the middle.\n"
        text = f"{head}inputs_schema: {{type: object}}\nexample: {{}}\nsteps:{steps}"
        (folder / f"{vertical}.yaml").write_text(text, encoding="utf-8")
    return folder


class FarSide(Listener):
    """A real server that notes the key of each call, and answers none before it is released."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.answer: dict[str, Any] = {}
        self.released = asyncio.Event()
        self._arrived = asyncio.Event()
        super().__init__("/{tool}")

    async def handle(self, request: web.Request) -> web.Response:
        self.seen[request.headers["Idempotency-Key"]] += 1
        self._arrived.set()
        await self.released.wait()
        return web.json_response({"did": request.match_info["tool"], **self.answer})

    async def reached(self, calls: int) -> None:
        """Wait until it has seen so many calls."""
        async with asyncio.timeout(PATIENCE_S):
            while self.seen.total() < calls:
                self._arrived.clear()
                await self._arrived.wait()


@dataclass
class Service:
    """A running service, and the one who talks to it."""

    process: asyncio.subprocess.Process
    address: str
    log: Path
    session: aiohttp.ClientSession
    token: str = ""
    answered: dict[str, dict[str, Any]] = field(default_factory=dict)

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """One request: status and body."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        async with self.session.request(method, self.address + path, json=body, headers=sent) as response:
            text = await response.read()
            return response.status, json.loads(text) if text else None

    async def run(self, method: str, path: str, body: Any = None, **headers: str) -> dict[str, Any]:
        """A request that has to be answered with a run; the answer is remembered as
        acknowledged.
        """
        status, run = await self.send(method, path, body, **headers)
        assert status < 300, (status, run, self.log.read_text(encoding="utf-8")[-2_000:])
        self.answered[run["id"]] = run
        return dict(run)

    async def register(self) -> None:
        status, session = await self.send("POST", "/auth/register", PERSON)
        assert status == 201, session
        self.token = session["token"]

    async def connect(self, far_side: FarSide, *tools: str, **more: Any) -> None:
        """Bind tools to the far side, for real."""
        for tool in tools:
            url = str(far_side.server.make_url("/")).rstrip("/")
            how = {"base_url": url, "path": f"/{tool}", "method": "POST", "reversible": True, "timeout_s": 60}
            how |= more
            status, answer = await self.send("PUT", f"/connectors/{tool}", how)
            assert status == 201, answer

    async def start(self, vertical: str, number: int = 1, **headers: str) -> list[dict[str, Any]]:
        """Start so many runs."""
        body = {"vertical": vertical}
        return await together(self.run("POST", "/process-runs/", body, **headers) for _ in range(number))

    async def resume(self, run_id: str, gate: str = "signoff", decision: str = "approved", **headers: str) -> Any:
        return await self.run("POST", f"/process-runs/{run_id}/resume", {"gate": gate, "decision": decision}, **headers)

    async def read(self, run_id: str) -> dict[str, Any]:
        status, run = await self.send("GET", f"/process-runs/{run_id}")
        assert status == 200, run
        return dict(run)

    async def history(self, run_id: str) -> list[dict[str, Any]]:
        status, events = await self.send("GET", f"/process-runs/{run_id}/events?limit=200")
        assert status == 200, events
        return list(events)

    async def stands_still(self, run_id: str) -> dict[str, Any]:
        """The run once it waits for nobody but a human, or has ended."""
        path, headers = f"{self.address}/process-runs/{run_id}/events", {"Authorization": f"Bearer {self.token}"}
        async with asyncio.timeout(PATIENCE_S):
            async with self.session.get(path, headers={**headers, "Accept": "text/event-stream"}) as stream:
                async for line in stream.content:
                    if line.startswith((b"event: gate_opened", b"event: run_ended")):
                        run = await self.read(run_id)
                        if run["status"] != "executing":
                            return run
            return await self.read(run_id)

    async def recovered(self) -> Any:
        """The health of the service once every background loop has done again what failed."""
        async with asyncio.timeout(PATIENCE_S):
            while (found := await self.send("GET", "/health"))[1]["status"] == "degraded":  # noqa: ASYNC110 - of another process
                await asyncio.sleep(POLL_S)
        return found[1]

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()


async def together(requests: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All answers, a bounded number of requests under way at once."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(request: Coroutine[Any, Any, T]) -> T:
        async with slots:
            return await request

    return await asyncio.gather(*map(one, requests))


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """The settings of a service on a folder; what the tester's own environment says of Penstock
    does not count.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    return {
        **own,
        "PENSTOCK_RATE_LIMITS": "off",
        "PENSTOCK_EGRESS_ALLOW": "127.0.0.0/8",
        "PENSTOCK_TEMPLATES_DIR": str(folder / "templates"),
        "PENSTOCK_DATA_DIR": str(folder / "data"),
        **{f"PENSTOCK_{name.upper()}": value for name, value in settings.items()},
    }


@asynccontextmanager
async def serving(
    folder: Path, token: str = "", program: tuple[str, ...] = PROGRAM, **settings: str
) -> AsyncIterator[Service]:
    """A service on the folder's data and templates; it is killed on the way out unless it has ended
    by itself.
    """
    log = folder / "service.log"
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *(*program, "serve", "--port", "0"),
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            env=environment(folder, **settings),
        )
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), PATIENCE_S)).decode()
        assert line.startswith(READY), log.read_text(encoding="utf-8")
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(60)) as session:
            yield Service(process, line.removeprefix(READY).strip(), log, session, token)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def command(*arguments: str, env: dict[str, str]) -> tuple[int, str, str]:
    """Run `penstock` to its end: exit code, standard output, standard error."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "daemon", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=env,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), 60)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out.decode(), err.decode()
