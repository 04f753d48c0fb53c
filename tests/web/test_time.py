"""Deadlines, waits, messages, errors and compensation over HTTP, on the clock of the machine."""

from __future__ import annotations

from typing import Any

import pytest

from actors.core.commands.callbacks import MESSAGES_MAX
from tests.web.support import EventStream, House, Person, assert_problem

SOON = "2026-01-01T00:00:00Z"


async def delivers(person: Person, run: Any, name: str, payload: Any = None) -> Any:
    return await person.post(f"/process-runs/{run['id']}/messages", {"name": name, "payload": payload})


async def events(person: Person, run: Any) -> list[str]:
    return [one["type"] for one in (await person.get(f"/process-runs/{run['id']}/events?limit=200")).json]


async def test_a_deadline_reminds_escalates_and_at_last_decides(ann: Person) -> None:
    run = await ann.start("clock")
    assert run["gate"]["due_at"] > run["gate"]["opened_at"]
    done = await ann.until(run, "completed")
    assert done["outcome"] == "bad"
    told = [one for one in await events(ann, run) if one.startswith("gate_")]
    assert told == ["gate_opened", "gate_reminded", "gate_escalated", "gate_expired"]
    late = await ann.resume(run, "look")
    assert (late.status, late.json["decided"]["by"], late.json["decided"]["by_kind"]) == (409, "deadline", "deadline")


async def test_what_was_due_while_the_service_was_down_is_done_when_it_is_up(ann: Person, house: House) -> None:
    run = await ann.start("clock")
    await house.restart()
    assert (await ann.until(run, "completed"))["outcome"] == "bad"


async def test_a_run_waits_for_a_message_and_for_its_time(ann: Person) -> None:
    run = await ann.start("claim", {"at": SOON})
    assert run["status"] == "waiting"
    assert run["trace"][-1]["wait"]["message"] == "papers"
    assert run["trace"][-1]["wait"].keys() == {"since", "until", "message", "business_days"}
    other = await delivers(ann, run, "something-else")
    assert (other.status, other.json["status"]) == (202, "waiting")
    assert (await delivers(ann, run, "papers", {"pages": 12})).status == 202
    parked = await ann.until(run, "parked")
    assert parked["facts"]["papers"] == {"ended_by": "message", "payload": {"pages": 12}}
    (taken,) = [one for one in parked["trace"] if one["step_id"] == "papers"]
    assert (taken["resolved_by"], taken["resolved_by_kind"]) == (ann.email, "person")
    done = await ann.resume(run, "close")
    assert done.json["status"] == "completed"
    assert_problem(await delivers(ann, run, "papers"), 409, "run_ended")


async def test_a_run_that_keeps_all_it_takes_still_takes_the_message_that_it_waits_for(ann: Person) -> None:
    run = await ann.start("claim", {"at": SOON})
    for _ in range(MESSAGES_MAX):
        assert (await delivers(ann, run, "something-else")).status == 202
    assert_problem(await delivers(ann, run, "something-else"), 429, "quota_exceeded", budget="messages")
    assert (await delivers(ann, run, "papers")).status == 202
    assert (await ann.until(run, "parked"))["parked_at"] == "close"


async def test_a_refusal_for_want_of_room_is_not_given_again_under_its_key(ann: Person) -> None:
    run = await ann.start("claim", {"at": SOON})
    for _ in range(MESSAGES_MAX):
        await delivers(ann, run, "something-else")
    path, said = f"/process-runs/{run['id']}/messages", {"name": "something-else"}
    full = await ann.post(path, said, Idempotency_Key="one")
    assert_problem(full, 429, "quota_exceeded", budget="messages", retryable=True)
    await ann.post(f"/process-runs/{run['id']}/cancel", {})
    assert_problem(await ann.post(path, said, Idempotency_Key="one"), 409, "run_ended")


async def test_a_time_without_a_clear_answer_parks_the_run_until_it_is_given(ann: Person) -> None:
    run = await ann.start("claim")
    await delivers(ann, run, "papers")
    parked = await ann.until(run, "parked")
    assert (parked["parked_at"], parked["gate"]["missing"]) == ("until", ["/at"])
    body = {"gate": "until", "decision": "approved", "inputs": {"at": SOON}}
    assert (await ann.post(f"/process-runs/{run['id']}/resume", body)).json["parked_at"] == "close"


async def test_a_failed_call_takes_the_way_that_the_template_has_for_it(ann: Person, unused_tcp_port: int) -> None:
    await ann.connect("reserve", f"http://127.0.0.1:{unused_tcp_port}")
    run = await ann.start("claim", {"at": SOON})
    await delivers(ann, run, "papers")
    done = await ann.until(run, "completed")
    assert (done["outcome"], done["facts"]["reserve"]["error"]["code"]) == ("broken", "call_failed")


async def test_a_cancelled_run_undoes_what_it_did_first(ann: Person) -> None:
    run = await ann.start("claim", {"at": SOON})
    await delivers(ann, run, "papers")
    await ann.until(run, "parked")
    done = await ann.post(f"/process-runs/{run['id']}/cancel", {"compensate": True})
    assert (done.status, done.json["status"]) == (200, "cancelled")
    undone = done.json["trace"][-1]
    assert (undone["step_id"], undone["undoes"], undone["request"]["tool"]) == ("reserve", 1, "release")


@pytest.mark.parametrize("name", ["", "Papers", "a b"])
async def test_a_message_has_a_plain_name(ann: Person, name: str) -> None:
    run = await ann.start("claim")
    assert_problem(await delivers(ann, run, name), 422, "invalid")


async def test_a_stream_tells_of_the_end_of_a_wait(ann: Person) -> None:
    run = await ann.start("claim", {"at": SOON})
    async with EventStream(ann, run["id"]) as stream:
        await delivers(ann, run, "papers")
        while (await anext(stream))["event"] != "wait_ended":
            pass
