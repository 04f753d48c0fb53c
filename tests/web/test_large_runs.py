"""A run of 1 MiB in a bad shape holds up nobody: its turns and answers are made beside the loop."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest

from daemon.engine.passivation import tune_interpreter
from daemon.settings import Settings
from tests.effort import seconds_for
from tests.web.support import Answer, House, Person

BYTES = 1_000_000
TURN_MAX = 2_000_000
"""Additions in the time of a turn: twice what one may take, for other tests run beside."""


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


SHAPES: dict[str, Any] = {
    "numbers": [1] * (BYTES // 2),
    "whole-floats": [1.0] * (BYTES // 4),
    "members": {f"k{number:06d}": 1 for number in range(BYTES // 13)},
    "nested": [nested(55)] * (BYTES // 113),
    "objects": [{"a": 1}] * (BYTES // 8),
    "beyond-ascii": {f"k{number:06d}\N{GRINNING FACE}": "é" for number in range(BYTES // 19)},
    "text": "x" * BYTES,
}


class Turns:
    """The processor time of each turn of the event loop."""

    longest_s = 0.0

    async def follow(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            self.longest_s = max(self.longest_s, time.thread_time() - before)


@asynccontextmanager
async def followed() -> AsyncIterator[Turns]:
    turns = Turns()
    task = asyncio.create_task(turns.follow())
    yield turns
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.fixture(autouse=True)
def _as_served() -> Iterator[None]:
    """Collect garbage as the service does, and not that of the tests before."""
    before = gc.get_threshold(), sys.getswitchinterval()
    tune_interpreter()
    yield
    gc.set_threshold(*before[0])
    sys.setswitchinterval(before[1])
    gc.unfreeze()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"run_idle_s": 0.0})


@pytest.mark.parametrize("shape", SHAPES)
async def test_no_turn_of_the_loop_is_long_for_a_large_run(house: House, ann: Person, shape: str) -> None:
    inputs = {"amount": 5, "x": SHAPES[shape]}
    body = msgspec.json.encode({"vertical": "line", "inputs": inputs})
    assert len(body) > BYTES * 0.9
    longest: dict[str, float] = {}

    async def send(name: str, method: str, path: str, data: bytes | None = None, **headers: str) -> Answer:
        sent = None if data is None else io.BytesIO(data)
        async with followed() as turns:
            answer = await ann.send(method, path, data=sent, **headers)
        longest[name] = turns.longest_s / seconds_for(TURN_MAX)
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
    assert {name: share for name, share in longest.items() if share >= 1} == {}
