"""Answers of the far side: too much for a rule, in odd encodings, and long beside a long secret."""

from __future__ import annotations

import asyncio
from itertools import count

from tests.attack.probes.far_side import CANARY
from tests.attack.probes.world import Probe, World
from tests.attack.report import Report

TOOL = "chart-fetch"
RULES = (
    "size(response.body.items.map(x, response.body.items.map(y, x + y))) > 5000000",
    "response.body.items.exists(x, response.body.items.exists(y, x + y == 'none'))",
    "size(response.body.items.map(x, response.body.items)) > 5000000",
)
CHARSETS = ("unicode_escape", "idna", "punycode", "utf-7", "raw_unicode_escape", "rot13", "hex", "zlib", "undefined")
LOG_BYTES_MAX = 262_144
SECRET = "a" * 7_999 + "b"
BETWEEN_S = 1.0


class Signals(Probe):
    """A rule of nested comprehensions on an answer of 215 KB."""

    name = "signal-rules"

    def __init__(self, rules: tuple[str, ...] = RULES) -> None:
        super().__init__()
        self._rules = rules
        self._tokens: list[str] = []
        self._runs: list[tuple[str, str]] = []

    async def prepare(self, world: World) -> None:
        for number, rule in enumerate(self._rules):
            token = await world.company(f"signals-{number}")
            if await world.connect(token, TOOL, "/bomb", signal_rule=rule):
                self._tokens.append(token)

    async def attack(self, world: World) -> None:
        await asyncio.gather(*(self._start(world, token) for token in self._tokens))

    async def _start(self, world: World, token: str) -> None:
        while True:
            answer = self.tally.note(await world.start(token))
            if answer is not None and answer.status in {201, 202}:
                self._runs.append((token, answer.json["id"]))
            await asyncio.sleep(BETWEEN_S)

    async def check(self, world: World, report: Report) -> None:
        await super().check(world, report)
        report.least("signal-rules: rules that were accepted", len(self._tokens), 1)
        report.most("signal-rules: calls for one visit", await world.far.calls_per_visit("/bomb"), 1)
        runs = [await world.rested(*run) for run in self._runs[:2]]
        hits = [run.get("facts", {}).get("pull-chart", {}).get("signal") is True for run in runs]
        report.least("signal-rules: a rule without an answer is a hit", sum(hits), len(runs))


class Charsets(Probe):
    """Answers that name an encoding which is none of a text, or costs more than it is worth."""

    name = "charsets"

    async def prepare(self, world: World) -> None:
        self._tokens = [await world.company(f"charset-{number}") for number in range(len(CHARSETS))]
        for token, charset in zip(self._tokens, CHARSETS, strict=True):
            await world.connect(token, TOOL, f"/charset/{charset}")

    async def attack(self, world: World) -> None:
        await asyncio.gather(*(self._start(world, token) for token in self._tokens), self._test(world))

    async def _start(self, world: World, token: str) -> None:
        self.tally.note(await world.start(token))

    async def _test(self, world: World) -> None:
        for number in count():
            test = {"base_url": world.far.url(), "path": f"/charset/{CHARSETS[number % len(CHARSETS)]}"}
            self.tally.note(await world.call("POST", "/connectors/x/test", test, self._tokens[number % len(CHARSETS)]))
            await asyncio.sleep(BETWEEN_S)

    async def check(self, world: World, report: Report) -> None:
        await super().check(world, report)
        calls = [await world.far.calls_per_visit(f"/charset/{charset}") for charset in CHARSETS]
        report.least("charsets: visits that called at all", sum(number > 0 for number in calls), len(CHARSETS))
        report.most("charsets: calls for one visit", max(calls), 1)
        log = world.target.log.read_bytes()
        report.most("charsets: bytes of the log", len(log), LOG_BYTES_MAX)
        report.most("charsets: answers quoted in the log", log.count(CANARY.encode()), 0)


class Masking(Probe):
    """An answer of one letter, beside a long secret of the same letter."""

    name = "masking"

    async def prepare(self, world: World) -> None:
        self._token = await world.company("masking")
        await world.connect(self._token, TOOL, "/letters", auth_type="bearer", auth_token=SECRET)

    async def attack(self, world: World) -> None:
        test = {"base_url": world.far.url(), "path": "/letters", "auth_type": "bearer", "auth_token": SECRET}
        while True:
            self.tally.note(await world.call("POST", f"/connectors/{TOOL}/test", test, self._token))
            self.tally.note(await world.start(self._token))
            await asyncio.sleep(BETWEEN_S)
