"""A run of 1 MiB in a bad shape holds up nobody: its turns and answers are made beside the loop."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest

from daemon.runtime.json_codec import CONTAINERS_MAX
from daemon.settings import Settings
from tests.effort import Effort
from tests.web.support import Answer, House, Person

BYTES = 1_000_000
STEPS_MAX = 40_000
"""Lines and calls in one turn of the event loop; fewer than any of the shapes has values."""


def nested(depth: int) -> Any:
    value: Any = "x" * 310
    for _ in range(depth):
        value = [value]
    return value


SHAPES: dict[str, Any] = {
    "numbers": [1] * (BYTES // 2),
    "whole-floats": [1.0] * (BYTES // 4),
    "members": {f"k{number:06d}": 1 for number in range(BYTES // 13)},
    "nested": [nested(55)] * ((CONTAINERS_MAX - 100) // 55),
    "objects": [{"a": 1}] * (BYTES // 8),
    "beyond-ascii": {f"k{number:06d}\N{GRINNING FACE}": "é" for number in range(BYTES // 19)},
    "text": "x" * BYTES,
}


class Turns:
    """What each turn of the event loop does."""

    longest = 0

    async def follow(self) -> None:
        with Effort() as effort:
            while True:
                before = effort.steps
                await asyncio.sleep(0)
                self.longest = max(self.longest, effort.steps - before)


@asynccontextmanager
async def followed() -> AsyncIterator[Turns]:
    turns = Turns()
    task = asyncio.create_task(turns.follow())
    yield turns
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"run_idle_s": 0.0})


@pytest.mark.parametrize("shape", SHAPES)
async def test_no_turn_of_the_loop_is_long_for_a_large_run(house: House, ann: Person, shape: str) -> None:
    inputs = {"amount": 5, "x": SHAPES[shape]}
    body = msgspec.json.encode({"vertical": "line", "inputs": inputs})
    assert len(body) > BYTES * 0.9
    longest: dict[str, int] = {}

    async def send(name: str, method: str, path: str, data: bytes | None = None, **headers: str) -> Answer:
        sent = None if data is None else io.BytesIO(data)
        async with followed() as turns:
            answer = await ann.send(method, path, data=sent, **headers)
        longest[name] = turns.longest
        assert answer.status in {200, 201}, answer.raw[:500]
        return answer

    started = await send("start", "POST", "/process-runs/", body, Idempotency_Key="start")
    path = f"/process-runs/{json.loads(started.raw)['id']}"
    await send("read", "GET", path)
    await send("list", "GET", "/process-runs/")
    await send("summary", "GET", "/process-runs/?view=summary")
    await send("history", "GET", f"{path}/events")
    await send("log", "GET", "/events?after=0")
    await send("evidence", "GET", f"{path}/audit")
    await send("export", "GET", "/audit/export")
    gate = json.loads(started.raw)["parked_at"]
    await send("resume", "POST", f"{path}/resume", json.dumps({"gate": gate, "decision": "approved"}).encode())
    await send("repeat", "POST", "/process-runs/", body, Idempotency_Key="start")
    assert {name: steps for name, steps in longest.items() if steps > STEPS_MAX} == {}
