"""Walks through the shipped processes on a real service whose clock jumps from one last moment to
the next: however people decide, each at the last moment, no clock of the law is breached.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from aiohttp import web

from actors.core.template import APPROVED, DENIED
from tests.cluster.daemons import KEYS, make_keys
from tests.crash.lives import Lifecycle, free_port
from tests.crash.service import environment
from tests.crash.wire import Answer, Lost, Unsent, Wire
from tests.library import values
from tests.library.documents import Vertical
from tests.library.plays import Stage
from tests.library.served import NO_ANSWER, StandIn
from tests.timers.jumping import MovedClock

MARGIN_S = 10.0
"""So long before a deadline somebody decides: what the rig itself may take."""
PAUSE_S = 0.02
ASIDE_S = 60.0
ROUNDS_MAX = 4_000
PASSWORD = "correct horse"
ENDED = ("completed", "failed", "cancelled")
BEGINS = datetime(2027, 3, 19, 9, 30, tzinfo=UTC)
"""A Friday, nine days before clocks change and a week before Easter."""
CALENDAR = {
    "timezone": "Europe/Berlin",
    "weekend": ["saturday", "sunday"],
    "holidays": ["2027-03-26", "2027-03-29", "2027-05-01", "2027-05-06", "2027-05-17", "2027-10-03", "2027-12-25"],
}
INPUT = re.compile(r"\binputs\.(\w+)")
DAY = re.compile(r"\d{4}-\d\d-\d\d")
SHOWN_EVERY = 50
LAPSING = 0.25
"""How often a deadline passes that has a decision of its own."""


class Prompt(StandIn):
    """Answers each call at once by the tool's schema: calls are taken to be instant."""

    async def handle(self, request: web.Request) -> web.Response:
        self.calls += 1
        vertical, tool = request.match_info["vertical"], request.match_info["tool"]
        step = next((one["id"] for one in self.stages[vertical].vertical.steps if one.get("tool") == tool), "")
        return web.json_response(self.stages[vertical].answer(step, tool, self.random, self.random.choice((0.3, 0.9))))


@dataclass
class Outcome:
    """What came of it."""

    runs: int = 0
    clocks: Counter[str] = field(default_factory=Counter)
    nearest: dict[str, float] = field(default_factory=dict)
    verdicts: int = 0
    jumps: int = 0
    kills: int = 0
    days: float = 0.0
    took_s: float = 0.0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        states = ", ".join(f"{number} {state}" for state, number in self.clocks.most_common())
        nearest = [f"  {name:48} {left_h:10,.1f} h left" for name, left_h in sorted(self.nearest.items())]
        lines = [
            f"runs      {self.runs:,}, {self.verdicts:,} verdicts at the last moment",
            f"clocks    {states or 'none'}; the nearest that each came to its end:",
            *nearest,
            f"between   {self.jumps:,} jumps over {self.days:,.0f} days, {self.kills} kills, {self.took_s:,.0f} s",
            f"faults    {len(self.faults)}",
        ]
        return "\n".join([*lines, *self.faults[:20]])


@dataclass
class Walk:
    """A run, and what its people will decide."""

    vertical: str
    run_id: str
    random: Random
    lapses: dict[str, bool] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    next_at: datetime | None = None

    @property
    def over(self) -> bool:
        return self.run.get("status") in ENDED

    def moments(self, now: datetime) -> list[tuple[datetime, dict[str, Any] | None]]:
        """When something happens next, with the gate at which somebody decides then."""
        found = [self._at_gate(gate, now) for gate in self.run.get("gates") or []]
        for visit in self.run["trace"]:
            wait = visit.get("wait")
            if visit["status"] == "waiting" and wait is not None and wait.get("until") is not None:
                found.append((datetime.fromisoformat(wait["until"]) + timedelta(seconds=1), None))
        return found

    def _at_gate(self, gate: dict[str, Any], now: datetime) -> tuple[datetime, dict[str, Any] | None]:
        if gate["due_at"] is None:
            return now, gate
        due, outcome = datetime.fromisoformat(gate["due_at"]), gate["policy"]["on_deadline"]
        escalates = isinstance(outcome, dict) and outcome["then"] is not None and not gate.get("escalation")
        if escalates or (self._lapses(gate) and outcome is not None and _leads_on(outcome)):
            return due + timedelta(seconds=1), None
        return due - timedelta(seconds=MARGIN_S), gate

    def _lapses(self, gate: dict[str, Any]) -> bool:
        key = f"{gate['step_id']}:{gate['opened_at']}"
        return self.lapses.setdefault(key, self.random.random() < LAPSING)


def _leads_on(outcome: Any) -> bool:
    """Whether the deadline itself decides."""
    return outcome["then"] is not None if isinstance(outcome, dict) else True


