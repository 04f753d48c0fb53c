"""Proposals over HTTP, and who did what in everything that is answered."""

from __future__ import annotations

from tests.web.support import House, Person, assert_invalid, assert_problem
from tests.web.test_api_keys import machine, made

PROPOSAL = {"gate": "check", "decision": "approved", "comment": "as the rules say", "confidence": 0.86}


async def test_an_agent_proposes_and_a_person_decides_on_what_was_seen_before(ann: Person, house: House) -> None:
    run = await ann.start("line", {"amount": 5})
    seen, gate = await ann.get(f"/process-runs/{run['id']}"), run["parked_at"]
    agent = machine(house, await made(ann))
    answer = await agent.post(f"/process-runs/{run['id']}/proposals", {**PROPOSAL, "gate": gate})
    assert answer.status == 201, answer.raw
    assert answer.json == {
        "by": "triage agent", "by_kind": "agent", "decision": "approved", "comment": "as the rules say",
        "confidence": 0.86, "form": None, "at": answer.json["at"],
    }  # fmt: skip
    shown = await ann.run(run)
    assert shown["gate"]["proposals"] == [answer.json]
    assert shown["gate"]["digest"] == run["gate"]["digest"]
    decided = await ann.resume(run, gate, **{"If-Match": seen.headers["ETag"]})
    assert decided.status == 200, decided.raw


async def test_a_proposal_under_a_key_is_made_once(ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    path, body = f"/process-runs/{run['id']}/proposals", {**PROPOSAL, "gate": run["parked_at"]}
    first = await ann.post(path, body, **{"Idempotency-Key": "once"})
    again = await ann.post(path, body, **{"Idempotency-Key": "once"})
    assert (first.status, again.status) == (201, 201)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json == first.json
    assert (await ann.run(run))["version"] == run["version"] + 1


async def test_a_proposal_is_refused_where_a_verdict_would_be(ann: Person, eve: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    path, body = f"/process-runs/{run['id']}/proposals", {**PROPOSAL, "gate": run["parked_at"]}
    assert_problem(await ann.post(path, {**body, "gate": "elsewhere"}), 409, "gate_mismatch")
    assert_problem(await ann.post(path, {**body, "decision": "perhaps"}), 422, "decision_not_allowed")
    assert_problem(await ann.post(path, {**body, "digest": "sha256:other"}), 412, "stale")
    assert_problem(await eve.post(path, body), 404, "not_found")
    assert_invalid(await ann.post(path, {**body, "confidence": 1.5}), "/confidence")
    assert_invalid(await ann.post(path, {**body, "form": {"text": "x" * 9000}}), "/form")
    assert (await ann.run(run))["version"] == run["version"]


async def test_every_event_says_who_it_is_by(ann: Person, house: House) -> None:
    agent = machine(house, await made(ann))
    run = await agent.start("line", {"amount": 5})
    await ann.post(f"/process-runs/{run['id']}/proposals", {**PROPOSAL, "gate": run["parked_at"]})
    await ann.resume(run, run["parked_at"])
    events = (await ann.get(f"/process-runs/{run['id']}/events")).json
    who = {event["type"]: (event["by"], event["by_kind"], event["on_behalf_of"]) for event in events}
    assert who["run_started"] == ("triage agent", "agent", None)
    assert who["gate_opened"] == ("autopilot", "autopilot", None)
    assert who["proposal_made"] == who["verdict_given"] == (ann.email, "person", None)
    every = (await ann.get("/events/?after=0")).json
    assert all(one["event"]["by"] and one["event"]["by_kind"] for one in every)
    ended = await ann.run(run)
    assert ended["created_by_kind"] == "agent"
    assert {visit["resolved_by_kind"] for visit in ended["trace"]} <= {"person", "autopilot", None}


async def test_the_evidence_says_who_it_is_by(ann: Person, house: House) -> None:
    agent = machine(house, await made(ann))
    run = await agent.start("line", {"amount": 5})
    chain = (await ann.get(f"/process-runs/{run['id']}/audit")).json["events"]
    assert (chain[0]["by"], chain[0]["by_kind"]) == ("triage agent", "agent")
    assert chain[0]["change"]["who"]["kind"] == "agent"
    assert all(one["by"] and one["by_kind"] for one in chain)
    log = (await ann.get("/audit/log")).json
    assert log
    assert all(one["by"] and one["by_kind"] for one in log)
