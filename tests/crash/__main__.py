"""Kills the service under load, again and again within a bound of time, and compares what was acknowledged."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp

from tests.crash.service import Service, serving, together, write_templates

CALLERS = 32
LIFE_S = (0.3, 1.5)
CHECKED_MAX = 2_000


async def work(service: Service) -> None:
    """Start runs and decide on them until the service is gone."""
    with suppress(aiohttp.ClientError, ConnectionError, AssertionError, ValueError):
        while True:
            (run,) = await service.start("held")
            await service.resume(run["id"], decision=random.choice(("approved", "denied")))


async def one_life(folder: Path, token: str, known: dict[str, dict[str, Any]]) -> tuple[str, int]:
    """Start, check a share of what is known, take load, be killed; returns the token and what was lost."""
    async with serving(folder, token) as service:
        if not token:
            await service.register()
        chosen = random.sample(sorted(known), min(len(known), CHECKED_MAX))
        now = await together(service.read(run_id) for run_id in chosen)
        lost = sum(not stands(known[run["id"]], run) for run in now)
        workers = [asyncio.create_task(work(service)) for _ in range(CALLERS)]
        await asyncio.wait(workers, timeout=random.uniform(*LIFE_S))
        await service.kill()
        await asyncio.gather(*workers)
        known.update(service.answered)
        return service.token, lost


def stands(then: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether a run is where it was acknowledged, or further, and a verdict that was acknowledged is what it was."""
    return now["version"] >= then["version"] and (then["completed_at"] is None or now == then)


async def main() -> int:
    """Live and die until the time is over, then look at everything once more."""
    parser = argparse.ArgumentParser(prog="make crash", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    end = time.monotonic() + parser.parse_args().seconds
    known: dict[str, dict[str, Any]] = {}
    token, kills, lost = "", 0, 0
    with tempfile.TemporaryDirectory(prefix="penstock-crash-") as name:
        folder = Path(name)
        write_templates(folder / "templates")
        while time.monotonic() < end:
            token, gone = await one_life(folder, token, known)
            kills, lost = kills + 1, lost + gone
        async with serving(folder, token) as service:
            now = await together(service.read(run_id) for run_id in known)
            lost += sum(not stands(known[run["id"]], run) for run in now)
    verdicts = sum(run["completed_at"] is not None for run in known.values())
    print(f"{kills} kills, {len(known):,} runs and {verdicts:,} verdicts acknowledged, {lost} lost")
    return 1 if lost or not verdicts else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
