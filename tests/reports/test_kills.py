"""The service is killed with signal 9 while it counts: no commit is counted twice or left out."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import aiohttp

from tests.crash.service import Service, serving, write_templates

LIVES = 3
RUNS = 12


async def count(service: Service, times: int) -> None:
    """Ask for the numbers until the service is gone; each request counts commits."""
    for _ in range(times):
        await service.send("GET", "/reports/summary")


async def work(service: Service) -> None:
    """Runs that park and go on, until the service is gone."""
    for run in await service.start("held", RUNS):
        await service.resume(run["id"])


async def killed_while_it_counts(service: Service, decided: int) -> None:
    """Kill the service as soon as so many decisions are acknowledged."""
    tasks = [asyncio.create_task(work(service)), asyncio.create_task(count(service, 10_000))]
    while sum(run["status"] == "completed" for run in service.answered.values()) < decided:
        await service.send("GET", "/health")
    await service.kill()
    for task in tasks:
        with suppress(aiohttp.ClientError, ConnectionError):
            await task


async def test_after_every_kill_the_numbers_are_those_of_the_history(tmp_path: Path) -> None:
    write_templates(tmp_path / "templates")
    token = ""
    for life in range(LIVES):
        async with serving(tmp_path, token) as service:
            if not token:
                await service.register()
                token = service.token
            await killed_while_it_counts(service, 3 + 3 * life)
    async with serving(tmp_path, token) as service:
        status, report = await service.send("GET", "/reports/summary")
        assert (status, report["complete"]) == (200, True)
        _, runs = await service.send("GET", "/process-runs/?limit=200")
        _, decisions = await service.send("GET", "/reports/decisions/?limit=200")
        verdicts = [step for run in runs for step in run["trace"] if step["verdict"]]
        assert report["decisions"]["decided"] == len(decisions) == len(verdicts)
        assert report["open"]["gates"] == sum(run["status"] == "parked" for run in runs)
        alone = [step for run in runs for step in run["trace"] if step["resolved_by"] == "autopilot"]
        assert report["steps"]["autopilot"] == len(alone)
