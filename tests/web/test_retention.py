"""Legal hold and archives over HTTP, and as commands."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from daemon.client import Penstock, RetainedRun
from daemon.runtime.clock import utc_now
from daemon.settings import Settings
from daemon.verification.exports import verify_export
from daemon.verification.runs import verify_run
from tests.web.closed import office
from tests.web.operators import Operator
from tests.web.people import company
from tests.web.support import FarSide, House, Person, assert_invalid, assert_problem
from tests.web.test_webhooks_api import delivered, made

pytestmark = pytest.mark.one_daemon
DAYS = 30
CASE = {"reason": "litigation 2026-114"}


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    return settings.model_copy(update={"archive_dir": tmp_path / "archive"})


async def done(person: Person) -> Any:
    run = await person.start("line", {"amount": 1})
    return (await person.resume(run, "signoff")).json


def files(folder: Path) -> list[Path]:
    return list(folder.glob("archive/*/*.json"))


async def archive_all(house: House, ann: Person, days: float = DAYS + 1) -> None:
    """Archive what is due when so many days have passed."""
    assert (await ann.put(f"{company(ann)}/policy", {"archive_after_days": DAYS})).status == 200
    archiver = house.services.archiver
    archiver._now = lambda: utc_now() + timedelta(days=days)
    await house.services.sealer.seal()
    await archiver.tick()


async def keys(ann: Person) -> dict[str, bytes]:
    return {key_id: base64.b64decode(key) for key_id, key in (await ann.get("/audit/keys")).json.items()}


async def test_what_was_told_of_an_archived_run_is_not_told_again(house: House, ann: Person, far: FarSide) -> None:
    hook = await made(ann, far.url, events=["run_ended"])
    await done(ann)
    (told,) = await delivered(ann, hook, 1)
    await archive_all(house, ann)
    path = f"/webhooks/{hook['id']}/deliveries"
    assert (await ann.post(f"{path}/{told['id']}/redeliver")).status == 202
    while (again := (await ann.get(path)).json[0])["attempts"] == 1:
        pass
    assert (again["status"], again["next_attempt_at"]) == ("failed", None)
    assert again["error"] == "The event is not in the journal any more."


async def test_a_command_to_an_archived_run_that_is_closed_finds_nothing(house: House, ann: Person) -> None:
    found = await office(ann)
    run = await found.start()
    assert (await found["officer"].resume(run, "signoff")).status == 200
    await archive_all(house, ann)
    assert_problem(await found["manager"].post(f"/process-runs/{run['id']}/cancel"), 404, "not_found")
    assert_problem(await ann.post(f"/process-runs/{run['id']}/cancel"), 409, "not_cancellable")


async def test_an_archived_run_says_so_and_its_events_are_in_a_file_that_verifies(house: House, ann: Person) -> None:
    run, other = await done(ann), await ann.start("line", {"amount": 2})
    path = f"/process-runs/{run['id']}"
    assert_problem(await ann.get(f"{path}/archive"), 404, "not_found")
    plain = await ann.get(path)
    await archive_all(house, ann)
    answer = await ann.get(path, **{"If-None-Match": plain.headers["ETag"]})
    found = answer.json
    kept = found["archived"]
    assert (found["status"], found["outcome"], found["ended"]["at"]) == (
        run["status"],
        run["outcome"],
        run["ended"]["at"],
    )
    assert (found["inputs"], found["facts"], found["trace"]) == ({}, {}, [])
    assert (await ann.get(path, **{"If-None-Match": answer.headers["ETag"]})).status == 304
    for gone in (f"{path}/events", f"{path}/audit"):
        assert_problem(await ann.get(gone), 410, "archived", sha256=kept["sha256"])
    assert_problem(await ann.get(f"{path}/events", Accept="text/event-stream"), 410, "archived")
    assert [one["id"] for one in (await ann.get("/process-runs/")).json] == [other["id"], run["id"]]
    assert {one["run_id"] for one in (await ann.get("/events/")).json} == {other["id"]}
    assert (await ann.get(f"/process-runs/?q={run['id']}")).json == []
    assert_problem(await ann.post(f"{path}/cancel"), 409, "not_cancellable")
    archive = await ann.get(f"{path}/archive")
    assert list(verify_run(archive.raw, await keys(ann))) == []
    assert json.loads(archive.raw)["head"] == kept["head"]
    exported = await ann.get("/audit/export")
    assert list(verify_export(exported.raw.splitlines(keepends=True), await keys(ann))) == []
    [change] = [one for one in (await ann.get("/audit/log")).json if one["event"]["type"] == "run_archived"]
    assert change["event"]["form"]["sha256"] == kept["sha256"]


async def test_an_export_without_events_that_no_log_explains_is_found(house: House, ann: Person) -> None:
    run = await done(ann)
    await archive_all(house, ann)
    lines = [json.loads(line) for line in (await ann.get("/audit/export")).raw.splitlines()]
    kept = [one for one in lines if not any(event["type"] == "run_archived" for event in one.get("events", ()))]
    assert len(kept) < len(lines)
    raw = [json.dumps(one, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" for one in kept]
    found = {(one.kind, one.where) for one in verify_export(raw, await keys(ann))}
    assert ("archived", f"run {run['id']}") in found


async def test_a_held_run_is_not_archived_until_it_is_released(house: House, ann: Person) -> None:
    run = await done(ann)
    path = f"/process-runs/{run['id']}"
    held = await ann.put(f"{path}/hold", CASE)
    assert (held.status, held.json["reason"], held.json["held_by"]) == (200, CASE["reason"], ann.email)
    await archive_all(house, ann)
    found = (await ann.get(path)).json
    assert (found["hold"], "archived" in found) == (held.json, False)
    assert (await ann.put(f"{path}/hold", CASE)).json == held.json  # a repeat changes nothing
    assert (await ann.delete(f"{path}/hold")).status == 204
    assert (await ann.delete(f"{path}/hold")).status == 204
    assert (await ann.get(path)).json == run
    await archive_all(house, ann)
    assert "archived" in (await ann.get(path)).json
    changes = [one["event"] for one in (await ann.get("/audit/log")).json if one["event"]["type"] == "hold_changed"]
    assert [(one["by"], one["after"], one["before"]) for one in changes] == [
        (ann.email, None, CASE),
        (ann.email, CASE, None),
    ]


async def test_a_hold_needs_a_reason_and_leaves_what_is_decided_on(ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    path = f"/process-runs/{run['id']}"
    assert_invalid(await ann.put(f"{path}/hold", {"reason": ""}), "/reason")
    await ann.put(f"{path}/hold", CASE)
    tag = (await ann.get(path)).headers["ETag"]
    assert (await ann.resume(run, "signoff", **{"If-Match": tag})).status == 200


async def test_the_hold_and_the_archive_of_another_company_are_not_there(
    house: House, ann: Person, eve: Person
) -> None:
    run = await done(ann)
    path = f"/process-runs/{run['id']}"
    assert_problem(await eve.put(f"{path}/hold", CASE), 404, "not_found")
    await archive_all(house, ann)
    assert_problem(await eve.get(f"{path}/archive"), 404, "not_found")
    assert "archived" not in (await ann.get(f"/process-runs/{(await done(ann))['id']}")).json


async def test_a_command_stores_an_archive_and_one_that_was_changed_is_refused(
    house: House, ann: Person, operator: Operator, tmp_path: Path
) -> None:
    run = await done(ann)
    await archive_all(house, ann)
    said = await operator.reads("runs", "archive", run["id"], tmp_path / "kept.json")
    assert said["sha256"] == (await ann.get(f"/process-runs/{run['id']}")).json["archived"]["sha256"]
    assert list(verify_run((tmp_path / "kept.json").read_bytes(), await keys(ann))) == []
    [file] = files(tmp_path)
    file.write_bytes(file.read_bytes().replace(b"approved", b"rejected"))
    assert_problem(await ann.get(f"/process-runs/{run['id']}/archive"), 410, "archived")


async def test_the_client_holds_a_run_and_the_command_shows_it(ann: Person, operator: Operator) -> None:
    run = await ann.start("line", {"amount": 1})
    async with Penstock(operator.url, operator.token) as api:
        assert not isinstance(await api.run(run["id"]), RetainedRun)
        held = await api.hold_run(run["id"], "litigation 2026-114")
        found = await api.run(run["id"])
        assert isinstance(found, RetainedRun)
        assert found.hold == held
        assert "under legal hold by ann@ann.test: litigation" in (await operator.says("runs", "show", run["id"])).stdout
        await api.release_run(run["id"])
        assert not isinstance(await api.run(run["id"]), RetainedRun)
