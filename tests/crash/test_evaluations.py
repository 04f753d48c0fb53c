"""Killed while what a template says is evaluated: the run parks, and nobody else is held up."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.crash.service import Service, serving, write_templates

PATIENCE_S = 120.0
TERM = "inputs.a.contains(inputs.b)"
ENDLESS = f"""
  - {{id: pause, kind: wait, label: Pause, for: PT1S, next: size}}
  - id: size
    kind: gateway
    label: Size
    flow: exclusive
    branches:
      - {{branch: found, when: "{" || ".join([TERM] * 100)}", to: done}}
      - {{branch: other, to: done}}
  - {{id: done, kind: end, label: Done, outcome: done}}
"""
INPUTS = {"a": "a" * 500_000, "b": "a" * 250_000 + "b"}


async def begun(folder: Path) -> None:
    """The evaluation is under way: that it is, is durable before it begins."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with closing(sqlite3.connect(folder / "data" / "penstock.db")) as db:
                if db.execute("SELECT count(*) FROM evaluations_begun").fetchone()[0]:
                    return
            await asyncio.sleep(0.01)


async def parked(service: Service, run_id: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if (run := await service.read(run_id))["status"] == "parked":
                return run
            await asyncio.sleep(0.05)


async def start(service: Service) -> str:
    body = {"vertical": "endless", "inputs": INPUTS}
    return str((await service.run("POST", "/process-runs/", body, Prefer="respond-async"))["id"])


async def test_a_run_that_is_killed_while_it_is_evaluated_parks_at_the_next_start(tmp_path: Path) -> None:
    write_templates(tmp_path / "templates", {"endless": ENDLESS})
    async with serving(tmp_path) as service:
        await service.register()
        run_id = await start(service)
        await begun(tmp_path)
        assert (await service.send("GET", "/health"))[0] == 200
        await service.kill()
    async with serving(tmp_path, service.token) as again:
        assert (await again.send("GET", "/health"))[0] == 200
        run = await parked(again, run_id)
        assert run["parked_at"] == "size"
        assert "the service ended while this was evaluated" in run["gate"]["reason"]
        assert (await again.resume(run_id, "size", "other"))["outcome"] == "done"


async def test_a_run_whose_evaluation_has_no_end_parks_with_the_reason(tmp_path: Path) -> None:
    write_templates(tmp_path / "templates", {"endless": ENDLESS})
    async with serving(tmp_path) as service:
        await service.register()
        run = await parked(service, await start(service))
        assert run["parked_at"] == "size"
        assert "takes too long, or too much memory, to evaluate" in run["gate"]["reason"]
        with closing(sqlite3.connect(tmp_path / "data" / "penstock.db")) as db:
            assert db.execute("SELECT count(*) FROM evaluations_begun").fetchone() == (0,)
