"""API keys that are smaller than their role: models and scopes, and what a change of them does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.asking import ASKS, ruled
from tests.web.operators import Operator
from tests.web.people import colleague, company
from tests.web.support import House, Person, assert_problem
from tests.web.test_api_keys import AGENT, machine, made

NOWHERE = "/api-keys/01900000-0000-7000-8000-000000000000"
SCOPES = {"start": ["li*"], "call": ["stripe.refund*", "crm/*"], "read": "own"}
TERMS: dict[str, Any] = {"model": "assistant-4", "models": ["assistant-*"], "scopes": SCOPES}


async def test_an_admin_says_which_models_use_a_key_and_what_it_may(ann: Person) -> None:
    plain = await made(ann)
    assert (plain["model"], plain["models"], plain["scopes"]) == (None, [], None)
    answer = await ann.put(f"/api-keys/{plain['id']}", TERMS)
    assert answer.status == 200
    (listed,) = (await ann.get("/api-keys/")).json
    assert answer.json == listed == {**{name: one for name, one in plain.items() if name != "key"}, **TERMS}
    assert (await ann.put(f"/api-keys/{plain['id']}", {})).json["scopes"] is None
    begun = await made(ann, name="another", **TERMS)
    assert {name: begun[name] for name in TERMS} == TERMS


async def test_a_change_is_in_the_log_once_and_what_stands_is_no_change(ann: Person) -> None:
    key = await made(ann, **TERMS)
    for _ in range(2):
        assert (await ann.put(f"/api-keys/{key['id']}", {"model": "assistant-5"})).status == 200
    changed, created = [one["event"] for one in (await ann.get("/audit/log")).json[:2]]
    assert (created["type"], created["terms"]) == ("api_key_created", TERMS)
    assert (changed["type"], changed["key_id"], changed["name"]) == ("api_key_changed", key["id"], key["name"])
    assert (changed["by"], changed["before"], changed["after"]) == (ann.email, TERMS, {"model": "assistant-5"})


@pytest.mark.parametrize("who", ["a manager", "a service", "an agent", "another company"])
async def test_an_admin_alone_changes_a_key_and_no_key_changes_itself(
    ann: Person, eve: Person, house: House, who: str
) -> None:
    key = await made(ann)
    if who == "another company":
        assert_problem(await eve.put(f"/api-keys/{key['id']}", TERMS), 404, "not_found")
    elif who == "a manager":
        manager = await colleague(ann, "mia", "manager")
        refused = await manager.put(f"/api-keys/{key['id']}", TERMS)
        assert_problem(refused, 403, "forbidden", reason="role", required="admin")
    else:
        more = {} if who == "an agent" else {"name": "deploy", "kind": "service", "role": "admin"}
        robot = machine(house, key if who == "an agent" else await made(ann, **more))
        assert_problem(await robot.put(f"/api-keys/{key['id']}", {}), 403, "forbidden", reason="machine")
    assert (await ann.get("/api-keys/")).json[0]["model"] is None


async def test_there_is_nothing_to_change_of_a_key_that_is_gone(ann: Person) -> None:
    key = await made(ann)
    assert (await ann.delete(f"/api-keys/{key['id']}")).status == 204
    for path in (NOWHERE, f"/api-keys/{key['id']}"):
        assert_problem(await ann.put(path, TERMS), 404, "not_found")


@pytest.mark.parametrize(
    ("terms", "where"),
    [
        ({"model": ""}, "/model"),
        ({"models": ["a"] * 101}, "/models"),
        ({"scopes": {"write": []}}, "/scopes/write"),
        ({"scopes": {"start": ["Li*"]}}, "/scopes/start/0"),
        ({"scopes": {"start": ["a%"]}}, "/scopes/start/0"),
        ({"scopes": {"call": [""]}}, "/scopes/call/0"),
        ({"scopes": {"read": "everything"}}, "/scopes/read"),
        ({"role": "admin"}, "/role"),
    ],
)
async def test_terms_of_another_form_are_refused(ann: Person, terms: Any, where: str) -> None:
    key = await made(ann)
    refused = await ann.put(f"/api-keys/{key['id']}", terms)
    assert_problem(refused, 422, "invalid")
    assert refused.json["errors"][0]["pointer"].startswith(where)


async def test_a_key_starts_runs_of_the_processes_of_its_scope_alone(ann: Person, house: House) -> None:
    key = await made(ann, scopes={"start": ["li*"]})
    agent = machine(house, key)
    assert (await agent.start("line", {"amount": 5}))["status"] == "parked"
    body = {"vertical": "quick", "inputs": {}}
    refused = await agent.post("/process-runs/", body, Idempotency_Key="k")
    assert_problem(refused, 403, "forbidden", reason="scope", required="start:quick")
    unknown = await agent.post("/process-runs/", {"vertical": "nothing-here", "inputs": {}})
    assert_problem(unknown, 403, "forbidden", reason="scope", required="start:nothing-here")
    assert len((await ann.get("/process-runs/")).json) == 1
    assert (await ann.put(f"/api-keys/{key['id']}", {"scopes": {"start": ["q*", "line"]}})).status == 200
    assert (await agent.post("/process-runs/", body, Idempotency_Key="k")).status in {201, 202}
    assert (await ann.put(f"/api-keys/{key['id']}", {"scopes": {"start": []}})).status == 200
    refused = await agent.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 5}})
    assert_problem(refused, 403, "forbidden", reason="scope", required="start:line")


async def test_a_service_promotes_no_run_of_a_process_that_it_may_not_start(ann: Person, house: House) -> None:
    service = machine(house, await made(ann, name="ci", kind="service", role="admin", scopes={"start": ["other"]}))
    run = await ann.start("line", {"amount": 5})
    refused = await service.post(f"/process-runs/{run['id']}/promote", {})
    assert_problem(refused, 403, "forbidden", reason="scope", required="start:line")


async def test_a_taken_business_key_names_no_run_that_a_key_may_not_read(ann: Person, house: House) -> None:
    agent = machine(house, await made(ann, scopes={"read": "own"}))
    body = {"vertical": "line", "inputs": {"amount": 5}, "business_key": "claim-7", "unique": True}
    run = (await ann.post("/process-runs/", body)).json
    assert_problem(await ann.post("/process-runs/", body), 409, "already_exists", run_id=run["id"])
    refused = await agent.post("/process-runs/", body)
    assert_problem(refused, 409, "already_exists")
    assert "run_id" not in refused.json


async def test_an_agent_proposes_at_no_gate_of_a_run_that_it_may_not_read(ann: Person, house: House) -> None:
    agent, run = machine(house, await made(ann, scopes={"read": ["other"]})), await ann.start("line", {"amount": 5})
    body = {"gate": run["parked_at"], "decision": "approved"}
    assert_problem(await agent.post(f"/process-runs/{run['id']}/proposals", body), 404, "not_found")


@pytest.mark.parametrize("kind", ["service", "agent"])
async def test_a_key_that_reads_its_own_runs_finds_them_in_lists_and_no_others(
    ann: Person, house: House, kind: str
) -> None:
    key = await made(ann, name="narrow", kind=kind, scopes={"read": "own"})
    narrow, other = machine(house, key), machine(house, await made(ann, name="other"))
    own, actions = [], []
    for person in (narrow, other, ann):
        own.append((await person.start("line", {"amount": 5}))["id"])
        asked = await person.post("/actions/", {"tool": "refund"}, Idempotency_Key="k")
        actions.append(asked.json["id"])
    runs = {one["id"] for one in (await narrow.get("/process-runs/")).json}
    assert runs == {own[0], actions[0]}
    assert [one["id"] for one in (await narrow.get("/actions/")).json] == actions[:1]
    gates = {one["run_id"] for one in (await narrow.get("/gates/")).json}
    assert gates == {own[0], actions[0]}
    assert {one["id"] for one in (await ann.get("/process-runs/")).json} == {*own, *actions}


async def test_who_starts_what_it_may_not_read_is_told_that_it_began_and_nothing_else(
    ann: Person, house: House
) -> None:
    agent = machine(house, await made(ann, scopes={"read": ["other"]}))
    began = await agent.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 5}})
    assert began.status in {201, 202}
    assert (began.json["inputs"], began.json["facts"], began.json["gate"]) == ({}, {}, None)
    assert_problem(await agent.get(began.headers["Location"]), 404, "not_found")


@pytest.mark.parametrize("kind", ["service", "agent"])
async def test_a_key_counts_no_calls_that_it_may_not_read(ann: Person, house: House, kind: str) -> None:
    await ruled(ann, ASKS)
    narrow = machine(house, await made(ann, name="narrow", kind=kind, scopes={"read": "own"}))
    other = machine(house, await made(ann, name="other"))
    for number, person in enumerate((other, narrow), 0):
        await person.post("/actions/", {"tool": "stripe.refund"}, Idempotency_Key="k")
        assert (await narrow.get(f"{company(ann)}/action-rules")).json["rules"][0]["hits"]["ask"] == number
    assert (await ann.get(f"{company(ann)}/action-rules")).json["rules"][0]["hits"]["ask"] == 2


async def test_a_key_that_another_key_makes_may_do_no_more_than_that_one(ann: Person, house: House) -> None:
    run = await ann.start("line", {"amount": 5})
    scopes = {"start": ["other"], "call": None, "read": ["other"]}
    provisioner = machine(house, await made(ann, name="ci", kind="service", role="admin", scopes=scopes))
    answer = await provisioner.post("/aap/v1/instances", {"instance_name": "bot"}, Idempotency_Key="k")
    instance = machine(house, {"name": "bot", "key": answer.json["credential"]["token"]})
    assert_problem(await instance.get(f"/process-runs/{run['id']}"), 404, "not_found")
    refused = await instance.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 5}})
    assert_problem(refused, 403, "forbidden", reason="scope", required="start:line")
    assert {one["name"]: one["scopes"] for one in (await ann.get("/api-keys/")).json}["bot"] == scopes


async def test_who_cancels_the_run_of_an_action_that_it_may_not_read_is_told_that_there_is_none(
    ann: Person, house: House
) -> None:
    await ruled(ann, ASKS)
    service = machine(house, await made(ann, name="ci", kind="service", role="admin", scopes={"read": ["other"]}))
    asked = (await service.post("/actions/", {"tool": "stripe.refund"}, Idempotency_Key="k")).json
    assert_problem(await service.post(f"/process-runs/{asked['id']}/cancel", {}), 404, "not_found")
    cancelled = await service.send("DELETE", f"/actions/{asked['id']}", {})
    assert (cancelled.status, cancelled.json["status"]) == (200, "cancelled")


async def test_an_operator_changes_a_key_and_what_is_not_named_stays(operator: Operator) -> None:
    narrow = ("--start", "li*", "--call", "crm/*", "--read", "own")
    await operator.reads("api-keys", "create", AGENT["name"], "--model", "assistant-4", *narrow)
    (key,) = await operator.reads("api-keys", "ls")
    assert (key["model"], key["scopes"]) == ("assistant-4", {"start": ["li*"], "call": ["crm/*"], "read": "own"})
    wider = ("--read", "line", "--read", "claims", "--models", "assistant-*")
    changed = await operator.reads("api-keys", "change", AGENT["name"], *wider)
    assert changed == {**key, "models": ["assistant-*"], "scopes": {**key["scopes"], "read": ["line", "claims"]}}
    shown = await operator.says("api-keys", "change", key["id"], "--model", "", "--unscoped")
    assert "start" not in shown.output
    (plain,) = await operator.reads("api-keys", "ls")
    assert (plain["model"], plain["models"], plain["scopes"]) == (None, ["assistant-*"], None)
