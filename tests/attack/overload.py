"""Overload: what the service can do it goes on doing, whatever is asked of it; and one company's flood is its own."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tests.attack.flow import Flow, drive
from tests.attack.report import Report, percentile
from tests.attack.service import Target
from tests.load.__main__ import spawned
from tests.load.pump import Shot, fire, wire

START = {"vertical": "prior-auth", "inputs": {"member_id": "M-1", "procedure_code": "70551", "diagnosis": "G43.909"}}
PEAK_AT = (64, 256)
NEIGHBOUR_POOL = 200
NEIGHBOUR_SHARE = 0.1
CALM_MS = 50.0
CALM_IN_A_ROW = 20
MEMORY_S = 0.25
TICK_S = 0.01


@dataclass(frozen=True, slots=True)
class Load:
    """How much, and for how long."""

    times: float = 10.0
    seconds: float = 60.0
    peak_s: float = 5.0
    goodput_least: float = 0.9
    refused_ms: float = 50.0
    normal_s: float = 5.0
    memory_mb: float = 1_024.0
    neighbour_ms: float = 250.0
    pool_s: float = 6.5
    pool_most: int = 18_000

    def pool(self, best: float) -> int:
        """So many connections that there is a free one for each request that is due, though others wait for long."""
        return min(self.pool_most, int(best * self.pool_s))


def start(token: str) -> bytes:
    """A start of a run that parks at its gate."""
    return wire("POST", "/process-runs/", json.dumps(START).encode(), {"Authorization": f"Bearer {token}"})


@dataclass(frozen=True, slots=True)
class Peak:
    """What the service can do: runs started a second, and the processor time of each."""

    rate: float
    cpu_s: float


async def peak(target: Target, token: str, seconds: float) -> Peak:
    """The most runs a second that are started when nobody asks for more than is answered."""
    best, started, began_s = 0.0, 0, target.cpu_s
    for connections in PEAK_AT:
        until, request = time.perf_counter() + seconds, start(token)

        def shots(until: float = until, request: bytes = request) -> Iterator[Shot]:
            while time.perf_counter() < until:
                yield Shot(None, request)

        volley = await fire(target.port, shots(), connections)
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


def _run(seconds: float, *flows: Flow) -> None:
    for flow in flows:
        flow.connect()
    drive(seconds, *flows)


async def _yardstick(report: Report, load: Load, rate: float) -> None:
    """The same onslaught on a bare echo, to know what the client and the machine can do at all."""
    async with spawned("tests.load.echo") as echo:
        flow = Flow(echo.port, wire("POST", "/echo", json.dumps(START).encode()), rate, load.pool(rate / load.times))
        await asyncio.to_thread(_run, load.peak_s, flow)
        flow.close()
    report.told("a bare echo under as much: answered a second", f"{flow.in_time / load.peak_s:,.0f} of {rate:,.0f}")


async def overload(target: Target, report: Report, load: Load) -> float:
    """Ten times what the service can do; returns what it can."""
    token = await target.register("flood")
    at_peak = await peak(target, token, load.peak_s)
    best = at_peak.rate
    report.told("peak: runs started a second", f"{best:,.0f}, {at_peak.cpu_s * 1e6:.0f} us of processor time each")
    await _yardstick(report, load, best * load.times)
    most = [target.memory_mb]
    report.told("memory at the peak", f"{most[0]:.0f} MB")
    watching = asyncio.get_running_loop().create_task(_watch_memory(target, most))
    flow = Flow(target.port, start(token), best * load.times, load.pool(best))
    await asyncio.to_thread(flow.connect)
    began_s, client_s = target.cpu_s, time.process_time()
    flowing = asyncio.get_running_loop().create_task(asyncio.to_thread(drive, load.seconds, flow))
    while not 0 < flow.until <= time.perf_counter():  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(TICK_S)
    normal_s = await _normal_after(target, token)
    await flowing
    cpu_s, client_s = (target.cpu_s - began_s) / max(len(flow.good_ms), 1), time.process_time() - client_s
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    flow.close()
    _tell(flow, report, load, best)
    report.told(
        "processor time of each run, refusing included",
        f"{cpu_s * 1e6:.0f} us, {cpu_s / at_peak.cpu_s:.2f} of the peak's",
    )
    report.told(
        "processor time of the client", f"{client_s / max(flow.sent, 1) * 1e6:.0f} us of each request that it sent"
    )
    report.most("normal again after", normal_s, load.normal_s, " s")
    report.most("memory at the most", most[0], load.memory_mb, " MB")
    return best


def _tell(flow: Flow, report: Report, load: Load, best: float) -> None:
    report.told(
        "asked a second",
        f"{(flow.sent + flow.unsent) / load.seconds:,.0f}, of which sent {flow.sent / load.seconds:,.0f}",
    )
    report.told("answered", f"{len(flow.good_ms):,} done, {len(flow.refused_ms):,} refused, others {dict(flow.others)}")
    report.least("goodput, as a share of the peak", flow.in_time / load.seconds / best, load.goodput_least)
    report.told("done, p50 and p99", f"{percentile(flow.good_ms, 0.5):.0f} and {percentile(flow.good_ms, 0.99):.0f} ms")
    report.told("refused, p50", f"{percentile(flow.refused_ms, 0.5):.1f} ms")
    report.most("refused, p99", percentile(flow.refused_ms, 0.99), load.refused_ms, " ms")
    report.least("refused at all", len(flow.refused_ms), 1)
    report.most("refused without Retry-After", flow.bare_refusals, 0)
    report.most("neither done nor refused", sum(flow.others.values()) + flow.sent - flow.answered, 0)


async def fairness(target: Target, report: Report, load: Load, best: float) -> None:
    """A company at its share, then at twenty times that, beside one that asks for little."""
    greedy, modest = await target.register("greedy"), await target.register("modest")
    for what, rate in (("1x", best * 0.5), ("20x", best * load.times)):
        flood = Flow(target.port, start(greedy), rate, load.pool(best))
        neighbour = Flow(target.port, start(modest), best * NEIGHBOUR_SHARE, NEIGHBOUR_POOL)
        await asyncio.to_thread(_run, load.seconds, flood, neighbour)
        flood.close()
        neighbour.close()
        beside = f"beside {what} its share"
        report.told(f"{beside}: refused of the one", f"{len(flood.refused_ms):,} of {flood.sent:,}")
        report.told(f"{beside}: the other's p50", f"{percentile(neighbour.good_ms, 0.5):.1f} ms")
        report.most(f"{beside}: the other's p99", percentile(neighbour.good_ms, 0.99), load.neighbour_ms, " ms")
        report.most(f"{beside}: the other's not done", neighbour.sent + neighbour.unsent - len(neighbour.good_ms), 0)
