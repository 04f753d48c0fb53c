"""Calls of connectors that are answered later, at a signed URL that works once."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from daemon.keys.vault import SealBroken, Vault
from daemon.settings import Settings
from tests.web.support import FarSide, House, Person, assert_invalid, assert_problem

PUBLIC = "https://penstock.test"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"public_url": PUBLIC})


async def asked(ann: Person, far: FarSide, **how: Any) -> tuple[Any, str]:
    """A run that waits for an answer, and the path at which it is given."""
    await ann.connect("answers", far.url, callback=True, **how)
    far.status, far.answer = 202, {"queued": True}
    run = await ann.until(await ann.start("quick"), "waiting")
    url = far.seen[0].headers["X-Penstock-Callback"]
    assert url.startswith(f"{PUBLIC}/callbacks/")
    return run, url.removeprefix(PUBLIC)


async def test_the_step_waits_for_the_answer_and_takes_it_once(ann: Person, far: FarSide, house: House) -> None:
    run, path = await asked(ann, far)
    assert (run["facts"], run["trace"][0]["status"]) == ({}, "waiting")
    answer = await house.send("POST", path, {"paid": True})
    assert (answer.status, answer.raw) == (204, b"")
    done = await ann.until(run, "completed")
    assert done["facts"]["ask"] == {"paid": True}
    assert_problem(await house.send("POST", path, {"paid": False}), 409, "not_awaited")
    assert (await ann.run(run))["facts"]["ask"] == {"paid": True}
    assert len(far.seen) == 1


async def test_the_answer_is_read_by_the_rules_of_the_connector(ann: Person, far: FarSide, house: House) -> None:
    rules = {"response_map": {"sum": "payment.amount"}, "signal_rule": "response.body.payment.odd == true"}
    run, path = await asked(ann, far, auth_type="bearer", auth_token="s3cret-canary", **rules)
    given = {"payment": {"amount": "12 s3cret-canary", "odd": True}}
    assert (await house.send("POST", path, given)).status == 204
    done = await ann.until(run, "parked")
    assert (done["facts"]["ask"]["sum"], done["facts"]["ask"]["signal"]) == ("12 ***", True)


async def test_the_rules_of_a_connector_that_was_deleted_meanwhile_count(
    ann: Person, far: FarSide, house: House
) -> None:
    run, path = await asked(ann, far, response_map={"sum": "payment.amount"}, signal_rule="response.body.odd == true")
    assert (await ann.send("DELETE", "/connectors/answers")).status == 204
    assert (await house.send("POST", path, {"payment": {"amount": 12}, "odd": True})).status == 204
    done = await ann.until(run, "parked")
    assert (done["facts"]["ask"]["sum"], done["facts"]["ask"]["signal"]) == (12, True)


async def test_an_answer_comes_again_when_the_secret_cannot_be_opened(
    ann: Person, far: FarSide, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, path = await asked(ann, far, auth_type="bearer", auth_token="s3cret-canary")
    with monkeypatch.context() as patch:
        patch.setattr(Vault, "open", broken)
        assert_problem(await house.send("POST", path, {"paid": True}), 503, "store_unavailable")
    assert (await house.send("POST", path, {"paid": True})).status == 204
    await ann.until(run, "completed")


async def broken(*_: object) -> str:
    raise SealBroken


@pytest.mark.one_daemon
async def test_a_packed_answer_is_read_as_a_large_one_away_from_everybody(
    ann: Person, far: FarSide, house: House
) -> None:
    run, path = await asked(ann, far, signal_rule="response.body.odd == false")
    given = gzip.compress(json.dumps({"odd": True, "items": [1] * 20_000}).encode())
    assert (await house.send("POST", path, data=given, headers={"Content-Encoding": "gzip"})).status == 204
    assert (await ann.until(run, "completed"))["facts"]["ask"]["signal"] is False
    assert any(worker.pid is not None for worker in house.services.evaluator.pool.workers)


async def test_the_answer_counts_after_a_restart_and_the_call_is_not_sent_again(
    ann: Person, far: FarSide, house: House
) -> None:
    run, path = await asked(ann, far)
    await house.restart()
    assert (await house.send("POST", path)).status == 204
    assert (await ann.until(run, "completed"))["facts"]["ask"] == {}
    assert len(far.seen) == 1


async def test_an_answer_that_comes_before_the_response_counts(ann: Person, far: FarSide, house: House) -> None:
    await ann.connect("answers", far.url, callback=True)
    far.open.clear()
    run = (await ann.post("/process-runs/", {"vertical": "quick", "inputs": {}}, Prefer="respond-async")).json
    await far.arrived.wait()
    path = far.seen[0].headers["X-Penstock-Callback"].removeprefix(PUBLIC)
    assert (await house.send("POST", path, {"early": True})).status == 204
    far.open.set()
    assert (await ann.until(run, "completed"))["facts"]["ask"] == {"early": True}


async def test_without_an_answer_in_time_the_step_fails(ann: Person, far: FarSide, house: House) -> None:
    run, path = await asked(ann, far, callback_timeout_s=1)
    failed = await ann.until(run, "failed")
    assert failed["error"]["code"] == "callback_timeout"
    assert_problem(await house.send("POST", path, {}), 409, "not_awaited", run_status="failed")


async def test_only_a_url_of_the_service_is_an_address(ann: Person, far: FarSide, house: House) -> None:
    run, path = await asked(ann, far)
    flipped = path[:-1] + ("A" if path[-1] != "A" else "B")
    for other in (flipped, path + "A", path[:-4], "/callbacks/x", f"/callbacks/{'A' * 2_000}", "/callbacks/%C3%A4"):
        assert_problem(await house.send("POST", other, {"forged": True}), 404, "not_found")
    assert_problem(await house.send("POST", path, data=b"[1]"), 400, "malformed_json")
    assert (await ann.run(run))["status"] == "waiting"


async def test_a_cancelled_run_keeps_a_late_answer_and_goes_on_nowhere(ann: Person, far: FarSide, house: House) -> None:
    run, path = await asked(ann, far)
    await ann.post(f"/process-runs/{run['id']}/cancel", {})
    assert (await house.send("POST", path, {"paid": True})).status == 204
    cancelled = await ann.run(run)
    assert (cancelled["status"], cancelled["trace"][0]["output"]) == ("cancelled", {"paid": True})


class TestWithoutAnAddress:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"public_url": ""})

    async def test_a_service_that_knows_no_address_of_its_own_is_given_no_such_connector(self, ann: Person) -> None:
        body = {"base_url": "https://api.example.com", "callback": True}
        assert_invalid(await ann.put("/connectors/answers", body), "/callback")
