"""Runs probes, one or all at once, and holds them against the bars that all of them share."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.attack.probes.world import Probe, World, far_side
from tests.attack.report import Report, percentile
from tests.attack.service import Target, attacked
from tests.programs import announced

SHARED = {"rate_limits": "on", "egress_allow": "127.0.0.0/8", "log_level": "info"}
REFUSED_MS = 30_000.0
PATIENCE_S, LOOK_S = 60.0, 0.1
FAULTS_SHOWN, FAULT_CHARS = 3, 400
NOT_SCHEDULED = "the machine did not schedule this process"
HEAD = ("probe", "/health p99", "other p99", "memory", "stalls", "longest", "p99 after", "verdict")


@dataclass(frozen=True, slots=True)
class Bars:
    """What has to hold beside every probe, and when it is to be normal again."""

    health_ms: float = 250.0
    other_ms: float = 500.0
    memory_mb: float = 600.0
    stalls: int = 0
    normal_s: float = 2.0
    normal_ms: float = 100.0
    calm_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Window:
    """From the beginning of the probe until 2 s after its end, and the time after that."""

    began: float
    ended: float
    over: float


class Seen:
    """What the measurer wrote."""

    def __init__(self, file: Path) -> None:
        self._entries = [json.loads(line) for line in file.read_text(encoding="ascii").splitlines() if line[-1:] == "}"]

    def between(self, what: str, since: float, until: float) -> Iterator[float]:
        """The figures of that time; a refused or unanswered request counts as the longest wait."""
        for entry in self._entries:
            if entry["what"] == what and since <= entry["at"] < until:
                yield entry["figure"] if entry["ok"] else REFUSED_MS


@dataclass(frozen=True, slots=True)
class Row:
    """The shared figures of one probe."""

    name: str
    health_ms: float = 0.0
    other_ms: float = 0.0
    memory_mb: float = 0.0
    stalls: int = 0
    longest_ms: float = 0.0
    after_ms: float = 0.0
    held: bool = False

    def cells(self) -> tuple[str, ...]:
        figures = (f"{self.health_ms:,.0f} ms", f"{self.other_ms:,.0f} ms", f"{self.memory_mb:,.0f} MB")
        loop = (str(self.stalls), f"{self.longest_ms:,.0f} ms", f"{self.after_ms:,.0f} ms")
        return (self.name, *figures, *loop, "held" if self.held else "MISSED")


def table(rows: Sequence[Row]) -> str:
    """All rows, one below the other."""
    cells = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEAD))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in cells)


async def probed(name: str, probes: Sequence[Probe], folder: Path, seconds: float, report: Report, bars: Bars) -> Row:
    """Start a service, have the probes at it for so long, and see how it was and is."""
    (templates := folder / "templates").mkdir()
    settings = SHARED | {"templates_dir": str(templates)}
    for probe in probes:
        settings |= probe.settings
        for file, text in probe.templates.items():
            (templates / file).write_text(text, encoding="utf-8")
    seen, missed = folder / "seen", len(report.missed)
    async with far_side(folder) as far, attacked(folder, **settings) as target:
        world = World(target, far)
        for probe in probes:
            await probe.prepare(world)
        watched = announced("tests.attack.probes.watch", str(target.port), str(target.process.pid), str(seen), env={})
        async with watched:
            await asyncio.sleep(bars.calm_s)
            window = await _attack(world, probes, seconds, bars)
        await _check(world, probes, report)
    return _judged(name, target, Seen(seen), window, report, bars, missed)


async def _attack(world: World, probes: Sequence[Probe], seconds: float, bars: Bars) -> Window:
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        attacks = [group.create_task(probe.attack(world)) for probe in probes]
        await asyncio.sleep(seconds)
        until = time.monotonic() + PATIENCE_S
        while not all(probe.enough() for probe in probes) and time.monotonic() < until:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(LOOK_S)
        for attack in attacks:
            attack.cancel()
    ended = time.monotonic()
    await asyncio.sleep(bars.normal_s + bars.calm_s)
    return Window(began, ended + bars.normal_s, ended + bars.normal_s + bars.calm_s)


async def _check(world: World, probes: Sequence[Probe], report: Report) -> None:
    for probe in probes:
        await probe.check(world, report)
    faults = world.target.faults()
    report.most("faults in the service's log", len(faults), 0)
    for line in faults[:FAULTS_SHOWN]:
        report.told("  example", line[:FAULT_CHARS])
    report.least("alive and well behind it", int(world.target.alive and await world.target.healthy()), 1)


def _judged(name: str, target: Target, seen: Seen, window: Window, report: Report, bars: Bars, missed: int) -> Row:
    during, after = (window.began, window.ended), (window.ended, window.over)
    health, other = (percentile(list(seen.between(what, *during)), 0.99) for what in ("health", "other"))
    memory = max(seen.between("memory", window.began, window.over), default=0.0)
    lags = list(target.lags_ms(*during))
    stalled = stalls(target, report)
    normal = percentile(list(seen.between("health", *after)), 0.99)
    report.least("requests of the measurer", len(list(seen.between("health", *during))), 10)
    report.most("/health, p99", health, bars.health_ms, " ms")
    report.most("another company, p99", other, bars.other_ms, " ms")
    report.most("memory with all children", memory, bars.memory_mb, " MB")
    report.told(
        "  of which children", f"{max(seen.between('children', window.began, window.over), default=0.0):.0f} MB"
    )
    report.most("turns of the loop above 100 ms, by its watchdog", stalled, bars.stalls)
    report.most("/health after it, p99", normal, bars.normal_ms, " ms")
    held = len(report.missed) == missed
    return Row(name, health, other, memory, stalled, max(lags, default=0.0), normal, held)


def stalls(target: Target, report: Report) -> int:
    """How many turns of the loop its watchdog has counted that were the service's own doing."""
    own, counted = 0, 0
    for entry in target.events("loop_stalled"):
        own += entry["total"] - counted if entry["cause"] != NOT_SCHEDULED else 0
        counted = entry["total"]
        report.told(f"  {entry['duration_ms']:,.0f} ms, {entry['cause']}", entry["where"][:FAULT_CHARS])
    return own
