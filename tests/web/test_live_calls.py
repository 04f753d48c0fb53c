"""Sections 1 and 5: what waits for a far side, how long, and what becomes of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actors.core.decider import step
from actors.core.messages import CallReturned
from tests.effort import Effort
from tests.web.support import Answer, FarSide, Person, assert_invalid, assert_problem

QUICK = {"vertical": "quick", "inputs": {"name": "x"}}


@pytest.fixture
async def held(ann: Person, far: FarSide) -> FarSide:
    """A far side behind the tool of `quick` that does not answer until it is opened."""
    far.open.clear()
    await ann.connect("answers", far.url, timeout_s=30)
    return far


def assert_executing(answer: Answer) -> Any:
    assert (answer.status, answer.json["status"]) == (202, "executing"), answer.raw
    assert answer.headers["ETag"] == f'"{answer.json["version"]}"'
    return answer.json


async def test_a_start_with_respond_async_is_202_as_soon_as_it_is_durable(ann: Person, held: FarSide) -> None:
    answer = await ann.post("/process-runs/", QUICK, Prefer="respond-async")
    run = assert_executing(answer)
    assert answer.headers["Location"] == f"/process-runs/{run['id']}"
    assert (await ann.run(run))["status"] == "executing"
    held.open.set()
    assert (await ann.until(run, "completed"))["facts"]["ask"] == {"ok": True}


async def test_a_resume_with_respond_async_is_202(ann: Person, held: FarSide) -> None:
    run = await ann.start("quick", {}, auto=False)
    answer = await ann.resume(run, "ask", Prefer='respond-async; foo="bar"')
    assert_executing(answer)
    held.open.set()
    await ann.until(run, "completed")


async def test_respond_async_is_202_even_when_the_run_rests_at_once(ann: Person) -> None:
    answer = await ann.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 1}}, Prefer="respond-async")
    assert (answer.status, answer.json["status"]) == (202, "parked")
    assert (await ann.resume(answer.json, "signoff", Prefer="respond-async")).status == 202


@pytest.mark.parametrize("prefer", ["wait=0", "wait = 0", 'wait="0"', "handling=lenient, wait=0", "WAIT=0"])
async def test_a_wait_that_ends_first_is_answered_with_202(ann: Person, held: FarSide, prefer: str) -> None:
    assert_executing(await ann.post("/process-runs/", QUICK, Prefer=prefer))


@pytest.mark.parametrize("prefer", ["wait=20", "respond-async, wait=20", "wait=100000", "wait=soon", "nonsense", ""])
async def test_a_run_that_rests_within_the_wait_is_answered_whole(ann: Person, held: FarSide, prefer: str) -> None:
    asked = asyncio.create_task(ann.post("/process-runs/", QUICK, Prefer=prefer))
    await held.arrived.wait()
    held.open.set()
    answer = await asked
    assert (answer.status, answer.json["status"]) == (201, "completed")


async def test_a_verdict_on_an_executing_run_is_409(ann: Person, held: FarSide) -> None:
    run = await ann.start("quick", {}, auto=False)
    await ann.resume(run, "ask", Prefer="respond-async")
    body = assert_problem(await ann.resume(run, "ask"), 409, "not_parked", run_status="executing", parked_at=None)
    assert body["decided"]["decision"] == "approved"


async def test_a_key_of_a_run_that_executes_is_waited_for(ann: Person, held: FarSide) -> None:
    asked = [asyncio.create_task(ann.post("/process-runs/", QUICK, Idempotency_Key="k")) for _ in range(5)]
    await held.arrived.wait()
    held.open.set()
    answers = await asyncio.gather(*asked)
    assert {(answer.status, answer.json["status"]) for answer in answers} == {(201, "completed")}
    assert len({answer.raw for answer in answers}) == 1
    assert len(held.seen) == 1


async def test_an_answer_of_202_is_repeated_as_it_was(ann: Person, held: FarSide) -> None:
    first = await ann.post("/process-runs/", QUICK, Idempotency_Key="k", Prefer="wait=0")
    run = assert_executing(first)
    held.open.set()
    await ann.until(run, "completed")
    again = await ann.post("/process-runs/", QUICK, Idempotency_Key="k")
    assert (again.status, again.raw) == (202, first.raw)
    assert again.headers["Idempotency-Replayed"] == "true"


async def test_a_run_that_executes_can_be_cancelled(ann: Person, held: FarSide) -> None:
    run = assert_executing(await ann.post("/process-runs/", QUICK, Prefer="respond-async"))
    answer = await ann.post(f"/process-runs/{run['id']}/cancel", {"reason": "too slow"})
    assert (answer.status, answer.json["status"]) == (200, "cancelled")
    assert (await ann.run(run))["status"] == "cancelled"


async def test_a_failed_run_says_which_step_and_why_and_goes_on_by_retry(ann: Person, far: FarSide) -> None:
    await ann.connect("answers", far.url)
    far.status = 500
    run = await ann.start("quick", {"name": "x"})
    assert (run["status"], run["outcome"], run["completed_at"]) == ("failed", None, None)
    assert run["error"]["step_id"] == "ask"
    assert run["error"]["status_code"] == 500
    assert run["error"]["code"]
    assert run["error"]["detail"].endswith(".")
    assert_problem(await ann.resume(run, "ask"), 409, "not_parked", run_status="failed")
    far.status = 200
    answer = await ann.post(f"/process-runs/{run['id']}/retry")
    assert (answer.status, answer.json["status"], answer.json["error"]) == (200, "completed", None)
    visits = [(visit["step_id"], visit["visit"], visit["status"]) for visit in answer.json["trace"]]
    assert visits == [("ask", 1, "failed"), ("ask", 2, "done"), ("answered", 1, "done")]


async def test_a_failed_run_can_be_cancelled(ann: Person, far: FarSide) -> None:
    await ann.connect("answers", far.url)
    far.status = 500
    run = await ann.start("quick")
    answer = await ann.post(f"/process-runs/{run['id']}/cancel")
    assert (answer.status, answer.json["status"]) == (200, "cancelled")


async def test_a_call_carries_its_key_its_run_and_its_step(ann: Person, far: FarSide) -> None:
    await ann.connect("answers", far.url, auth_type="bearer", auth_token="s3cret-canary")
    run = await ann.start("quick", {"name": "x"})
    (seen,) = far.seen
    assert (seen.method, seen.target) == ("POST", "/do")
    assert seen.body == {"inputs": {"name": "x"}, "facts": {}}
    assert seen.headers["Idempotency-Key"] == f"{run['id']}:ask:1"
    assert (seen.headers["X-Penstock-Run"], seen.headers["X-Penstock-Step"]) == (run["id"], "ask")
    assert seen.headers["traceparent"].startswith("00-")
    assert seen.headers["Authorization"] == "Bearer s3cret-canary"
    assert run["trace"][0]["mode"] == "live"
    assert run["trace"][0]["request"]["headers"] == {"Authorization": "***"}
    history = await ann.get(f"/process-runs/{run['id']}/events")
    assert b"s3cret-canary" not in history.raw + (await ann.get("/process-runs/")).raw


async def test_a_connector_that_is_not_reversible_is_shadowed_and_opens_no_socket(ann: Person, far: FarSide) -> None:
    await ann.connect("answers", far.url, reversible=False, auth_type="bearer", auth_token="s3cret-canary")
    run = await ann.start("quick", {"name": "x"})
    (ask, _) = run["trace"]
    assert (run["status"], ask["mode"], ask["output"]) == ("completed", "shadow", {"answer": 42})
    assert (ask["request"]["method"], ask["request"]["url"]) == ("POST", f"{far.url}/do")
    assert ask["request"]["headers"] == {"Authorization": "***"}
    assert ask["request"]["body"] == {"inputs": {"name": "x"}, "facts": {}}
    assert far.seen == []


async def test_what_a_gate_shows_is_what_is_sent(ann: Person, far: FarSide) -> None:
    await ann.connect("transfer", far.url, body_map={"amount": "inputs.amount"}, query_map={"case": "id"})
    run = await ann.start("direct", {"amount": 9, "id": "a b"})
    effect = run["gate"]["effect"]
    assert (effect["mode"], effect["method"], effect["body"]) == ("live", "POST", {"amount": 9})
    assert effect["url"] == f"{far.url}/do?case=a%20b"
    assert far.seen == []
    assert (await ann.resume(run, "transfer")).json["parked_at"] == "close"
    assert [(seen.target, seen.body) for seen in far.seen] == [("/do?case=a%20b", {"amount": 9})]


async def test_a_verdict_on_a_call_that_changed_since_is_412_and_nothing_is_sent(ann: Person, far: FarSide) -> None:
    await ann.connect("transfer", far.url)
    run = await ann.start("direct", {"amount": 9})
    await ann.connect("transfer", far.url, path="/elsewhere")
    body = {"gate": "transfer", "decision": "approved", "digest": run["gate"]["digest"]}
    stale = await ann.post(f"/process-runs/{run['id']}/resume", body)
    now = await ann.run(run)
    assert_problem(stale, 412, "stale", parked_at="transfer", etag=f'"{now["version"]}"')
    assert now["gate"]["effect"]["url"] == f"{far.url}/elsewhere"
    assert now["gate"]["digest"] != run["gate"]["digest"]
    assert far.seen == []
    assert (
        await ann.post(f"/process-runs/{run['id']}/resume", {**body, "digest": now["gate"]["digest"]})
    ).status == 200
    assert [seen.target for seen in far.seen] == ["/elsewhere"]


async def test_a_signal_keeps_the_autopilot_from_clearing_anything_further(ann: Person, far: FarSide) -> None:
    far.answer = {"score": 99}
    await ann.connect("answers", far.url, signal_rule="response.body.score > 90 && response.status == 200")
    run = await ann.start("quick")
    assert run["facts"]["ask"] == {"score": 99, "signal": True}


async def test_a_rule_that_an_answer_makes_endless_is_a_hit_after_one_call_and_holds_up_nobody(
    ann: Person, far: FarSide
) -> None:
    far.answer = {"s": "a" * 100_000, "p": "(a?){100}" * 900}
    await ann.connect("answers", far.url, signal_rule="response.body.s.matches(response.body.p)")
    with Effort() as effort:
        run = await ann.start("quick")
    assert effort.calls("eval") == 0
    assert (run["status"], run["facts"]["ask"]["signal"], len(far.seen)) == ("parked", True, 1)


async def test_an_answer_that_can_never_be_applied_is_asked_for_once_and_then_of_a_human(
    ann: Person, far: FarSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is loaded anew for each try, and asks for its outstanding call again."""

    def broken(run: Any, message: Any, *rest: Any, **named: Any) -> Any:
        if isinstance(message, CallReturned):
            raise UnicodeError("ann@example.test")
        return step(run, message, *rest, **named)

    monkeypatch.setattr("actors.actor.step", broken)
    ann.house.services.directory._repeat_s = 0.01
    await ann.connect("answers", far.url)
    run = (await ann.post("/process-runs/", QUICK, Prefer="respond-async")).json
    parked = await ann.until(run, "parked")
    assert (parked["gate"]["reason"], len(far.seen)) == ("outcome unknown", 1)


async def test_a_call_that_nobody_knows_the_outcome_of_is_decided_by_a_human(ann: Person, far: FarSide) -> None:
    await ann.connect("transfer", far.url)
    far.open.clear()
    run = await ann.start("direct", {"amount": 9})
    await ann.resume(run, "transfer", Prefer="respond-async")
    await far.arrived.wait()
    await ann.house.restart()
    after = await ann.until(run, "parked")
    assert (after["parked_at"], after["gate"]["reason"]) == ("transfer", "outcome unknown")
    assert after["gate"]["decisions"] == ["retry", "done", "denied"]
    assert len(far.seen) == 1
    address = f"/process-runs/{run['id']}/resume"
    wrong = await ann.post(address, {"gate": "transfer", "decision": "retry", "output": {"reference": 7}})
    assert_invalid(wrong, "/output")
    done = (await ann.post(address, {"gate": "transfer", "decision": "done", "output": {"reference": 7}})).json
    assert (done["parked_at"], done["facts"]["transfer"]) == ("close", {"reference": 7})
    assert len(far.seen) == 1
