"""A store that an earlier version wrote is opened, goes on and verifies.

`fixtures/version_0_1` was written by the last version with snapshots by position (schema 5), and
killed while the call of the run `pending` was on its way.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.service import PERSON, Service, command, environment, serving

STORED = Path(__file__).parent / "fixtures" / "version_0_1"
EXPECTED: dict[str, Any] = json.loads((STORED / "expected.json").read_text(encoding="utf-8"))
KEPT_S = str(100 * 365 * 86_400)
"""The fixture gets older, and its Idempotency-Key shall still be there."""
BODY = {"vertical": "held", "inputs": {"share": 1.0, "amount": 1e21, "näme": "雪 \U0001f600"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(STORED, tmp_path, dirs_exist_ok=True)
    for file in (tmp_path / "data").glob("*.key*"):
        file.chmod(0o600)
    return tmp_path


@pytest.fixture
async def service(folder: Path) -> AsyncIterator[Service]:
    async with serving(folder, receipt_ttl_s=KEPT_S) as one:
        status, session = await one.send(
            "POST", "/auth/login", {"email": PERSON["email"], "password": PERSON["password"]}
        )
        assert status == 200, session
        one.token = session["token"]
        yield one


async def sound(folder: Path) -> bool:
    code, said, wrong = await command("verify", "--data-dir", str(folder / "data"), env=environment(folder))
    return code == 0 and said.startswith("sound: ") and wrong == ""


def as_known(found: Any, known: Any) -> Any:
    """What is found of the members that were known then; the autopilot had no name."""
    if isinstance(known, dict):
        unnamed = {"by": None} if "by" in known and found["by"] == "autopilot" and known["by"] is None else {}
        return {name: as_known(found[name], value) for name, value in known.items()} | unnamed
    if isinstance(known, list) and len(found) == len(known):
        return [as_known(*both) for both in zip(found, known, strict=True)]
    return found


async def test_every_run_and_its_history_read_as_they_did(service: Service) -> None:
    for name, known in EXPECTED.items():
        run_id = known["run"]["id"]
        if name != "pending":
            run = await service.read(run_id)
            assert as_known(run, known["run"]) == known["run"], name
        history = (await service.history(run_id))[: len(known["events"])]
        assert as_known(history, known["events"]) == known["events"], name
        assert all(one["by_kind"] == ("autopilot" if one["by"] == "autopilot" else "person") for one in history)
    status, listed = await service.send("GET", "/process-runs/?limit=200")
    assert status == 200
    assert {run["id"] for run in listed} == {one["run"]["id"] for one in EXPECTED.values()}


async def test_a_gate_that_waited_is_decided(service: Service) -> None:
    done = await service.resume(EXPECTED["parked"]["run"]["id"])
    assert (done["status"], done["outcome"]) == ("completed", "closed")
    joined = await service.resume(EXPECTED["forked"]["run"]["id"], "left")
    assert (joined["status"], joined["outcome"]) == ("completed", "finished")


async def test_a_call_of_unknown_outcome_waits_for_a_human_and_is_not_sent_again(service: Service) -> None:
    run = await service.stands_still(EXPECTED["pending"]["run"]["id"])
    assert (run["parked_at"], run["gate"]["reason"]) == ("pay", "outcome unknown")
    done = await service.resume(run["id"], "pay", "done")
    assert (done["status"], done["outcome"]) == ("completed", "paid")


async def test_what_is_kept_beside_the_runs_is_there(service: Service) -> None:
    again = await service.run("POST", "/process-runs/", BODY, Idempotency_Key="key-of-the-fixture")
    assert again["id"] == EXPECTED["repeated"]["run"]["id"]
    _, connectors = await service.send("GET", "/connectors/")
    assert {one["tool_id"]: one["auth_token_set"] for one in connectors} == {"slow-pay": False, "slow-work": True}
    _, changes = await service.send("GET", "/connectors/slow-work/changes")
    assert [one["version"] for one in changes] == [2, 1]
    _, webhooks = await service.send("GET", "/webhooks/")
    assert [one["events"] for one in webhooks] == [["run_ended", "gate_opened"]]
    _, log = await service.send("GET", "/audit/log")
    assert "register" in {one["change"]["action"] for one in log}


async def test_it_verifies_before_and_after_it_has_gone_on(folder: Path) -> None:
    assert await sound(folder)
    async with serving(folder) as service:
        login = {"email": PERSON["email"], "password": PERSON["password"]}
        service.token = (await service.send("POST", "/auth/login", login))[1]["token"]
        await service.resume(EXPECTED["parked"]["run"]["id"])
        await service.stands_still(EXPECTED["pending"]["run"]["id"])
        await service.send("GET", f"/process-runs/{EXPECTED['parked']['run']['id']}/audit")
    assert await sound(folder)
