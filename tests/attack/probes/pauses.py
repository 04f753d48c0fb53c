"""Far sides that ask for a pause of a length that is none: of connectors, and of webhooks."""

from __future__ import annotations

import asyncio

from tests.attack.probes.far_side import PAUSES
from tests.attack.probes.world import Probe, World
from tests.attack.report import Report

TOOL = "chart-fetch"
BETWEEN_S = 2.0
ATTEMPTS_MAX = 6


class Pauses(Probe):
    """`Retry-After` with four hundred digits, dates of the year 9999, and the like."""

    name = "retry-after"

    async def prepare(self, world: World) -> None:
        self._tokens = [await world.company(f"pauses-{number}") for number in range(len(PAUSES))]
        for token, name in zip(self._tokens, PAUSES, strict=True):
            hook = {"url": world.far.url(f"/pause/{name}/hook"), "events": ["run_started", "gate_opened"]}
            answer = await world.call("POST", "/webhooks/", hook, token)
            assert answer is not None
            assert answer.status == 201, answer.body
            await world.connect(token, TOOL, f"/pause/{name}", retries=1)

    async def attack(self, world: World) -> None:
        tests = (self._test(world, token, name) for token, name in zip(self._tokens, PAUSES, strict=True))
        await asyncio.gather(*(self._start(world, token) for token in self._tokens), *tests)

    async def _start(self, world: World, token: str) -> None:
        self.tally.note(await world.start(token))

    async def _test(self, world: World, token: str, name: str) -> None:
        test = {"base_url": world.far.url(), "path": f"/pause/{name}"}
        while True:
            self.tally.note(await world.call("POST", f"/connectors/{TOOL}/test", test, token))
            await asyncio.sleep(BETWEEN_S)

    async def check(self, world: World, report: Report) -> None:
        await super().check(world, report)
        for what, path in (("call", "/pause/{}"), ("notification", "/pause/{}/hook")):
            most = [await world.far.calls_per_visit(path.format(name)) for name in PAUSES]
            report.most(f"retry-after: requests for one {what}", max(most), ATTEMPTS_MAX)
            report.least(f"retry-after: far sides of a {what}", sum(number > 0 for number in most), len(PAUSES))
