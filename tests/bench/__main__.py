"""Measures starts, resumes and reads beside a bare echo server, interleaved, and prints medians and ratios."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.load.__main__ import GATE, Server, register, resume, spawned, started
from tests.load.pump import Shot, Volley, fire, wire

CONNECTIONS = (1, 64, 256)
ECHO_TIMES = 5


@dataclass(frozen=True, slots=True)
class Figures:
    """What one kind of request cost in one round; `cpu_us` holds whatever else loads the machine."""

    rate: float
    p50_ms: float
    p99_ms: float
    cpu_us: float


async def measured(server: Server, shots: Iterable[Shot], connections: int) -> Figures:
    """Send these requests, and say what they cost."""
    before = server.cpu_s
    return figures(await fire(server.port, shots, connections), server.cpu_s - before)


def figures(volley: Volley, cpu_s: float) -> Figures:
    """A volley in figures."""
    cpu_us = cpu_s / len(volley.hits) * 1e6
    return Figures(volley.rate, volley.latency_ms(0.5), volley.latency_ms(0.99), cpu_us)


async def one_round(echo: Server, service: Server, token: str, connections: int, requests: int) -> dict[str, Figures]:
    """Each kind of request once, one after the other."""
    body = f'{{"gate": "{GATE}", "decision": "approved"}}'.encode()
    read = {"Authorization": f"Bearer {token}"}
    echoes = (Shot(None, wire("POST", "/echo", body)) for _ in range(requests * ECHO_TIMES))
    echoed = await measured(echo, echoes, connections)
    before = service.cpu_s
    volley, run_ids = await started(service.port, requests, connections, token)
    starts = figures(volley, service.cpu_s - before)
    reads = (Shot(i, wire("GET", f"/process-runs/{i}", headers=read)) for i in run_ids)
    resumes = (Shot(i, resume(i, "approved", token)) for i in run_ids)
    return {
        "echo": echoed,
        "starts": starts,
        "reads": await measured(service, reads, connections),
        "resumes": await measured(service, resumes, connections),
    }


def report(connections: int, rounds: list[dict[str, Figures]]) -> None:
    """The medians of all rounds at so many connections."""
    found: dict[str, list[Figures]] = defaultdict(list)
    for one in rounds:
        for name, cost in one.items():
            found[name].append(cost)
    for name, costs in found.items():
        pairs = list(zip(costs, found["echo"], strict=True))
        ratio = statistics.median(mine.rate / echo.rate for mine, echo in pairs)
        times = statistics.median(mine.cpu_us / echo.cpu_us for mine, echo in pairs)
        rate, p50, p99, cpu = (
            statistics.median(getattr(cost, field) for cost in costs)
            for field in ("rate", "p50_ms", "p99_ms", "cpu_us")
        )
        print(
            f"{connections:>11}  {name:<8}{rate:>9,.0f}/s  {ratio:5.2f}  {p50:7.2f} ms  {p99:7.2f} ms"
            f"  {cpu:6.0f} µs  {times:5.1f}"
        )


async def main() -> int:
    """Start both servers, measure, stop them."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=6_000)
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS)
    arguments = parser.parse_args()
    print("Medians; the ratio of rates and of processor time is to the echo of the same round.")
    print("connections  request      rate  ratio        p50         p99  processor  times")
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        serve = ("daemon", "serve", "--port", "0", "--log-level", "error", "--data-dir", str(Path(folder) / "var"))
        async with spawned("tests.load.echo") as echo, spawned(*serve) as service:
            token = await register(service.port)
            await started(service.port, 200, 64, token)
            for connections in arguments.connections:
                count = min(arguments.requests, arguments.requests * connections // 8 + 200)
                rounds = [await one_round(echo, service, token, connections, count) for _ in range(arguments.rounds)]
                report(connections, rounds)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
