"""Log-ins and new companies: guessers beside a rightful person, and floods of registrations."""

from __future__ import annotations

import asyncio
import time
from itertools import count

from tests.attack.probes.world import PASSWORD, Probe, World
from tests.attack.report import Report, percentile

GUESSERS, NETWORKS = 90, 30
PAUSE_S = 0.3
RIGHTFUL_S = 1.0
LATER_S = 1.0
RIGHTFUL_MS = 5_000.0
TESTS_AT_ONCE = 8
TESTS_MAX = 120
REGISTRATIONS_MAX = 60
HOME, HOTEL = "127.0.0.9", "127.0.5.250"


class Guessers(Probe):
    """Ninety in thirty networks guess passwords, a third of them that of somebody who logs in."""

    name = "guessers"

    def __init__(self, guessers: int = GUESSERS) -> None:
        super().__init__()
        self._guessers = guessers
        self.rightful_ms: list[float] = []
        self.refused: list[int] = []

    async def prepare(self, world: World) -> None:
        await world.company("rightful")

    async def attack(self, world: World) -> None:
        guessing = (self._guess(world, number) for number in range(self._guessers))
        await asyncio.gather(self._log_in(world), *guessing)

    async def _guess(self, world: World, number: int) -> None:
        for attempt in count():
            name = "rightful" if number % 3 == 0 else f"guess-{number}-{attempt}"
            body = {"email": f"{name}@attack.test", "password": f"wrong-{attempt}"}
            source = f"127.0.5.{number % NETWORKS + 1}"
            self.tally.note(await world.call("POST", "/auth/login", body, source=source))
            await asyncio.sleep(PAUSE_S)

    async def _log_in(self, world: World) -> None:
        await asyncio.sleep(LATER_S)
        body = {"email": "rightful@attack.test", "password": PASSWORD}
        for number in count():
            began = time.monotonic()
            try:
                answer = await world.call("POST", "/auth/login", body, source=(HOME, HOTEL)[number % 2])
            finally:  # one that is not answered by the end has waited for so long, too
                self.rightful_ms.append((time.monotonic() - began) * 1000)
            if answer is None or answer.status != 200:
                self.refused.append(0 if answer is None else answer.status)
            await asyncio.sleep(RIGHTFUL_S)

    def enough(self) -> bool:
        return len(self.rightful_ms) > 0

    async def check(self, world: World, report: Report) -> None:
        await super().check(world, report)
        report.least("guessers: rightful log-ins tried", len(self.rightful_ms), 1)
        report.most("guessers: rightful log-ins refused", len(self.refused), 0)
        report.told("  with", self.refused[:9])
        report.most("guessers: a rightful log-in, p99", percentile(self.rightful_ms, 0.99), RIGHTFUL_MS, " ms")


class Relay(Probe):
    """A new company has the service ask a far side, as quickly as it goes."""

    name = "test-relay"

    def __init__(self, at_once: int = TESTS_AT_ONCE, most: int = TESTS_MAX) -> None:
        super().__init__()
        self._at_once = at_once
        self._most = most

    async def prepare(self, world: World) -> None:
        self._token = await world.company("relay")

    async def attack(self, world: World) -> None:
        await asyncio.gather(*(self._test(world) for _ in range(self._at_once)))

    async def _test(self, world: World) -> None:
        test = {"base_url": world.far.url(), "path": "/fine"}
        while True:
            answer = self.tally.note(await world.call("POST", "/connectors/x/test", test, self._token))
            await asyncio.sleep(PAUSE_S if answer is None or answer.status != 200 else 0)

    def enough(self) -> bool:
        return min(self.tally.statuses[200], self.tally.statuses[429]) > 0

    async def check(self, world: World, report: Report) -> None:
        await super().check(world, report)
        report.least("test-relay: tests that were made", self.tally.statuses[200], 1)
        report.most("test-relay: requests at the far side in a minute", (await world.far.counts())["/fine"], self._most)
        report.least("test-relay: refused as too many", self.tally.statuses[429], 1)


class Registrations(Probe):
    """Somebody registers companies from one address, as quickly as it goes."""

    name = "registrations"

    def __init__(self) -> None:
        super().__init__()
        self._number = count()

    async def attack(self, world: World) -> None:
        await asyncio.gather(*(self._register(world) for _ in range(TESTS_AT_ONCE)))

    async def _register(self, world: World) -> None:
        while True:
            name = f"new-{next(self._number)}"
            body = {"email": f"{name}@attack.test", "password": PASSWORD, "company_name": name}
            answer = self.tally.note(await world.call("POST", "/auth/register", body, source="127.0.6.1"))
            await asyncio.sleep(PAUSE_S if answer is None or answer.status != 201 else 0)

    async def check(self, world: World, report: Report) -> None:
        await super().check(world, report)
        report.most("registrations: made in a minute from one address", self.tally.statuses[201], REGISTRATIONS_MAX)
