"""The breaker: a far side that is unwell is left alone for a while, and a call that was held back
was never sent.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

from actors.core.messages import CallReturned
from daemon.connectors.egress import EgressGuard
from daemon.connectors.http import HttpConnector, HttpResponse, SendFailed
from daemon.connectors.retry import CircuitBreakers
from tests.connectors.conftest import NOW, FarSide, Handler, House, hang_up
from tests.connectors.test_test_call import SENT

URL = "https://far.test/do"
UNWELL: list[SendFailed | int] = [
    SendFailed("connect_failed", "No."),
    SendFailed("timeout", "No."),
    SendFailed("timeout", "No.", maybe_sent=True),
    SendFailed("connection_lost", "No.", maybe_sent=True),
    SendFailed("too_large", "No.", maybe_sent=True, status_code=500),
    500,
    502,
    503,
    504,
    520,
    527,
]
WELL: list[SendFailed | int] = [
    200,
    204,
    302,
    400,
    401,
    404,
    408,
    429,
    SendFailed("too_large", "No.", maybe_sent=True, status_code=200),
]
NEITHER = [SendFailed("egress_refused", "No."), SendFailed("bad_url", "No."), SendFailed("bad_request", "No.")]


class Bench:
    """Breakers on a clock that a test moves, and how often something was sent through them."""

    def __init__(self, **more: Any) -> None:
        self.seconds = 0.0
        self.sent = 0
        bounds = {"failures_max": 3, "open_s": 30.0, "circuits_max": 100, **more}
        self.breakers = CircuitBreakers(
            monotonic=lambda: self.seconds, now=lambda: NOW + timedelta(seconds=self.seconds), **bounds
        )

    async def send(self, end: SendFailed | int = 200, url: str = URL, company: str = "co") -> str:
        """How a call through the breaker ended."""

        async def sender() -> HttpResponse:
            self.sent += 1
            if isinstance(end, SendFailed):
                raise end
            return HttpResponse(end, None, 1)

        try:
            return str((await self.breakers.through(company, url, sender)).status)
        except SendFailed as failed:
            self.last = failed
            return failed.code

    async def opened(self) -> Bench:
        for _ in range(3):
            await self.send(503)
        return self


@pytest.mark.parametrize("end", UNWELL, ids=str)
async def test_failures_in_a_row_that_say_the_far_side_is_unwell_open_the_circuit(end: SendFailed | int) -> None:
    bench = Bench()
    for _ in range(3):
        assert await bench.send(end) != "circuit_open"
    assert await bench.send() == "circuit_open"
    assert bench.sent == 3


@pytest.mark.parametrize("end", WELL, ids=str)
async def test_an_answer_of_a_far_side_that_is_well_begins_the_count_anew(end: SendFailed | int) -> None:
    bench = Bench()
    for one in (503, 503, end, 503, 503, end):
        assert await bench.send(one) != "circuit_open"
    assert len(bench.breakers) == 0


@pytest.mark.parametrize("end", NEITHER, ids=str)
async def test_what_was_refused_here_says_nothing_about_the_far_side(end: SendFailed) -> None:
    bench = Bench()
    for one in (end, end, end, end, 503, 503, end):
        assert await bench.send(one) != "circuit_open"
    await bench.send(503)
    assert await bench.send() == "circuit_open"


async def test_a_call_that_is_held_back_was_not_sent_and_is_told_since_when_and_until_when() -> None:
    bench = await Bench().opened()
    bench.seconds = 10
    assert await bench.send() == "circuit_open"
    assert (bench.last.maybe_sent, bench.last.retry_after_s, bench.sent) == (False, 20.0, 3)
    assert bench.last.detail == (
        "Calls to https://far.test:443 are held back since 2026-03-01T12:00:00Z until 2026-03-01T12:00:30Z, "
        "after 3 failures in a row."
    )


async def test_one_trial_goes_out_when_the_time_is_over_and_the_others_wait_for_it() -> None:
    bench = await Bench().opened()
    bench.seconds = 30
    go = asyncio.Event()

    async def slow() -> HttpResponse:
        await go.wait()
        return HttpResponse(200, None, 1)

    trial = asyncio.create_task(bench.breakers.through("co", URL, slow))
    await asyncio.sleep(0)
    assert [await bench.send() for _ in range(3)] == ["circuit_open"] * 3
    assert bench.last.retry_after_s == 0
    assert "until the trial call under way has ended" in bench.last.detail
    go.set()
    await trial
    assert await bench.send() == "200"
    assert (len(bench.breakers), bench.sent) == (0, 4)


async def test_a_trial_that_fails_opens_the_circuit_again() -> None:
    bench = await Bench().opened()
    bench.seconds = 30
    assert await bench.send(503) == "503"
    bench.seconds = 59
    assert await bench.send() == "circuit_open"
    assert "since 2026-03-01T12:00:00Z until 2026-03-01T12:01:00Z, after 4 failures" in bench.last.detail
    bench.seconds = 60
    assert await bench.send() == "200"


async def test_a_trial_that_is_cut_off_or_refused_makes_room_for_another() -> None:
    bench = await Bench().opened()
    bench.seconds = 30

    async def never() -> HttpResponse:
        await asyncio.Event().wait()
        raise AssertionError

    trial = asyncio.create_task(bench.breakers.through("co", URL, never))
    await asyncio.sleep(0)
    assert await bench.send() == "circuit_open"
    trial.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trial
    assert await bench.send(NEITHER[0]) == "egress_refused"
    assert await bench.send() == "200"


@pytest.mark.parametrize("end", [200, 503])
async def test_what_comes_back_late_changes_nothing_while_the_circuit_is_open(end: int) -> None:
    bench = Bench()
    go = asyncio.Event()

    async def slow() -> HttpResponse:
        await go.wait()
        return HttpResponse(end, None, 1)

    late = asyncio.create_task(bench.breakers.through("co", URL, slow))
    await asyncio.sleep(0)
    await bench.opened()
    bench.seconds = 20
    go.set()
    await late
    assert await bench.send() == "circuit_open"
    assert bench.last.retry_after_s == 10


async def test_each_company_and_each_origin_has_a_circuit_of_its_own() -> None:
    bench = await Bench().opened()
    assert await bench.send(company="other") == "200"
    for url in ("http://far.test/do", "https://far.test:8443/do", "https://www.far.test/do"):
        assert await bench.send(url=url) == "200"
    for url in ("https://FAR.test:443/other?q", "https://far.test"):
        assert await bench.send(url=url) == "circuit_open"


async def test_no_more_circuits_are_kept_than_the_bound_says() -> None:
    bench = Bench(circuits_max=10, failures_max=1)
    for number in range(50):
        await bench.send(503, f"https://{number}.test/")
    assert len(bench.breakers) == 10
    assert await bench.send(url="https://39.test/") == "200"
    assert await bench.send(url="https://40.test/") == "circuit_open"


# ------------------------------------------------------------------------------ in the dispatcher


FIVE: dict[str, Any] = {"failures_max": 5, "open_s": 30.0}


@pytest.mark.parametrize("trouble", [500, 502, 503, hang_up])
async def test_after_five_failures_an_irreversible_call_is_refused_for_certain(
    far: FarSide, http: HttpConnector, trouble: Handler | int
) -> None:
    house = House(far, http, **FIVE)
    house.connect(retries=0)
    house.far.answers = [trouble] * 5
    for visit in range(5):
        house.perform(house.call(visit=visit))
        assert (await house.failure()).error.code != "circuit_open"
    house.perform(house.call(repeatable=False, visit=6))
    failed = await house.failure()
    assert (failed.unknown, failed.error.code, failed.error.attempts) == (False, "circuit_open", 0)
    assert "since 2026-03-01T12:00:00Z until 2026-03-01T12:00:30Z" in failed.error.detail
    assert (len(house.far.seen), house.time.slept) == (5, [])


@pytest.mark.parametrize("trouble", [500, 502, hang_up])
async def test_irreversible_calls_that_fail_hold_no_other_call_back(
    far: FarSide, http: HttpConnector, trouble: Handler | int
) -> None:
    house = House(far, http, **FIVE)
    house.connect(retries=0)
    house.far.answers = [trouble] * 12
    for visit in range(12):
        house.perform(house.call(repeatable=False, visit=visit))
        assert (await house.failure()).error.code != "circuit_open"
    assert len(house.far.seen) == 12


async def test_a_repeatable_call_waits_until_the_circuit_lets_it_try(far: FarSide, http: HttpConnector) -> None:
    house = House(far, http, **FIVE)
    house.connect(retries=5)
    house.far.answers = [503] * 5
    house.perform(house.call())
    outcome = await house.outcome()
    assert isinstance(outcome, CallReturned)
    assert (outcome.attempts, len(house.far.seen)) == (6, 6)
    assert house.time.slept[-1] == pytest.approx(30.0 - house.time.slept[4] + 6.4)


async def test_a_wait_for_the_circuit_does_not_use_up_retries(far: FarSide, http: HttpConnector) -> None:
    house = House(far, http, **FIVE)
    house.connect(retries=0)
    house.far.answers = [503] * 5
    house.perform(*(house.call(visit=visit) for visit in range(5)))
    for _ in range(5):
        await house.failure()
    house.perform(house.call(visit=6))
    assert isinstance(await house.outcome(), CallReturned)
    assert house.time.slept == pytest.approx([30.2])


async def test_a_wait_that_would_outlast_the_step_fails_it_and_says_so(far: FarSide, http: HttpConnector) -> None:
    house = House(far, http, step_deadline_s=20.0, failures_max=2, open_s=30.0)
    house.connect(retries=5)
    far.answers = [503] * 9
    house.perform(house.call())
    failed = await house.failure()
    assert (failed.unknown, failed.error.code, failed.error.attempts) == (False, "circuit_open", 2)
    assert len(far.seen) == 2


async def test_a_circuit_opens_no_socket_and_hears_of_a_refusal_from_neither_side(far: FarSide) -> None:
    async with HttpConnector(EgressGuard()) as http:
        house = House(far, http, failures_max=1)
        house.connect()
        for visit in range(3):
            house.perform(house.call(visit=visit))
            assert (await house.failure()).error.code == "egress_refused"
    assert len(house.dispatcher._breakers) == 0


async def test_a_trial_by_hand_is_never_held_back(far: FarSide, http: HttpConnector) -> None:
    house = House(far, http, failures_max=1)
    trial = house.connect(retries=0)
    far.answers = [503, 503, 200]
    house.perform(house.call())
    assert (await house.failure()).error.status_code == 503
    answers = [await house.dispatcher.test_connector("co", trial, samples=SENT) for _ in range(2)]
    assert [answer["status_code"] for answer in answers] == [503, 200]


async def test_a_call_that_waits_for_a_circuit_holds_no_other_call_up(far: FarSide, http: HttpConnector) -> None:
    async def quick(_: web.Request) -> web.StreamResponse:
        return web.json_response({"quick": True})

    house = House(far, http, failures_max=1, calls_max=1)
    house.connect(retries=1)
    far.answers = [503, quick]
    house.time.hold = asyncio.Event()
    house.perform(house.call())
    await house.time.held.wait()
    answer = await asyncio.wait_for(house.dispatcher.test_connector("co", house.connect(retries=1), samples=SENT), 5)
    assert answer["body"] == {"quick": True}
    house.time.hold.set()
    await house.outcome()
