"""The service and the ledger, each in a process of its own, and what can be asked of them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import rfc8785
import yaml

from tests.crash.service import PATIENCE_S, Service
from tests.effects.ledger import HOSTS, Line, lines

JSON = dict[str, Any]


@dataclass
class Books:
    """A running ledger."""

    port: int
    file: Path

    def url(self, number: int = 0) -> str:
        """One of its origins."""
        return f"http://{HOSTS[number]}:{self.port}"

    @property
    def lines(self) -> list[Line]:
        return lines(self.file)

    def of(self, run_id: str) -> list[Line]:
        """What it got of a run."""
        return [line for line in self.lines if line.run_id == run_id]


@asynccontextmanager
async def ledger(folder: Path) -> AsyncIterator[Books]:
    """A ledger that writes into the folder; it ends on the way out, or when this process does."""
    file = folder / "ledger.jsonl"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.effects.ledger", "0", str(file)),
        cwd=Path(__file__).parents[2],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = int(await asyncio.wait_for(process.stdout.readline(), PATIENCE_S))
        yield Books(port, file)
        process.stdin.close()
        await asyncio.wait_for(process.wait(), PATIENCE_S)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def write_template(folder: Path, vertical: str, steps: list[JSON], version: int = 1) -> None:
    """A template document among those of the service on that folder."""
    (folder / "templates").mkdir(exist_ok=True)
    document = {
        "vertical": vertical,
        "version": version,
        "title": "A process",
        "description": "It has effects.",
        "inputs_schema": {"type": "object"},
        "example": {},
        "steps": steps,
    }
    text = yaml.safe_dump(document, sort_keys=False)
    (folder / "templates" / f"{vertical}-{version}.yaml").write_text(text, encoding="utf-8")


class Gone(Exception):
    """The service is stopping, or has stopped."""


async def ask(service: Service, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """One request, as long as there is a service."""
    try:
        status, answer = await service.send(method, path, body, **headers)
    except (aiohttp.ClientError, ConnectionError) as error:
        raise Gone from error
    if status == 503:
        raise Gone
    return status, answer


async def put(service: Service, tool: str, connector: JSON) -> JSON:
    """A stored connector."""
    status, stored = await service.send("PUT", f"/connectors/{tool}", connector)
    assert status in {200, 201}, stored
    return dict(stored)


async def start(service: Service, vertical: str, inputs: JSON | None = None, **headers: str) -> JSON:
    """A new run, once it rests."""
    return await service.run("POST", "/process-runs/", {"vertical": vertical, "inputs": inputs or {}}, **headers)


async def rests(service: Service, run_id: str) -> JSON:
    """The run as soon as nothing of it executes."""
    path = f"/process-runs/{run_id}"
    async with asyncio.timeout(PATIENCE_S):
        while True:
            status, run = await ask(service, "GET", path)
            assert status == 200, run
            if run["status"] != "executing":
                return dict(run)
            await _changes(service, f"{service.address}{path}/events?after={run['version']}")


async def _changes(service: Service, url: str) -> None:
    """Wait for an event."""
    headers = {"Authorization": f"Bearer {service.token}", "Accept": "text/event-stream"}
    with suppress(aiohttp.ClientError, ConnectionError):  # the next question finds out whether the service is gone
        async with service.session.get(url, headers=headers) as stream:
            async for line in stream.content:
                if line.startswith(b"event: "):
                    return


async def history(service: Service, run_id: str) -> list[JSON]:
    """All events of a run, page by page."""
    events: list[JSON] = []
    while True:
        after = events[-1]["seq"] if events else 0
        status, page = await service.send("GET", f"/process-runs/{run_id}/events?limit=200&after={after}")
        assert status == 200, page
        events.extend(page)
        if len(page) < 200:
            return events


def gate_at(run: JSON, step_id: str) -> JSON:
    """The open gate of a step."""
    return dict(next(gate for gate in run["gates"] if gate["step_id"] == step_id))


def digest_of(run: JSON, gate: JSON) -> str:
    """The digest of what a gate asks to allow, worked out from the answer alone and with another
    RFC 8785.
    """
    covered = {
        "run": run["id"],
        "template": run["template"]["digest"],
        "step": gate["step_id"],
        "visit": gate["visit"],
        "inputs": run["inputs"],
        "facts": run["facts"],
        "missing": gate["missing"],
        "effect": gate["effect"],
        "effects": gate["effects"],
    }
    return f"sha256:{hashlib.sha256(rfc8785.dumps(covered)).hexdigest()}"


def call_digest(method: str, url: str, body: bytes) -> str:
    """One number for what a call is: method, URL, and the bytes of its body."""
    return hashlib.sha256(json.dumps([method, url, body.hex()]).encode()).hexdigest()


def shown_digest(effect: JSON) -> str:
    """That number, of a call that a gate shows."""
    body = b"" if effect["body"] is None else rfc8785.dumps(effect["body"])
    return call_digest(effect["method"], effect["url"], body)


def assert_sent(line: Line, effect: JSON) -> None:
    """What the ledger got is what was shown: method, URL, body, and which header carried the
    credential.
    """
    assert line.sha256 == hashlib.sha256(line.body.encode()).hexdigest()
    assert call_digest(line.method, line.url, line.body.encode()) == shown_digest(effect), (line, effect)
    got = {name.lower() for name in line.headers} | (set() if line.authorization is None else {"authorization"})
    assert {name.lower() for name in effect["headers"]} <= got
    assert ("authorization" in got) == ("authorization" in {name.lower() for name in effect["headers"]})
