"""Overload: at three times what it can do the service goes on doing it, and a company that asks for
little gets it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

from tests.attack.flow import Flow, drive
from tests.attack.report import Report, percentile
from tests.attack.service import Target
from tests.bench.shooting import lasting
from tests.load.pump import Shot, fire, wire

START = {"vertical": "prior-auth", "inputs": {"member_id": "M-1", "procedure_code": "70551", "diagnosis": "G43.909"}}
PEAK_AT = (64, 256)
LIGHT_POOL = 200
LIGHT_SHARE = 0.1
POOL_LEAST, POOL_MOST = 300, 6_000
CALM_MS = 50.0
CALM_IN_A_ROW = 20
MEMORY_S = 0.25
TICK_S = 0.01


@dataclass(frozen=True, slots=True)
class Load:
    """How much, and for how long."""

    times: float = 3.0
    seconds: float = 30.0
    warm_s: float = 12.0
    peak_s: float = 5.0
    goodput_least: float = 0.7
    normal_s: float = 2.0
    memory_mb: float = 1_024.0
    light_ms: float = 500.0
    light_done_least: float = 1.0
    pool_s: float = 1.5

    def pool(self, best: float) -> int:
        """So many connections that most requests find a free one, though others wait; the service
        takes 10,000.
        """
        return min(POOL_MOST, max(POOL_LEAST, int(best * self.pool_s)))


def start(token: str) -> bytes:
    """A start of a run that parks at its gate."""
    return wire("POST", "/process-runs/", json.dumps(START).encode(), {"Authorization": f"Bearer {token}"})


@dataclass(frozen=True, slots=True)
class Peak:
    """What the service can do: runs started a second, and the processor time of each."""

    rate: float
    cpu_s: float


async def peak(target: Target, token: str, load: Load) -> Peak:
    """The most runs a second that are started when nobody asks for more than is answered.

    After a while, when as many runs are let go as are begun: that costs, too.
    """
    await fire(target.port, lasting(cycle([Shot(None, start(token))]), load.warm_s), PEAK_AT[0])
    best, started, began_s = 0.0, 0, target.cpu_s
    for connections in PEAK_AT:
        volley = await fire(target.port, lasting(cycle([Shot(None, start(token))]), load.peak_s), connections)
        good = sum(hit.status == 201 for hit in volley.hits)
        started += good
        best = max(best, good / volley.took_s)
    return Peak(best, (target.cpu_s - began_s) / max(started, 1))


async def _watch_memory(target: Target, most: list[float]) -> None:
    while True:
        most[0] = max(most[0], target.memory_mb)
        await asyncio.sleep(MEMORY_S)


async def _normal_after(target: Target, token: str) -> float:
    """How long it takes from now until so many starts in a row are answered as quickly as ever."""
    began, calm = time.perf_counter(), 0
    while calm < CALM_IN_A_ROW and time.perf_counter() - began < 30.0:
        sent = time.perf_counter()
        answer = await target.ask("POST", "/process-runs/", START, token)
        calm = calm + 1 if answer.status == 201 and (time.perf_counter() - sent) * 1000 <= CALM_MS else 0
    return time.perf_counter() - began


async def overload(target: Target, report: Report, load: Load) -> None:
    """A flood of one company beside another that asks for a tenth of what the service can do."""
    tokens = [await target.register(name) for name in ("flood", "light")]
    at_peak = await peak(target, tokens[0], load)
    best, most = at_peak.rate, [target.memory_mb]
    report.told("peak: runs started a second", f"{best:,.0f}, {at_peak.cpu_s * 1e6:.0f} us of processor time each")
    report.told("memory at the peak", f"{most[0]:.0f} MB")
    flood = Flow(target.port, start(tokens[0]), best * (load.times - LIGHT_SHARE), load.pool(best))
    light = Flow(target.port, start(tokens[1]), best * LIGHT_SHARE, LIGHT_POOL)
    for flow in (flood, light):
        await asyncio.to_thread(flow.connect)
    watching = asyncio.get_running_loop().create_task(_watch_memory(target, most))
    began_s = target.cpu_s
    flowing = asyncio.get_running_loop().create_task(asyncio.to_thread(drive, load.seconds, flood, light))
    while not 0 < flood.until <= time.perf_counter():  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(TICK_S)
    cpu_s = (target.cpu_s - began_s) / load.seconds
    normal_s = await _normal_after(target, tokens[0])
    await flowing
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    for flow in (flood, light):
        flow.close()
    _tell(flood, light, report, load, best)
    good = (flood.in_time + light.in_time) / load.seconds
    report.told(
        "processors it had; goodput of each, of the peak",
        f"{cpu_s:.2f} and {good / cpu_s * at_peak.cpu_s:.2f}",
    )
    report.most("normal again after", normal_s, load.normal_s, " s")
    report.most("memory at the most", most[0], load.memory_mb, " MB")


def _tell(flood: Flow, light: Flow, report: Report, load: Load, best: float) -> None:
    report.told(
        "asked a second by the flood",
        f"{(flood.sent + flood.unsent) / load.seconds:,.0f}, of which sent {flood.sent / load.seconds:,.0f}",
    )
    report.told(
        "answered to it", f"{len(flood.good_ms):,} done, {len(flood.refused_ms):,} refused, others {dict(flood.others)}"
    )
    goodput = (flood.in_time + light.in_time) / load.seconds / best
    report.least("goodput, as a share of the peak", goodput, load.goodput_least)
    report.told("done, p50 and p99", _spread(flood.good_ms))
    report.told("refused, p50 and p99", _spread(flood.refused_ms))
    report.least("refused at all", len(flood.refused_ms), 1)
    report.most("refused without Retry-After", flood.bare_refusals, 0)
    for name, flow in (("flood", flood), ("light", light)):
        report.most(f"{name}: neither done nor refused", sum(flow.others.values()) + flow.sent - flow.answered, 0)
    report.told("light company, p50 and p99", _spread(light.good_ms))
    report.most("light company, p99", percentile(light.good_ms, 0.99), load.light_ms, " ms")
    asked = light.sent + light.unsent
    report.least("light company, done of what it asked", len(light.good_ms) / max(asked, 1), load.light_done_least)


def _spread(ms: Sequence[float]) -> str:
    return f"{percentile(ms, 0.5):.0f} and {percentile(ms, 0.99):.0f} ms"
