"""API keys: made by people, for services and agents, which never decide."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from daemon.identity.api_keys import hash_of
from tests.web.operators import Operator
from tests.web.people import colleague, member_id
from tests.web.support import (
    PASSWORD,
    PATIENCE_S,
    CompanyStream,
    EventStream,
    House,
    Person,
    assert_invalid,
    assert_problem,
)

AGENT = {"name": "triage agent", "role": "member", "kind": "agent"}


async def made(ann: Person, **members: Any) -> dict[str, Any]:
    answer = await ann.post("/api-keys", {**AGENT, **members})
    assert answer.status == 201, answer.raw
    found: dict[str, Any] = answer.json
    return found


def machine(house: House, key: dict[str, Any]) -> Person:
    """The holder of a key."""
    return Person(house, {"token": key["key"], "user": {"email": key["name"]}})


async def test_a_key_is_shown_once_and_listed_without_its_secret(ann: Person) -> None:
    key = await made(ann)
    assert key["key"].startswith("psk_")
    assert key["key"].startswith(key["prefix"])
    assert key["created_by"] == ann.email
    listed = (await ann.get("/api-keys/")).json
    assert listed == [{name: value for name, value in key.items() if name != "key"}]


async def test_the_keys_come_in_pages(ann: Person) -> None:
    names = [(await made(ann, name=f"agent {number}"))["name"] for number in range(3)]
    first = await ann.get("/api-keys?limit=2")
    path = first.headers["Link"].split(";")[0].strip("<>")
    assert [one["name"] for one in first.json + (await ann.get(path)).json] == names


async def test_a_key_reads_and_starts_as_its_name(ann: Person, house: House) -> None:
    agent = machine(house, await made(ann))
    run = await agent.start("line", {"amount": 5})
    assert run["created_by"] == "triage agent"
    assert (await agent.run(run))["id"] == run["id"]


@pytest.mark.parametrize(("kind", "role"), [("agent", "member"), ("service", "admin")])
async def test_a_machine_never_decides(ann: Person, house: House, kind: str, role: str) -> None:
    robot = machine(house, await made(ann, kind=kind, role=role))
    run = await ann.start("line", {"amount": 5})
    refused = await robot.resume(run, run["parked_at"])
    assert_problem(refused, 403, "forbidden", reason="machine")
    assert (await ann.run(run))["status"] == "parked"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api-keys", {**AGENT, "name": "child"}),
        ("DELETE", "/api-keys/01900000-0000-7000-8000-000000000000", None),
        ("POST", "/auth/logout", {}),
        ("POST", "/auth/password", {"current": "correct horse", "new": "another horse battery"}),
        ("GET", "/auth/sessions", None),
        ("DELETE", "/auth/sessions", None),
        ("DELETE", "/auth/sessions/01900000-0000-7000-8000-000000000000", None),
    ],
)
async def test_a_machine_makes_no_keys_and_has_no_account(
    ann: Person, house: House, method: str, path: str, body: Any
) -> None:
    service = machine(house, await made(ann, kind="service", role="admin"))
    assert_problem(await service.send(method, path, body), 403, "forbidden", reason="machine")


async def test_a_machine_changes_no_policy(ann: Person, house: House) -> None:
    service = machine(house, await made(ann, kind="service", role="admin"))
    path = f"/companies/{ann.session['company']['id']}/policy"
    refused = await service.put(path, {"second_factor_from": "viewer"})
    assert_problem(refused, 403, "forbidden", reason="machine")


async def test_a_machine_is_told_whose_it_is(ann: Person, house: House) -> None:
    key = await made(ann)
    me = (await machine(house, key).get("/auth/me")).json
    assert me["kind"] == "agent"
    assert me["role"] == key["role"]
    assert me["company"] == ann.session["company"]
    assert (me["member_id"], me["user"]["name"]) == (None, key["name"])
    assert me["companies"] == [{**ann.session["company"], "role": key["role"]}]


async def test_a_deleted_key_counts_no_longer(ann: Person, house: House) -> None:
    key = await made(ann)
    agent = machine(house, key)
    assert (await agent.get("/process-runs")).status == 200
    assert (await ann.delete(f"/api-keys/{key['id']}")).status == 204
    assert_problem(await agent.get("/process-runs"), 401, "not_authenticated")
    assert (await ann.get("/api-keys")).json == []
    assert_problem(await ann.delete(f"/api-keys/{key['id']}"), 404, "not_found")
    await made(ann)  # its name is free again


async def test_deleting_a_key_ends_its_streams(ann: Person, house: House) -> None:
    key = await made(ann)
    run = await ann.start("line", {"amount": 5})
    async with asyncio.timeout(PATIENCE_S), CompanyStream(machine(house, key), "") as stream:
        assert (await ann.delete(f"/api-keys/{key['id']}")).status == 204
        await ann.resume(run, run["parked_at"])
        assert [event async for event in stream] == []


@pytest.mark.parametrize("end", ["key", "removal", "log-out", "password"])
@pytest.mark.parametrize("of_run", [True, False])
async def test_a_stream_ends_with_its_right_though_nothing_happens(
    ann: Person, house: House, end: str, of_run: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.web.sse.BEAT_S", 3_600.0)
    key, bob = await made(ann), await colleague(ann, "bob", "viewer")
    run = await ann.start("line", {"amount": 5})
    reader = machine(house, key) if end == "key" else bob
    stream = EventStream(reader, run["id"]) if of_run else CompanyStream(reader, "")
    async with asyncio.timeout(PATIENCE_S), stream:
        for _ in range(run["version"] if of_run else 0):
            await anext(stream)
        if end == "key":
            assert (await ann.delete(f"/api-keys/{key['id']}")).status == 204
        elif end == "removal":
            path = f"/companies/{ann.session['company']['id']}/members/{bob.session['member_id']}"
            assert (await ann.delete(path)).status == 204
        elif end == "log-out":
            assert (await bob.post("/auth/logout")).status == 204
        else:
            new = {"current": PASSWORD, "new": "another horse battery"}
            other = await house.send("POST", "/auth/login", {"email": bob.email, "password": PASSWORD})
            assert (await Person(house, other.json).post("/auth/password", new)).status == 204
        assert [one["event"] async for one in stream if one["event"] != "people_changed"] == []


async def test_a_machine_is_told_the_role_that_a_person_would_need(ann: Person, house: House) -> None:
    bob, robot = await colleague(ann, "bob", "viewer"), machine(house, await made(ann))
    path = f"/companies/{ann.session['company']['id']}/members/{await member_id(ann)}"
    cid = await colleague(ann, "cid", "member")
    other = f"{path.rpartition('/')[0]}/{cid.session['member_id']}"
    assert_problem(await bob.delete(other), 403, "forbidden", required="admin")
    for one in (other, path, f"{path.rpartition('/')[0]}/none"):
        assert_problem(await robot.delete(one), 403, "forbidden", reason="machine", required="admin")


@pytest.mark.one_daemon
async def test_an_expired_key_counts_no_longer(ann: Person, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    agent = machine(house, await made(ann, expires_at=soon.isoformat()))
    assert (await agent.get("/process-runs")).status == 200
    monkeypatch.setattr(house.services.api_keys, "_now", lambda: soon)
    assert_problem(await agent.get("/process-runs"), 401, "not_authenticated")


@pytest.mark.parametrize("forged", ["psk_", "psk_short", f"psk_{'A' * 43}", f"psk_{'A' * 44}", f"psk_{'é' * 43}"])
async def test_a_forged_key_is_no_key(house: House, forged: str) -> None:
    answer = await house.send("GET", "/process-runs", headers={"Authorization": f"Bearer {forged}"})
    assert_problem(answer, 401, "not_authenticated")


async def test_a_key_in_a_cookie_is_no_key(ann: Person, house: House) -> None:
    key = await made(ann)
    answer = await house.send("GET", "/process-runs", headers={"Cookie": f"penstock_session={key['key']}"})
    assert_problem(answer, 401, "not_authenticated")


async def test_a_key_sees_its_own_company_alone(ann: Person, eve: Person, house: House) -> None:
    key, run = await made(ann), await eve.start("line", {"amount": 5})
    assert_problem(await machine(house, key).get(f"/process-runs/{run['id']}"), 404, "not_found")
    assert_problem(await eve.delete(f"/api-keys/{key['id']}"), 404, "not_found")
    assert (await eve.get("/api-keys")).json == []


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"role": "manager"}, "/role"),
        ({"role": "admin"}, "/role"),
        ({"role": "owner", "kind": "service"}, "/role"),
        ({"kind": "person"}, "/kind"),
        ({"name": ""}, "/name"),
        ({"name": " "}, "/name"),
        ({"name": "x" * 101}, "/name"),
        ({"name": "a\x00b"}, "/name"),
        ({"name": "a\u202eb"}, "/name"),
        ({"name": "ann@ann.test"}, "/name"),
        ({"name": "Autopilot"}, "/name"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "/expires_at"),
        ({"expires_at": "2099-01-01T00:00:00"}, "/expires_at"),
        ({"expires_at": "9999-12-31T23:59:59-12:00"}, "/expires_at"),
        ({"expires_at": 4_102_444_800}, "/expires_at"),
        ({"expires_at": "4102444800"}, "/expires_at"),
        ({"more": 1}, "/more"),
    ],
)
async def test_a_key_that_cannot_be_is_refused(ann: Person, members: dict[str, Any], pointer: str) -> None:
    assert_invalid(await ann.post("/api-keys", {**AGENT, **members}), pointer)


async def test_two_live_keys_of_one_name_are_refused(ann: Person) -> None:
    await made(ann)
    assert_problem(await ann.post("/api-keys", {**AGENT, "name": "Triage AGENT"}), 409, "already_exists")


@pytest.mark.one_daemon
async def test_a_company_has_a_budget_of_keys(ann: Person, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house.services.api_keys, "_most", 1)
    await made(ann)
    refused = await ann.post("/api-keys", {**AGENT, "name": "one more"})
    assert_problem(refused, 507, "quota_exceeded", budget="company_api_keys")


async def test_a_repeated_request_gets_the_same_key(ann: Person, house: House) -> None:
    first = await ann.post("/api-keys", AGENT, Idempotency_Key="once")
    await house.restart()
    again = await ann.post("/api-keys", AGENT, Idempotency_Key="once")
    assert (again.status, again.raw) == (201, first.raw)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len((await ann.get("/api-keys")).json) == 1


async def test_what_happens_to_keys_is_in_the_audit_log(ann: Person) -> None:
    key = await made(ann)
    await ann.delete(f"/api-keys/{key['id']}")
    deleted, created = [one["event"] for one in (await ann.get("/audit/log")).json[:2]]
    assert (created["type"], deleted["type"]) == ("api_key_created", "api_key_deleted")
    assert (created["key_id"], created["by"], created["role"]) == (key["id"], ann.email, "member")


@pytest.mark.one_daemon
async def test_use_of_a_key_is_recorded(ann: Person, house: House) -> None:
    agent = machine(house, await made(ann))
    assert (await ann.get("/api-keys")).json[0]["last_used_at"] is None
    await agent.get("/process-runs")
    await house.services.api_keys.record_use()
    assert (await ann.get("/api-keys")).json[0]["last_used_at"] is not None


@pytest.mark.one_daemon
async def test_a_key_that_is_deleted_while_it_is_read_does_not_count(
    ann: Person, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await made(ann)
    keys, read = house.services.api_keys, house.services.store.api_key
    house.services.api_keys.forget([hash_of(key["key"])])

    async def late(key_hash: bytes) -> Any:
        found = await read(key_hash)
        monkeypatch.setattr(house.services.store, "api_key", read)
        assert (await ann.delete(f"/api-keys/{key['id']}")).status == 204
        return found

    monkeypatch.setattr(house.services.store, "api_key", late)
    assert_problem(await machine(house, key).get("/process-runs"), 401, "not_authenticated")
    assert len(keys._known) == 0


async def test_an_operator_creates_lists_and_deletes_keys(operator: Operator, house: House) -> None:
    made = await operator.reads("api-keys", "create", "nightly import", "--kind", "service", "--role", "admin")
    assert (await machine(house, made).get("/connectors")).status == 200
    shown = await operator.says("api-keys", "create", "triage agent", "--expires", "2099-01-01")
    assert "key: psk_" in shown.output
    listed = await operator.reads("api-keys", "ls")
    assert [one["name"] for one in listed] == ["nightly import", "triage agent"]
    assert listed[1]["expires_at"] == "2099-01-01T00:00:00Z"
    assert (await operator.says("api-keys", "rm", made["id"], types="n\n")).exit_code != 0
    assert (await operator.reads("api-keys", "rm", made["id"], "--yes")) == {"deleted": made["id"]}
    assert [one["name"] for one in await operator.reads("api-keys", "ls")] == ["triage agent"]
