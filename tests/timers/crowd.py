"""Many waits that end within one minute: when each was told, and what the event loop felt."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

from tests.crash.lives import Lifecycle, free_port
from tests.crash.provoke import registered
from tests.crash.service import write_templates
from tests.crash.wire import Wire
from tests.load.pump import Shot, fire, wire

TIMED = """
  - {id: pause, kind: wait, label: Pause, until: timestamp(inputs.at), next: over}
  - {id: over, kind: end, label: Over, outcome: over}
"""
MINUTE_S = 60.0
GRACE_S = 1.0
CONNECTIONS = 32
STARTS_A_SECOND = 700
BEGIN_S = 5.0
LOOK_S = 0.2
STALL_S = 0.05
_UPDATED = "SELECT id, status, updated_at FROM runs"


@dataclass
class Outcome:
    """What came of it; lateness counts from the time at which a wait was to end."""

    within_s: float = MINUTE_S
    timers: int = 0
    fired: int = 0
    took_s: float = 0.0
    late_s: list[float] = field(default_factory=list)
    samples: int = 0
    stalls: int = 0
    health_ms: list[float] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether all were told, and within the minute in which they were due."""
        return self.fired == self.timers > 0 and self.took_s <= self.within_s + GRACE_S

    @property
    def smooth(self) -> bool:
        """Whether the event loop was measured, and never stalled."""
        return self.samples > 0 == self.stalls

    def __str__(self) -> str:
        late, health = sorted(self.late_s), sorted(self.health_ms)
        return "\n".join(
            (
                f"timers    {self.timers:,} due within {self.within_s:.0f} s, {self.fired:,} fired",
                f"took      {self.took_s:.1f} s from the first that was due to the last that fired",
                f"late      {_at(late, 0.5):.3f} s median, {_at(late, 0.99):.3f} s p99, {_at(late, 1):.3f} s at most",
                f"loop      {self.stalls} of {self.samples:,} samples above {STALL_S * 1000:.0f} ms",
                f"/health   {_at(health, 0.99):.0f} ms p99, {_at(health, 1):.0f} ms at most",
            )
        )


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


@dataclass
class Crowd:
    """One performance in a folder, of a service of its own."""

    folder: Path
    count: int
    within_s: float = MINUTE_S
    outcome: Outcome = field(default_factory=Outcome)
    due: dict[str, datetime] = field(default_factory=dict)

    async def perform(self) -> Outcome:
        """Start all runs, wait until all were told, and look at each."""
        write_templates(self.folder / "templates", {"timed": TIMED})
        port, metrics = free_port(), free_port()
        life = await Lifecycle.start(self.folder, port, metrics_port=metrics)
        try:
            assert await life.ready()
            token = await registered(port, "ada@example.test")
            self.outcome.within_s = self.within_s
            first = datetime.now(UTC) + timedelta(seconds=BEGIN_S + self.count / STARTS_A_SECOND)
            await self._start(port, token, first)
            await asyncio.sleep((first - datetime.now(UTC)).total_seconds())
            before, began = await _lag(metrics), time.monotonic()
            await self._told(port, token, began)
            after = await _lag(metrics)
        finally:
            await life.kill()
        self.outcome.samples, self.outcome.stalls = after[0] - before[0], after[1] - before[1]
        return self._looked_at(first)

    async def _start(self, port: int, token: str, first: datetime) -> None:
        def shots() -> Iterator[Shot]:
            headers = {"Authorization": f"Bearer {token}"}
            for number in range(self.count):
                at = first + timedelta(seconds=self.within_s * number / self.count)
                body = orjson.dumps({"vertical": "timed", "inputs": {"at": at.isoformat()}})
                yield Shot(at, wire("POST", "/process-runs/", body, headers))

        volley = await fire(port, shots(), CONNECTIONS)
        self.due = {orjson.loads(hit.body)["id"]: hit.tag for hit in volley.hits if hit.status == 201}
        if len(self.due) < self.count or datetime.now(UTC) > first:
            raise AssertionError(f"{len(self.due)} of {self.count} runs stood in time")

    async def _told(self, port: int, token: str, began: float) -> None:
        """Wait until no run waits any more, or twice as long as it may take."""
        client = Wire(port, token)
        while time.monotonic() - began < 2 * self.within_s + BEGIN_S:
            asked = time.perf_counter()
            await client.ask("GET", "/health")
            self.outcome.health_ms.append((time.perf_counter() - asked) * 1000)
            if not (await client.ask("GET", "/process-runs/?status=waiting&limit=1")).json:
                return
            await asyncio.sleep(LOOK_S)

    def _looked_at(self, first: datetime) -> Outcome:
        with closing(sqlite3.connect(self.folder / "data" / "penstock.db")) as db:
            rows = db.execute(_UPDATED).fetchall()
        ended = {run_id: datetime.fromisoformat(at) for run_id, status, at in rows if status == "completed"}
        found = self.outcome
        found.timers, found.fired = len(self.due), len(ended)
        found.late_s = [(ended[one] - at).total_seconds() for one, at in self.due.items() if one in ended]
        found.took_s = (max(ended.values(), default=first) - first).total_seconds()
        return found


async def _lag(port: int) -> tuple[int, int]:
    """How often the service has measured the delay of its event loop, and how often it was long."""
    text = (await Wire(port).ask("GET", "/metrics")).body.decode()
    counts = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("penstock_event_loop_lag"))
    every = int(float(counts["penstock_event_loop_lag_seconds_count"]))
    return every, every - int(float(counts[f'penstock_event_loop_lag_seconds_bucket{{le="{STALL_S}"}}']))
