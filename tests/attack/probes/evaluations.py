"""What a tenant wrote, asked of much: conditions over long texts, and schemas that double."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.attack.probes.world import Probe, World
from tests.attack.report import Report

CHARS = 450_000
TERMS, DEPTH = 50, 11
BETWEEN_S = 0.2
FOUND = " || ".join(["inputs.a.contains(inputs.b)"] * TERMS)
LONG = {"a": "a" * CHARS, "b": "a" * (CHARS // 2) + "b"}
DOUBLING: dict[str, Any] = {
    "type": "object",
    "$defs": {
        **{f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(DEPTH)},
        f"d{DEPTH}": {"type": "string"},
    },
    "properties": {"x": {"$ref": "#/$defs/d0"}},
}


def document(schema: dict[str, Any], when: str) -> dict[str, Any]:
    gate = {"id": "sign", "kind": "gate", "label": "Sign", "form": schema, "next": "size"}
    branches = [{"branch": "found", "when": when, "to": "done"}, {"branch": "other", "to": "done"}]
    size = {"id": "size", "kind": "gateway", "label": "Size", "flow": "exclusive", "branches": branches}
    done = {"id": "done", "kind": "end", "label": "Done", "outcome": "done"}
    about = {"vertical": "costly", "title": "Costly", "description": "c", "inputs_schema": {"type": "object"}}
    return {**about, "example": {}, "steps": [gate, size, done]}


class Evaluations(Probe):
    """Runs that evaluate for seconds, previews, checks and trials of the same, all at once."""

    name = "evaluations"

    async def prepare(self, world: World) -> None:
        self._token = await world.company("evaluations")
        self._other = await world.company("evaluations-other")
        self._runs: list[str] = []
        body = document({"type": "object"}, FOUND)
        for method, path, sent in (
            ("PUT", "/process-templates/costly/draft", body),
            ("POST", "/process-templates/costly/publish", {}),
        ):
            answer = await world.call(method, path, sent, self._token)
            assert answer is not None
            assert answer.status in {200, 201}, answer.body[:300]

    async def attack(self, world: World) -> None:
        doubling = document(DOUBLING, "inputs.x == 1")
        tried: dict[str, Any] = {"document": document({"type": "object"}, FOUND), "inputs": LONG}
        tried["acts"] = [{"gate": "sign", "decision": "approved"}]
        await asyncio.gather(
            self._walk(world),
            self._again(world, "/process-templates/validate", doubling),
            self._again(world, "/process-templates/try", tried),
        )

    async def _again(self, world: World, path: str, body: dict[str, Any]) -> None:
        while True:
            self.tally.note(await world.call("POST", path, body, self._other))
            await asyncio.sleep(BETWEEN_S)

    async def _walk(self, world: World) -> None:
        while True:
            answer = self.tally.note(await world.start(self._token, LONG, "costly"))
            if answer is not None and answer.status == 201:
                run = answer.json["id"]
                path = f"/process-runs/{run}/gates/sign/preview"
                verdict = {"gate": "sign", "decision": "approved", "form": {}}
                self.tally.note(await world.call("GET", path, token=self._token))
                self.tally.note(await world.call("POST", f"/process-runs/{run}/resume", verdict, self._token))
                self._runs.append(run)
            await asyncio.sleep(BETWEEN_S)

    def enough(self) -> bool:
        return bool(self._runs)

    async def check(self, world: World, report: Report) -> None:
        await super().check(world, report)
        report.least("evaluations: runs that were evaluated", len(self._runs), 1)
        for run_id in self._runs[:1]:
            run = await world.rested(self._token, run_id)
            found = run.get("status") == "parked" and "too long" in (run.get("gate") or {}).get("reason", "")
            report.least("evaluations: a run without an answer parks with the reason", int(found), 1)