@dataclass
class Docket:
    """One performance in a folder: so many runs of each process, on so many daemons."""

    folder: Path
    verticals: Sequence[Vertical]
    runs: int
    daemons: int = 1
    kill_every: int = 40
    database_url: str | None = None
    outcome: Outcome = field(default_factory=Outcome)
    lives: list[Lifecycle] = field(default_factory=list)
    tokens: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    walks: list[Walk] = field(default_factory=list)

    async def perform(self) -> Outcome:
        """Start all runs, and go from one last moment to the next until all have ended."""
        began = time.monotonic()
        (self.folder / "templates").mkdir(exist_ok=True)
        offset_s = (BEGINS - datetime.now(UTC)).total_seconds()
        self.clock = MovedClock(self.folder / "clock", offset_s)
        self.ports = [free_port() for _ in range(self.daemons)]
        self.stages = {str(one): Stage(one) for one in self.verticals}
        if self.database_url is not None:
            make_keys(self.folder)
        async with Prompt(self.stages) as side:
            try:
                for number in range(self.daemons):
                    self.lives.append(await self._up(number))
                for vertical, stage in self.stages.items():
                    await self._open_company(vertical, stage, side)
                    await self._start_runs(vertical, stage)
                await self._go_on()
                self.judge()
            finally:
                for life in self.lives:
                    await life.kill()
        self.outcome.days = (self.clock.now() - BEGINS).total_seconds() / 86_400
        self.outcome.took_s = time.monotonic() - began
        return self.outcome

    async def _up(self, number: int) -> Lifecycle:
        port = str(self.ports[number])
        command = (sys.executable, "-m", "tests.timers.jumping", str(self.clock.file), "serve", "--port", port)
        settings = {"log_level": "error", "run_idle_s": "0.3", "data_dir": str(self.folder / f"data-{number}")}
        if self.database_url is not None:
            settings |= {"database_url": self.database_url, "lease_s": "3"}
            settings |= {f"{name}_file": str(self.folder / "keys" / file) for name, file in KEYS.items()}
        with (self.folder / f"service-{number}.log").open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *command, stdout=asyncio.subprocess.PIPE, stderr=errors, env=environment(self.folder, **settings)
            )
        life = Lifecycle(process)
        if not await life.ready():
            raise AssertionError("the service does not start")
        return life

    async def _ask(self, vertical: str, method: str, path: str, body: Any = None) -> Answer:
        """An answer of any daemon that is up, in the name of the process's company."""
        for turn in range(200):
            wire = Wire(self.ports[turn % self.daemons], await self._token(vertical, turn))
            try:
                answer = await wire.ask(method, path, body)
            except (Lost, Unsent):
                await asyncio.sleep(PAUSE_S)
                continue
            finally:
                wire.close()
            if answer.status == 401:
                self.tokens.pop(vertical, None)
            elif answer.status != 503:
                return answer
            await asyncio.sleep(PAUSE_S)
        raise AssertionError(f"{method} {path} finds no answer")

    async def _token(self, vertical: str, turn: int) -> str:
        """A token of who is the company: sessions do not last for months."""
        token, until = self.tokens.get(vertical, ("", BEGINS))
        if self.clock.now() >= until:
            person = {"email": f"{vertical}@example.test", "password": PASSWORD}
            try:
                answer = await Wire(self.ports[turn % self.daemons]).ask("POST", "/auth/login", person)
            except (Lost, Unsent):
                return token
            if answer.status != 200:
                return token
            token = str(answer.json["token"])
            self.tokens[vertical] = token, self.clock.now() + timedelta(hours=20)
        return token

    async def _open_company(self, vertical: str, stage: Stage, side: StandIn) -> None:
        person = {"email": f"{vertical}@example.test", "password": PASSWORD, "company_name": vertical}
        answer = await Wire(self.ports[0]).ask("POST", "/auth/register", person)
        assert answer.status == 201, answer.body
        self.tokens[vertical] = str(answer.json["token"]), self.clock.now() + timedelta(hours=20)
        company = (await self._ask(vertical, "GET", "/auth/me")).json["companies"][0]["id"]
        answer = await self._ask(vertical, "PUT", f"/companies/{company}/calendar", CALENDAR)
        assert answer.status == 200, answer.body
        for tool in stage.connectors:
            how = {"base_url": f"{side.url}/{vertical}", "path": f"/{tool}", "method": "POST", "reversible": True}
            answer = await self._ask(vertical, "PUT", f"/connectors/{tool}", {**how, **NO_ANSWER})
            assert answer.status == 201, answer.body

    async def _start_runs(self, vertical: str, stage: Stage) -> None:
        for seed in range(self.runs):
            random = Random(f"{vertical}/{seed}/lawful")
            inputs = self._as_of_now(stage, stage.inputs(random) if seed else {**stage.example})
            answer = await self._ask(vertical, "POST", "/process-runs/", {"vertical": vertical, "inputs": inputs})
            if answer.status == 422:  # not every random value is one that the process takes
                continue
            assert answer.status in (201, 202), answer.body
            self.walks.append(Walk(vertical, answer.json["id"], random))
        self.outcome.runs = len(self.walks)

    def _as_of_now(self, stage: Stage, inputs: dict[str, Any]) -> dict[str, Any]:
        """The inputs with every time from which a clock counts as the present."""
        for clock in stage.template.clocks:
            for name in () if clock.since is None else INPUT.findall(clock.since.text):
                if isinstance(inputs.get(name), str) and DAY.match(inputs[name]):
                    now = self.clock.now().replace(microsecond=0)
                    inputs[name] = now.isoformat().replace("+00:00", "Z") if "T" in inputs[name] else f"{now:%Y-%m-%d}"
        return inputs

    async def _go_on(self) -> None:
        """Let each last moment come, the nearest first; a run is read when its own has come."""
        for _ in range(ROUNDS_MAX):
            pending = [one for one in self.walks if not one.over]
            if not pending:
                return
            now = self.clock.now()
            stale = [one for one in pending if one.next_at is None or one.next_at <= now]
            if not stale:
                await self._jump(min(one.next_at for one in pending if one.next_at is not None))
                continue
            acted = await asyncio.gather(*(self._act(one, now) for one in stale))
            if not any(acted):
                await asyncio.sleep(PAUSE_S)
        stuck = [f"{one.vertical} {one.run_id}: {one.run['status']}" for one in self.walks if not one.over]
        self.outcome.faults.extend(f"not over after {ROUNDS_MAX} rounds: {one}" for one in stuck)

    async def _jump(self, at: datetime) -> None:
        self.clock.jump((at - self.clock.now()).total_seconds())
        self.outcome.jumps += 1
        if self.outcome.jumps % SHOWN_EVERY == 0:
            left = sum(not one.over for one in self.walks)
            print(f"{self.clock.now().date()}: {left} runs go on, {self.outcome.verdicts} verdicts", flush=True)
        if self.outcome.jumps % self.kill_every == 0:
            await self._kill()

    async def _act(self, one: Walk, now: datetime) -> bool:
        """Read a run, and decide where the last moment has come; whether anything was decided."""
        await self._read(one)
        moments = one.moments(now)
        due = [gate for at, gate in moments if gate is not None and at <= now]
        for gate in due:
            await self._decide(one, gate)
        one.next_at = None if due else min((at for at, _ in moments), default=None)
        return bool(due)

    async def _kill(self) -> None:
        number = self.outcome.kills % self.daemons
        await self.lives[number].kill()
        self.outcome.kills += 1
        self.lives[number] = await self._up(number)

    async def _read(self, one: Walk) -> None:
        one.run = (await self._ask(one.vertical, "GET", f"/process-runs/{one.run_id}")).json

    async def _decide(self, one: Walk, gate: dict[str, Any]) -> None:
        decisions, policy = gate["decisions"], gate["policy"]
        decision = one.random.choice(decisions)
        body: dict[str, Any] = {"gate": gate["step_id"], "decision": decision, "comment": "Seen."}
        if decision == DENIED and policy["denial_codes"]:
            body["code"] = one.random.choice(policy["denial_codes"])
        if decision != DENIED and policy["form"] is not None:
            body["form"] = values.value(policy["form"], one.random, {})
        if decision != DENIED and gate.get("missing"):
            body["inputs"] = self._missing(one, gate["missing"])
        answer = await self._ask(one.vertical, "POST", f"/process-runs/{one.run_id}/resume", body)
        if answer.status == 422 and decision == APPROVED:
            body["decision"], body["comment"] = DENIED, "Seen."
            body.pop("form", None)
            if policy["denial_codes"]:
                body["code"] = policy["denial_codes"][0]
            answer = await self._ask(one.vertical, "POST", f"/process-runs/{one.run_id}/resume", body)
        self.outcome.verdicts += answer.status == 200
        if answer.status not in (200, 202, 409, 412):
            self.outcome.faults.append(f"{one.vertical} at {gate['step_id']}: {answer.body[:200]!r}")

    def _missing(self, one: Walk, pointers: Sequence[str]) -> dict[str, Any]:
        schemas = self.stages[one.vertical].vertical.entry.inputs_schema.get("properties", {})
        names = [pointer.rsplit("/", 1)[-1] for pointer in pointers]
        brought = {name: values.value(schemas.get(name, {}), one.random, {}) for name in names}
        return self._as_of_now(self.stages[one.vertical], brought)

    def judge(self) -> None:
        """No clock is breached; how much was left to each is kept."""
        for one in self.walks:
            for clock in one.run.get("clocks") or []:
                self.outcome.clocks[clock["state"]] += 1
                name = f"{one.vertical} {clock['id']}"
                if clock["state"] == "breached" or clock.get("breached_at"):
                    self.outcome.faults.append(f"{name} is breached in {one.run_id}, due {clock['due_at']}")
                elif clock["state"] != "stopped":
                    self.outcome.faults.append(f"{name} runs on in {one.run_id}, due {clock['due_at']}")
                if clock["stopped_at"] is not None and clock["stopped_by"] is not None:
                    left = datetime.fromisoformat(clock["due_at"]) - datetime.fromisoformat(clock["stopped_at"])
                    left_h = left.total_seconds() / 3_600
                    self.outcome.nearest[name] = min(left_h, self.outcome.nearest.get(name, left_h))
