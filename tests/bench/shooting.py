"""Requests against a server that is measured: how many a second, how long each, and what they
cost.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from typing import Any

from tests.bench.servers import Served
from tests.load.__main__ import GATE, START, resume
from tests.load.pump import Hit, Shot, Volley, fire, wire

ECHOED = wire("POST", "/echo", json.dumps({"gate": GATE, "decision": "approved"}).encode())
FIELDS = ("rate", "p50_ms", "p99_ms", "cpu_us", "client_share", "written_kib", "read_kib")


@dataclass(frozen=True, slots=True)
class Cost:
    """What one kind of request cost in one round.

    `cpu_us` is the server's processor time for each, `client_share` how much of a processor the
    client was using; `written_kib` and `read_kib` are what went to the disk and came from it for
    each.
    """

    requests: int
    failed: int
    rate: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    client_share: float
    written_kib: float
    read_kib: float


async def shoot(server: Served, shots: Iterable[Shot], connections: int) -> tuple[Cost, Volley]:
    """Send these requests, and say what they cost."""
    cpu_s, written, read, mine_s = server.cpu_s, server.written_bytes, server.read_bytes, time.process_time()
    volley = await fire(server.port, shots, connections)
    cpu_s, mine_s = server.cpu_s - cpu_s, time.process_time() - mine_s
    written, read = server.written_bytes - written, server.read_bytes - read
    count = len(volley.hits)
    cost = Cost(
        requests=count,
        failed=sum(hit.status not in (200, 201) for hit in volley.hits),
        rate=volley.rate,
        p50_ms=volley.latency_ms(0.5),
        p99_ms=volley.latency_ms(0.99),
        cpu_us=cpu_s / count * 1e6,
        client_share=mine_s / volley.took_s,
        written_kib=written / count / 1024,
        read_kib=read / count / 1024,
    )
    return cost, volley


def lasting(shots: Iterable[Shot], seconds: float) -> Iterator[Shot]:
    """The shots until the time is over."""
    until = time.perf_counter() + seconds
    for shot in shots:
        yield shot
        if time.perf_counter() >= until:
            return


def echoes() -> Iterator[Shot]:
    """Requests to the bare server, without end."""
    return cycle([Shot(None, ECHOED)])


def starts(token: str, started: Mapping[str, Any] = START) -> Iterator[Shot]:
    """Starts of runs that park, without end."""
    request = wire("POST", "/process-runs/", json.dumps(started).encode(), {"Authorization": f"Bearer {token}"})
    return cycle([Shot(None, request)])


def reads(run_ids: Sequence[str], token: str) -> Iterator[Shot]:
    """Reads of these runs."""
    return gets((f"/process-runs/{run_id}" for run_id in run_ids), token)


def gets(paths: Iterable[str], token: str) -> Iterator[Shot]:
    """Requests for these."""
    headers = {"Authorization": f"Bearer {token}"}
    return (Shot(path, wire("GET", path, headers=headers)) for path in paths)


def verdicts(run_ids: Iterable[str], token: str) -> Iterator[Shot]:
    """A verdict for each of these runs."""
    return (Shot(run_id, resume(run_id, "approved", token)) for run_id in run_ids)


def run_id_of(hit: Hit) -> str:
    """The id of the run in an answer; it stands first."""
    return hit.body.partition(b'"id":"')[2][:36].decode()


def begun(volley: Volley) -> list[str]:
    """The ids of the runs that were started."""
    return [run_id_of(hit) for hit in volley.hits if hit.status == 201]


def medians(costs: Sequence[Cost]) -> dict[str, Any]:
    """The medians of several rounds, with the number of requests and failures of all."""
    found: dict[str, Any] = {name: statistics.median(getattr(cost, name) for cost in costs) for name in FIELDS}
    found |= {"requests": sum(cost.requests for cost in costs), "failed": sum(cost.failed for cost in costs)}
    return found | {"rounds": [asdict(cost) for cost in costs]}


def chosen(run_ids: Sequence[str], count: int, seed: int) -> list[str]:
    """So many of these at random, none twice; all when there are fewer."""
    return random.Random(seed).sample(run_ids, min(count, len(run_ids)))
