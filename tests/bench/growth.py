"""What stored runs cost: a start-up on many of them, memory, and each kind of request beside ever
more of them.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import folders, machine
from tests.bench.plan import Plan
from tests.bench.servers import Served, serving
from tests.bench.shooting import Cost, begun, chosen, lasting, medians, reads, shoot, starts, verdicts

KINDS = ("starts", "reads", "resumes", "resumes_of_new")
SEEN = 500
AT_ONCE = 64
GIB = 2**30
PATIENCE_S = 60.0


@dataclass(slots=True)
class Stored:
    """So many stored runs, and those of them that may be asked for."""

    runs: int
    folder: Path
    token: str
    pool: list[str]


async def measured(folder: Path, plan: Plan) -> dict[str, Any]:
    """Make a data folder of each size, measure on them, and remove them."""
    token, company_id = await folders.empty(folder / "none")
    (largest, *others) = sorted(plan.sizes, reverse=True)
    check_room(folder, sum(plan.sizes))

    async def make_others() -> list[float]:
        return [await folders.filled(folder / "none", folder / str(runs), company_id, runs) for runs in others]

    try:
        largest_s, _ = await asyncio.gather(
            folders.filled(folder / "none", folder / str(largest), company_id, largest), make_others()
        )
        found: dict[str, Any] = {"sizes": list(plan.sizes), "largest_made_s": largest_s}
        found["largest_bytes"] = (folder / str(largest) / folders.DATABASE).stat().st_size
        found["startup"] = await _startup(folder, token, plan)
        found["memory"] = await _memory(folder, plan)
        found |= await _growth(folder, token, plan)
        # The last of all, since it has the system forget the file.
        return found | {"page_us": machine.paged_us(folder / str(largest) / folders.DATABASE, plan.pages)}
    finally:
        for runs in plan.sizes:
            shutil.rmtree(folder / str(runs), ignore_errors=True)


def check_room(folder: Path, runs: int) -> None:
    """Say so before anything is made, when there is no room for it."""
    needed, free = 12 * 1024 * runs + GIB // 4, shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(f"{needed / GIB:.0f} GiB are needed in {folder}, and {free / GIB:.0f} are free")


async def _startup(folder: Path, token: str, plan: Plan) -> dict[str, Any]:
    """From nothing to the first answer, on no runs and on many, in turns."""
    found: dict[str, list[tuple[float, float, int]]] = {"none": [], "many": []}
    for _ in range(plan.startup_rounds):
        for name, place in (("none", "none"), ("many", str(plan.startup_runs))):
            began = time.perf_counter()
            async with serving(folder / place) as service:
                answer = await service.get("/process-runs/?status=parked&limit=1", token)
                seconds = time.perf_counter() - began
                assert (answer.status, len(answer.json)) == (200, int(name == "many")), answer.body
                found[name].append((seconds, service.cpu_s, service.rss_kib))
    told = {
        name: {
            "seconds": statistics.median(one[0] for one in all_of),
            "cpu_s": statistics.median(one[1] for one in all_of),
            "rss_kib": statistics.median(one[2] for one in all_of),
        }
        for name, all_of in found.items()
    }
    apart = told["many"]["rss_kib"] - told["none"]["rss_kib"]
    return told | {"runs": plan.startup_runs, "bytes_a_parked_run": apart * 1024 / plan.startup_runs}


async def _memory(folder: Path, plan: Plan) -> dict[str, Any]:
    """What a run takes while its actor lives, and what is left of it when it has been let go."""
    found: dict[str, Any] = {"runs": plan.live}
    for name, idle_s in (("live", "3600"), ("let_go", "0")):
        async with serving(folder / name, run_idle_s=idle_s) as service:
            token, _ = await service.register()
            await shoot(service, (shot for shot, _ in zip(starts(token), range(SEEN), strict=False)), AT_ONCE)
            kib = service.rss_kib
            await shoot(service, (shot for shot, _ in zip(starts(token), range(plan.live), strict=False)), AT_ONCE)
            if name == "let_go":
                await _passivated(service)
            found[f"bytes_{name}"] = (service.rss_kib - kib) * 1024 / plan.live
            found[f"actors_{name}"] = (await service.counted("actors"))["actors"]
    return found


async def _passivated(service: Served) -> None:
    """Wait until all actors have been let go."""
    async with asyncio.timeout(PATIENCE_S):
        while (await service.counted("actors"))["actors"] > 0:  # noqa: ASYNC110 - it is another process
            await asyncio.sleep(0.1)


async def _growth(folder: Path, token: str, plan: Plan) -> dict[str, Any]:
    """All sizes in turns, each time with a service that was begun for it.

    No run stays in memory, so that every read and every verdict finds its run in the store. And
    none was answered by this process before: of the runs that were answered last it keeps the
    bytes, which would be most of the few.
    """
    costs: dict[int, dict[str, list[Cost]]] = {runs: defaultdict(list) for runs in plan.sizes}
    stored = []
    for runs in plan.sizes:
        ids = (folder / str(runs) / "ids").read_text(encoding="ascii").split()
        stored.append(Stored(runs, folder / str(runs), token, ids))
    for number in range(plan.growth_rounds):
        for one in stored if number % 2 == 0 else reversed(stored):
            async with serving(one.folder, figures=False, run_idle_s="0") as service:
                await shoot(service, lasting(starts(token), 0.2), AT_ONCE)
                for kind, cost in (await _one(one, service, plan.growth_requests, number)).items():
                    costs[one.runs][kind].append(cost)
    return {"kinds": _told(costs, plan), "requests": plan.growth_requests}


async def _one(stored: Stored, service: Served, requests: int, seed: int) -> dict[str, Cost]:
    """Starts, reads of some at random, verdicts on some at random, and verdicts on what was started
    just now.
    """
    token = stored.token
    shots = (shot for shot, _ in zip(starts(token), range(2 * requests), strict=False))
    found: dict[str, Cost] = {}
    found["starts"], volley = await shoot(service, shots, AT_ONCE)
    new = begun(volley)
    # Not measured: what is done for the first time costs more.
    await shoot(service, reads(new, token), AT_ONCE)
    found["reads"], _ = await shoot(service, reads(chosen(stored.pool, requests, seed), token), AT_ONCE)
    old = chosen(stored.pool, requests, seed + 1)
    found["resumes"], _ = await shoot(service, verdicts(old, token), AT_ONCE)
    found["resumes_of_new"], _ = await shoot(service, verdicts(new[:requests], token), AT_ONCE)
    # What is decided is replaced, so that the smallest does not run out.
    gone = set(old)
    stored.pool = [run_id for run_id in stored.pool if run_id not in gone] + new[requests:]
    return found


def _told(costs: dict[int, dict[str, list[Cost]]], plan: Plan) -> dict[str, Any]:
    """The medians by kind and size, and the processor time in that with the fewest runs in the same
    round.
    """
    found: dict[str, Any] = {kind: {} for kind in KINDS}
    for kind, by_size in found.items():
        fewest = costs[plan.sizes[0]][kind]
        for runs in plan.sizes:
            pairs = zip(costs[runs][kind], fewest, strict=True)
            times = statistics.median(one.cpu_us / other.cpu_us for one, other in pairs)
            by_size[str(runs)] = medians(costs[runs][kind]) | {"cpu_times": times}
    return found
