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
from tests.crash.answers import stamp
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
        self.log = stage.folder / "driver.jsonl"
        self.log.touch()

    @property
    def acknowledged(self) -> Iterator[tuple[float, float]]:
        """When each command was sent that was acknowledged first by the answer, and when that came.

        An answer may come long after the commit that it tells of: a start waits until it rests.
        """
        known, sent = set[int](), dict[int, float]()
        for line in lines(self.log):
            if line["type"] == "asked":
                sent[line["n"]] = line["at"]
            elif line["type"] == "answered" and line["status"] < 300 and line["do"] != "read":
                if line["n"] not in known:
                    yield sent[line["n"]], line["at"]
                known.add(line["n"])

    @property
    def unknown(self) -> int:
        """How often an answer was that nobody knows what came of a command."""
        return sum(line.get("outcome") == "unknown" for line in lines(self.log))

    async def acknowledged_since(self, since: float, within_s: float = WAIT_S) -> float | None:
        """How long after that moment a command was acknowledged that was sent since, or None."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            found = next((at for sent, at in self.acknowledged if sent > since), None)
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

    async def compare(self, outcome: Outcome, *, rewound: float | None = None, skew_s: float = 0.0) -> int | None:
        """Let everything come to rest, then hold all that was told against the histories; returns
        how much was acknowledged and lost, or None when that cannot be said.

        Where the history was rewound at a moment, what was acknowledged before may be lost, and
        what was asked and sent since has to fit. Events may be stamped by clocks that are `skew_s`
        ahead of the clients' and the far side's, or behind it.
        """
        await finish(self._driver)
        stage = self._stage
        await at_rest(stage.port, stage.token)
        await self._verify(outcome)
        try:
            await export(stage.port, stage.token, stage.folder / "history.jsonl")
        except AssertionError as error:
            outcome.note("histories that cannot be read", str(error), held=False)
            return None
        whole = await self._checked(*self._skewed(skew_s))
        self._judge(outcome, whole, rewound is None)
        if rewound is not None:
            self._judge(outcome, await self._checked(*self._since(rewound, outcome)), True, "since: ")
        await self._followers.compare(outcome, rewound=rewound is not None)
        return whole.of(*LOST)

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

    def _skewed(self, skew_s: float) -> tuple[Path, Path]:
        """The logs with what was asked so much earlier, and calls so much later."""
        if not skew_s:
            return self.log, self._stage.calls
        driver, calls = (self._stage.folder / f"{name}-skewed.jsonl" for name in ("driver", "ledger"))
        asked = ({**line, "at": line["at"] - skew_s * (line["type"] == "asked")} for line in lines(self.log))
        _write(driver, asked)
        _write(calls, ({**line, "at": line["at"] + skew_s} for line in lines(self._stage.calls)))
        return driver, calls

    def _since(self, rewound: float, outcome: Outcome) -> tuple[Path, Path]:
        """The logs without what belongs to the lost history: answers to what was asked before that
        moment, and calls of then that the surviving history does not know to have been answered.
        """
        folder = self._stage.folder
        driver, calls = folder / "driver-since.jsonl", folder / "ledger-since.jsonl"
        entered, answered = _visits(folder / "history.jsonl", rewound)
        sent = list(lines(self._stage.calls))
        before = {line["key"] for line in sent if line["at"] <= rewound}
        strays = [line for line in sent if line["at"] > rewound and line["key"] not in entered]
        fresh = [line for line in strays if line["key"] not in before]
        # A daemon that repeats what it has sent before tells the far side nothing new.
        outcome.note("since: calls of a lost history repeated", len(strays) - len(fresh))
        outcome.note("since: calls of a lost history begun", len(fresh), held=not fresh)
        for line in fresh[:3]:
            outcome.note("  example", f"{line['key']}, {line['at'] - rewound:.2f} s after the promotion")
        kept = (line for line in sent if line["key"] in (entered if line["at"] > rewound else answered))
        _write(calls, kept)
        _write(driver, _told_since(self.log, rewound))
        return driver, calls


def _visits(histories: Path, until: float) -> tuple[set[str], set[str]]:
    """The keys of all visits, and of those whose calls were answered until that moment."""
    entered, answered = set(), set()
    for run in lines(histories):
        for event in run["events"]:
            key = f"{run['id']}:{event.get('step_id')}:{event.get('visit')}"
            if event["type"] == "step_entered":
                entered.add(key)
            elif event["type"] == "call_settled" and stamp(event["at"]) <= until:
                answered.add(key)
    return entered, answered


def _told_since(log: Path, since: float) -> Iterator[Line]:
    """All that was asked, and the answers to what was asked since."""
    asked: dict[int, float] = {}
    for line in lines(log):
        if line["type"] == "asked":
            asked[line["n"]] = line["at"]
        if line["type"] == "asked" or asked.get(line["n"], line["at"]) > since:
            yield line


def _write(path: Path, found: Iterator[Line]) -> None:
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in found))


@asynccontextmanager
async def loaded(stage: Stage, clients: int = CLIENTS) -> AsyncIterator[Load]:
    """Clients at work on a stage, with a reader and a webhook."""
    followers = Followers(stage.port, stage.token)
    driving = (str(stage.port), stage.token, str(stage.folder / "driver.jsonl"), "failover", str(clients))
    async with followers.following(), spawned("tests.crash.driver", *driving) as driver:
        yield Load(stage, driver, followers)
