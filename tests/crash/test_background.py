"""Loops without which a promise is void: when one cannot go on the process says so and ends, to be
started again.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemon.keys.keyring import KeyRing, change_ring
from tests.crash.forked import LONG
from tests.crash.service import PATIENCE_S, Service, serving

EXIT_STORE_FAILED = 74
# As `penstock`, but that it waits for a second only, seals at once, and meets a fault that nobody
# foresaw.
SOURCE = """
import errno, os
from actors import failpoints
from daemon.runtime import background
from daemon.audit import sealer
from daemon.cli import app
background.VOID_S, sealer.FAILED_PAUSE_S = 1.0, 0.0
left = {os.environ.get("FAULTY"): int(os.environ.get("FAULTS_MAX", "0"))}
def fail(name):
    if left.get(name):
        left[name] -= 1
        raise OSError(errno.EMFILE, "too many open files")
failpoints.arm(fail)
app(prog_name="penstock")
"""
PROGRAM = (sys.executable, "-c", SOURCE)


@pytest.fixture
def long(folder: Path) -> Path:
    """The folder with a template of more steps than one turn takes, so that its runs wake
    themselves.
    """
    (folder / "templates" / "long.yaml").write_text(LONG, encoding="utf-8")
    return folder


async def health_until(service: Service, fits: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(PATIENCE_S):
        while not fits(health := (await service.send("GET", "/health"))[1]):
            pass
    return health


def logged(service: Service, event: str) -> list[Any]:
    lines = service.log.read_text(encoding="utf-8").splitlines()
    return [one for line in lines if line.startswith("{") and (one := json.loads(line))["event"] == event]


async def ends(service: Service, loop: str) -> None:
    """The process ends by itself with the code that has it started again, and says which loop it
    was.
    """
    async with asyncio.timeout(PATIENCE_S):
        assert await service.process.wait() == EXIT_STORE_FAILED
    assert [one["loop"] for one in logged(service, "background_loop_gave_up")][:1] == [loop]
    assert {one["loop"] for one in logged(service, "background_loop_failed")} == {loop}


async def test_a_service_that_cannot_seal_says_so_and_then_ends(folder: Path) -> None:
    async with serving(folder, program=PROGRAM) as service:
        await service.register()
        (folder / "data" / "audit.pub").unlink()
        (folder / "data" / "audit.pub").mkdir()
        change_ring(folder / "data" / "audit.keys", KeyRing.rotated)
        await service.start("held")
        health = await health_until(service, lambda health: health["status"] != "ok")
        assert (health["status"], health["down"]) == ("degraded", ["sealer"])
        await ends(service, "sealer")
    (folder / "data" / "audit.pub").rmdir()
    async with serving(folder, service.token, PROGRAM) as again:
        status, _ = await again.send("GET", "/audit/checkpoints")
        assert status == 200


async def test_a_service_whose_timers_fail_for_a_moment_wakes_its_runs_all_the_same(
    long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "FAULTY", "timer-due")
    monkeypatch.setitem(os.environ, "FAULTS_MAX", "3")
    async with serving(long, program=PROGRAM) as service:
        await service.register()
        (run,) = await service.start("long")
        assert run["status"] == "completed"
        assert [one["failures"] for one in logged(service, "background_loop_recovered")] == [3]
        assert (await service.send("GET", "/health"))[1]["status"] == "ok"


async def test_a_service_whose_timers_fail_for_good_ends_and_the_next_one_wakes_its_runs(
    long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setitem(os.environ, "FAULTY", "timer-due")
        broken.setitem(os.environ, "FAULTS_MAX", "1000")
        async with serving(long, program=PROGRAM) as service:
            await service.register()
            (run,) = await service.start("long", Prefer="respond-async")
            await ends(service, "timers")
    async with serving(long, service.token, PROGRAM) as again:
        assert (await again.stands_still(run["id"]))["status"] == "completed"
