"""One flight per key, and what becomes of it when its run ends, the service stops, or the store
fails.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import ThreadedResolver, web

from actors.core.messages import CallFailed, CallReturned
from actors.ports import StoreFailed
from daemon.connectors.egress import EgressGuard
from daemon.connectors.http import HttpConnector
from tests.connectors.conftest import LOOPBACK, FarSide, House, hang
from tests.connectors.test_test_call import SENT


async def test_a_key_in_flight_is_not_sent_again(house: House) -> None:
    house.connect()
    for recovered in (False, False, True):
        house.perform(house.call(), recovered=recovered)
    await house.outcome()
    await house.rest()
    assert len(house.far.seen) == 1


async def test_an_answered_key_is_not_sent_again_before_the_run_moves_on(house: House) -> None:
    house.connect()
    house.perform(house.call(repeatable=False))
    await house.outcome()
    await house.rest()
    house.perform(house.call(repeatable=False), house.call(visit=2))
    await house.outcome()
    await house.rest()
    assert [seen.headers["Idempotency-Key"] for seen in house.far.seen] == ["run-1:step:1", "run-1:step:2"]
    assert house.dispatcher._answered == {("co", "run-1"): {"run-1:step:1", "run-1:step:2"}}
    house.perform(house.call(visit=2))
    assert house.dispatcher._answered == {("co", "run-1"): {"run-1:step:2"}}
    house.dispatcher.forget("co", "run-1")
    assert house.dispatcher._answered == {}


async def test_the_runs_whose_answers_are_remembered_are_bounded(far: FarSide, http: HttpConnector) -> None:
    house = House(far, http, answered_max=3)
    house.connect()
    for number in range(5):
        house.perform(house.call(run_id=f"run-{number}"))
        await house.outcome()
    assert [run for _, run in house.dispatcher._answered] == ["run-2", "run-3", "run-4"]


async def test_calls_beyond_the_bound_wait_their_turn(far: FarSide, http: HttpConnector) -> None:
    out = peak = 0

    async def measured(_: web.Request) -> web.StreamResponse:
        nonlocal out, peak
        out += 1
        peak = max(peak, out)
        await asyncio.sleep(0)
        out -= 1
        return web.Response()

    house = House(far, http, calls_max=2)
    house.connect()
    far.answers = [measured] * 8
    house.perform(*(house.call(visit=visit) for visit in range(8)))
    for _ in range(8):
        await house.outcome()
    assert (len(far.seen), peak <= 2) == (8, True)


async def test_calls_of_one_company_that_hang_leave_room_for_another(far: FarSide, http: HttpConnector) -> None:
    house, stuck = House(far, http, calls_max=4), asyncio.Semaphore(0)

    async def deaf(request: web.Request) -> web.StreamResponse:
        stuck.release()
        return await hang(request)

    connector = house.connect(timeout_s=60)
    far.answers = [deaf] * 3
    house.perform(*(house.call(visit=visit) for visit in range(5)))
    for _ in range(3):
        await asyncio.wait_for(stuck.acquire(), 10)
    answer = await asyncio.wait_for(house.dispatcher.test_connector("other", connector, samples=SENT), 10)
    assert (answer["ok"], len(far.seen)) == (True, 4)
    await house.dispatcher.drain(0)


async def test_a_fault_of_our_own_never_leaves_the_run_waiting(house: House) -> None:
    house.connect()
    house.shelf.error = RuntimeError("canary")
    house.perform(house.call(repeatable=False))
    failed = await house.failure()
    assert (failed.unknown, failed.error.code) == (True, "internal_error")
    assert "canary" not in repr(failed)


async def test_a_forgotten_run_makes_no_further_attempt(house: House) -> None:
    house.connect()
    house.time.hold = asyncio.Event()
    house.far.answers = [503]
    house.perform(house.call())
    await house.time.held.wait()
    house.dispatcher.forget("co", "run-1")
    await house.rest()
    assert (len(house.far.seen), house.posted) == (1, [])


async def test_an_attempt_of_a_forgotten_run_that_has_no_connection_yet_is_never_sent(far: FarSide) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    class Slow(ThreadedResolver):
        async def resolve(self, *_: Any, **__: Any) -> Any:
            asked.set()
            await go.wait()
            return await super().resolve("127.0.0.1", far.server.port or 0)

    async with HttpConnector(EgressGuard(LOOPBACK), resolver=Slow()) as http:
        house, url = House(far, http), f"http://far.test:{far.server.port}"
        house.connect(base_url=url)
        house.perform(house.call(repeatable=False, url=f"{url}/do"))
        await asked.wait()
        house.dispatcher.forget("co", "run-1")
        go.set()
        await house.rest()
    assert (house.posted, far.seen) == ([], [])


async def test_an_attempt_on_the_wire_ends_and_is_told_even_when_forgotten(house: House) -> None:
    go = asyncio.Event()

    async def slow(_: web.Request) -> web.StreamResponse:
        await go.wait()
        return web.Response(status=503)

    house.connect()
    house.far.answers = [slow]
    house.perform(house.call())
    await house.far.arrived.wait()
    house.dispatcher.forget("co", "run-1")
    go.set()
    failed = await house.failure()
    assert (failed.error.status_code, failed.error.attempts) == (503, 1)
    assert house.dispatcher._answered == {}


async def test_a_call_on_the_wire_is_given_time_to_end_in_a_drain(house: House) -> None:
    go = asyncio.Event()

    async def slow(_: web.Request) -> web.StreamResponse:
        await go.wait()
        return web.json_response({})

    house.connect()
    house.far.answers = [slow]
    house.perform(house.call())
    await house.far.arrived.wait()
    drain = asyncio.ensure_future(house.dispatcher.drain(10))
    await asyncio.sleep(0)
    house.perform(house.call(visit=2))
    go.set()
    await drain
    assert [outcome.visit for outcome in house.posted if isinstance(outcome, CallReturned)] == [1]
    assert (len(house.far.seen), len(house.dispatcher)) == (1, 0)


async def test_nothing_is_told_of_what_a_drain_cuts_off(far: FarSide, http: HttpConnector) -> None:
    house = House(far, http, calls_max=1)
    house.connect()
    far.answers = [hang]
    house.perform(house.call(), house.call(visit=2))
    await far.arrived.wait()
    await house.dispatcher.drain(0.01)
    await house.rest()
    assert (house.posted, len(far.seen)) == ([], 1)


@pytest.mark.parametrize(("repeatable", "told"), [(True, 0), (False, 1)])
async def test_a_failed_attempt_in_a_drain_is_left_to_the_next_start_only_if_it_may_be_repeated(
    house: House, repeatable: bool, told: int
) -> None:
    go = asyncio.Event()

    async def slow(_: web.Request) -> web.StreamResponse:
        await go.wait()
        return web.Response(status=503)

    house.connect()
    house.far.answers = [slow]
    house.perform(house.call(repeatable=repeatable))
    await house.far.arrived.wait()
    drain = asyncio.ensure_future(house.dispatcher.drain(10))
    await asyncio.sleep(0)
    go.set()
    await drain
    assert [outcome.unknown for outcome in house.posted if isinstance(outcome, CallFailed)] == [True] * told
    assert len(house.far.seen) == 1


@pytest.mark.parametrize("repeatable", [False, True])
async def test_a_call_waits_for_a_store_that_failed_and_is_then_sent_once(house: House, repeatable: bool) -> None:
    house.connect()
    house.shelf.error = StoreFailed("gone", "not_applied")
    house.time.hold = asyncio.Event()
    house.perform(house.call(repeatable=repeatable))
    await house.time.held.wait()
    assert (house.posted, house.far.seen, house.time.slept) == ([], [], [1.0])
    house.shelf.error = None
    house.time.hold.set()
    assert isinstance(await house.outcome(), CallReturned)
    assert len(house.far.seen) == 1


async def test_a_store_that_fails_between_two_attempts_is_waited_for(house: House) -> None:
    house.connect()
    house.far.answers = [503]
    house.time.hold = first = asyncio.Event()
    house.perform(house.call())
    await house.time.held.wait()
    house.shelf.error = StoreFailed("gone", "not_applied")
    house.time.held.clear()
    house.time.hold = second = asyncio.Event()
    first.set()
    await house.time.held.wait()
    house.shelf.error = None
    second.set()
    assert isinstance(await house.outcome(), CallReturned)
    assert house.time.slept == pytest.approx([0.2, 1.0])
    assert len(house.far.seen) == 2


@pytest.mark.parametrize("end", ["drain", "forget"])
async def test_a_call_that_waits_for_the_store_ends_with_a_drain_and_with_its_run(house: House, end: str) -> None:
    house.connect()
    house.shelf.error = StoreFailed("gone", "not_applied")
    house.time.hold = asyncio.Event()
    house.perform(house.call())
    await house.time.held.wait()
    if end == "drain":
        await house.dispatcher.drain(10)
    else:
        house.dispatcher.forget("co", "run-1")
    await house.rest()
    assert (house.posted, house.far.seen) == ([], [])


@pytest.mark.parametrize("repeatable", [True, False])
async def test_an_answered_key_is_not_sent_again_when_its_outcome_cannot_be_applied(
    house: House, *, repeatable: bool
) -> None:
    """Its run is loaded anew, and asks for all that is outstanding."""
    house.connect()
    house.perform(house.call(repeatable=repeatable))
    assert isinstance(await house.outcome(), CallReturned)
    await house.rest()
    for _ in range(3):
        house.perform(house.call(repeatable=repeatable), recovered=True)
    await house.rest()
    assert (len(house.far.seen), house.posted) == (1, [])
