"""Has a crowd decide on many gates while the service is killed in between, and checks the record of
each gate.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.lives import Lifecycle, free_port
from tests.crash.provoke import registered
from tests.crash.service import write_templates
from tests.linear.crowd import Caller, Record, Shares
from tests.linear.gate import fault

CHUNK = 200


@dataclass
class Outcome:
    """What the record says."""

    gates: int = 0
    decided: int = 0
    operations: int = 0
    kills: int = 0
    took_s: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        answers = ", ".join(f"{times:,} x {status or 'no answer'}" for status, times in self.statuses.most_common())
        lines = [
            f"gates           {self.gates:,}, {self.decided:,} with a verdict",
            f"operations      {self.operations:,} in {self.took_s:,.0f} s",
            f"answers         {answers}",
            f"kills           {self.kills}",
            f"linearizable    {self.gates - len(self.faults):,} of {self.gates:,}",
        ]
        return "\n".join([*lines, *self.faults[:10]])


@dataclass
class Harness:
    """One performance in a folder."""

    folder: Path
    gates: int
    callers: int
    kills: int
    seconds: float = 420.0
    shares: Shares = Shares()  # noqa: RUF009 - frozen
    record: Record = field(default_factory=Record)
    outcome: Outcome = field(default_factory=Outcome)

    async def perform(self) -> Outcome:
        """Decide on all gates, or on as many as there is time for; read each once more at the end;
        check.
        """
        write_templates(self.folder / "templates")
        port, began = free_port(), time.monotonic()
        life = await _up(self.folder, port)
        token = await registered(port, "ada@example.test")
        crowd = [Caller(port, token, self.record, number, self.shares) for number in range(self.callers)]
        try:
            every = max(1, -(-self.gates // (self.kills + 1)))
            while len(self.record.ops) < self.gates and time.monotonic() - began < self.seconds:
                run_ids = await self._started(crowd, min(CHUNK, every))
                deciding = [asyncio.create_task(caller.decide(run_ids)) for caller in crowd]
                if self.outcome.kills < self.kills and len(self.record.ops) >= every * self.outcome.kills:
                    life = await self._killed(life, port, run_ids)
                await asyncio.gather(*deciding)
            run_ids = list(self.record.ops)
            await asyncio.gather(*(_read(caller, run_ids[at :: self.callers]) for at, caller in enumerate(crowd)))
        finally:
            await life.kill()
        return self._checked(time.monotonic() - began)

    async def _started(self, crowd: list[Caller], at_most: int) -> list[str]:
        wanted = min(at_most, self.gates - len(self.record.ops))
        shares = [len(range(number, wanted, len(crowd))) for number in range(len(crowd))]
        started = await asyncio.gather(*(caller.start(share) for caller, share in zip(crowd, shares, strict=True)))
        return [run_id for some in started for run_id in some]

    async def _killed(self, life: Lifecycle, port: int, run_ids: list[str]) -> Lifecycle:
        """Kill the service when the crowd is about half through these gates, and start it again."""
        await self.record.reached(run_ids[len(run_ids) // 2])
        await life.kill()
        self.outcome.kills += 1
        return await _up(self.folder, port)

    def _checked(self, took_s: float) -> Outcome:
        ops = self.record.ops
        faults = ((run_id, fault(some)) for run_id, some in ops.items())
        self.outcome.faults = [f"{run_id}: {what}" for run_id, what in faults if what is not None]
        self.outcome.gates, self.outcome.took_s = len(ops), took_s
        self.outcome.operations = sum(map(len, ops.values()))
        self.outcome.decided = sum(any(op.result in ("won", "closed") for op in some) for some in ops.values())
        self.outcome.statuses = self.record.statuses
        return self.outcome


async def _read(caller: Caller, run_ids: list[str]) -> None:
    for run_id in run_ids:
        await caller.read(run_id)


async def _up(folder: Path, port: int) -> Lifecycle:
    life = await Lifecycle.start(folder, port)
    if not await life.ready():
        raise AssertionError("the service does not start")
    return life
