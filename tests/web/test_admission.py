"""Admission: which requests are worked on, wait, or are refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from actors.actor import Overloaded
from daemon.settings import Settings
from daemon.web.middleware.admission import ADMITTED, Admission, slot_released
from daemon.web.problems import HttpProblem
from tests.load.pump import wire
from tests.web.test_connections import HEALTH, LOGIN, code_of, entrance, register, until

LONG_S = 60.0


def waiting(admission: Admission, *companies: str) -> list[asyncio.Task[Any]]:
    """One request that waits for each of these companies, in this order."""
    return [asyncio.get_running_loop().create_task(admission.acquire(company)) for company in companies]


async def settled() -> None:
    """Let every task go on as far as it can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_so_many_are_worked_on_at_once_and_the_next_waits() -> None:
    admission = Admission(2, 10, LONG_S)
    await admission.acquire("a")
    await admission.acquire("a")
    (third,) = waiting(admission, "a")
    await settled()
    assert not third.done()
    assert admission.waiting == 1
    admission.release()
    await third
    assert admission.waiting == 0


async def test_a_company_alone_may_fill_half_of_the_places_to_wait() -> None:
    admission = Admission(1, 10, LONG_S)
    await admission.acquire("a")
    tasks = waiting(admission, *"aaaaa")
    await settled()
    with pytest.raises(Overloaded):
        await admission.acquire("a")
    tasks += waiting(admission, "b")
    await settled()
    assert admission.waiting == 6
    await end(*tasks)
    assert admission.waiting == 0


async def test_beyond_its_budget_a_company_is_told_so() -> None:
    admission = Admission(1, 64, LONG_S, 2)
    await admission.acquire("a")
    tasks = waiting(admission, "a", "a")
    await settled()
    with pytest.raises(HttpProblem) as refused:
        await admission.acquire("a")
    assert (refused.value.status, refused.value.code) == (429, "quota_exceeded")
    assert refused.value.more == {"limit": 2, "budget": "company_requests"}
    tasks += waiting(admission, "b")
    await settled()
    assert admission.waiting == 3
    await end(*tasks)


async def test_companies_that_all_ask_too_much_get_equal_shares_and_leave_one_for_another() -> None:
    admission = Admission(1, 64, LONG_S)
    await admission.acquire("x")
    tasks = waiting(admission, *"abc" * 64)
    await settled()
    held = {company: len(queue) for company, queue in admission._queues.items()}
    assert held == {"a": 16, "b": 16, "c": 16}
    (another,) = waiting(admission, "z")
    await settled()
    assert not another.done()
    await end(*tasks, another)


async def test_the_companies_take_turns_however_many_wait_of_one() -> None:
    admission, order = Admission(1, 100, LONG_S), list[str]()
    await admission.acquire("x")

    async def served(company: str) -> None:
        await admission.acquire(company)
        order.append(company)

    tasks = [asyncio.get_running_loop().create_task(served(company)) for company in "aaaabbc"]
    await settled()
    for _ in tasks:
        admission.release()
        await settled()
    assert "".join(order) == "abcabaa"
    await asyncio.gather(*tasks)


async def test_a_request_that_has_waited_too_long_is_refused_and_its_place_is_free() -> None:
    admission = Admission(1, 2, 0.01)
    await admission.acquire("a")
    (late,) = waiting(admission, "a")
    with pytest.raises(Overloaded):
        await late
    assert admission.waiting == 0
    admission.release()
    await admission.acquire("a")


async def test_a_burst_may_wait_for_long_and_a_queue_that_stands_for_less(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    now = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now)
    admission = Admission(1, 100, 10.0)
    await admission.acquire("a")
    waits: list[bool] = []
    (burst,) = waiting(admission, "a")
    await settled()
    for later in (9.9, 0.2):
        now += later
        await settled()
        waits.append(not burst.done())
        waiting(admission, "b")
        await settled()
    (last,) = waiting(admission, "c")  # the queue has stood for 10 seconds
    await settled()
    assert waits == [True, False]
    for later in (2.9, 0.2):
        now += later
        await settled()
        waits.append(not last.done())
    assert waits[2:] == [True, False]
    refused = await asyncio.gather(burst, last, return_exceptions=True)
    assert [type(one) for one in refused] == [Overloaded, Overloaded]
    await end(*(asyncio.all_tasks() - {asyncio.current_task()}))


async def test_a_request_that_stops_waiting_is_passed_over() -> None:
    admission = Admission(1, 10, LONG_S)
    await admission.acquire("a")
    gone, patient = waiting(admission, "a", "a")
    await settled()
    await end(gone)
    assert admission.waiting == 1
    admission.release()
    await patient


