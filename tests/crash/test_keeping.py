"""A backup beside the running service, the way back from it, and the doctor, as an operator has
them.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.crash.service import Service, command, environment, serving, together


@pytest.fixture
def copy(folder: Path) -> Path:
    return folder / "copy.db"


async def stop(service: Service) -> None:
    service.process.terminate()
    assert await service.process.wait() == 0


async def test_a_restored_service_serves_what_the_backup_held(folder: Path, copy: Path) -> None:
    env = environment(folder)
    async with serving(folder) as service:
        await service.register()
        kept, decided = await service.start("held", 2)
        before = await together(map(service.read, (kept["id"], decided["id"])))
        code, out, err = await command("backup", str(copy), env=env)
        assert (code, err) == (0, "")
        assert "2 parked" in out
        assert str(folder / "data" / "vault.key") in out
        assert (await service.resume(decided["id"], Idempotency_Key="k"))["status"] == "completed"
        (later,) = await service.start("held")
        code, _, err = await command("restore", str(copy), "--replace", env=env)
        assert (code, err.startswith("penstock: Another process uses the data folder")) == (1, True)
        await stop(service)
    code, out, err = await command("restore", str(copy), "--replace", env=env)
    assert (code, err) == (0, "")
    assert "its verdict has to be given again" in out
    async with serving(folder, service.token) as again:
        assert await together(map(again.read, (kept["id"], decided["id"]))) == before
        assert (await again.send("GET", f"/process-runs/{later['id']}"))[0] == 404
        assert (await again.resume(decided["id"], Idempotency_Key="k"))["status"] == "completed"
        code, out, _ = await command("doctor", "--json", env=env)
        assert (code, json.loads(out)["ok"]) == (0, True), out


async def test_a_backup_under_load_takes_nothing_from_the_service_and_holds_what_was_acknowledged(
    folder: Path, copy: Path
) -> None:
    async with serving(folder) as service:
        await service.register()
        early = await service.start("held", 200)
        done = asyncio.Event()

        async def caller() -> None:
            while not done.is_set():
                (run,) = await service.start("held")
                await service.resume(run["id"])

        callers = [asyncio.create_task(caller()) for _ in range(16)]
        code, out, err = await command("backup", str(copy), env=environment(folder))
        done.set()
        await asyncio.gather(*callers)
        assert (code, err) == (0, ""), out
        acknowledged = dict(service.answered)
        await service.kill()
    async with serving(folder, service.token) as again:
        now = await together(map(again.read, acknowledged))
        assert {run["id"]: run for run in now} == acknowledged
    there = folder / "elsewhere"
    code, _, err = await command("restore", str(copy), "--data-dir", str(there), env=environment(folder))
    assert (code, err) == (0, "")
    for name in ("jwt.keys", "commit.keys"):
        (there / name).write_bytes((folder / "data" / name).read_bytes())
        (there / name).chmod(0o600)
    async with serving(folder, service.token, data_dir=str(there)) as restored:
        found = await together(restored.read(run["id"]) for run in early)
        assert found == early


async def test_a_backup_that_cannot_be_made_says_why_in_a_line(folder: Path, copy: Path) -> None:
    code, out, err = await command("backup", str(copy), env=environment(folder))
    assert (code, out) == (1, "")
    assert err == f"penstock: There is no database at {folder / 'data' / 'penstock.db'}.\n"
