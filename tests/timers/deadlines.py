"""Verdicts that race with deadlines, while the clock jumps and the service is killed: each gate has
one outcome, the same wherever it is told.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, web

from daemon.verification.exports import verify_export
from tests.cluster.daemons import KEYS, make_keys
from tests.crash.lives import Lifecycle, free_port
from tests.crash.provoke import registered
from tests.crash.service import environment, write_templates
from tests.crash.wire import Answer, Lost, Unsent, Wire
from tests.listening import Listener
from tests.timers.jumping import MovedClock

DEADLINE_S = 2.0
AROUND_S = 0.05
HOUR_S = 3_600.0
LEASE_S = "3"
CALLERS = 192
PAUSE_S = 0.02
SETTLE_S = 120.0
RACE = f"""
  - {{id: look, kind: gate, label: Look, deadline: PT{DEADLINE_S:.0f}S, on_deadline: denied,
     next: {{approved: good, denied: bad}}}}
  - {{id: good, kind: end, label: Good, outcome: good}}
  - {{id: bad, kind: end, label: Bad, outcome: bad}}
"""
CLOSING = ("verdict_given", "gate_expired")
OUTCOMES = {"approved": "good", "denied": "bad"}
Closing = tuple[str, str, str]
"""How a gate closed: the type of the event, the decision, and by whom."""


class Receiver(Listener):
    """A receiver of webhooks: what was told of each run, each event once."""

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[str, dict[str, dict[str, Any]]] = {}

    async def handle(self, request: web.Request) -> web.Response:
        said = json.loads(await request.read())["data"]
        self.told.setdefault(said["run_id"], {})[said["id"]] = said["event"]
        return web.Response()


@dataclass
class Outcome:
    """What came of it."""

    gates: int = 0
    by: Counter[str] = field(default_factory=Counter)
    answers: Counter[int] = field(default_factory=Counter)
    jumps: int = 0
    kills: int = 0
    took_s: float = 0.0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        answers = ", ".join(f"{times:,} x {status or 'no answer'}" for status, times in self.answers.most_common())
        closed = ", ".join(f"{times:,} {how}" for how, times in self.by.most_common())
        lines = [
            f"gates     {self.gates:,} closed: {closed}",
            f"answers   {answers}",
            f"between   {self.jumps} jumps of the clock by an hour, {self.kills} kills, {self.took_s:,.0f} s",
            f"faults    {len(self.faults)}",
        ]
        return "\n".join([*lines, *self.faults[:10]])


@dataclass
class Race:
    """One performance in a folder: so many gates, jumps and kills in turn.

    Daemons that share a PostgreSQL are named by its `database_url`.
    """

    folder: Path
    gates: int
    turns: int
    daemons: int = 1
    database_url: str | None = None
    outcome: Outcome = field(default_factory=Outcome)
    told: dict[str, list[tuple[str, Answer | None]]] = field(default_factory=dict)
    started: int = 0
    lives: list[Lifecycle] = field(default_factory=list)

    async def perform(self) -> Outcome:
        """Race at every gate, then let the clock run out, and compare."""
        write_templates(self.folder / "templates", {"race": RACE})
        self.clock, self.ports = MovedClock(self.folder / "clock", -HOUR_S), [free_port() for _ in range(self.daemons)]
        began = time.monotonic()
        if self.database_url is not None:
            make_keys(self.folder)
        async with Receiver() as receiver:
            try:
                for number in range(self.daemons):
                    self.lives.append(await self._up(number))
                self.token = await registered(self.ports[0], "ada@example.test")
                events = [*CLOSING, "run_ended"]
                await self._client().ask("POST", "/webhooks/", {"url": receiver.url, "events": events})
                await asyncio.gather(self._disturb(), *(self._call(number) for number in range(CALLERS)))
                self._jump(HOUR_S if self.outcome.jumps % 2 == 0 else 2 * HOUR_S)
                await self._settled(receiver)
                await self._compare(receiver)
            finally:
                for life in self.lives:
                    await life.kill()
        self.outcome.took_s = time.monotonic() - began
        return self.outcome

    def _client(self, number: int = 0) -> Wire:
        return Wire(self.ports[number % self.daemons], self.token)

    async def _up(self, number: int) -> Lifecycle:
        port = str(self.ports[number])
        command = (sys.executable, "-m", "tests.timers.jumping", str(self.clock.file), "serve", "--port", port)
        settings = {"log_level": "error", "run_idle_s": "0.3", "data_dir": str(self.folder / f"data-{number}")}
        if self.database_url is not None:
            settings |= {"database_url": self.database_url, "lease_s": LEASE_S}
            settings |= {f"{name}_file": str(self.folder / "keys" / file) for name, file in KEYS.items()}
        with (self.folder / f"service-{number}.log").open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *command, stdout=asyncio.subprocess.PIPE, stderr=errors, env=environment(self.folder, **settings)
            )
        life = Lifecycle(process)
        if not await life.ready():
            raise AssertionError("the service does not start")
        return life

    def _jump(self, seconds: float) -> None:
        self.clock.jump(seconds)
        self.outcome.jumps += 1

    async def _disturb(self) -> None:
        """Let the clock jump, there and back, and kill the service, while gates are open."""
        for turn in range(1, self.turns + 1):
            await self.reached(self.gates * turn // (self.turns + 1))
            self._jump(HOUR_S if turn % 2 else -HOUR_S)
            if turn % 2 == 0:
                number = self.outcome.kills % self.daemons
                await self.lives[number].kill()
                self.outcome.kills += 1
                self.lives[number] = await self._up(number)

    async def reached(self, count: int) -> None:
        """Wait until so many gates were opened."""
        while self.started < count:  # noqa: ASYNC110 - a look now and then is soon enough
            await asyncio.sleep(PAUSE_S)

    async def _call(self, number: int) -> None:
        """Open gate after gate, and give two verdicts at each at about its deadline."""
        chance = random.Random(number)
        wires = [self._client(number + one) for one in range(len(OUTCOMES))]
        while self.started < self.gates:
            self.started += 1
            answer = await self._asked(wires[0], "/process-runs/", {"vertical": "race"})
            if answer is None or answer.status != 201:
                self.started -= 1
                continue
            run = answer.json
            due = datetime.fromisoformat(run["gate"]["due_at"])
            verdicts = zip(wires, OUTCOMES, strict=True)
            done = (
                self._decide(one, run["id"], word, due, chance.uniform(-AROUND_S, AROUND_S)) for one, word in verdicts
            )
            self.told[run["id"]] = list(await asyncio.gather(*done))

    async def _decide(
        self, one: Wire, run_id: str, word: str, due: datetime, around_s: float
    ) -> tuple[str, Answer | None]:
        """A verdict so long before or after the deadline, by the clock of the service."""
        left = (due - self.clock.now()).total_seconds() + around_s
        await asyncio.sleep(min(max(left, 0.0), DEADLINE_S + AROUND_S))
        return word, await self._asked(one, f"/process-runs/{run_id}/resume", {"gate": "look", "decision": word})

    async def _asked(self, one: Wire, path: str, body: dict[str, Any]) -> Answer | None:
        while True:
            try:
                answer = await one.ask("POST", path, body)
            except Unsent:
                await asyncio.sleep(PAUSE_S)
            except Lost:
                self.outcome.answers[0] += 1
                return None
            else:
                self.outcome.answers[answer.status] += 1
                return answer

    # ---------------------------------------------------------------------------------- comparing

    async def _settled(self, receiver: Receiver) -> None:
        """Wait until every run has ended and every webhook was delivered."""
        client, until = self._client(), time.monotonic() + SETTLE_S
        while time.monotonic() < until:
            parked = (await client.ask("GET", "/process-runs/?status=parked&limit=1")).json
            if not parked and all(
                len(receiver.told.get(run_id, ())) >= len(("closing", "end")) for run_id in self.told
            ):
                return
            await asyncio.sleep(10 * PAUSE_S)
        short = sum(len(receiver.told.get(run_id, ())) < len(("closing", "end")) for run_id in self.told)
        self.outcome.faults.append(f"not settled after {SETTLE_S:.0f} s: {short} runs lack a webhook")

    async def _compare(self, receiver: Receiver) -> None:
        client = self._client()
        histories = await self._histories()
        for run_id, answers in self.told.items():
            run = (await client.ask("GET", f"/process-runs/{run_id}")).json
            events = (await client.ask("GET", f"/process-runs/{run_id}/events?limit=200")).json
            told = list(receiver.told.get(run_id, {}).values())
            for fault in self._faults(run, events, told, histories.get(run_id, []), answers):
                self.outcome.faults.append(f"{run_id}: {fault}")
        self.outcome.gates = len(self.told)

    async def _histories(self) -> dict[str, list[dict[str, Any]]]:
        """The events of the export by run, once it has been verified."""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with (
            ClientSession(f"http://127.0.0.1:{self.ports[0]}", headers=headers) as session,
            session.get("/audit/export") as answer,
        ):
            lines = (await answer.read()).splitlines(keepends=True)
        shown = (await self._client().ask("GET", "/audit/keys")).json
        keys = {name: base64.b64decode(key) for name, key in shown.items()}
        self.outcome.faults += [f"evidence: {one}" for one in verify_export(lines, keys)]
        found: dict[str, list[dict[str, Any]]] = {}
        for one in map(json.loads, lines):
            if "events" in one:
                found.setdefault(one["stream"], []).extend(one["events"])
        return found

    def _faults(
        self,
        run: dict[str, Any],
        events: list[dict[str, Any]],
        told: list[dict[str, Any]],
        exported: list[dict[str, Any]],
        answers: list[tuple[str, Answer | None]],
    ) -> Iterator[str]:
        """What does not fit together in what was said of one gate."""
        closings = _closings(events)
        if len(closings) != 1:
            yield f"its gate closed {len(closings)} times"
            return
        ((kind, decision, by),) = closings
        self.outcome.by["by the deadline" if kind == "gate_expired" else f"{decision} by a person"] += 1
        if (run["status"], run["outcome"]) != ("completed", OUTCOMES[decision]):
            yield f"the run is {run['status']}, {run['outcome']}, and its gate closed as {decision}"
        if _closings(exported) != closings:
            yield "the evidence has another outcome"
        if _closings(told) != closings or [one["outcome"] for one in told if one["type"] == "run_ended"] != [
            run["outcome"]
        ]:
            yield f"webhooks told {_closings(told)}, and it was {closings}"
        won = [word for word, answer in answers if answer is not None and answer.status == 200]
        lost = any(answer is None for _, answer in answers)
        if len(won) > 1 or (won and (kind, decision) != ("verdict_given", won[0])):
            yield f"{won} were told that they decided, and it was {closings}"
        if kind == "verdict_given" and not won and not lost:
            yield "a verdict counts that nobody was told of"
        for word, answer in answers:
            decided = None if answer is None else answer.json.get("decided")
            if decided is not None and (decided["by"], decided["decision"]) != (by, decision):
                yield f"{word} was told that {decided['by']} decided, and it was {by}"


def _closings(events: list[dict[str, Any]]) -> list[Closing]:
    return [(one["type"], one["decision"], one["by"]) for one in events if one["type"] in CLOSING]
