"""Everybody who uses the service, in a process of its own: 64 clients whose every request and
answer is logged durably.

`python -m tests.crash.driver PORT TOKEN FILE SEED [CLIENTS]` works until its standard input ends,
and then goes on until each client's run is at its end. Each request has a number, which its comment
carries into the run's history.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import sys
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import uvloop

from tests.crash.folding import seen
from tests.crash.ledger import stdin_ends
from tests.crash.notes import Notes
from tests.crash.wire import Answer, Lost, Unsent, Wire
from tests.crash.world import WEIGHTS

CLIENTS = 64
MOVES_MAX = 60
PAUSE_S = 0.05
HASTY_S = 0.004
PATIENCE_S = 30.0
GONE = 404
PREFERRED = {
    ("again", "enough"): (0.8, 0.2),
    ("approved", "denied"): (0.85, 0.15),
    ("retry", "done", "denied"): (0.4, 0.4, 0.2),
}
View = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, which may be sent more than once if it has a key."""

    n: int
    do: str
    method: str
    path: str
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def keyed(self) -> bool:
        """Whether it may be repeated."""
        return "Idempotency-Key" in self.headers


class Client:
    """One of the clients: it takes one run after the other through its life, over two
    connections.
    """

    def __init__(self, port: int, token: str, notes: Notes, numbers: count[int], seed: str) -> None:
        self._wires = Wire(port, token), Wire(port, token)
        self._notes, self._numbers = notes, numbers
        self._random = random.Random(seed)
        self._plan = 0
        self._kept: list[Ask] = []

    async def work(self, stopping: asyncio.Event) -> None:
        """Live one life after the other until told to stop."""
        while not stopping.is_set():
            await self._live()

    async def _live(self) -> None:
        self._plan, self._kept = next(self._numbers), []
        run = await self._start()
        run_id = "" if run is None else run["id"]
        for _ in range(MOVES_MAX if run_id else 0):
            run = run or await self._read(run_id)
            if run is None or run["ended"] is not None:
                break
            run = await self._move(run)
        for ask in self._kept[-3:]:
            if self._chance(0.2):
                await self._until_answered(ask)

    async def _start(self) -> View | None:
        """The run, or None when nobody knows which it is."""
        vertical = self._random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        body = {"vertical": vertical, "inputs": {"plan": self._plan}}
        ask = self._asking("start", "POST", "/process-runs/", body, keyed=self._chance(0.5))
        if self._chance(0.1):
            ask.headers["Prefer"] = "respond-async"
        return await self._answered(ask)

    async def _read(self, run_id: str) -> View | None:
        """The run, or None when it is gone, which the checker judges."""
        while True:
            answer = await self._once(self._asking("read", "GET", f"/process-runs/{run_id}", {}, keyed=False), 0)
            run = _run(answer)
            if run is not None or (answer is not None and answer.status == GONE):
                return run

    async def _move(self, run: View) -> View | None:
        """Do the next thing; the run as the answer shows it, or None when it has to be read."""
        path = f"/process-runs/{run['id']}"
        if self._chance(0.01):
            return await self._command("cancel", path)
        if run["status"] == "failed":
            return await self._command("retry" if self._chance(0.9) else "cancel", path)
        if run["status"] == "executing":
            await asyncio.sleep(PAUSE_S)
            return await self._read(run["id"])
        return await self._decide(run, self._random.choice(run["gates"]))

    async def _command(self, do: str, path: str) -> View | None:
        ask = self._asking(do, "POST", f"{path}/{do}", {}, keyed=self._chance(0.5))
        if do == "cancel":
            ask.body["reason"] = f"#{ask.n}"
        return await self._answered(ask)

    async def _decide(self, run: View, gate: View) -> View | None:
        """Give a verdict: alone, against another one at the same time, or the same one twice at
        once.
        """
        first = self._verdict(run, gate)
        if self._chance(0.25):
            second = self._verdict(run, gate, but=first.body["decision"])
            return await self._both(self._answered(first), self._answered(second, 1))
        if first.keyed and self._chance(0.1):
            return await self._both(self._answered(first), self._answered(first, 1))
        return await self._answered(first)

    async def _both(
        self, one: Coroutine[Any, Any, View | None], other: Coroutine[Any, Any, View | None]
    ) -> View | None:
        first, second = await asyncio.gather(one, other)
        return first or second

    def _verdict(self, run: View, gate: View, but: str | None = None) -> Ask:
        decisions = tuple(gate["decisions"])
        weights = PREFERRED[decisions]
        allowed = [(d, w) for d, w in zip(decisions, weights, strict=True) if d != but]
        decision = self._random.choices([d for d, _ in allowed], [w for _, w in allowed])[0]
        body = {"gate": gate["step_id"], "decision": decision}
        ask = self._asking("resume", "POST", f"/process-runs/{run['id']}/resume", body, keyed=self._chance(0.5))
        ask.body["comment"] = f"#{ask.n}"
        if self._chance(0.3):
            ask.body["digest"] = gate["digest"]
        elif self._chance(0.1):
            ask.headers["If-Match"] = f'"{run["version"]}"'
        if self._chance(0.05):
            ask.headers["Prefer"] = "respond-async"
        return ask

    def _asking(self, do: str, method: str, path: str, body: dict[str, Any], *, keyed: bool) -> Ask:
        number = next(self._numbers)
        return Ask(number, do, method, path, body, {"Idempotency-Key": f"key-{number}"} if keyed else {})

    async def _answered(self, ask: Ask, wire: int = 0) -> View | None:
        """The run in the answer; one with a key is asked until it is answered, one without only
        once.
        """
        if ask.keyed:
            self._kept.append(ask)
            return await self._until_answered(ask, wire)
        return _run(await self._once(ask, wire))

    async def _until_answered(self, ask: Ask, wire: int = 0) -> View | None:
        while True:
            answer = await self._once(ask, wire)
            if answer is not None and answer.status != 503:
                return _run(answer)
            await asyncio.sleep(PAUSE_S)

    async def _once(self, ask: Ask, wire: int) -> Answer | None:
        """Ask and log; None when no answer came."""
        line: dict[str, Any] = {"plan": self._plan, "n": ask.n}
        body = ask.body if ask.method == "POST" else None
        if body is not None:
            asked = {"do": ask.do, "path": ask.path, "body": body, "headers": ask.headers}
            await self._notes.write({**line, "type": "asked", "at": time.time(), **asked})
        hasty = body is not None and self._chance(0.01)
        answer = await self._sent(ask, wire, HASTY_S if hasty else PATIENCE_S)
        if answer is None:
            await self._notes.write({**line, "type": "lost", "at": time.time()})
        else:
            await self._notes.write({**line, "type": "answered", "at": time.time(), **told(ask, answer)})
        return answer

    async def _sent(self, ask: Ask, wire: int, timeout_s: float) -> Answer | None:
        body = ask.body if ask.method == "POST" else None
        while True:
            try:
                return await self._wires[wire].ask(ask.method, ask.path, body, ask.headers, timeout_s)
            except Unsent:  # the service is not there just now
                await asyncio.sleep(PAUSE_S * (1 + self._random.random()))
            except Lost:
                return None

    def _chance(self, share: float) -> bool:
        return self._random.random() < share


