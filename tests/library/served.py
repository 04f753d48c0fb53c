"""Random runs of processes on a real service, whose connectors call a stand-in over HTTP."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from aiohttp import web

from actors.core.template import APPROVED, DENIED
from tests.crash.service import PERSON, Service, serving
from tests.library import values
from tests.library.checks import Finding
from tests.library.documents import Vertical
from tests.library.plays import Stage
from tests.listening import Listener

TURNS_MAX = 400
PAUSE_S = 0.05
FAILING, SPOILING, AGREEING = 0.05, 0.05, 0.7
NO_ANSWER = {"retries": 0, "timeout_s": 5}


class StandIn(Listener):
    """Answers each call of a tool by the tool's schema, seldom with something else or an error."""

    def __init__(self, stages: dict[str, Stage]) -> None:
        self.stages = stages
        self.random = Random("stand-in")
        self.calls = 0
        super().__init__("/{vertical}/{tool}")

    async def handle(self, request: web.Request) -> web.Response:
        self.calls += 1
        vertical, tool = request.match_info["vertical"], request.match_info["tool"]
        if self.random.random() < FAILING:
            return web.json_response({"error": "not today"}, status=400)
        step = next((one["id"] for one in self.stages[vertical].vertical.steps if one.get("tool") == tool), "")
        found = self.stages[vertical].answer(step, tool, self.random, self.random.choice((0.2, 0.9)))
        if self.random.random() < SPOILING and isinstance(found, dict) and found:
            name = self.random.choice(sorted(found))
            found = values.put(found, (name,), self.random.choice(values.spoiled(found[name])))
        return web.json_response(found)


async def served(verticals: Sequence[Vertical], runs: int) -> tuple[Counter[str], list[Finding]]:
    """How so many runs of each end, and those that nobody can let go on."""
    stages = {str(vertical): Stage(vertical) for vertical in verticals}
    ends: Counter[str] = Counter()
    found: list[Finding] = []
    with TemporaryDirectory() as folder:
        (Path(folder) / "templates").mkdir()
        async with StandIn(stages) as side, serving(Path(folder)) as service:
            for vertical, stage in stages.items():
                await _company(service, vertical, stage, side)
                for seed in range(runs):
                    end = await _played(service, stage, Random(f"{vertical}/{seed}/served"))
                    ends[end] += 1
                    if end.startswith("stuck"):
                        found.append(Finding(vertical, "dead_end_served", f"{end} (seed {seed})"))
            ends["calls"] = side.calls
    return ends, found


async def _company(service: Service, vertical: str, stage: Stage, side: StandIn) -> None:
    service.token = ""
    person = {**PERSON, "email": f"{vertical}@example.test"}
    status, session = await service.send("POST", "/auth/register", person)
    assert status == 201, session
    service.token = session["token"]
    for tool in stage.connectors:
        how = {"base_url": f"{side.url}/{vertical}", "path": f"/{tool}", "method": "POST", "reversible": True}
        status, answer = await service.send("PUT", f"/connectors/{tool}", {**how, **NO_ANSWER})
        assert status == 201, answer


async def _played(service: Service, stage: Stage, random: Random) -> str:
    """Play one run; how it ended, or where it is stuck."""
    body = {"vertical": str(stage.vertical), "inputs": stage.inputs(random)}
    run = await service.run("POST", "/process-runs/", body)
    for _ in range(TURNS_MAX):
        if run["status"] == "executing":
            await asyncio.sleep(PAUSE_S)
            run = await service.read(run["id"])
        elif run["status"] == "parked":
            status, answer = await _decided(service, stage, run, random)
            if status == 409 and _was_late(answer):
                run = await service.read(run["id"])
                continue
            if status >= 300:
                return f"stuck at {run['parked_at']}: {answer.get('detail')} {answer.get('errors', '')}"
            run = answer
        elif run["status"] == "waiting":
            message = next((one["wait"]["message"] for one in run["trace"] if _is_open(one)), None)
            if message is None:
                return "waits for a clock"
            status, answer = await service.send("POST", f"/process-runs/{run['id']}/messages", {"name": message})
            if status >= 300:
                return f"stuck at {message}: {answer.get('detail')}"
            run = await service.read(run["id"])
        else:
            return str(run["status"])
    return "played long enough"


def _is_open(visit: dict[str, Any]) -> bool:
    wait = visit.get("wait")
    return visit["status"] == "waiting" and wait is not None and wait.get("message") is not None


def _was_late(answer: dict[str, Any]) -> bool:
    """Whether the deadline of a gate has decided there before the verdict came."""
    return (answer.get("decided") or {}).get("by_kind") == "deadline"


async def _decided(service: Service, stage: Stage, run: dict[str, Any], random: Random) -> tuple[int, Any]:
    gate = run["gate"]
    decisions, policy = gate["decisions"], gate["policy"]
    agreed = APPROVED in decisions and random.random() < AGREEING
    decision = APPROVED if agreed else random.choice(decisions)
    body: dict[str, Any] = {"gate": gate["step_id"], "decision": decision, "comment": "Seen."}
    if decision == DENIED and policy["denial_codes"]:
        body["code"] = random.choice(policy["denial_codes"])
    if policy["form"] is not None and decision != DENIED:
        body["form"] = values.value(policy["form"], random, {})
    if gate["missing"] and decision == APPROVED:
        body["inputs"] = {name[1:]: stage.example[name[1:]] for name in gate["missing"]}
    return await service.send("POST", f"/process-runs/{run['id']}/resume", body)
