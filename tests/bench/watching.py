"""What it costs to be watched: the same requests against services that log and count more or less,
in turns.

What is looked for is smaller than what chance does: two services that are quite alike differ by
some hundredths, and one differs from itself a second later. So there are several passes, each with
services of its own, and short rounds in which all ways take turns at each kind of request; and one
way is there twice, to show what chance is left.
"""

from __future__ import annotations

import asyncio
import statistics
from collections import defaultdict
from contextlib import AsyncExitStack
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.bench.plan import Plan
from tests.bench.rounds import KINDS
from tests.bench.servers import Served, serving
from tests.bench.shooting import Cost, begun, lasting, medians, reads, shoot, starts, verdicts

WAYS: dict[str, tuple[bool, dict[str, str]]] = {
    "neither": (False, {"access_log": "off"}),
    "again": (False, {"access_log": "off"}),
    "figures": (True, {"access_log": "off"}),
    "usual": (True, {"access_log": "errors"}),
    "all": (True, {"access_log": "all", "log_level": "info"}),
}
"""As the page calls them: `usual` is the access log as it is by default, with figures; `all` writes
every request.
"""
Costs = dict[str, dict[str, list[Cost]]]


async def measured(folder: Path, plan: Plan) -> dict[str, Any]:
    """The processor time of each kind of request, each way, and how it compares to neither log nor
    figures.
    """
    costs: Costs = {way: defaultdict(list) for way in plan.ways}
    for number in range(plan.watch_passes):
        await _pass(folder / f"watching-{number}", plan, costs)
    return {way: {kind: _told(costs, way, kind) for kind in KINDS} for way in plan.ways}


async def _pass(folder: Path, plan: Plan, costs: Costs) -> None:
    """All rounds against services that are begun for them."""
    await asyncio.to_thread(folder.mkdir)
    async with AsyncExitStack() as stack:
        services: dict[str, tuple[Served, str]] = {}
        for way in plan.ways:
            figures, settings = WAYS[way]
            service = await stack.enter_async_context(serving(folder / way, figures=figures, **settings))
            services[way] = (service, (await service.register())[0])
        for number in range(plan.watch_rounds + 1):
            first = number % len(plan.ways)
            order = plan.ways[first:] + plan.ways[:first]
            found = await _round({way: services[way] for way in order}, plan)
            for way, kinds in found.items() if number else ():  # the first warms them up
                for kind, cost in kinds.items():
                    costs[way][kind].append(cost)


async def _round(services: dict[str, tuple[Served, str]], plan: Plan) -> dict[str, dict[str, Cost]]:
    """Each kind of request, all ways one right after the other."""
    found: dict[str, dict[str, Cost]] = {way: {} for way in services}
    run_ids: dict[str, list[str]] = {}
    for kind in KINDS:
        for way, (service, token) in services.items():
            match kind:
                case "starts":
                    shots = starts(token)
                case "reads":
                    shots = cycle(list(reads(run_ids[way], token)))
                case _:
                    shots = verdicts(run_ids[way], token)
            found[way][kind], volley = await shoot(service, lasting(shots, plan.watch_seconds), plan.held_at)
            if kind == "starts":
                run_ids[way] = begun(volley)
    return found


def _told(costs: Costs, way: str, kind: str) -> dict[str, Any]:
    pairs = zip(costs[way][kind], costs["neither"][kind], strict=True)
    more = statistics.median(one.cpu_us / other.cpu_us - 1 for one, other in pairs)
    return medians(costs[way][kind]) | {"more": more}
