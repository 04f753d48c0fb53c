"""Redaction of values of runs over HTTP: what is gone, what still verifies, and who may."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from daemon.keys.commit_keys import CommitKeys
from daemon.verification.exports import verify_export
from daemon.verification.runs import verify_run
from daemon.verification.stores import verify_store
from tests.web.support import Answer, FarSide, House, Person, assert_invalid, assert_problem

NAME = "Zora Quendolin"
WHY = {"reason": "request 2026-31"}


async def done(ann: Person, far: FarSide, **inputs: Any) -> Any:
    """A run that ended, with a value in its inputs, a call, a comment and its business key."""
    await ann.connect("payment", far.url)
    body = {
        "vertical": "line",
        "inputs": {"amount": 4711, "member": NAME, "vip": True, **inputs},
        "business_key": f"case of {NAME}",
    }
    run = (await ann.post("/process-runs/", body, Idempotency_Key="start")).json
    verdict = {"gate": "signoff", "decision": "approved", "comment": f"{NAME.upper()} may have it"}
    answer = await ann.post(f"/process-runs/{run['id']}/resume", verdict)
    assert answer.json["status"] == "completed", answer.raw
    return answer.json


async def redact(ann: Person, run: Any, *pointers: str, **more: Any) -> Any:
    return await ann.post(f"/process-runs/{run['id']}/redact", {"pointers": pointers, **WHY, **more})


async def keys(ann: Person) -> dict[str, bytes]:
    return {key_id: base64.b64decode(key) for key_id, key in (await ann.get("/audit/keys")).json.items()}


async def test_a_redacted_value_and_its_copies_are_gone_everywhere_and_everything_verifies(
    house: House, ann: Person, far: FarSide
) -> None:
    run = await done(ann, far)
    path = f"/process-runs/{run['id']}"
    assert [one["id"] for one in (await ann.get("/process-runs/?q=quendolin")).json] == [run["id"]]
    answer = await redact(ann, run, "/inputs/member")
    assert answer.status == 200, answer.raw
    assert answer.json["left"] == []
    assert {"/events/1/inputs/member", "/events/1/business_key"} <= set(answer.json["places"])
    found = (await ann.get(path)).json
    mark = found["inputs"]["member"]
    assert mark.startswith("redacted on ")
    assert mark.endswith(f" by {ann.email} because {WHY['reason']}")
    assert (found["inputs"]["amount"], found["inputs"]["vip"]) == (4711, True)
    assert found["trace"][2]["request"]["body"]["inputs"] == {"amount": 4711, "member": mark, "vip": True}
    assert (found["business_key"], found["facts"]["signoff"]["comment"]) == (mark, mark)
    assert [one["number"] for one in found["redactions"]] == [1]
    for view in (path, f"{path}/events", f"{path}/audit", "/events/", "/process-runs/", "/audit/export", "/audit/log"):
        assert NAME.casefold() not in (await ann.get(view)).raw.decode().casefold(), view
    assert (await ann.get("/process-runs/?q=quendolin")).json == []
    assert [one["id"] for one in (await ann.get("/process-runs/?q=redacted")).json] == [run["id"]]
    again = {
        "vertical": "line",
        "inputs": {"amount": 4711, "member": NAME, "vip": True},
        "business_key": f"case of {NAME}",
    }
    assert_problem(await ann.post("/process-runs/", again, Idempotency_Key="start"), 422, "idempotency_key_reused")
    counts = Counter[str]()
    known = await keys(ann)
    assert list(verify_run((await ann.get(f"{path}/audit")).raw, known, (), counts)) == []
    exported = (await ann.get("/audit/export")).raw.splitlines(keepends=True)
    assert list(verify_export(exported, known, (), counts)) == []
    assert counts["redactions"] == 2
    [change] = [one for one in (await ann.get("/audit/log")).json if one["event"]["type"] == "run_redacted"]
    assert (change["event"]["by"], change["event"]["pointers"]) == (ann.email, ["/inputs/member"])


async def approved(ann: Person, runs: Sequence[Any]) -> Answer:
    """The answer to approvals at the gates of several runs at once, or to their repeat."""
    asked = {"gate": "signoff", "decision": "approved"}
    verdicts = [{**asked, "run_id": run["id"], "digest": run["gate"]["digest"]} for run in runs]
    return await ann.post("/gates/verdicts", {"verdicts": verdicts}, Idempotency_Key="several")


@pytest.mark.sqlite
async def test_what_was_answered_to_several_verdicts_holds_no_redacted_value(house: House, ann: Person) -> None:
    runs = [await ann.start("line", {"amount": 4711, "member": name}) for name in (NAME, "Another One")]
    first = await approved(ann, runs)
    assert [one["run"]["status"] for one in first.json["results"]] == ["completed"] * 2
    again = await approved(ann, runs)
    assert (again.raw, again.headers["Idempotency-Replayed"]) == (first.raw, "true")
    assert (await redact(ann, runs[0], "/inputs/member")).status == 200
    assert_problem(await approved(ann, runs), 422, "idempotency_key_reused")
    await house.close()
    for file in house.settings.data_dir.glob("penstock.db*"):
        assert b"quendolin" not in file.read_bytes().lower(), file
    await house.open()


@pytest.mark.sqlite
async def test_the_database_holds_no_byte_of_a_redacted_value_and_verifies(
    house: House, ann: Person, far: FarSide
) -> None:
    run = await done(ann, far)
    await ann.get("/process-runs/?q=quendolin")
    answer = await redact(ann, run, "/inputs", "/facts")
    assert answer.status == 200, answer.raw
    known = await keys(ann)
    await house.close()
    folder = house.settings.data_dir
    for file in folder.glob("penstock.db*"):
        content = file.read_bytes().lower()
        assert b"quendolin" not in content, file
    counts = Counter[str]()
    macs = CommitKeys.open(folder / "commit.keys", create=False)
    assert list(verify_store(folder / "penstock.db", known, (), counts, commit_keys=macs)) == []
    assert counts["redactions"] == 1
    await house.open()


async def test_only_people_who_may_redact_runs_that_ended_and_are_not_held(ann: Person, far: FarSide) -> None:
    run = await done(ann, far)
    live = await ann.start("line", {"amount": 1})
    assert_problem(await redact(ann, live, "/inputs/amount"), 409, "not_redactable")
    assert_invalid(await redact(ann, run, "/inputs/amount", "/inputs/nobody"), "/pointers/1")
    assert_invalid(await redact(ann, run, "/trace"), "/pointers/0")
    assert_invalid(await redact(ann, run, "/inputs/member", reason=f"{NAME} asked for it"), "/reason")
    path = f"/process-runs/{run['id']}/hold"
    assert (await ann.put(path, {"reason": "a case"})).status == 200
    assert_problem(await redact(ann, run, "/inputs/member"), 409, "not_redactable")
    assert (await ann.delete(path)).status == 204
    first = await redact(ann, run, "/inputs/member")
    assert first.json["number"] == 1
    assert (await redact(ann, run, "/inputs/member")).json["number"] == 1
    second = await redact(ann, run, "/inputs/amount", "/inputs/member")
    assert second.json["number"] == 2
    assert (await ann.get(f"/process-runs/{run['id']}")).json["inputs"]["vip"] is True
    known = await keys(ann)
    exported = (await ann.get("/audit/export")).raw.splitlines(keepends=True)
    assert list(verify_export(exported, known)) == []
    lines = [json.loads(line) for line in exported]
    assert ": 4711" not in json.dumps(lines)  # a hash may have these digits


async def test_an_input_does_not_take_what_the_decider_said_along(ann: Person, far: FarSide) -> None:
    said = "Denied: the invoice is a forgery, and refuses to match"
    await ann.connect("payment", far.url)
    run = await ann.start("line", {"amount": 4711, "note": "the", "more": "for", "sly": "and refu"})
    verdict = {"gate": "signoff", "decision": "approved", "comment": said}
    run = (await ann.post(f"/process-runs/{run['id']}/resume", verdict)).json
    answer = await redact(ann, run, "/inputs/note", "/inputs/more", "/inputs/sly")
    assert answer.status == 200, answer.raw
    seq = next(one["seq"] for one in (await ann.get(f"/process-runs/{run['id']}/events")).json if "comment" in one)
    assert f"/events/{seq}/comment" not in answer.json["places"]
    assert f"/events/{seq}" in answer.json["left"]
    assert (await ann.run(run))["facts"]["signoff"]["comment"] == said
    named = await redact(ann, run, "/facts/signoff/comment")
    assert f"/events/{seq}/comment" in named.json["places"]


async def test_a_preview_tells_the_places_and_redacts_nothing(ann: Person, far: FarSide) -> None:
    run = await done(ann, far)
    before = (await ann.get(f"/process-runs/{run['id']}")).raw
    told = await redact(ann, run, "/inputs/member", preview=True)
    assert (await ann.get(f"/process-runs/{run['id']}")).raw == before
    assert told.json["places"] == (await redact(ann, run, "/inputs/member")).json["places"]
