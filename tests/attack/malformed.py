"""Malformed requests by the thousand: nothing breaks, and each refusal has the contract's form."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from tests.attack.report import Report
from tests.attack.requests import KINDS
from tests.attack.service import Target
from tests.attack.wire import ask

AT_ONCE = 32
WITHIN_S = 0.4
SHOWN_MAX = 12
GROWN_MB_MOST = 250.0


@dataclass(slots=True)
class Found:
    """How the requests were answered."""

    statuses: Counter[int] = field(default_factory=Counter)
    mistakes: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)


def made(seed: int, count: int, token: str) -> Iterator[tuple[str, bytes]]:
    """So many requests with the names of their kinds, always the same ones from the same seed."""
    for number in range(count):
        chance = Random(f"{seed} {number}")
        kind = KINDS[number % len(KINDS)]
        yield f"{kind.__name__} {number}", kind(chance, token)


async def _send(port: int, waiting: Iterator[tuple[str, bytes]], found: Found) -> None:
    for name, request in waiting:
        answer = await ask(port, request, within_s=WITHIN_S)
        found.statuses[0 if answer is None else answer.status] += 1
        if answer is not None and (mistake := answer.mistake()) is not None:
            found.mistakes[f"{name.split()[0]}: {mistake}"] += 1
            found.examples.append(f"{name}: {mistake} to {request[:120]!r}")


async def malformed(target: Target, report: Report, count: int, seed: int) -> None:
    """Send so many, each on a connection of its own; what is not answered by then is left
    half-way.
    """
    token, found, before = await target.register("malformed"), Found(), target.memory_mb
    waiting = made(seed, count, token)
    await asyncio.gather(*(_send(target.port, waiting, found) for _ in range(AT_ONCE)))
    told = {("none" if status == 0 else status): times for status, times in sorted(found.statuses.items())}
    report.told("malformed requests, by answer", told)
    report.least("malformed requests sent", sum(found.statuses.values()), count)
    report.most("answered 500", found.statuses[500], 0)
    report.most("answered otherwise than the contract says", sum(found.mistakes.values()), 0)
    faults = target.faults()
    report.most("faults in the service's log", len(faults), 0)
    report.least("alive and well behind them", int(target.alive and await target.healthy()), 1)
    report.most("memory grown", target.memory_mb - before, GROWN_MB_MOST, " MB")
    for line in [*faults[:SHOWN_MAX], *found.examples[:SHOWN_MAX]]:
        report.told("  example", line)
