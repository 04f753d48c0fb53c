"""Sections 1 and 6: what callers are told when the service cannot do what they ask, and whether it
is well.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from actors.ports import StoreFailed
from daemon import __version__
from daemon.identity.passwords import Busy
from daemon.settings import Settings
from tests.web.support import Answer, FarSide, House, Person, assert_problem


def assert_unavailable(answer: Answer, code: str, outcome: str = "not_applied") -> None:
    assert_problem(answer, 503, code, outcome=outcome, retryable=True)
    assert int(answer.headers["Retry-After"]) >= 1


async def test_a_healthy_service_says_so_to_everybody(house: House) -> None:
    answer = await house.send("GET", "/health")
    assert answer.status == 200
    version = __version__
    assert answer.json == {"status": "ok", "version": version, "store": "ok", "runs": {"live": 0}}
    assert (await house.send("GET", "/health", headers={"Authorization": "Bearer x"})).status == 200


@pytest.mark.one_daemon
async def test_health_counts_the_runs_that_are_live(ann: Person) -> None:
    await ann.start("line", {"amount": 1})
    assert (await ann.get("/health")).json["runs"] == {"live": 1}


@pytest.mark.one_daemon
async def test_while_it_drains_everything_but_health_is_refused(house: House, ann: Person) -> None:
    house.life.draining = True
    assert_unavailable(await ann.get("/process-runs/"), "draining")
    assert_unavailable(await ann.post("/process-runs/", {"vertical": "quick"}), "draining")
    assert_unavailable(await house.send("POST", "/auth/login", {}), "draining")
    answer = await house.send("GET", "/health")
    assert (answer.status, answer.json["status"], set(answer.json)) == (
        503,
        "draining",
        {"status", "version", "store", "runs"},
    )


@pytest.mark.one_daemon
async def test_a_repeat_under_a_key_is_in_doubt_while_the_service_stops(house: House, ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    house.life.draining = True
    path, verdict = f"/process-runs/{run['id']}/resume", {"gate": "signoff", "decision": "approved"}
    keyed = await ann.send("POST", path, verdict, Idempotency_Key="once")
    assert_unavailable(keyed, "draining", "unknown")
    assert_unavailable(await ann.send("POST", path, verdict), "draining")


@pytest.mark.one_daemon
async def test_a_command_that_meets_a_stop_is_refused(house: House, ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    house.services.directory.refuse()
    assert_unavailable(await ann.resume(run, "signoff"), "draining")
    assert (await ann.run(run))["parked_at"] == "signoff"


class TestWithAMailboxOfOne:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"mailbox_max": 1})

    async def test_a_full_mailbox_is_503_and_nothing_was_applied(self, ann: Person) -> None:
        run = await ann.start("line", {"amount": 1})
        answers = await asyncio.gather(*(ann.resume(run, "signoff") for _ in range(40)))
        refused = [answer for answer in answers if answer.status == 503]
        assert [answer.status for answer in answers].count(200) == 1
        assert {answer.status for answer in answers} <= {200, 409, 503}
        for answer in refused:
            assert_unavailable(answer, "overloaded")


@pytest.mark.one_daemon
async def test_a_password_that_would_wait_too_long_is_503(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def busy(_: Any) -> Any:
        raise Busy

    monkeypatch.setattr(house.services.identity._passwords, "_run", busy)
    body = {"email": "a@b.test", "password": "correct horse"}
    assert_unavailable(await house.send("POST", "/auth/login", body), "overloaded")


@pytest.mark.one_daemon
@pytest.mark.sqlite
@pytest.mark.parametrize("outcome", ["not_applied", "unknown"])
async def test_a_store_that_cannot_persist_is_503_with_the_outcome(
    house: House, ann: Person, monkeypatch: pytest.MonkeyPatch, outcome: Any
) -> None:
    run = await ann.start("line", {"amount": 1})

    async def fail(*_: Any) -> Any:
        raise StoreFailed("no space left", outcome)

    with monkeypatch.context() as broken:
        broken.setattr(house.services.store._writer, "submit", fail)  # type: ignore[attr-defined]
        assert_unavailable(await ann.resume(run, "signoff", Idempotency_Key="k"), "store_unavailable", outcome)
        assert_unavailable(await ann.put("/connectors/x", {"base_url": "http://a.test"}), "store_unavailable", outcome)
        assert_unavailable(await ann.post("/auth/logout"), "store_unavailable", outcome)
    assert (await ann.run(run))["parked_at"] == "signoff"
    assert (await ann.resume(run, "signoff", Idempotency_Key="k")).status == 200


@pytest.mark.one_daemon
@pytest.mark.sqlite
async def test_a_batch_that_breaks_off_is_in_doubt_and_a_repeat_under_its_key_goes_on(
    house: House, ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [await ann.start("line", {"amount": number}) for number in range(3)]
    said = [{"run_id": one["id"], "gate": "signoff", "decision": "approved"} for one in runs]
    body = {"verdicts": [{**one, "digest": run["gate"]["digest"]} for one, run in zip(said, runs, strict=True)]}
    submit, tries = house.services.store._writer.submit, iter(range(9))  # type: ignore[attr-defined]

    async def fail_at(number: int, *given: Any) -> Any:
        if next(tries) == number:
            raise StoreFailed("no space left", "not_applied")
        return await submit(*given)

    with monkeypatch.context() as broken:
        broken.setattr(house.services.store._writer, "submit", partial(fail_at, 0))  # type: ignore[attr-defined]
        assert_unavailable(await ann.post("/gates/verdicts", body, Idempotency_Key="b"), "store_unavailable")
        broken.setattr(house.services.store._writer, "submit", partial(fail_at, 2))  # type: ignore[attr-defined]
        begun = await ann.post("/gates/verdicts", body, Idempotency_Key="b")
        assert_unavailable(begun, "store_unavailable", "unknown")
    assert [(await ann.run(one))["status"] for one in runs] == ["completed", "parked", "parked"]
    again = await ann.post("/gates/verdicts", body, Idempotency_Key="b")
    assert [one["status"] for one in again.json["results"]] == [200, 200, 200]


@pytest.mark.one_daemon
async def test_a_command_that_was_applied_is_in_doubt_where_its_run_cannot_be_read_afterwards(
    house: House, ann: Person, far: FarSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    far.open.clear()
    await ann.connect("answers", far.url, timeout_s=30)
    run = await ann.start("quick", {}, auto=False)

    async def fail(*_: Any) -> Any:
        raise StoreFailed("connection refused", "not_applied")

    with monkeypatch.context() as broken:
        broken.setattr(house.services.directory, "live", lambda *_: None)  # as an actor that has died
        broken.setattr(house.services.store, "load", fail)
        assert_unavailable(await ann.resume(run, "ask"), "store_unavailable", "unknown")
    assert (await ann.run(run))["status"] == "executing"
    far.open.set()
    await ann.until(run, "completed")


@pytest.mark.one_daemon
async def test_a_store_that_cannot_be_read_is_503(house: House, ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> Any:
        raise StoreFailed("input/output error", "not_applied")

    monkeypatch.setattr(house.services.store, "_read", fail)
    assert_unavailable(await ann.get("/process-runs/"), "store_unavailable")


@pytest.mark.one_daemon
async def test_what_nobody_foresaw_is_500_without_its_cause(
    house: House, ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> Any:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(house.services.store, "find", fail)
    answer = await ann.get("/process-runs/")
    assert_problem(answer, 500, "internal_error", retryable=False)
    assert b"secret of the inside" not in answer.raw
    assert b"Traceback" not in answer.raw


async def test_a_caller_who_goes_away_in_the_middle_of_a_body_hurts_nobody(house: House, ann: Person) -> None:
    _, writer = await asyncio.open_connection(house.client.host, house.client.port)
    writer.write(
        b"POST /process-runs/ HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
        b"Authorization: Bearer " + ann.token.encode() + b"\r\n\r\n{"
    )
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await ann.start("quick"))["status"] == "completed"
