"""Published processes and kills: what was answered is there, and runs keep their version."""

from __future__ import annotations

from pathlib import Path

from tests.crash.service import serving
from tests.scale.publishing import PATH, STARTS, answer, publish, published

KILLS = 4
PUBLISHED = 60


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
    load = await published(folder, PUBLISHED)
    assert load.done > PUBLISHED
    assert len(set(load.parked.values())) > 1
