"""What happens to an actor, and to those who wait for it, when its journal fails or another process
was first.
"""

from __future__ import annotations

import asyncio

import pytest

from actors.core.decider import TurnResult
from actors.core.messages import CallSettled, Rejected, VerdictGiven
from actors.directory import FAULTS_MAX
from actors.ports import StoreFailed
from tests.actors.house import COMPANY, House, Store, doubtful, house, passing


async def test_everyone_is_answered_by_a_failing_journal(home: House) -> None:
    run = (await home.start("again")).run
    home.journal.faults += [doubtful(), passing(), doubtful()]
    answers = await asyncio.gather(
        *(home.resume(run, "review", by=f"person-{number}") for number in range(5)), return_exceptions=True
    )
    assert [answer.outcome for answer in answers if isinstance(answer, StoreFailed)] == [
        "unknown",
        "not_applied",
        "unknown",
    ]
    names = [event.by for event in await home.history(run.id) if isinstance(event, VerdictGiven)]
    assert names == ["person-3", "person-4"]


async def test_after_a_doubtful_commit_the_actor_asks_the_journal_what_became_of_it(home: House) -> None:
    run = (await home.start("sign")).run
    home.journal.faults_after.append(doubtful())
    with pytest.raises(StoreFailed):
        await home.resume(run, "signoff", by="first")
    assert len(home.directory) == 0
    second = await home.resume(run, "signoff", "denied", by="second")
    assert isinstance(second, Rejected)
    assert second.more["decided"]["by"] == "first"
    assert home.journal.loads[COMPANY, run.id] == 1


async def test_an_actor_that_breaks_forgets_and_is_found_again_in_the_journal(home: House) -> None:
    run = (await home.start("sign")).run
    home.journal.faults.append(RuntimeError("a fault of our own"))
    with pytest.raises(RuntimeError):
        await home.resume(run, "signoff")
    assert len(home.directory) == 0
    assert isinstance(await home.resume(run, "signoff"), TurnResult)
    assert home.journal.loads[COMPANY, run.id] == 1


async def test_an_outcome_that_was_not_applied_comes_again(home: House) -> None:
    await home.live_tool("fetch")
    run = (await home.start("calls")).run
    home.journal.faults += [passing(), passing(), passing()]
    home.returned(run)
    parked = await home.until(run, lambda now: now.status == "parked")
    assert parked.facts["fetch"] == {"it": "found"}
    assert len(home.reported) == 3


async def test_an_outcome_that_comes_again_is_never_taken_for_one_that_nobody_knows(home: House) -> None:
    await home.live_tool("fetch")
    run = (await home.start("calls")).run
    home.journal.faults.append(passing())
    home.returned(run)
    # Somebody else speaks while the outcome waits for its second try; the call must not look like a
    # lost one then.
    refused = await home.resume(run, "signoff")
    assert isinstance(refused, Rejected)
    await home.until(run, lambda now: now.status == "parked")
    assert home.hands.asked == [("run-1:fetch:1", False)]
    assert home.journal.loads[COMPANY, run.id] == 0


async def test_an_outcome_that_met_a_fault_of_our_own_is_reported_and_comes_again(home: House) -> None:
    await home.live_tool("fetch")
    run = (await home.start("calls")).run
    home.journal.faults += [own(), own()]
    home.returned(run)
    parked = await home.until(run, lambda now: now.status == "parked")
    assert parked.facts["fetch"] == {"it": "found"}
    assert [repr(error) for _, error in home.reported] == [repr(own())] * 2


async def test_an_outcome_that_can_never_be_applied_is_a_question_to_a_human(home: House) -> None:
    await home.live_tool("fetch")
    run = (await home.start("calls")).run
    home.journal.faults += [own()] * FAULTS_MAX
    home.returned(run)
    parked = await home.until(run, lambda now: now.status == "parked")
    gates = [(visit.step_id, visit.gate.reason) for visit in parked.open if visit.gate is not None]
    assert gates == [("fetch", "outcome unknown")]
    assert len(home.reported) == FAULTS_MAX


async def test_what_nothing_can_help_is_not_tried_for_ever(home: House) -> None:
    await home.live_tool("fetch")
    run = (await home.start("calls")).run
    home.journal.faults += [own()] * (FAULTS_MAX + 1)
    home.returned(run)
    await home.journal.faultless()
    await home.settled()
    assert len(home.reported) == FAULTS_MAX + 1
    assert (await home.loaded(run.id)).status == "executing"


