"""What a warm resume with an Idempotency-Key passes of our code, in all threads of the service.

A service that runs in this process is asked over HTTP. Counted is what every one of several resumes
passes, from the request to a moment after the response: what else the service does meanwhile is not
in all of them.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from aiohttp.test_utils import TestClient, TestServer
from structlog.testing import capture_logs

from daemon import app as composition
from daemon.settings import Settings
from daemon.web.app import application
from tests.house.bounds import Measure
from tests.house.test_house import ROOT

Client = TestClient[Any, Any]
TEMPLATES = ROOT / "tests" / "web" / "templates"
OURS = tuple(f"{ROOT / folder}/" for folder in ("actors", "daemon"))
WARM = 3
COUNTED = 8
FOLLOWING_S = 0.3
"""How long after the response what follows the commit is watched."""


def passed() -> Iterator[Measure]:
    """Counted in a process of its own, in which nothing else has been done."""
    command = [sys.executable, "-m", "tests.house.passed"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    files = {name.partition(" ")[0] for name in found}
    yield Measure("functions that a warm resume passes", len(found))
    yield Measure("files that a warm resume passes", len(files))


def functions_of_a_resume() -> list[str]:
    """The functions, each as its file and its name, without lambdas and comprehensions."""
    watch = _Watch()
    threading.setprofile(watch)  # of the threads that the service begins
    sys.setprofile(watch)
    try:
        with capture_logs():
            seen = asyncio.run(_resumed(watch))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    common = reduce(set.intersection, seen[WARM:])
    named = {f"{Path(code.co_filename).relative_to(ROOT)} {code.co_qualname}" for code in common}
    return sorted(name for name in named if not name.endswith(">"))


class _Watch:
    """A profile function that keeps the code of ours that runs."""

    def __init__(self) -> None:
        self.seen: set[CodeType] | None = None

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if self.seen is not None and event == "call" and frame.f_code.co_filename.startswith(OURS):
            self.seen.add(frame.f_code)


@asynccontextmanager
async def served() -> AsyncIterator[Client]:
    """A client of a new service."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder) / "data", templates_dir=TEMPLATES, rate_limits=False)
        async with (
            composition.opened(settings, composition.Lifecycle()) as services,
            TestClient(TestServer(application(services))) as client,
        ):
            yield client


@dataclass(slots=True)
class Caller:
    """Starts runs that park at a gate, and gives the verdicts."""

    client: Client
    token: str = ""

    async def register(self) -> None:
        person = {"email": "a@a.test", "password": "correct horse", "company_name": "A"}
        self.token = (await self._post("/auth/register", person, 201))["token"]

    async def start(self, key: str) -> str:
        """The path of the verdict on a new run."""
        started = await self._post("/process-runs/", {"vertical": "line", "inputs": {"amount": 5}}, 201, key)
        return f"/process-runs/{started['id']}/resume"

    async def resume(self, path: str, key: str) -> None:
        await self._post(path, {"gate": "signoff", "decision": "approved"}, 200, key)

    async def _post(self, path: str, body: dict[str, Any], status: int, key: str = "") -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": key} if key else {}
        answer = await self.client.post(path, json=body, headers=headers)
        said = await answer.json()
        assert answer.status == status, said
        return said


async def _resumed(watch: _Watch) -> list[set[CodeType]]:
    """What each of several resumes passes."""
    async with served() as client:
        caller = Caller(client)
        await caller.register()
        return [await _resume(caller, f"key-{nth}", watch) for nth in range(WARM + COUNTED)]


async def _resume(caller: Caller, key: str, watch: _Watch) -> set[CodeType]:
    path = await caller.start(key)
    await asyncio.sleep(FOLLOWING_S)
    watch.seen = seen = set[CodeType]()
    await caller.resume(path, key)
    await asyncio.sleep(FOLLOWING_S)
    watch.seen = None
    return seen


if __name__ == "__main__":
    print(*functions_of_a_resume(), sep="\n")
