"""A search over all targets for so long, in turns; one service runs beside it."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.attack.service import attacked
from tests.fuzz.documents import parsers
from tests.fuzz.fuzzing import Found, Target, tried
from tests.fuzz.lines import raw_far_side
from tests.fuzz.served import Requests, filled

SETTINGS = {"egress_allow": "127.0.0.0/8", "egress_hosts": "127.0.0.1", "log_level": "warning"}
FAULTS = ("unhandled_exception", "message_failed", "Traceback")
CRASHED = "_crashed"
FIRST, AGAIN = 100, 400


@dataclass(slots=True)
class Campaign:
    """What was tried, and what was found."""

    tried: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        for name, count in self.tried.items():
            here = [one for one in self.found if one.target == name]
            yield f"{name:<24}{count:>9,} examples  {'BROKEN' if here else 'holds'}"
            for one in here:
                yield f"    {one.error}\n    for {one.example}"


async def campaign(folder: Path, seconds: float, seed: int, first: int = FIRST) -> Campaign:
    """Try all targets in turns until the time is over; at least one turn each."""
    done, until = Campaign(), time.monotonic() + seconds
    with raw_far_side() as far:
        async with attacked(folder, **SETTINGS) as target:
            stored = await asyncio.to_thread(filled, target.port, folder / "var" / "jwt.keys", far)
            every = [*parsers(), *Requests(stored, far).targets()]
            await asyncio.to_thread(_search, done, every, Log(target.log), until, seed, first)
            if not target.alive:
                done.found.append(Found("service", "", "it has ended"))
    return done


class Log:
    """The service's log, read on from where it was read last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0

    def faults(self) -> list[str]:
        """New lines that speak of something unforeseen, or of a turn of the loop that took long."""
        with self._path.open("rb") as file:
            file.seek(self._at)
            raw = file.read()
            self._at += len(raw)
        return [line for line in raw.decode(errors="replace").splitlines() if _is_fault(line)]


def _is_fault(line: str) -> bool:
    if not line.startswith("{"):
        return any(fault in line for fault in FAULTS)
    entry = json.loads(line)
    if entry["event"] == "loop_stalled":
        return str(entry["cause"]) == "busy"
    return entry["event"] in FAULTS or str(entry["event"]).endswith(CRASHED)


def _search(done: Campaign, targets: list[Target], log: Log, until: float, seed: int, first: int) -> None:
    count, turn, left = first, 0, list(targets)
    while left and (turn == 0 or time.monotonic() < until):
        for target in list(left):
            if turn > 0 and time.monotonic() >= until:
                break
            broken = tried(target, count, seed * 1_000_003 + turn)
            done.tried[target.name] += count
            for line in log.faults():
                broken = broken or Found(target.name, "(see the log)", line[:2_000])
            if broken is not None:
                done.found.append(broken)
                left.remove(target)
        count, turn = AGAIN, turn + 1