async def test_a_fault_in_performing_does_not_unsay_what_is_durable_and_the_run_goes_on(home: House) -> None:
    await home.live_tool("fetch")
    home.hands.faults += [own(), own()]
    run = (await home.start("calls")).run
    assert run == await home.loaded(run.id)
    await home.hands.reached(1)
    assert home.hands.asked == [("run-1:fetch:1", True)]
    assert [repr(error) for _, error in home.reported] == [repr(own())] * 2
    home.returned(run)
    await home.until(run, lambda now: now.status == "parked")


async def test_a_fault_in_performing_does_not_keep_followers_from_hearing_of_it(home: House) -> None:
    await home.live_tool("fetch")
    home.hands.faults.append(own())
    with home.feed.follow(COMPANY, "run-1") as follower:
        run = (await home.start("calls")).run
        assert (await follower.next())[0] == run


async def test_a_fault_in_publishing_does_not_unsay_a_verdict(home: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise own()

    run = (await home.start("sign")).run
    with home.feed.follow(COMPANY, run.id) as follower:
        monkeypatch.setattr(follower, "put", broken)
        assert isinstance(await home.resume(run, "signoff"), TurnResult)
    ended = (await home.loaded(run.id)).ended
    assert ended is not None
    assert ended.outcome == "approved"
    assert [repr(error) for _, error in home.reported] == [repr(own())]
    assert isinstance(await home.resume(run, "signoff", "denied"), Rejected)


def own() -> ValueError:
    return ValueError("a fault of our own")


async def test_the_loser_of_two_processes_reloads_and_decides_again(store: Store) -> None:
    here, there = await house(store), await house(store)
    run = (await here.start("again")).run
    assert isinstance(await there.resume(run, "review", by="there"), TurnResult)
    answer = await here.resume(run, "review", by="here")
    assert isinstance(answer, TurnResult)
    names = [event.by for event in await here.history(run.id) if isinstance(event, VerdictGiven)]
    assert names == ["there", "here"]
    assert here.directory.live(COMPANY, run.id) == await here.loaded(run.id)


async def test_of_two_processes_exactly_one_verdict_wins(store: Store) -> None:
    here, there = await house(store), await house(store)
    for number in range(30):
        run = (await here.start("sign", f"run-{number}")).run
        await there.cancel("wake" if number % 2 else run.id + "-unknown")
        answers = await asyncio.gather(
            here.resume(run, "signoff", "approved", by="here"), there.resume(run, "signoff", "denied", by="there")
        )
        won = [answer for answer in answers if isinstance(answer, TurnResult)]
        lost = [answer for answer in answers if isinstance(answer, Rejected)]
        assert (len(won), [one.code for one in lost]) == (1, ["not_parked"])
        verdicts = [event.by for event in await here.history(run.id) if isinstance(event, VerdictGiven)]
        assert verdicts == [lost[0].more["decided"]["by"]]
        assert here.directory.live(COMPANY, run.id) == there.directory.live(COMPANY, run.id)


async def test_a_run_is_started_once_by_two_processes(store: Store) -> None:
    here, there = await house(store), await house(store)
    run = (await here.start("sign", "one")).run
    with pytest.raises(AssertionError, match="already_exists"):
        await there.start("again", "one")
    assert await there.loaded("one") == run
    assert isinstance(await there.resume(run, "signoff"), TurnResult)


async def test_a_call_is_settled_once_by_two_processes(store: Store) -> None:
    here, there = await house(store), await house(store)
    await here.live_tool("fetch")
    run = (await here.start("calls")).run
    here.returned(run, output="here")
    there.returned(run, output="there")
    await asyncio.gather(here.settled(), there.settled())
    settled = [event for event in await here.history(run.id) if isinstance(event, CallSettled)]
    assert len(settled) == 1


async def test_what_is_held_in_memory_is_what_the_journal_has(home: House) -> None:
    for _ in range(2):
        run = (await home.start("again")).run
        for _ in range(3):
            await home.resume(run, "review")
        home.directory.passivate()
        await home.resume(run, "no such gate")
        assert home.directory.live(COMPANY, run.id) == await home.loaded(run.id)