def _run(answer: Answer | None) -> View | None:
    return None if answer is None or answer.status >= 300 else answer.json


def told(ask: Ask, answer: Answer) -> dict[str, Any]:
    """What an answer says, as far as it can be held against the history."""
    line = {"do": ask.do, "status": answer.status, "sha256": hashlib.sha256(answer.body).hexdigest()}
    if answer.status < 300:
        run = answer.json
        comment = f"#{ask.n}"
        given = [[one["step_id"], one["visit"]] for one in run["trace"] if _comment(one) == comment]
        return {**line, "run": {**seen(run), "id": run["id"]}, "given": given}
    problem = answer.json
    return {**line, "code": problem["code"], "decided": problem.get("decided"), "outcome": problem.get("outcome")}


def _comment(visit: View) -> str | None:
    verdict = visit["verdict"]
    return None if verdict is None else verdict["comment"]


async def main(port: int, token: str, file: Path, seed: str, clients: int = CLIENTS) -> None:
    """Work until standard input ends, then bring what was begun to its end."""
    notes, numbers, stopping = Notes(file), count(1), asyncio.Event()
    crowd = [Client(port, token, notes, numbers, f"{seed}:{number}") for number in range(clients)]
    async with asyncio.TaskGroup() as group:
        for client in crowd:
            group.create_task(client.work(stopping))
        await stdin_ends()
        stopping.set()


if __name__ == "__main__":
    port, token, file, seed, *clients = sys.argv[1:]
    with suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(int(port), token, Path(file), seed, *map(int, clients)))
