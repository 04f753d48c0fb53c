"""The whole loop, from a start over the gate to the end: ours over HTTP, and in process on other
engines.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from asyncio.subprocess import PIPE
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.bench.environments import ROOT, NotInstalled, environment
from tests.bench.plan import Plan
from tests.bench.servers import Served, serving
from tests.bench.shooting import lasting, run_id_of, starts
from tests.load.__main__ import resume
from tests.load.pump import Hit, Shot, fire

# The way that each comes in, then the fastest in which it still keeps what it has acknowledged.
RIVALS = {"langgraph": ("async", "exit"), "dbos": ("default", "tuned")}
PATIENCE_S = 120.0
ENDED = b'"status":"completed"'
FIELDS = ("rate", "p50_ms", "p99_ms", "cpu_us")


async def measured(folder: Path, plan: Plan) -> dict[str, Any]:
    """All of them in turns, as many rounds as planned."""
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    places, skipped = await _environments(plan)
    async with serving(folder / "loops", figures=False) as service:
        token, _ = await service.register()
        await ours(service, token, plan.callers, plan.loop_seconds / 4)
        for _ in range(plan.loop_rounds):
            found["penstock"].append(await ours(service, token, plan.callers, plan.loop_seconds))
            for name, place in places.items():
                for way in RIVALS[name]:
                    found[f"{name} {way}"].append(await _rival(place, name, way, plan))
    told: dict[str, Any] = {name: _medians(rounds) for name, rounds in found.items()}
    for one in told.values():
        one["times"] = told["penstock"]["rate"] / one["rate"]
    return {"callers": plan.callers, "loops": told, "skipped": skipped}


def _medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {field: statistics.median(one[field] for one in rounds) for field in FIELDS} | {
        "loops": sum(one["loops"] for one in rounds)
    }


async def ours(service: Served, token: str, callers: int, seconds: float) -> dict[str, float]:
    """So many callers, each with a connection of its own: a start, and a verdict on what was
    started.
    """
    began: dict[str, float] = {}
    took_s: list[float] = []

    def follow(hit: Hit) -> Shot | None:
        now = time.perf_counter()
        if hit.tag is not None:
            assert ENDED in hit.body, hit.body
            took_s.append(now - began.pop(hit.tag))
            return None
        run_id = run_id_of(hit)
        began[run_id] = now - hit.latency_s
        return Shot(run_id, resume(run_id, "approved", token))

    cpu_s = service.cpu_s
    volley = await fire(service.port, lasting(starts(token), seconds), callers, follow)
    cpu_s = service.cpu_s - cpu_s
    ordered = sorted(took_s)
    return {
        "loops": len(took_s),
        "rate": len(took_s) / volley.took_s,
        "p50_ms": ordered[len(ordered) // 2] * 1000,
        "p99_ms": ordered[int(len(ordered) * 0.99)] * 1000,
        "cpu_us": cpu_s / len(took_s) * 1e6,
    }


async def _environments(plan: Plan) -> tuple[dict[str, Path], dict[str, str]]:
    """Where the others can be run, and why those that cannot are left out."""
    places: dict[str, Path] = {}
    skipped: dict[str, str] = {}
    for name in RIVALS:
        try:
            places[name] = await environment(name, installs=plan.installs)
        except NotInstalled as why:
            skipped[name] = str(why)
            print(f"skipped: {name} cannot be installed here ({why})", flush=True)
    return places, skipped


async def _rival(place: Path, name: str, way: str, plan: Plan) -> dict[str, float]:
    """One engine in a process of its own, on a folder of its own."""
    with tempfile.TemporaryDirectory(prefix=f"penstock-bench-{name}-") as folder:
        arguments = (folder, way, str(plan.callers), str(plan.loop_seconds))
        process = await asyncio.create_subprocess_exec(
            str(place / "python"), "-m", f"tests.bench.rivals.{name}_loop", *arguments, cwd=ROOT, stdout=PIPE
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                said, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise
    assert process.returncode == 0, f"{name} {way} ended with {process.returncode}"
    figures: dict[str, float] = json.loads(said)
    return figures


def versions() -> dict[str, str]:
    """Which versions of the others the files name."""
    lines = [line for name in RIVALS for line in (ROOT / "tests/bench" / f"{name}.txt").read_text("utf-8").splitlines()]
    pins = dict(line.split(" ")[0].split("==") for line in lines if "==" in line)
    return {name: pins[name] for name in ("langgraph", "langgraph-checkpoint-sqlite", "dbos")}
