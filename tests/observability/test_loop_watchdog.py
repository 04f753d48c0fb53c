"""The watchdog of the event loop: what it counts, and what it says of it."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from daemon.observability.loop_watchdog import BEAT_S, BESIDE, COLLECTOR, FRAMES_MAX, STALL_S, LoopWatchdog, stack
from daemon.runtime.background import Background, Loop

BLOCKED_S = 0.15
PATIENCE_S = 60.0
HOUR_S = 3_600.0
Lines = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def every_stall_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for each stall, so that none of the machine's stands for ours."""
    monkeypatch.setattr("daemon.observability.loop_watchdog.LOG_EVERY_S", 0.0)


def compute() -> None:
    until = time.thread_time() + BLOCKED_S
    while time.thread_time() < until:
        pass


async def watched(work: Callable[[], Awaitable[object]], stalls: list[bool], lags: list[float]) -> Lines:
    """The lines about stalls that this work makes, and that a crowded machine makes beside it."""
    watchdog = LoopWatchdog(lags.append, lambda: stalls.append(True))
    with capture_logs() as lines:
        async with AsyncExitStack() as stack:
            Background(stop=lambda: None).start(stack, Loop("loop-lag", watchdog.beat, BEAT_S))
            with watchdog.watching():
                await beaten(lags)
                await work()
                await beaten(lags)
    assert watchdog.stalls == len(stalls)
    return [dict(line) for line in lines if line["event"] == "loop_stalled"]


async def beaten(lags: list[float]) -> None:
    """Wait for another beat of the watchdog."""
    before = len(lags)
    async with asyncio.timeout(PATIENCE_S):
        while len(lags) == before:  # noqa: ASYNC110 - a list has no event
            await asyncio.sleep(BEAT_S)


async def test_a_handler_that_blocks_the_loop_is_counted_and_named(aiohttp_client: Any) -> None:
    async def blocking(_: web.Request) -> web.Response:
        compute()
        return web.Response()

    app, stalls, lags = web.Application(), list[bool](), list[float]()
    app.router.add_get("/", blocking)
    client = await aiohttp_client(app)
    lines = await watched(lambda: client.get("/"), stalls, lags)
    line = next(one for one in lines if "compute" in one["where"])
    assert stalls
    assert max(lags) >= STALL_S
    assert min(line["duration_ms"], line["cpu_ms"], line["process_cpu_ms"]) >= 100  # milliseconds
    assert line["cause"] == "busy"


async def test_an_idle_loop_counts_nothing() -> None:
    lags: list[float] = []

    async def idle() -> None:
        for _ in range(20):
            await beaten(lags)

    stalls: list[bool] = []
    lines = await watched(idle, stalls, lags)
    # A crowded machine may leave the whole process waiting; that is said, and is no work of ours.
    assert [line for line in lines if line["cause"] == "busy"] == []
    assert len(lags) > 20


async def test_a_loop_that_waits_in_a_system_call_is_not_said_to_be_busy() -> None:
    async def sleep() -> None:
        time.sleep(BLOCKED_S)  # noqa: ASYNC251 - this is what must not be done

    line = next(one for one in await watched(sleep, [], []) if "sleep" in one["where"])
    assert line["cpu_ms"] < 100
    assert line["cause"] != "busy"


async def test_a_thread_that_holds_the_interpreter_is_told_from_the_loop() -> None:
    digits = 10**400_000

    async def convert() -> None:
        sys.set_int_max_str_digits(0)
        thread = threading.Thread(target=lambda: str(digits))  # one call in C, which lets nobody else in
        thread.start()
        while thread.is_alive():  # noqa: ASYNC110 - a thread has no event of the loop
            await asyncio.sleep(0)

    line = max(await watched(convert, [], []), key=lambda one: one["duration_ms"])
    assert line["cause"] == BESIDE
    assert line["cpu_ms"] < line["process_cpu_ms"]


async def test_another_thread_that_keeps_the_interpreter_busy_is_named_with_its_work() -> None:
    digits, done = 10**60_000, threading.Event()

    def convert_often() -> None:
        while not done.is_set():
            str(digits)

    async def wait() -> None:
        sys.set_int_max_str_digits(0)
        threads = [threading.Thread(target=convert_often, name=f"converter-{number}") for number in range(4)]
        for thread in threads:
            thread.start()
        try:
            with capture_logs() as lines:
                while not any(one["cause"] == BESIDE and "convert_often" in one["where"] for one in lines):
                    await beaten(lags)
        finally:
            done.set()

    lags: list[float] = []
    async with asyncio.timeout(PATIENCE_S):
        await watched(wait, [], lags)


async def test_the_collector_is_named_where_it_takes_the_time() -> None:
    def slow(phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            compute()

    async def collect() -> None:
        gc.callbacks.append(slow)  # behind the watchdog's own, and so within the time that it counts
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(slow)

    line = next(one for one in await watched(collect, [], []) if one["where"] == COLLECTOR)
    assert line["collector_ms"] >= 100


async def test_many_stalls_are_few_lines_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    stalls, lags = list[bool](), list[float]()

    async def three() -> None:
        for _ in range(3):
            compute()
            await beaten(lags)

    monkeypatch.setattr("daemon.observability.loop_watchdog.LOG_EVERY_S", HOUR_S)
    lines = await watched(three, stalls, lags)
    assert len(stalls) >= 3
    assert len(lines) == 1


async def test_nothing_is_watched_before_and_after() -> None:
    threads, callbacks = threading.active_count(), len(gc.callbacks)
    watchdog = LoopWatchdog()
    with watchdog.watching():
        assert len(gc.callbacks) == callbacks + 1
    compute()
    await watchdog.beat()
    assert watchdog.stalls == 0
    assert (threading.active_count(), len(gc.callbacks)) == (threads, callbacks)


def test_a_stack_is_short_and_begins_with_the_innermost_frame() -> None:
    def deep(left: int) -> str:
        return deep(left - 1) if left else stack(sys._getframe())

    frames = deep(100).split(" < ")
    assert len(frames) == FRAMES_MAX
    assert "deep" in frames[0]
    assert stack(None) == ""
