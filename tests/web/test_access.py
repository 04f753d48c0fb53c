"""What the log says of requests, and of what they set going."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from daemon.engine.dispatcher import Dispatcher
from daemon.keys.vault import SealBroken
from daemon.observability.logs import add_log_context
from daemon.settings import Settings
from daemon.stores.tables.connectors import CONNECTORS
from tests.web.support import EventStream, FarSide, House, Person


def requests_in(logs: list[EventDict]) -> list[tuple[str, str, int]]:
    return [(log["method"], log["path"], log["status"]) for log in logs if log["event"] == "request"]


async def test_an_answer_that_is_neither_slow_nor_a_fault_leaves_no_line(house: House, ann: Person) -> None:
    with capture_logs() as logs:
        await ann.start("line", {"amount": 1})
        assert (await ann.get("/process-runs/nonsense")).status == 404
        assert (await house.send("GET", "/process-runs/")).status == 401
    assert requests_in(logs) == []


@pytest.mark.one_daemon
async def test_a_fault_leaves_a_line(house: House, ann: Person) -> None:
    house.life.draining = True
    with capture_logs() as logs:
        answer = await ann.get("/process-runs/")
    (line,) = (log for log in logs if log["event"] == "request")
    assert (line["status"], line["log_level"]) == (503, "warning")
    assert line["request_id"] == answer.headers["X-Request-ID"]


async def test_a_secret_that_cannot_be_sealed_leaves_its_reason(ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> bytes:
        raise SealBroken("The company's key is wrapped by a key that is not here.")

    monkeypatch.setattr("daemon.keys.vault.unwrapped", refused)
    connector = {"base_url": "https://bank.test", "auth_type": "bearer", "auth_token": "s3cret"}
    with capture_logs() as logs:
        assert (await ann.put("/connectors/account", connector)).status == 503
    (line,) = (log for log in logs if log["event"] == "request")
    assert line["reason"] == "The secret cannot be sealed: The company's key is wrapped by a key that is not here."


async def test_a_slow_answer_leaves_a_line_and_a_stream_does_not(ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await ann.start("quick")
    monkeypatch.setattr("daemon.web.middleware.access_log.SLOW_S", 0.0)
    with capture_logs() as logs:
        await ann.run(run)
        async with EventStream(ann, run["id"]) as stream:
            assert [event["event"] async for event in stream][-1] == "run_ended"
    assert requests_in(logs) == [("GET", f"/process-runs/{run['id']}", 200)]


class TestWithAllRequests:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"access_log": "all"})

    async def test_a_line_says_who_asked_for_what_and_how_long_it_took(self, ann: Person) -> None:
        run = await ann.start("line", {"amount": 1})
        with capture_logs() as logs:
            await ann.send("GET", f"/process-runs/{run['id']}?token=abc", X_Request_ID="mine-1")
        (line,) = (log for log in logs if log["event"] == "request")
        assert 0 < line.pop("latency_ms") < 10_000
        assert line == {
            "event": "request",
            "log_level": "info",
            "request_id": "mine-1",
            "company_id": ann.session["company"]["id"],
            "run_id": run["id"],
            "method": "GET",
            "route": "/process-runs/{run_id}",
            "path": f"/process-runs/{run['id']}",
            "status": 422,
        }

    async def test_a_token_in_a_path_is_not_in_the_line(self, house: House) -> None:
        with capture_logs() as logs:
            await house.send("POST", "/callbacks/s3cret-token", {})
        assert [log["path"] for log in logs if log["event"] == "request"] == ["/callbacks/***"]

    async def test_the_line_of_a_start_names_the_run_that_it_has_begun(self, ann: Person) -> None:
        with capture_logs() as logs:
            run = await ann.start("quick")
            await ann.put("/webhooks/none", {})
        begun, other = (log for log in logs if log["event"] == "request")
        assert begun["run_id"] == run["id"]
        assert "run_id" not in other

    async def test_who_is_not_known_has_no_company_not_even_the_one_before(self, house: House, ann: Person) -> None:
        with capture_logs(processors=[add_log_context]) as logs:
            await ann.get("/process-runs/")
            await house.send("GET", "/process-runs/")
            await house.send("GET", "/nowhere")
        known, *unknown = (log for log in logs if log["event"] == "request")
        assert known["company_id"] == ann.session["company"]["id"]
        assert [("company_id" in log, log["status"]) for log in unknown] == [(False, 401), (False, 404)]


class TestWithNoRequests:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"access_log": "off"})

    @pytest.mark.one_daemon
    async def test_not_even_a_fault_leaves_a_line(self, house: House, ann: Person) -> None:
        house.life.draining = True
        with capture_logs() as logs:
            await ann.get("/process-runs/")
        assert requests_in(logs) == []


async def test_an_unforeseen_fault_is_logged_with_the_request_and_the_company(
    house: House, ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError("nobody foresaw this")

    monkeypatch.setattr(type(house.services.store), "find", broken)
    with capture_logs(processors=[add_log_context]) as logs:
        answer = await ann.get("/process-runs/")
    assert answer.status == 500
    (line,) = (log for log in logs if log["event"] == "unhandled_exception")
    assert line["request_id"] == answer.headers["X-Request-ID"]
    assert line["company_id"] == ann.session["company"]["id"]


async def test_a_fault_before_anybody_is_known_is_logged_with_the_request(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError("nobody foresaw this")

    monkeypatch.setattr(type(house.services.store), "account_by_email", broken)
    with capture_logs(processors=[add_log_context]) as logs:
        answer = await house.send("POST", "/auth/login", {"email": "ann@ann.test", "password": "correct horse"})
    assert answer.status == 500
    (line,) = (log for log in logs if log["event"] == "unhandled_exception")
    assert (line["request_id"], "company_id" in line) == (answer.headers["X-Request-ID"], False)


@pytest.mark.one_daemon
async def test_what_a_call_says_names_the_run_the_step_and_the_visit_and_no_request(
    house: House, ann: Person, far: FarSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("nobody foresaw this")

    dispatcher = house.services.dispatcher
    assert isinstance(dispatcher, Dispatcher)
    monkeypatch.setattr(dispatcher._http, "send", broken)
    await ann.connect("answers", far.url)
    with capture_logs(processors=[add_log_context]) as logs:
        run = await ann.start("quick")
    assert run["status"] == "failed"
    (line,) = (log for log in logs if log["event"] == "call_crashed")
    ids = {name: line.get(name) for name in ("run_id", "company_id", "step_id", "visit", "request_id")}
    assert ids == {
        "run_id": run["id"],
        "company_id": ann.session["company"]["id"],
        "step_id": "ask",
        "visit": 1,
        "request_id": None,
    }


@pytest.mark.sqlite
@pytest.mark.parametrize("what", ["sqlite.journal._restored", "tables.connectors.CONNECTORS"])
async def test_what_an_actor_reads_in_vain_names_its_run(
    house: House, ann: Person, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise sqlite3.OperationalError("the disk has gone")

    run = await ann.start("line", {"amount": 1})
    await house.restart()
    gone = replace(CONNECTORS, name="no_such_table")
    monkeypatch.setattr(f"daemon.stores.{what}", gone if what.endswith("CONNECTORS") else broken)
    with capture_logs(processors=[add_log_context]) as logs:
        assert (await ann.resume(run, "signoff")).status == 503
    (line,) = (log for log in logs if log["event"] == "store_read_failed")
    assert (line["run_id"], "request_id" in line) == (run["id"], False)
