"""Fires concurrent resumes at a service that it starts, beside a bare echo server, and prints what
came of it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.load.pump import Hit, Shot, Volley, fire, wire
from tests.programs import announced

GATE = "signoff"
START = {"vertical": "prior-auth", "inputs": {"member_id": "M-1", "procedure_code": "70551", "diagnosis": "G43.909"}}


@dataclass(frozen=True, slots=True)
class Server:
    """A server in a process of its own."""

    port: int
    pid: int

    @property
    def cpu_s(self) -> float:
        """The processor time that all its threads have taken so far, whatever else loads the
        machine.
        """
        return time.clock_gettime(~self.pid << 3 | 2)  # what clock_getcpuclockid(3) makes on Linux


@asynccontextmanager
async def spawned(*arguments: str) -> AsyncIterator[Server]:
    """Start a server, and stop it on the way out."""
    environment = {**os.environ, "PENSTOCK_RATE_LIMITS": "off"}
    async with announced(*arguments, env=environment) as (process, port):
        yield Server(port, process.pid)


def resume(run_id: str, decision: str, token: str, key: str | None = None) -> bytes:
    """A verdict on the gate of the load test's template."""
    body = json.dumps({"gate": GATE, "decision": decision}).encode()
    headers = {"Authorization": f"Bearer {token}"} | ({} if key is None else {"Idempotency-Key": key})
    return wire("POST", f"/process-runs/{run_id}/resume", body, headers)


def contended(run_ids: list[str], callers: int, token: str) -> Iterator[Shot]:
    """For each gate so many verdicts at once, approvals and denials in turn."""
    for run_id in run_ids:
        for caller in range(callers):
            yield Shot(run_id, resume(run_id, ("approved", "denied")[caller % 2], token))


def repeated(run_ids: list[str], callers: int, token: str) -> Iterator[Shot]:
    """For each gate the same verdict so many times at once, under one Idempotency-Key."""
    for run_id in run_ids:
        shot = Shot(run_id, resume(run_id, "approved", token, key=f"verdict-{run_id}"))
        yield from [shot] * callers


async def register(port: int) -> str:
    """A token of a company of its own."""
    person = {"email": "load@example.test", "password": "load load load", "company_name": "Load"}
    hits = (await fire(port, [Shot(None, wire("POST", "/auth/register", json.dumps(person).encode()))], 1)).hits
    token: str = json.loads(hits[0].body)["token"]
    return token


async def started(port: int, count: int, connections: int, token: str) -> tuple[Volley, list[str]]:
    """So many runs, each parked at its gate."""
    request = wire("POST", "/process-runs/", json.dumps(START).encode(), {"Authorization": f"Bearer {token}"})
    volley = await fire(port, (Shot(None, request) for _ in range(count)), connections)
    return volley, [json.loads(hit.body)["id"] for hit in volley.hits if hit.status == 201]


def line(name: str, volley: Volley, echo: Volley) -> None:
    """Print one measurement, beside the echo server."""
    ratio = volley.rate / echo.rate
    print(
        f"{name:<22}{volley.rate:>9,.0f}/s   ratio {ratio:4.2f}   p50 {volley.latency_ms(0.5):6.1f} ms"
        f"   p99 {volley.latency_ms(0.99):6.1f} ms   {len(volley.hits):,} requests"
    )


def closed_once(hits: list[Hit], callers: int) -> int:
    """How many gates were not closed exactly once, with a 409 for everybody else."""
    by_gate: dict[str, Counter[int]] = {}
    for hit in hits:
        by_gate.setdefault(hit.tag, Counter())[hit.status] += 1
    return sum(1 for found in by_gate.values() if found != Counter({200: 1, 409: callers - 1}))


def answered_alike(hits: list[Hit]) -> int:
    """How many gates were not answered 200 each time, with the same bytes."""
    by_gate: dict[str, set[tuple[int, bytes]]] = {}
    for hit in hits:
        by_gate.setdefault(hit.tag, set()).add((hit.status, hit.body))
    return sum(1 for answers in by_gate.values() if len(answers) > 1 or {status for status, _ in answers} != {200})


async def measure(arguments: argparse.Namespace, echo_port: int, port: int) -> bool:
    """All phases; True when every gate was closed exactly once and nothing failed."""
    runs, callers, connections = arguments.runs, arguments.callers, arguments.connections
    token = await register(port)
    await started(port, 200, connections, token)
    echoed = wire("POST", "/echo", json.dumps({"gate": GATE, "decision": "approved"}).encode())
    await fire(echo_port, (Shot(None, echoed) for _ in range(2_000)), connections)  # both have run for a while then
    echo = await fire(echo_port, (Shot(None, echoed) for _ in range(max(runs, 5_000))), connections)
    line("bare echo", echo, echo)
    starts, run_ids = await started(port, max(runs, 5_000), connections, token)
    line("starts", starts, echo)
    resumes = await fire(port, (Shot(i, resume(i, "approved", token)) for i in run_ids), connections)
    line("resumes", resumes, echo)
    _, gates = await started(port, runs, connections, token)
    fought = await fire(port, contended(gates, callers, token), max(connections, callers))
    line(f"{callers} resumes a gate", fought, echo)
    wrong = closed_once(fought.hits, callers)
    _, gates = await started(port, runs, connections, token)
    again = await fire(port, repeated(gates, callers, token), max(connections, callers))
    line(f"{callers} under one key", again, echo)
    unlike = answered_alike(again.hits)
    failed = sum(hit.status not in (200, 201) for hit in (*starts.hits, *resumes.hits))
    print(f"errors                {failed}")
    print(f"gates closed exactly once: {runs - wrong:,} of {runs:,}")
    print(f"gates answered alike under one key: {runs - unlike:,} of {runs:,}")
    return not (wrong or failed or unlike)


async def main() -> int:
    """Start both servers, measure, stop them."""
    parser = argparse.ArgumentParser(prog="make load", description=__doc__)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--callers", type=int, default=50)
    parser.add_argument("--connections", type=int, default=64)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-load-") as folder:
        serve = ("daemon", "serve", "--port", "0", "--log-level", "warning", "--data-dir", str(Path(folder) / "var"))
        async with spawned("tests.load.echo") as echo, spawned(*serve) as service:
            return 0 if await measure(arguments, echo.port, service.port) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
