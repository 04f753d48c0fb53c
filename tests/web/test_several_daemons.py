"""Two daemons on one PostgreSQL: what is done at one is so at the other, at once or within a
second.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from actors.core.people import AgentKey
from daemon.engine.change_poller import FRESH_S
from daemon.settings import Settings
from daemon.stores.postgres.store import ACKNOWLEDGED_MAX_S, PostgresStore
from daemon.web.cookies import REFRESH_COOKIE
from daemon.web.sse import BEAT_S
from tests.postgres import Server
from tests.web.conftest import TEMPLATES
from tests.web.operators import Operator
from tests.web.people import colleague, company, delegate, give
from tests.web.support import PASSWORD, Answer, Clients, CompanyStream, EventStream, FarSide, House, Person
from tests.web.test_functions import bind, counts, directed
from tests.web.test_makers import signs
from tests.web.test_own_templates import publish
from tests.web.test_page import cookies_of
from tests.web.test_policy import policy_of
from tests.web.test_second_factors import code_of, enrolled, log_in

WITHIN_S = 1.0
LINE = {"vertical": "line", "inputs": {"amount": 5}}
Pair = tuple[Person, Person]


@pytest.fixture
def place(postgres: Server, template: str) -> tuple[Server, str]:
    return postgres, template


@pytest.fixture
async def settings(place: tuple[Server, str], tmp_path: Path, blank: Path) -> AsyncIterator[Settings]:
    server, template = place
    shutil.copytree(blank, tmp_path / "data")
    url = await server.made(template)
    yield Settings(
        database_url=SecretStr(url),
        data_dir=tmp_path / "data",
        templates_dir=TEMPLATES,
        egress_allow="127.0.0.0/8",
        rate_limits=False,
        drain_timeout_s=1.0,
    )
    await server.dropped(url)


@pytest.fixture
async def pair(settings: Settings, aiohttp_client: Clients) -> AsyncIterator[Pair]:
    """The same person at one daemon and at the other."""
    houses = [House(settings, aiohttp_client) for _ in range(2)]
    for house in houses:
        await house.open()
    ann = await houses[0].register("ann")
    yield ann, Person(houses[1], ann.session)
    for house in houses:
        await house.close()


async def test_what_stops_agents_and_decides_about_them_counts_at_the_other_at_once(pair: Pair) -> None:
    one, other = pair
    company_id, decides = one.session["company"]["id"], other.house.services.deciding
    for number in range(3):
        rules = [{"id": f"r{number}", "tool": "*", "decision": "deny"}]
        assert (await one.put(f"{company(one)}/action-rules", {"rules": rules})).status == 200
        assert [found.id for found in (await decides.rules.current(company_id)).rules] == [f"r{number}"]
        assert (await one.put(f"{company(one)}/action-rules/pause", {"reason": f"No {number}."})).status == 200
        pause = decides.pauses.why(company_id, "bot")
        assert pause is not None
        assert pause.reason == f"No {number}."
        assert (await one.delete(f"{company(one)}/action-rules/pause")).status == 204
        assert decides.pauses.why(company_id, "bot") is None


async def test_a_key_of_an_agent_counts_no_more_at_the_other_once_it_is_deleted(pair: Pair) -> None:
    one, other = pair
    company_id, companies = one.session["company"]["id"], other.house.services.identity.companies
    key = (await one.post("/api-keys/", {"name": "bot", "kind": "agent", "role": "member"})).json["id"]
    assert key in (await companies.load(company_id)).agents
    assert (await one.delete(f"/api-keys/{key}")).status == 204
    assert key not in (await companies.load(company_id)).agents


async def test_models_and_scopes_of_a_key_count_at_the_other_at_once(pair: Pair) -> None:
    one, other = pair
    company_id, companies = one.session["company"]["id"], other.house.services.identity.companies
    key = (await one.post("/api-keys/", {"name": "bot", "kind": "agent", "role": "member"})).json
    agent = Person(other.house, {**one.session, "token": key["key"]})
    run = await one.start("line", {"amount": 1})
    for number in range(3):
        terms: dict[str, Any] = {"model": f"m-{number}", "models": [f"x-{number}"]}
        assert (
            await one.put(f"/api-keys/{key['id']}", {**terms, "scopes": {"read": "own", "start": []}})
        ).status == 200
        assert (await companies.load(company_id)).agents[key["id"]] == AgentKey(f"m-{number}", (f"x-{number}",))
        assert (await agent.get(f"/process-runs/{run['id']}")).status == 404
        assert (await agent.get("/process-runs/")).json == []
        assert (await agent.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 1}})).status == 403
        assert (await one.put(f"/api-keys/{key['id']}", terms)).status == 200
        assert (await agent.get(f"/process-runs/{run['id']}")).status == 200


async def test_a_verdict_at_one_is_seen_by_every_read_at_the_other(pair: Pair) -> None:
    one, other = pair
    for _ in range(10):
        run = await one.start("line", {"amount": 1})
        assert (await other.resume(run, "signoff", "denied")).status == 200  # its actor is live there now, and here
        assert (await one.run(run))["status"] == "completed"
        assert (await other.run(run))["status"] == "completed"


async def test_what_one_knows_is_old_and_its_refusal_is_not(pair: Pair) -> None:
    one, other = pair
    run = await one.start("line", {"amount": 1}, auto=False)
    assert run["parked_at"] == "look"
    assert (await other.resume(run, "look")).json["parked_at"] == "signoff"
    assert (await one.resume(run, "signoff")).json["parked_at"] == "pay"  # where it still was at look, as it knew
    assert (await other.resume(run, "pay")).json["status"] == "completed"
    lost = await one.resume(run, "pay")
    assert (lost.status, lost.json["code"], lost.json["run_status"]) == (409, "not_parked", "completed")


async def test_a_daemon_that_others_have_taken_over_from_gives_no_verdict_and_ends(pair: Pair) -> None:
    one, other = pair
    run = await one.start("line", {"amount": 1})
    store = other.house.services.store
    assert isinstance(store, PostgresStore)
    gone = next(iter((await store.poll_changes()).peers - {store.epoch}))
    await store._readers[0].use(lambda db: db.execute("DELETE FROM daemons WHERE epoch = $1", gone))
    assert (await one.resume(run, "signoff", "denied")).status == 503
    assert one.house.life.stopping.is_set()
    assert one.house.life.exit_code == 74
    assert (await other.run(run))["status"] == "parked"
    assert (await other.resume(run, "signoff")).status == 200


async def test_of_many_verdicts_at_both_one_counts(pair: Pair) -> None:
    run = await pair[0].start("line", {"amount": 1})
    asked = [pair[n % 2].resume(run, "signoff", ("approved", "denied")[n % 3 == 0]) for n in range(30)]
    answers = await asyncio.gather(*asked)
    assert sorted(answer.status for answer in answers) == [200] + [409] * 29
    winner = next(answer.json for answer in answers if answer.status == 200)
    decided = {answer.json["decided"]["at"] for answer in answers if answer.status == 409}
    verdicts = [visit["verdict"]["at"] for visit in winner["trace"] if visit["verdict"] is not None]
    assert decided == set(verdicts)


async def test_one_key_at_both_at_once_is_one_execution_and_one_answer(pair: Pair) -> None:
    starts = [pair[n % 2].post("/process-runs/", LINE, Idempotency_Key="start") for n in range(10)]
    started = await asyncio.gather(*starts)
    assert len({answer.raw for answer in started}) == 1
    run = started[0].json
    asked = [pair[n % 2].resume(run, "signoff", Idempotency_Key="verdict") for n in range(10)]
    answers = await asyncio.gather(*asked)
    assert {(answer.status, answer.json["id"]) for answer in answers} == {(200, run["id"])}
    assert len({answer.raw for answer in answers}) == 1


async def test_a_run_that_executes_at_one_is_waited_for_at_the_other(pair: Pair, far: FarSide) -> None:
    one, other = pair
    await one.connect("answers", far.url)
    far.open.clear()
    body = {"vertical": "quick", "inputs": {"name": "x"}}
    begun = await one.post("/process-runs/", body, Idempotency_Key="k", Prefer="respond-async")
    waiting = asyncio.create_task(other.post("/process-runs/", body, Idempotency_Key="k"))
    await far.arrived.wait()
    far.open.set()
    assert (await waiting).json["id"] == begun.json["id"]
    assert len(far.seen) == 1


async def test_events_of_one_reach_streams_at_the_other_in_order_and_without_a_gap(pair: Pair) -> None:
    one, other = pair
    run = await one.start("line", {"amount": 1})
    async with EventStream(other, run["id"]) as of_run, CompanyStream(other, "") as of_all:
        await one.resume(run, "signoff")
        told = [event async for event in of_run]
        company = [await anext(of_all)]
        while company[-1]["event"] != "run_ended":
            company.append(await anext(of_all))
    assert [event["id"] for event in told] == list(range(1, len(told) + 1))
    assert told[-1]["event"] == "run_ended"
    assert [event["data"]["seq"] for event in company] == [event["id"] for event in told][-len(company) :]


async def test_a_token_revoked_at_one_counts_no_more_at_the_other_once_that_is_answered(pair: Pair) -> None:
    one, other = pair
    assert (await other.get("/auth/me")).status == 200
    assert (await one.post("/auth/logout")).status == 204
    assert (await other.get("/auth/me")).status == 401


async def test_sessions_ended_at_one_count_no_more_at_the_other_once_that_is_answered(pair: Pair) -> None:
    one, other = pair
    login = {"email": one.email, "password": PASSWORD}
    for path in ("/auth/sessions/{id}", "/auth/sessions"):
        third = (await one.house.send("POST", "/auth/login", login)).json
        there = Person(other.house, third)
        (newest, *_) = (await there.get("/auth/sessions")).json
        async with CompanyStream(there, "") as stream:
            assert (await one.delete(path.format(id=newest["id"]))).status == 204
            assert (await there.get("/auth/me")).status == 401
            await other.start("quick")
            assert [event async for event in stream] == []
        assert (await other.get("/auth/me")).status == 200


async def test_a_role_changed_at_one_is_told_on_the_streams_of_the_other(pair: Pair) -> None:
    one, other = pair
    bob = await colleague(one, "bob", "manager")
    there, role = Person(other.house, bob.session), "manager"
    async with asyncio.timeout(BEAT_S / 2), CompanyStream(there, "") as stream:
        assert (await give(one, bob, "viewer")).status == 200
        while role != "viewer":  # that bob joined may be told first
            told = await anext(stream, None)  # or it ends, so that he comes back with the rights that he has
            assert told is None or told["event"] == "people_changed"
            role = (await there.get("/auth/me")).json["role"]


async def test_a_claim_and_its_end_at_one_are_told_on_the_streams_of_the_other(pair: Pair) -> None:
    one, other = pair
    claim = f"/process-runs/{(await one.start('line', {'amount': 1}))['id']}/gates/signoff/claim"
    async with CompanyStream(other, "") as stream:
        for ask in (one.post, one.delete):
            assert (await ask(claim)).status == 200
            assert (await anext(stream))["event"] == "claims_changed"


async def test_who_fills_a_function_counts_at_the_other_once_that_is_answered_and_is_told_there(pair: Pair) -> None:
    one, other = pair
    bob, cyd = [await colleague(one, name, "manager") for name in ("bob", "cyd")]
    bob_there, cyd_there = [Person(other.house, person.session) for person in (bob, cyd)]
    await publish(one, directed())
    run = await cyd_there.start("petty-cash")
    async with asyncio.timeout(BEAT_S / 2), EventStream(other, run["id"]) as stream:
        await bind(one, bob)
        bound = await other.run(run)
        assert bound["gate"]["function"]["bound"] is True
        assert (await counts(cyd_there), await counts(bob_there)) == ((0, 0, 0), (1, 1, 1))
        refused = await signs(cyd_there, run)
        assert (refused.status, refused.json["reason"]) == (403, "function")
        while (await anext(stream))["event"] != "gate_changed":
            pass
    await bind(other, cyd)
    assert (await signs(bob, run)).json["reason"] == "function"
    assert (await signs(cyd, run)).json["outcome"] == "paid"


async def test_a_policy_changed_at_one_confines_at_the_other_once_that_is_answered_until_one_is_enrolled(
    pair: Pair,
) -> None:
    one, other = pair
    for _ in range(3):
        assert (await one.put(policy_of(one), {"second_factor_from": "owner"})).status == 200
        assert (await other.get("/process-runs/")).status == 403
        secret, _ = await enrolled(one)
        assert (await other.get("/process-runs/")).status == 200
        assert (await one.put(policy_of(one), {"second_factor_from": None})).status == 200
        body = {"password": PASSWORD, "code": code_of(secret, 1)}
        assert (await one.send("DELETE", "/auth/second-factor", body)).status == 204


async def test_a_delegation_and_a_calendar_of_one_are_known_at_the_other_once_they_are_answered(pair: Pair) -> None:
    one, other = pair
    bob, told = await colleague(one, "bob", "manager"), list[str]()
    company_id, known = one.session["company"]["id"], other.house.services.identity.companies
    known.subscribe(told.append)
    for number in range(3):
        assert (await known.load(company_id)).delegations == ()
        made = await delegate(one, bob)
        assert made.status == 201
        assert len((await known.load(company_id)).delegations) == 1
        assert (await one.delete(f"/delegations/{made.json['id']}")).status == 204
        holidays = [f"2027-01-0{number + 1}"]
        assert (await one.put(f"{company(one)}/calendar", {"holidays": holidays})).status == 200
        assert [str(day) for day in (await known.load(company_id)).calendar.holidays] == holidays
    assert set(told) == {company_id}


async def test_a_code_counts_once_at_all_daemons(pair: Pair) -> None:
    one, other = pair
    secret, _ = await enrolled(one)
    code = code_of(secret, 1)
    answers = await asyncio.gather(*(log_in(person, code=code) for person in (*pair, *pair)))
    assert sorted(answer.status for answer in answers) == [200, 401, 401, 401]
    assert (await other.get("/auth/me")).status == 200


async def test_a_password_changed_at_one_ends_the_other_sessions_at_the_other_once_that_is_answered(
    pair: Pair,
) -> None:
    one, other = pair
    third = (await other.house.send("POST", "/auth/login", {"email": one.email, "password": PASSWORD})).json
    body = {"current": PASSWORD, "new": "another horse battery"}
    assert (await one.post("/auth/password", body)).status == 204
    assert (await Person(other.house, third).get("/auth/me")).status == 401
    assert (await other.get("/auth/me")).status == 200
    again = await other.house.send("POST", "/auth/login", {"email": one.email, "password": body["new"]})
    assert again.status == 200


async def test_a_key_deleted_at_one_counts_nowhere_once_that_is_answered(pair: Pair) -> None:
    one, other = pair
    for number in range(3):
        wanted = {"name": f"agent {number}", "role": "member", "kind": "agent"}
        key = (await one.post("/api-keys", wanted)).json
        agents = [Person(person.house, {"token": key["key"]}) for person in pair]
        assert [(await agent.get("/process-runs")).status for agent in agents] == [200, 200]
        assert (await one.delete(f"/api-keys/{key['id']}")).status == 204
        assert [(await agent.get("/process-runs")).status for agent in agents] == [401, 401]
        assert (await other.get("/api-keys")).json == []


async def test_an_operator_ends_all_sessions_of_somebody_on_every_daemon(
    pair: Pair, settings: Settings, tmp_path: Path
) -> None:
    assert settings.database_url is not None
    url, folder = settings.database_url.get_secret_value(), tmp_path / "data"
    operator = Operator("", tmp_path / "home")
    words = ("sessions", "end", "--email", pair[0].email, "--data-dir", folder)
    ended = await operator.says(*words, PENSTOCK_DATABASE_URL=url)
    assert ended.exit_code == 0, ended.output
    assert [(await one.get("/auth/me")).status for one in pair] == [401, 401]


async def test_a_page_refreshes_at_any_daemon_and_two_tabs_get_the_same(pair: Pair) -> None:
    one = pair[0]
    headers = {"Host": "penstock.example.com", "Penstock-Page": "1", "Origin": "http://penstock.example.com"}
    login = {"email": one.email, "password": PASSWORD}
    entered = await one.house.send("POST", "/auth/login", login, headers=headers)
    refresh = cookies_of(entered)[REFRESH_COOKIE].value
    sent = {**headers, "Cookie": f"{REFRESH_COOKIE}={refresh}"}
    asked = [pair[n % 2].house.send("POST", "/auth/refresh", headers=sent) for n in range(6)]
    answers = await asyncio.gather(*asked)
    assert {answer.status for answer in answers} == {200}
    assert len({cookies_of(answer)[REFRESH_COOKIE].value for answer in answers}) == 1


async def test_a_daemon_that_is_dying_holds_up_no_change_though_it_never_looks(pair: Pair, settings: Settings) -> None:
    assert settings.database_url is not None
    db = await asyncpg.connect(settings.database_url.get_secret_value())
    await db.execute("INSERT INTO daemons SELECT 99, 'dying', now(), now() + interval '1 minute', now()")
    await db.close()
    with capture_logs() as lines:
        assert (await pair[0].post("/auth/logout")).status == 204
    assert "change_notification_failed" in {line["event"] for line in lines}
    assert (await pair[1].get("/auth/me")).status == 401


def test_a_change_waits_longer_than_a_daemon_relies_on_what_it_knows() -> None:
    assert FRESH_S < ACKNOWLEDGED_MAX_S


async def test_a_connector_changed_at_one_is_known_at_the_other_once_that_is_answered(pair: Pair, far: FarSide) -> None:
    one, other = pair
    assert (await other.get("/connectors/")).json == []
    for version in range(1, 6):
        await one.connect("payment", far.url, path=f"/{version}")
        assert (await other.get("/connectors/payment")).json["path"] == f"/{version}"
        one, other = other, one
    assert (await one.delete("/connectors/payment")).status == 204
    assert (await other.get("/connectors/payment")).status == 404


async def test_no_call_goes_by_a_connector_that_the_other_has_just_changed(pair: Pair, far: FarSide) -> None:
    one, other = pair
    await one.connect("transfer", far.url)
    run = await other.start("direct", {"amount": 9})
    await one.connect("transfer", far.url, path="/elsewhere")
    await other.resume(run, "transfer")
    assert {seen.target for seen in far.seen} <= {"/elsewhere"}


async def test_a_cancelled_runs_call_is_not_tried_again_by_the_other(pair: Pair, far: FarSide) -> None:
    one, other = pair
    await one.connect("answers", far.url, retries=5)
    far.status = 503
    begun = await one.post("/process-runs/", {"vertical": "quick", "inputs": {"name": "x"}}, Prefer="respond-async")
    await far.arrived.wait()
    assert (await other.post(f"/process-runs/{begun.json['id']}/cancel", {})).status == 200
    await asyncio.sleep(WITHIN_S)
    seen = len(far.seen)
    await asyncio.sleep(WITHIN_S)
    assert len(far.seen) == seen
    assert (await one.run(begun.json))["status"] == "cancelled"


async def test_each_event_is_delivered_once_though_both_could(pair: Pair, far: FarSide) -> None:
    one, other = pair
    hook = (await one.post("/webhooks/", {"url": far.url})).json
    for person in (one, other, one, other):
        await person.start("line", {"amount": 1})

    def settled(answer: Answer) -> bool:
        return len(answer.json) >= 16 and all(one["status"] == "delivered" for one in answer.json)

    path = f"/webhooks/{hook['id']}/deliveries?limit=100"
    async with asyncio.timeout(10):
        while not settled(await other.get(path)):  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.05)
    ids = [seen.headers["webhook-id"] for seen in far.seen]
    assert len(ids) == len(set(ids))


class TestWithLimits:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"rate_limits": True})

    async def test_wrong_passwords_at_both_count_together(self, pair: Pair) -> None:
        body: dict[str, Any] = {"email": pair[0].email, "password": "wrong horse"}
        answers = [await pair[n % 2].house.send("POST", "/auth/login", body) for n in range(7)]
        assert [answer.status for answer in answers] == [401] * 5 + [429] * 2
        assert int(answers[-1].headers["Retry-After"]) <= 60


async def test_what_is_published_or_retired_at_one_counts_at_the_other_when_it_is_answered(pair: Pair) -> None:
    one, other = pair
    run: Any = None
    for number in range(1, 6):
        label = {"kind": "gate", "label": f"Version {number}", "next": "done"}
        steps = [{"id": "ok", **label}, {"id": "done", "kind": "end", "label": "Done", "outcome": "done"}]
        document = {"vertical": "petty-cash", "title": "Petty cash", "steps": steps}
        assert (await one.put("/process-templates/petty-cash/draft", document)).status == 200
        assert (await one.post("/process-templates/petty-cash/publish")).json["version"] == number
        run = await other.start("petty-cash")
        assert (run["template"]["version"], run["gate"]["label"]) == (number, f"Version {number}")
        one, other = other, one
    await one.post("/process-templates/petty-cash/versions/5/retire")
    assert (await other.start("petty-cash"))["template"]["version"] == 4
    moved = (await one.post(f"/process-runs/{run['id']}/migrate", {"version": 2})).json
    assert moved["gate"]["label"] == "Version 2"
    assert (await other.resume(moved, "ok")).json["status"] == "completed"