async def test_a_request_that_goes_just_when_it_is_its_turn_gives_the_slot_on() -> None:
    admission = Admission(1, 10, LONG_S)
    await admission.acquire("a")
    gone, patient = waiting(admission, "a", "a")
    await settled()
    admission.release()
    await end(gone)
    await settled()
    assert patient.done()


async def test_without_places_to_wait_the_next_is_refused_at_once() -> None:
    admission = Admission(1, 0, LONG_S)
    await admission.acquire("a")
    with pytest.raises(Overloaded):
        await admission.acquire("b")
    admission.release()
    await admission.acquire("b")


async def test_a_request_that_waits_for_something_outside_leaves_its_slot_to_others() -> None:
    admission = Admission(1, 10, LONG_S)
    await admission.acquire("a")
    token = ADMITTED.set(admission)
    with slot_released():
        await asyncio.wait_for(admission.acquire("b"), 1)
    (third,) = waiting(admission, "c")
    await settled()
    admission.release()
    await settled()
    assert not third.done()  # both are back: one slot is taken twice
    admission.release()
    await third
    ADMITTED.reset(token)


async def test_refusals_leave_one_line_in_the_log_and_not_thousands() -> None:
    admission = Admission(1, 0, LONG_S)
    await admission.acquire("a")
    with capture_logs() as logs:
        await asyncio.wait(waiting(admission, *"a" * 100))
    assert logs == [{"event": "overloaded", "log_level": "warning", "times": 1, "waiting": 0}]


async def test_a_refusal_is_a_problem_document_and_the_connection_goes_on(settings: Settings) -> None:
    async with entrance(settings, requests_max=1, request_queue_max=0) as here:
        await here.admission.acquire("somebody")
        line = await here.line()
        refused, health, unread = await line.ask(LOGIN, HEALTH, b"HEAD /docs HTTP/1.1\r\nHost: x\r\n\r\n")
        assert code_of(refused) == (503, "overloaded")
        assert (refused.json["outcome"], refused.json["retryable"]) == ("not_applied", True)
        assert int(refused.headers["retry-after"]) >= 1
        assert (health.status, unread.status, unread.body) == (200, 503, b"")
        here.admission.release()
        assert [answer.status for answer in await line.ask(LOGIN)] == [401]


async def test_a_request_that_gets_no_slot_in_time_is_refused(settings: Settings) -> None:
    async with entrance(settings, requests_max=1, request_queue_timeout_s=0.05) as here:
        await here.admission.acquire("somebody")
        (answer,) = await (await here.line()).ask(LOGIN)
        assert code_of(answer) == (503, "overloaded")
        assert here.admission.waiting == 0


async def test_one_companys_crowd_leaves_room_for_another(settings: Settings) -> None:
    async with entrance(settings, requests_max=1, request_queue_max=2) as here:
        tokens = [await register(here, name) for name in ("greedy", "modest")]
        greedy, modest = [wire("GET", "/auth/me", headers={"Authorization": f"Bearer {token}"}) for token in tokens]
        await here.admission.acquire("somebody")
        first = await here.line(greedy)
        await until(lambda: here.admission.waiting == 1)
        assert [answer.status for answer in await (await here.line()).ask(greedy)] == [503]
        second = await here.line(modest)
        await until(lambda: here.admission.waiting == 2)
        here.admission.release()
        assert [(await line.read()).status for line in (first, second)] == [200, 200]


async def test_callers_who_go_while_they_wait_leave_nothing_behind(settings: Settings) -> None:
    async with entrance(settings, requests_max=1) as here:
        await here.admission.acquire("somebody")
        lines = [await here.line(LOGIN) for _ in range(20)]
        await until(lambda: here.admission.waiting == len(lines))
        for line in lines:
            line.writer.transport.abort()
        await until(lambda: all(one.transport is None for one in here.connections))
        here.admission.release()
        await until(lambda: here.admission.waiting == 0)
        assert [answer.status for answer in await (await here.line()).ask(LOGIN)] == [401]


async def test_a_burst_is_answered_to_the_last(settings: Settings) -> None:
    async with entrance(settings, requests_max=1) as here:
        me = wire("GET", "/auth/me", headers={"Authorization": f"Bearer {await register(here, 'many')}"})

        async def asks() -> list[int]:
            line = await here.line()
            return [(await line.ask(me))[0].status for _ in range(4)]

        assert await asyncio.gather(*(asks() for _ in range(100))) == [[200] * 4] * 100
        assert here.admission.waiting == 0
