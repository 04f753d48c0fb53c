"""The dispatcher: sent as often as it may be, never more, and the run always learns what came of
it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from actors.core.messages import CallReturned, Wake
from daemon.connectors.egress import EgressGuard
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed
from daemon.connectors.retry import CallLimits, Retrier, RetryPolicy
from daemon.connectors.sending import traceparent
from tests.connectors.conftest import NOW, FakeClock, FarSide, Handler, House, echo_auth, hang, hang_up


async def echo(request: web.Request) -> web.StreamResponse:
    return echo_auth(request)


async def test_a_call_returns_what_the_far_side_answered(house: House) -> None:
    house.connect()
    house.perform(house.call())
    assert await house.outcome() == CallReturned(step_id="step", visit=1, output={"answer": 1}, attempts=1, at=NOW)


async def test_a_call_carries_its_key_and_where_it_comes_from(house: House) -> None:
    house.connect(secret="s3cret", auth_type="bearer")
    house.perform(house.call())
    await house.outcome()
    headers = house.far.seen[0].headers
    assert headers["Idempotency-Key"] == "run-1:step:1"
    assert headers["X-Penstock-Run"] == "run-1"
    assert headers["X-Penstock-Step"] == "step"
    assert headers["Authorization"] == "Bearer s3cret"
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-01", headers["traceparent"])
    assert house.far.seen[0].body == '{"a":"\u00e4","b":1}'.encode()


async def test_the_calls_of_a_run_share_a_trace(house: House) -> None:
    first, second = traceparent(house.call()), traceparent(house.call(visit=2))
    assert first[:35] == second[:35]
    assert first != second


async def test_a_wake_up_goes_to_the_timers(house: House) -> None:
    wake = Wake("co", "run-1", "step", 1)
    house.dispatcher.perform([wake], recovered=False)
    assert house.woken == [wake]
    assert len(house.dispatcher) == 0


async def test_an_empty_answer_is_an_empty_object(house: House) -> None:
    async def nothing(_: web.Request) -> web.StreamResponse:
        return web.Response(status=204)

    house.connect()
    house.far.answers = [nothing]
    house.perform(house.call())
    assert (await house.outcome()) == CallReturned(step_id="step", visit=1, output={}, at=NOW)


async def test_a_secret_that_is_echoed_reaches_neither_output_nor_error(house: House) -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        return web.json_response({"bad token": request.headers["Authorization"]}, status=403)

    house.connect(secret="s3cret-canary", auth_type="bearer")
    house.far.answers = [echo, refuse]
    house.perform(house.call(), house.call(visit=2))
    posted = [await house.outcome(), await house.outcome()]
    assert "s3cret-canary" not in repr(posted)
    assert "Bearer ***" in repr(posted)


@pytest.mark.parametrize(("rule", "signal"), [(None, None), ("answer", 1), ("nothing of the kind", True)])
async def test_a_rule_without_a_clear_answer_is_a_hit(house: House, rule: str | None, signal: Any) -> None:
    house.connect(signal_rule=rule)
    house.perform(house.call())
    outcome = await house.outcome()
    assert isinstance(outcome, CallReturned)
    assert outcome.signal == signal


# ----------------------------------------------------------------------------- what is never sent


async def test_a_shadowed_call_is_never_sent(house: House) -> None:
    house.connect(secret="s3cret", auth_type="bearer")
    house.perform(house.call(mode="shadow"))
    assert (await house.failure()).error.code == "not_live"
    assert (house.far.seen, house.shelf.looked_up) == ([], 0)


async def test_an_irreversible_call_is_not_sent_after_a_restart(house: House) -> None:
    house.connect()
    house.perform(house.call(repeatable=False), recovered=True)
    failed = await house.failure()
    assert (failed.unknown, failed.error.code, failed.error.step_id) == (True, "outcome_unknown", "step")
    assert (house.far.seen, house.shelf.looked_up) == ([], 0)


async def test_a_repeatable_call_is_sent_again_after_a_restart(house: House) -> None:
    house.connect()
    house.perform(house.call(), recovered=True)
    assert isinstance(await house.outcome(), CallReturned)


CHANGES: list[dict[str, Any]] = [
    {"version": 2},
    {"reversible": False},
    {"base_url": "http://127.0.0.2:1"},
    {"method": "PUT"},
]


@pytest.mark.parametrize("change", CHANGES)
async def test_a_call_whose_connector_changed_is_not_sent(house: House, change: dict[str, Any]) -> None:
    house.connect(**change)
    house.perform(house.call(repeatable=False))
    failed = await house.failure()
    assert (failed.unknown, failed.error.code, failed.error.attempts) == (False, "connector_changed", 0)
    assert house.far.seen == []


async def test_a_call_whose_connector_is_gone_is_not_sent(house: House) -> None:
    house.perform(house.call())
    assert (await house.failure()).error.code == "connector_changed"


async def test_a_connector_that_changes_between_attempts_ends_the_call(house: House) -> None:
    async def meanwhile(_: web.Request) -> web.StreamResponse:
        house.connect(version=2)
        return web.Response(status=503)

    house.connect()
    house.far.answers = [meanwhile]
    house.perform(house.call())
    assert (await house.failure()).error.code == "connector_changed"
    assert len(house.far.seen) == 1


async def test_a_secret_that_does_not_open_stops_the_call(house: House) -> None:
    house.connect(secret="s3cret", auth_type="bearer")
    stored = house.shelf.connectors["co", "lab"]
    house.shelf.connectors["co", "lab"] = replace(stored, company_id="other")
    house.perform(house.call())
    assert (await house.failure()).error.code == "secret_unreadable"
    assert house.far.seen == []


async def test_a_credential_that_is_missing_stops_the_call(house: House) -> None:
    house.connect(auth_type="bearer")
    house.perform(house.call())
    assert (await house.failure()).error.code == "secret_missing"


async def test_a_refused_target_fails_at_once_and_for_certain(far: FarSide) -> None:
    async with HttpConnector(EgressGuard()) as http:
        house = House(far, http)
        house.connect()
        house.perform(house.call(repeatable=False))
        failed = await house.failure()
    assert (failed.unknown, failed.error.code, failed.error.attempts) == (False, "egress_refused", 1)
    assert house.time.slept == []
    assert far.seen == []


# ------------------------------------------------------------------------------ attempts and ends


@pytest.mark.parametrize("trouble", [408, 425, 429, 500, 501, 502, 503, 504, 599, hang_up])
async def test_a_passing_trouble_is_waited_out_where_a_repeat_is_safe(house: House, trouble: Handler | int) -> None:
    house.connect()
    house.far.answers = [trouble, trouble, 200]
    house.perform(house.call())
    outcome = await house.outcome()
    assert isinstance(outcome, CallReturned)
    assert outcome.attempts == 3
    assert house.time.slept == pytest.approx([0.2, 0.4])
    assert {seen.headers["Idempotency-Key"] for seen in house.far.seen} == {"run-1:step:1"}


async def test_the_retries_of_the_connector_are_the_limit(house: House) -> None:
    house.connect(retries=2)
    house.far.answers = [503] * 9
    house.perform(house.call())
    error = (await house.failure()).error
    assert (error.code, error.attempts, error.status_code) == ("call_failed", 3, 503)
    assert error.excerpt == '{"answer":3}'
    assert len(house.far.seen) == 3


@pytest.mark.parametrize("status", [302, 400, 401, 404, 409])
@pytest.mark.parametrize("repeatable", [False, True])
async def test_a_definite_answer_is_not_repeated(house: House, status: int, repeatable: bool) -> None:
    house.connect()
    house.far.answers = [status]
    house.perform(house.call(repeatable=repeatable))
    failed = await house.failure()
    assert (failed.unknown, failed.error.code, failed.error.status_code) == (False, "call_failed", status)
    assert len(house.far.seen) == 1


@pytest.mark.parametrize("trouble", [502, 503, 504, hang_up])
async def test_an_irreversible_call_is_sent_once_and_its_outcome_is_unknown(
    house: House, trouble: Handler | int
) -> None:
    house.connect()
    house.far.answers = [trouble]
    house.perform(house.call(repeatable=False))
    failed = await house.failure()
    assert (failed.unknown, failed.error.code, failed.error.attempts) == (True, "outcome_unknown", 1)
    assert len(house.far.seen) == 1


async def test_an_irreversible_call_that_ran_out_of_time_is_unknown(house: House) -> None:
    house.connect(timeout_s=0.2)
    house.far.answers = [hang]
    house.perform(house.call(repeatable=False))
    assert (await house.failure()).unknown
    assert len(house.far.seen) == 1


async def test_an_irreversible_call_answered_too_large_is_unknown(house: House) -> None:
    async def much(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b"x" * 300_000)

    house.connect()
    house.far.answers = [much, much]
    house.perform(house.call(repeatable=False), house.call(visit=2))
    ends = [await house.failure(), await house.failure()]
    assert {(end.visit, end.unknown, end.error.code) for end in ends} == {
        (1, True, "outcome_unknown"),
        (2, False, "too_large"),
    }


@pytest.mark.parametrize("repeatable", [False, True])
async def test_a_connection_that_was_not_made_is_tried_again(
    house: House, unused_tcp_port: int, repeatable: bool
) -> None:
    url = f"http://127.0.0.1:{unused_tcp_port}"
    house.connect(base_url=url)
    house.perform(house.call(repeatable=repeatable, url=f"{url}/do"))
    failed = await house.failure()
    assert (failed.unknown, failed.error.code, failed.error.attempts) == (False, "call_failed", 4)
    assert "There were 4 attempts." in failed.error.detail


@pytest.mark.parametrize(("asked", "waited"), [("7", 7.0), ("3600", 30.0), ("0", 0.2)])
async def test_the_far_side_may_ask_for_a_longer_pause(house: House, asked: str, waited: float) -> None:
    async def later(_: web.Request) -> web.StreamResponse:
        return web.Response(status=429, headers={"Retry-After": asked})

    house.connect()
    house.far.answers = [later]
    house.perform(house.call())
    await house.outcome()
    assert house.time.slept == pytest.approx([waited])


async def test_each_attempt_has_all_its_time_whatever_is_left_of_the_steps() -> None:
    had, time = list[float](), FakeClock()

    async def send(seconds: float) -> HttpResponse:
        had.append(seconds)
        raise SendFailed("connect_failed", "Nobody is there.")

    attempts = Retrier(CallLimits(step_deadline_s=60.0, pause_s=50.0, pause_max_s=50.0), time.clock())
    await attempts.settle("co", send, RetryPolicy(repeatable=False, retries=5, timeout_s=120.0), lambda: True)
    assert (had, time.slept) == ([120.0, 120.0], [50.0])


async def test_no_attempt_begins_after_the_deadline_of_the_step(far: FarSide, http: HttpConnector) -> None:
    house = House(far, http, step_deadline_s=1.0)
    house.connect(retries=10)
    far.answers = [503] * 20
    house.perform(house.call())
    assert (await house.failure()).error.attempts == 3
    assert house.time.slept == pytest.approx([0.2, 0.4])
