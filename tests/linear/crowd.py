"""Many callers who all decide on the same gates at the same time, and the record of what each was
told.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import orjson

from tests.crash.wire import Answer, Lost, Unsent, Wire
from tests.linear.gate import NEVER, Op, Result, Stamp
from tests.load.pump import wire

GATE = "signoff"
START = {"vertical": "held"}
DECISIONS = ("approved", "denied")
PATIENCE_S = 30.0
PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class Shares:
    """How often a caller has no patience, uses an Idempotency-Key, or reads the run first."""

    hasty: float = 0.01
    hasty_s: float = 0.02
    keyed: float = 0.1
    reads: float = 0.05


@dataclass
class Record:
    """What happened at each gate; moments are drawn from one counter, so that their order is the
    order in time.
    """

    moments: count[int] = field(default_factory=count)
    ops: dict[str, list[Op]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    _waiting: dict[str, asyncio.Event] = field(default_factory=dict)

    async def reached(self, run_id: str) -> None:
        """Wait until the crowd has come to a gate."""
        if run_id not in self.ops:
            await self._waiting.setdefault(run_id, asyncio.Event()).wait()

    def note(self, run_id: str, op: Op) -> None:
        """Keep what happened at a gate."""
        self.ops.setdefault(run_id, []).append(op)
        if run_id in self._waiting:
            self._waiting.pop(run_id).set()


class Caller:
    """One of the callers, over a connection of its own."""

    def __init__(self, port: int, token: str, record: Record, number: int, shares: Shares) -> None:
        self._wire = Wire(port, token)
        self._token, self._record, self._number, self._shares = token, record, number, shares
        self._random = random.Random(number)

    async def start(self, times: int) -> list[str]:
        """Start so many runs, each parked at its gate."""
        started: list[str] = []
        while len(started) < times:
            answer = await self._asked(wire("POST", "/process-runs/", orjson.dumps(START), self._headers()), PATIENCE_S)
            if answer is not None and answer.status == 201:
                started.append(answer.json["id"])
        return started

    async def decide(self, run_ids: Sequence[str]) -> None:
        """Give a verdict at each gate; half of the callers approve, half deny."""
        for run_id in run_ids:
            if self._random.random() < self._shares.reads:
                await self.read(run_id)
            await self._verdict(run_id)

    async def read(self, run_id: str) -> None:
        """Look at a gate, and note whether it is open."""
        request = wire("GET", f"/process-runs/{run_id}", headers=self._headers())
        while True:
            invoked = next(self._record.moments)
            answer = await self._asked(request, PATIENCE_S)
            if answer is not None and answer.status == 200:
                stamp = verdict_of(answer.json)
                self._note(run_id, invoked, None, "open" if stamp is None else "closed", stamp)
                return

    async def _verdict(self, run_id: str) -> None:
        decision, shares = DECISIONS[self._number % 2], self._shares
        keyed = self._random.random() < shares.keyed
        patience_s = shares.hasty_s if self._random.random() < shares.hasty else PATIENCE_S
        body = orjson.dumps({"gate": GATE, "decision": decision})
        request = wire(
            "POST", f"/process-runs/{run_id}/resume", body, self._headers(f"{self._number}" if keyed else None)
        )
        invoked = next(self._record.moments)
        answer = await self._asked(request, patience_s)
        while keyed and (answer is None or answer.status == 503):
            await asyncio.sleep(PAUSE_S)
            answer = await self._asked(request, PATIENCE_S)
        told = outcome(answer)
        if told is not None:
            self._note(run_id, invoked, decision, *told)

    def _note(self, run_id: str, invoked: int, decision: str | None, result: Result, stamp: Stamp | None) -> None:
        returned = NEVER if result == "unknown" else next(self._record.moments)
        self._record.note(run_id, Op(invoked, returned, decision, result, stamp))

    async def _asked(self, request: bytes, patience_s: float) -> Answer | None:
        """The answer; None when none came. While there is no service nothing is sent, and so
        nothing happens.
        """
        while True:
            try:
                answer = await self._wire.send(request, patience_s)
            except Unsent:
                await asyncio.sleep(PAUSE_S)
            except Lost:
                self._record.statuses[0] += 1
                return None
            else:
                self._record.statuses[answer.status] += 1
                return answer

    def _headers(self, key: str | None = None) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"} | ({} if key is None else {"Idempotency-Key": key})


def outcome(answer: Answer | None) -> tuple[Result, Stamp | None] | None:
    """What a verdict's answer says; None when it says that nothing happened."""
    if answer is None:
        return "unknown", None
    match answer.status:
        case 200:
            return "won", verdict_of(answer.json)
        case 409:
            decided = answer.json["decided"]
            return "closed", None if decided is None else Stamp(decided["decision"], decided["at"])
        case 412:
            return "closed", None
        case 503:
            return None if answer.json["outcome"] == "not_applied" else ("unknown", None)
        case _:
            raise AssertionError(f"a verdict was answered {answer.status}: {answer.body[:500]!r}")


def verdict_of(run: dict[str, Any]) -> Stamp | None:
    """The verdict that closed the gate of a run as it is shown."""
    for visit in run["trace"]:
        if visit["step_id"] == GATE and visit["verdict"] is not None:
            return Stamp(visit["verdict"]["decision"], visit["verdict"]["at"])
    return None
