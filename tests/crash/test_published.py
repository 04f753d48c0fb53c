"""Published processes and kills: what was answered is there, and runs keep their version."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.crash.service import Service, serving

KILLS = 4
PUBLISHED = 60
RUNS = 8
PATH = "/process-templates/petty-cash"
STARTS = {"vertical": "petty-cash", "inputs": {}}


def document(number: int) -> dict[str, Any]:
    """A process whose gate has the number of its version as its label."""
    gate = {"id": "signoff", "kind": "gate", "label": f"Sign-off {number}", "next": "done"}
    end = {"id": "done", "kind": "end", "label": "Done", "outcome": "done"}
    return {"vertical": "petty-cash", "title": "Petty cash", "steps": [gate, end]}


async def answer(service: Service, method: str, path: str, body: Any = None) -> Any:
    """The body of an answer that is no refusal."""
    status, found = await service.send(method, path, body)
    assert status in {200, 201}, found
    return found


async def publish(service: Service, number: int) -> int:
    await answer(service, "PUT", f"{PATH}/draft", document(number))
    return int((await answer(service, "POST", f"{PATH}/publish"))["version"])


async def test_a_version_is_there_after_a_kill_right_behind_its_answer(folder: Path) -> None:
    token, parked = "", dict[str, int]()
    for number in range(1, KILLS + 1):
        async with serving(folder, token) as service:
            if token:
                assert (await answer(service, "GET", PATH))["version"] == number - 1
            else:
                await service.register()
                token = service.token
            for run_id, version in parked.items():
                run = await service.read(run_id)
                assert (run["template"]["version"], run["gate"]["label"]) == (version, f"Sign-off {version}")
            started = await answer(service, "POST", "/process-runs/", STARTS) if number > 1 else None
            if started is not None:
                parked[started["id"]] = number - 1
            assert await publish(service, number) == number
            await service.kill()


async def test_runs_go_on_by_their_version_while_others_are_published(folder: Path) -> None:
    async with serving(folder) as service:
        await service.register()
        newest = await publish(service, 1)
        going = True

        async def run() -> int:
            done = 0
            while going:
                least = newest
                one = await answer(service, "POST", "/process-runs/", STARTS)
                version = one["template"]["version"]
                assert version >= least
                assert one["gate"]["label"] == f"Sign-off {version}"
                verdict = {"gate": "signoff", "decision": "approved", "digest": one["gate"]["digest"]}
                over = await answer(service, "POST", f"/process-runs/{one['id']}/resume", verdict)
                assert (over["status"], over["template"]["version"]) == ("completed", version)
                done += 1
            return done

        callers = [asyncio.create_task(run()) for _ in range(RUNS)]
        for number in range(2, PUBLISHED + 1):
            newest = await publish(service, number)
            assert newest == number
        going = False
        assert sum(await asyncio.gather(*callers)) > PUBLISHED
