"""Clients who work while the database fails over, and a comparison of what they were told with what
there is in the end.
"""

from __future__ import annotations

import asyncio
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from tests.cluster.failover.followers import Followers
from tests.cluster.failover.outcome import NotPlayed, Outcome
from tests.cluster.failover.stage import Stage
from tests.crash.checker import LOST, Report, check
from tests.crash.conductor import at_rest, finish, spawned
from tests.crash.export import export
from tests.crash.notes import lines
from tests.crash.outside import COUNTED

CLIENTS = 9
FIRST_MAX_S = 3.0
"""How long after the promotion the first command has to be done."""
WAIT_S = 20.0
POLL_S = 0.05
Line = dict[str, Any]


class Load:
    """Clients at work, and all that they were told so far."""

    def __init__(self, stage: Stage, driver: Process, followers: Followers) -> None:
        self._stage, self._driver, self._followers = stage, driver, followers
        self._log = stage.folder / "driver.jsonl"

    @property
    def acknowledged(self) -> Iterator[tuple[float, int]]:
        """When each command was acknowledged first, and its number."""
        known: set[int] = set()
        for line in lines(self._log):
            if line["type"] == "answered" and line["status"] < 300 and line["do"] != "read" and line["n"] not in known:
                known.add(line["n"])
                yield line["at"], line["n"]

    @property
    def unknown(self) -> int:
        """How often an answer was that nobody knows what came of a command."""
        return sum(line.get("outcome") == "unknown" for line in lines(self._log))

    async def acknowledged_since(self, since: float, within_s: float = WAIT_S) -> float | None:
        """How long after that moment the first command was acknowledged; None when none was."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            found = next((at for at, _ in self.acknowledged if at > since), None) if self._log.exists() else None
            if found is not None:
                return found - since
            await asyncio.sleep(POLL_S)
        return None

    async def work(self, seconds: float) -> None:
        """Let them work for so long after their next acknowledgement."""
        if await self.acknowledged_since(time.time()) is None:
            raise NotPlayed("no command was acknowledged before anything happened")
        await asyncio.sleep(seconds)

    async def came_back(self, outcome: Outcome, promoted: float) -> None:
        """Note how long after the promotion commands are done again."""
        took_s = await self.acknowledged_since(promoted)
        if took_s is None:
            outcome.note("promotion until the first 2xx", f"none in {WAIT_S:.0f} s", held=False)
        else:
            outcome.note("promotion until the first 2xx", took_s, held=took_s <= FIRST_MAX_S)

    async def compare(self, outcome: Outcome, *, rewound: float | None = None) -> None:
        """Let everything come to rest, then hold all that was told against the histories.

        Where the history was rewound at a moment, what was acknowledged before may be lost, and
        what was told and sent since has to fit.
        """
        await finish(self._driver)
        stage = self._stage
        await at_rest(stage.port, stage.token)
        await self._verify(outcome)
        try:
            await export(stage.port, stage.token, stage.folder / "history.jsonl")
        except AssertionError as error:
            outcome.note("histories that cannot be read", str(error), held=False)
            return
        whole = await self._checked(self._log, stage.calls)
        self._judge(outcome, whole, rewound is None)
        if rewound is not None:
            self._judge(outcome, await self._checked(*self._since(rewound)), True, "since the promotion: ")
        await self._followers.compare(outcome, rewound=rewound is not None)

    async def _verify(self, outcome: Outcome) -> None:
        findings = await self._stage.findings()
        outcome.note("forked or broken histories", len(findings), held=not findings)
        for finding in findings[:5]:
            outcome.note("  verify", finding)
        outcome.note("daemons ended", self._stage.ends)

    async def _checked(self, driver: Path, calls: Path) -> Report:
        return await asyncio.to_thread(check, driver, calls, self._stage.folder / "history.jsonl")

    def _judge(self, outcome: Outcome, report: Report, bound: bool, when: str = "") -> None:
        """Note what a checker has found; it misses the case where nothing may be wrong."""
        figures = {
            "acknowledged and lost": report.of(*LOST),
            "calls doubled": report.of("effect twice"),
            "calls without a verdict": report.of("effect without verdict"),
            "other faults": report.faults.total() - report.of(*LOST, *COUNTED),
        }
        told = sum(1 for _ in self.acknowledged)
        of = {"acknowledged and lost": f" of {told:,}", "calls doubled": f" of {report.effects:,}"} if not when else {}
        for name, found in figures.items():
            outcome.note(f"{when}{name}", f"{found:,}{of.get(name, '')}", held=not (found and bound))
        if bound and report.faults:
            for example in report.examples:
                outcome.note("  example", example)

    def _since(self, rewound: float) -> tuple[Path, Path]:
        """The logs without what belongs to the lost history: answers before that moment, and calls
        of then that no history knows to have been answered.
        """
        folder = self._stage.folder
        driver, calls = folder / "driver-since.jsonl", folder / "ledger-since.jsonl"
        answered = {key for line in lines(folder / "history.jsonl") for key in _receipts(line)}
        _write(driver, (line for line in lines(self._log) if line["type"] == "asked" or line["at"] > rewound))
        _write(calls, (line for line in lines(self._stage.calls) if line["at"] > rewound or line["key"] in answered))
        return driver, calls


def _receipts(run: Line) -> Iterator[str]:
    """The keys of the calls that a history says were answered."""
    for event in run["events"]:
        if event["type"] == "call_settled":
            yield f"{run['id']}:{event['step_id']}:{event['visit']}"


def _write(path: Path, found: Iterator[Line]) -> None:
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in found))


@asynccontextmanager
async def loaded(stage: Stage, clients: int = CLIENTS) -> AsyncIterator[Load]:
    """Clients at work on a stage, with a reader and a webhook."""
    followers = Followers(stage.port, stage.token)
    driving = (str(stage.port), stage.token, str(stage.folder / "driver.jsonl"), "failover", str(clients))
    async with followers.following(), spawned("tests.crash.driver", *driving) as driver:
        yield Load(stage, driver, followers)
