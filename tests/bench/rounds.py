"""Echo, starts, reads and resumes side by side, in rounds that take turns, over several numbers of
connections.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.bench.plan import Plan
from tests.bench.servers import Served, echoing, serving
from tests.bench.shooting import Cost, begun, echoes, lasting, medians, reads, shoot, starts, verdicts

KINDS = ("starts", "reads", "resumes")
BATCHES = ("store_batch_size_sum", "store_batch_size_count", "store_batch_seconds_sum")
CANNED = "tests.bench.canned"
READ_MAX = 2_000
ROWS_A_TURN = {"starts": 4, "resumes": 3}
Round = dict[str, Cost]
Batches = dict[str, dict[str, float]]


async def measured(folder: Path, plan: Plan) -> dict[str, Any]:
    """All rounds, and how fast the client alone could be."""
    found: dict[str, Any] = {}
    async with echoing() as echo, serving(folder / "rounds") as service:
        token, _ = await service.register()
        await shoot(service, lasting(starts(token), plan.seconds), min(64, plan.held_at))
        for connections in plan.connections:
            rounds = [
                await _round(echo, service, token, connections, plan, echo_first=number % 2 == 0)
                for number in range(plan.rounds)
            ]
            found[str(connections)] = _told(rounds)
    async with echoing(CANNED) as canned:
        ceiling = [(await shoot(canned, lasting(echoes(), plan.seconds), plan.held_at))[0] for _ in range(plan.rounds)]
    return {"connections": found, "held_at": str(plan.held_at), "client_ceiling": medians(ceiling)}


async def _round(
    echo: Served, service: Served, token: str, connections: int, plan: Plan, *, echo_first: bool
) -> tuple[Round, Batches]:
    found: Round = {}
    batches: Batches = {}
    for server in (echo, service) if echo_first else (service, echo):
        if server is echo:
            found["echo"], _ = await shoot(echo, lasting(echoes(), plan.seconds), connections)
        else:
            await _serve_round(service, token, connections, plan.seconds, (found, batches))
    return found, batches


async def _serve_round(
    service: Served, token: str, connections: int, seconds: float, into: tuple[Round, Batches]
) -> None:
    """Starts, then reads of what was started while it is in memory, then a verdict on each."""
    found, batches = into
    before = await service.counted(*BATCHES)
    found["starts"], volley = await shoot(service, lasting(starts(token), seconds), connections)
    between = await service.counted(*BATCHES)
    run_ids = begun(volley)
    some = cycle(list(reads(run_ids[-READ_MAX:], token)))
    found["reads"], _ = await shoot(service, lasting(some, seconds), connections)
    again = await service.counted(*BATCHES)
    found["resumes"], _ = await shoot(service, lasting(verdicts(run_ids, token), seconds), connections)
    after = await service.counted(*BATCHES)
    batches["starts"] = {name: between[name] - before[name] for name in BATCHES}
    batches["resumes"] = {name: after[name] - again[name] for name in BATCHES}


def _told(rounds: Sequence[tuple[Round, Batches]]) -> dict[str, Any]:
    """The medians, the ratios to the echo of the same round, and what a transaction held."""
    told: dict[str, Any] = {"echo": medians([one["echo"] for one, _ in rounds])}
    for kind in KINDS:
        costs = [one[kind] for one, _ in rounds]
        ratios = [one[kind].rate / one["echo"].rate for one, _ in rounds]
        told[kind] = medians(costs) | {
            "ratio": statistics.median(ratios),
            "ratio_least": min(ratios),
            "ratio_most": max(ratios),
            "p99_times": statistics.median(one[kind].p99_ms / one["echo"].p99_ms for one, _ in rounds),
            "cpu_times": statistics.median(one[kind].cpu_us / one["echo"].cpu_us for one, _ in rounds),
        }
        if kind in rounds[0][1]:
            told[kind] |= _transactions([one[kind] for _, one in rounds], costs, ROWS_A_TURN[kind])
    return told


def _transactions(batches: Sequence[dict[str, float]], costs: Sequence[Cost], rows: int) -> dict[str, float]:
    """How many transactions there were a second, how many writes each held, and how long it
    took.
    """
    works = sum(one["store_batch_size_sum"] for one in batches)
    count = sum(one["store_batch_size_count"] for one in batches)
    took_s = sum(cost.requests / cost.rate for cost in costs)
    return {
        "writes": works,
        "transactions_a_second": count / took_s,
        "writes_a_transaction": works / count,
        "rows_a_transaction": rows * works / count,
        "transaction_ms": sum(one["store_batch_seconds_sum"] for one in batches) / count * 1000,
    }
