"""Runs that go on by themselves: after a restart, after a long turn; and the way to a stop."""

from __future__ import annotations

import asyncio

import pytest

from actors.actor import Stopped
from actors.core.decider import TurnResult
from actors.core.kinds import TURN_STEPS_MAX
from actors.core.messages import RunEnded, VerdictGiven
from actors.ports import StoreFailed
from tests.actors.house import COMPANY, House, Store, house, passing

STEPS = 5 * TURN_STEPS_MAX


async def test_after_a_restart_unfinished_runs_go_on_and_parked_ones_stay_away(home: House) -> None:
    await home.live_tool("fetch")
    for number in range(3):
        await home.start("calls", f"calls-{number}")
        await home.start("sign", f"sign-{number}")
    after = await house(home.store)
    assert await after.directory.recover() == 3
    assert sorted(after.hands.asked) == [(f"calls-{number}:fetch:1", True) for number in range(3)]
    assert len(after.directory) == 3
    after.returned(await after.loaded("calls-1"))
    await after.until(await after.loaded("calls-1"), lambda now: now.status == "parked")
    await after.settled()
    after.directory.passivate()
    assert len(after.directory) == 2


async def test_a_run_that_cannot_be_activated_keeps_no_other_from_going_on(home: House) -> None:
    await home.live_tool("fetch")
    for number in range(3):
        await home.start("calls", f"calls-{number}")
    await home.start("unkept")
    home.timers.close()
    after = await house(home.store)
    after.journal.faults_of_loads.append(passing())
    assert await after.directory.recover() == 4
    assert [type(error) for _, error in after.reported] == [StoreFailed, KeyError]
    # The passing fault is tried again and has passed by then; the run without a template only says
    # so.
    await after.hands.reached(3)
    await after.settled()
    assert len(after.directory) == 3


async def test_an_executing_run_is_never_passivated(home: House) -> None:
    await home.live_tool("fetch")
    run = (await home.start("calls")).run
    await home.start("sign")
    assert (home.directory.passivate(), len(home.directory)) == (1, 1)
    home.returned(run)
    await home.until(run, lambda now: now.status == "parked")
    await home.settled()
    assert (home.directory.passivate(), len(home.directory)) == (1, 0)


async def test_an_actor_at_work_is_not_passivated(home: House) -> None:
    run = (await home.start("again")).run
    home.journal.hold()
    asked = asyncio.create_task(home.resume(run, "review"))
    await home.journal.reached.wait()
    assert home.directory.passivate() == 0
    home.journal.open.set()
    await asked


async def test_a_turn_that_has_done_its_share_goes_on_by_itself(store: Store) -> None:
    home = await house(store, steps_max=STEPS)
    first = await home.start("endless")
    assert first.run.status == "executing"
    assert first.run.steps <= TURN_STEPS_MAX + 1
    ended = await home.ended(first.run)
    assert ended.error is not None
    assert ended.error.code == "step_limit"
    assert sum(isinstance(event, RunEnded) for event in await home.history(ended.id)) == 1


async def test_a_person_gets_a_word_in_between_the_turns_of_a_long_run(home: House) -> None:
    run = (await home.start("endless")).run
    answer = await home.cancel(run.id)
    assert isinstance(answer, TurnResult)
    assert answer.run.status == "cancelled"
    await home.settled()
    assert await home.loaded(run.id) == answer.run


async def test_a_run_between_two_turns_goes_on_after_a_restart(store: Store) -> None:
    before, after = await house(store, steps_max=STEPS), await house(store, steps_max=STEPS)
    run = (await before.start("endless")).run
    before.timers.close()
    assert await after.directory.recover() == 1
    assert (await after.ended(run)).status == "failed"


async def test_a_drain_works_off_the_mailboxes_and_refuses_what_is_new(home: House) -> None:
    run = (await home.start("again")).run
    home.journal.hold()
    asked = [asyncio.create_task(home.resume(run, "review", by=f"person-{number}")) for number in range(5)]
    await home.journal.reached.wait()
    draining = asyncio.create_task(home.directory.drain(60))
    await asyncio.sleep(0)
    with pytest.raises(Stopped):
        await home.resume(run, "review", by="too late")
    home.journal.open.set()
    await draining
    assert all(isinstance(answer, TurnResult) for answer in await asyncio.gather(*asked))
    names = [event.by for event in await home.history(run.id) if isinstance(event, VerdictGiven)]
    assert names == [f"person-{number}" for number in range(5)]
    assert len(home.directory) == 0


async def test_a_drain_answers_everyone_within_its_bound(home: House) -> None:
    runs = [(await home.start("again")).run for _ in range(3)]
    home.journal.hold()
    asked = [asyncio.create_task(home.resume(run, "review")) for run in runs for _ in range(3)]
    await home.journal.reached.wait()
    async with asyncio.timeout(10):
        await home.directory.drain(0)
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert len([answer for answer in answers if isinstance(answer, Stopped)]) == 6
    # Of these three nobody knows yet whether they will be durable, and that is what their senders
    # are told.
    assert [answer.outcome for answer in answers if isinstance(answer, StoreFailed)] == ["unknown"] * 3


async def test_a_stop_while_an_actor_loads_its_run_answers_who_waits(home: House) -> None:
    run = (await home.start("sign")).run
    home.directory.passivate()
    asked = asyncio.create_task(home.resume(run, "signoff"))
    await asyncio.sleep(0)
    await home.directory.drain(0)
    answer = (await asyncio.gather(asked, return_exceptions=True))[0]
    assert isinstance(answer, Stopped) == ((await home.loaded(run.id)).status == "parked")


async def test_an_outcome_is_taken_while_the_service_drains(home: House) -> None:
    await home.live_tool("fetch")
    run = (await home.start("calls")).run
    home.directory.refuse()
    home.returned(run)
    await home.until(run, lambda now: now.status == "parked")


async def test_after_the_drain_nothing_stirs_any_more(home: House) -> None:
    await home.live_tool("fetch")
    run = (await home.start("calls")).run
    home.journal.faults += [passing()] * 1_000
    home.returned(run)
    await home.journal.reached.wait()
    await home.directory.drain(0)
    home.returned(run)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(home.directory) == 0
    assert (await home.store.unfinished())[0] == (COMPANY, run.id)
