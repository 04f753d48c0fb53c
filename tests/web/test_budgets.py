"""What one company uses up, and that nobody else notices."""

from __future__ import annotations

import asyncio

import pytest

from daemon.model.budgets import Budgets, table
from daemon.settings import Settings
from tests.web.people import company, member_id
from tests.web.support import Answer, CompanyStream, FarSide, House, Person, assert_problem

BUDGETS = {
    "company_streams_max": 2,
    "company_runs_max": 3,
    "company_connectors_max": 2,
    "company_webhooks_max": 1,
    "company_members_max": 2,
    "company_groups_max": 1,
    "company_tests_per_minute_max": 2,
}
STREAM = {"Accept": "text/event-stream"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update=BUDGETS)


def test_every_budget_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {row.name for row in table()} == set(Budgets.model_fields) <= set(Settings.model_fields)
    for row in table():
        monkeypatch.setenv(row.variable, "7")
    assert {getattr(Settings(), row.name) for row in table()} == {7}


@pytest.mark.one_daemon
async def test_a_company_has_so_many_live_streams(ann: Person, eve: Person) -> None:
    async with CompanyStream(ann, ""), CompanyStream(ann, "") as last:
        refused = await ann.get("/events/", **STREAM)
        assert_problem(refused, 429, "quota_exceeded", limit=2, budget="company_streams", retryable=True)
        assert refused.headers["Retry-After"] == "1"
        async with CompanyStream(eve, "") as other:
            assert other.response.status == 200
        last.response.close()


async def start(person: Person, **headers: str) -> Answer:
    return await person.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 1}}, **headers)


@pytest.mark.one_daemon
async def test_a_company_has_so_many_runs_and_those_it_has_go_on(ann: Person, eve: Person, house: House) -> None:
    first = (await start(ann, Idempotency_Key="first")).json
    await ann.start("line", {"amount": 1})
    await house.services.stored.run_once()
    await ann.start("line", {"amount": 1})
    refused = await start(ann, Idempotency_Key="fourth")
    assert_problem(refused, 507, "quota_exceeded", limit=3, budget="company_runs", retryable=False)
    assert (await ann.resume(first, "signoff")).status == 200
    again = await start(ann, Idempotency_Key="first")
    assert (again.status, again.json["id"]) == (201, first["id"])
    assert (await start(eve)).status == 201


@pytest.mark.one_daemon
async def test_runs_started_at_once_are_counted_exactly(ann: Person) -> None:
    answers = await asyncio.gather(*(start(ann) for _ in range(10)))
    assert sorted(answer.status for answer in answers) == [201] * 3 + [507] * 7


async def test_what_was_stored_before_a_restart_counts(ann: Person, house: House) -> None:
    for _ in range(3):
        assert (await start(ann)).status == 201
    await house.restart()
    assert (await start(ann)).status == 507


@pytest.mark.one_daemon
async def test_beyond_its_bytes_a_company_begins_nothing_new_and_ends_what_it_began(
    house: House, settings: Settings
) -> None:
    await house.close()
    house.settings = settings.model_copy(update={"company_stored_bytes_max": 5_000})
    await house.open()
    ann = await house.register("ann")
    run = (await start(ann)).json
    large = await ann.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 1, "note": "x" * 5_000}})
    assert large.status == 201
    await house.services.stored.run_once()
    refused = await start(ann)
    assert_problem(refused, 507, "quota_exceeded", limit=5_000, budget="company_stored_bytes")
    connector = {"base_url": "http://127.0.0.1:9", "method": "POST", "path": "/do"}
    assert (await ann.put("/connectors/mail", connector)).status == 507
    assert (await ann.resume(run, "signoff")).status == 200
    assert (await ann.post(f"/process-runs/{large.json['id']}/cancel", {})).status == 200


async def test_a_company_has_so_many_connectors_and_may_change_them(ann: Person, eve: Person) -> None:
    connector = {"base_url": "http://127.0.0.1:9", "method": "POST", "path": "/do"}
    for tool_id in ("mail", "post"):
        assert (await ann.put(f"/connectors/{tool_id}", connector)).status == 201
    refused = await ann.put("/connectors/fax", connector)
    assert_problem(refused, 507, "quota_exceeded", limit=2, budget="company_connectors")
    assert (await ann.put("/connectors/mail", {**connector, "path": "/else"})).status == 200
    assert (await eve.put("/connectors/fax", connector)).status == 201


async def test_a_company_has_so_many_webhooks(ann: Person, eve: Person) -> None:
    assert (await ann.post("/webhooks/", {"url": "http://127.0.0.1:9"})).status == 201
    refused = await ann.post("/webhooks/", {"url": "http://127.0.0.1:9"})
    assert_problem(refused, 507, "quota_exceeded", limit=1, budget="company_webhooks")
    assert (await eve.post("/webhooks/", {"url": "http://127.0.0.1:9"})).status == 201


async def test_a_company_has_so_many_members_with_those_invited(ann: Person, eve: Person) -> None:
    bob, kim = ({"email": f"{name}@{name}.test", "role": "viewer"} for name in ("bob", "kim"))
    assert (await ann.post(f"{company(ann)}/members", bob)).status == 201
    refused = await ann.post(f"{company(ann)}/members", kim)
    assert_problem(refused, 507, "quota_exceeded", limit=2, budget="company_members")
    assert (await ann.post(f"{company(ann)}/members", bob)).status == 201
    assert (await eve.post(f"{company(eve)}/members", kim)).status == 201


async def test_a_company_has_so_many_groups_and_may_change_them(ann: Person) -> None:
    everybody = {"members": [await member_id(ann)]}
    assert (await ann.put(f"{company(ann)}/groups/nurses", {"members": []})).status == 200
    refused = await ann.put(f"{company(ann)}/groups/physicians", {"members": []})
    assert_problem(refused, 507, "quota_exceeded", limit=1, budget="company_groups")
    assert (await ann.put(f"{company(ann)}/groups/nurses", everybody)).status == 200


async def test_a_company_makes_so_many_tests_a_minute(ann: Person, eve: Person, far: FarSide) -> None:
    connector = {"base_url": far.url, "method": "POST", "path": "/do", "send": True}
    for _ in range(2):
        assert (await ann.post("/connectors/mail/test", connector)).status == 200
    refused = await ann.post("/connectors/mail/test", connector)
    assert_problem(refused, 429, "quota_exceeded", limit=2, budget="company_tests_per_minute")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert (await eve.post("/connectors/mail/test", connector)).status == 200
    assert len(far.seen) == 3
