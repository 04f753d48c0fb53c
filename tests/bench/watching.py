"""What it costs to be watched: the same requests against services that log and count more or less, in turns."""

from __future__ import annotations

import statistics
from collections import defaultdict
from contextlib import AsyncExitStack
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.bench.plan import Plan
from tests.bench.rounds import KINDS, READ_MAX
from tests.bench.servers import Served, serving
from tests.bench.shooting import Cost, begun, lasting, medians, reads, shoot, starts, verdicts

WAYS: dict[str, tuple[bool, dict[str, str]]] = {
    "neither": (False, {"access_log": "off"}),
    "figures": (True, {"access_log": "off"}),
    "usual": (True, {"access_log": "errors"}),
    "all": (True, {"access_log": "all", "log_level": "info"}),
}
"""As the page calls them: `usual` is the access log as it is by default, with figures; `all` writes every request."""


async def measured(folder: Path, plan: Plan) -> dict[str, Any]:
    """The processor time of each kind of request, each way, and how it compares to neither log nor figures."""
    costs: dict[str, dict[str, list[Cost]]] = {way: defaultdict(list) for way in plan.ways}
    async with AsyncExitStack() as stack:
        services: dict[str, tuple[Served, str]] = {}
        for way in plan.ways:
            figures, settings = WAYS[way]
            opening = serving(folder / f"watching-{way}", figures=figures, **settings)
            service = await stack.enter_async_context(opening)
            services[way] = (service, (await service.register())[0])
            await _once(*services[way], plan)
        for number in range(plan.watch_rounds):
            order = list(services) if number % 2 == 0 else list(reversed(services))
            for way in order:
                for kind, cost in (await _once(*services[way], plan)).items():
                    costs[way][kind].append(cost)
    return {way: {kind: _told(costs, way, kind) for kind in KINDS} for way in plan.ways}


async def _once(service: Served, token: str, plan: Plan) -> dict[str, Cost]:
    found: dict[str, Cost] = {}
    found["starts"], volley = await shoot(service, lasting(starts(token), plan.watch_seconds), plan.held_at)
    run_ids = begun(volley)
    some = cycle(list(reads(run_ids[-READ_MAX:], token)))
    found["reads"], _ = await shoot(service, lasting(some, plan.watch_seconds), plan.held_at)
    found["resumes"], _ = await shoot(service, lasting(verdicts(run_ids, token), plan.watch_seconds), plan.held_at)
    return found


def _told(costs: dict[str, dict[str, list[Cost]]], way: str, kind: str) -> dict[str, Any]:
    pairs = zip(costs[way][kind], costs["neither"][kind], strict=True)
    more = statistics.median(one.cpu_us / other.cpu_us - 1 for one, other in pairs)
    return medians(costs[way][kind]) | {"more": more}
