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
from collections.abc import Iterator
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


async def _resumed(watch: _Watch) -> list[set[CodeType]]:
    """What each of several resumes passes."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder) / "data", templates_dir=TEMPLATES, rate_limits=False)
        async with (
            composition.opened(settings, composition.Lifecycle()) as services,
            TestClient(TestServer(application(services))) as client,
        ):
            person = {"email": "a@a.test", "password": "correct horse", "company_name": "A"}
            token = (await (await client.post("/auth/register", json=person)).json())["token"]
            return [await _resume(client, token, f"key-{nth}", watch) for nth in range(WARM + COUNTED)]


async def _resume(client: TestClient[Any, Any], token: str, key: str, watch: _Watch) -> set[CodeType]:
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
    start = {"vertical": "line", "inputs": {"amount": 5}}
    started = await client.post("/process-runs/", json=start, headers=headers)
    path, verdict = f"/process-runs/{(await started.json())['id']}/resume", {"gate": "signoff", "decision": "approved"}
    await asyncio.sleep(FOLLOWING_S)
    watch.seen = seen = set[CodeType]()
    answer = await client.post(path, json=verdict, headers=headers)
    text = await answer.text()
    await asyncio.sleep(FOLLOWING_S)
    watch.seen = None
    assert answer.status == 200, text
    return seen


if __name__ == "__main__":
    print(*functions_of_a_resume(), sep="\n")
