"""Measures starts, resumes and reads beside a bare echo server, interleaved, and prints medians and ratios."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from tests.load.__main__ import GATE, register, resume, spawned, started
from tests.load.pump import Shot, Volley, fire, wire

CONNECTIONS = (1, 64, 256)
ECHO_TIMES = 5


async def one_round(echo_port: int, port: int, token: str, connections: int, requests: int) -> dict[str, Volley]:
    """Each kind of request once, one after the other."""
    body = f'{{"gate": "{GATE}", "decision": "approved"}}'.encode()
    read = {"Authorization": f"Bearer {token}"}
    echo = await fire(
        echo_port, (Shot(None, wire("POST", "/echo", body)) for _ in range(requests * ECHO_TIMES)), connections
    )
    starts, run_ids = await started(port, requests, connections, token)
    reads = (Shot(i, wire("GET", f"/process-runs/{i}", headers=read)) for i in run_ids)
    resumes = (Shot(i, resume(i, "approved", token)) for i in run_ids)
    return {
        "echo": echo,
        "starts": starts,
        "reads": await fire(port, reads, connections),
        "resumes": await fire(port, resumes, connections),
    }


def report(connections: int, rounds: list[dict[str, Volley]]) -> None:
    """The medians of all rounds at so many connections."""
    rates: dict[str, list[float]] = defaultdict(list)
    tails: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for volleys in rounds:
        for name, volley in volleys.items():
            rates[name].append(volley.rate)
            tails[name].append((volley.latency_ms(0.5), volley.latency_ms(0.99)))
    for name, found in rates.items():
        ratio = statistics.median(mine / echo for mine, echo in zip(found, rates["echo"], strict=True))
        p50, p99 = (statistics.median(column) for column in zip(*tails[name], strict=True))
        rate = statistics.median(found)
        print(f"{connections:>11}  {name:<8}{rate:>9,.0f}/s  {ratio:5.2f}  {p50:7.2f} ms  {p99:7.2f} ms")


async def main() -> int:
    """Start both servers, measure, stop them."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=6_000)
    arguments = parser.parse_args()
    print(
        "connections  request      rate  ratio        p50         p99   (medians; ratio to the echo of the same round)"
    )
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        serve = ("daemon", "serve", "--port", "0", "--log-level", "error", "--data-dir", str(Path(folder) / "var"))
        async with spawned("tests.load.echo") as echo_port, spawned(*serve) as port:
            token = await register(port)
            await started(port, 200, 64, token)
            for connections in CONNECTIONS:
                count = min(arguments.requests, arguments.requests * connections // 8 + 200)
                rounds = [await one_round(echo_port, port, token, connections, count) for _ in range(arguments.rounds)]
                report(connections, rounds)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
