"""One live actor per run, its mailbox, and what is seen when."""

from __future__ import annotations

import asyncio
import sys
from types import FrameType

import pytest

from actors.actor import Overloaded, RunActor
from actors.core.decider import NO_SUCH_RUN, TurnResult
from actors.core.messages import Rejected, Resume, Start, VerdictGiven
from actors.core.run import Run
from actors.core.template import Template
from actors.ports import ReceiptTaken, StoreFailed
from tests.actors.house import COMPANY, ENTRIES, MORNING, House, Store, house, passing, receipt, verdict

STORM = 200


async def test_a_run_has_one_live_actor_in_a_passivation_storm(home: House) -> None:
    run = (await home.start("again")).run
    asked: list[asyncio.Task[object]] = []
    most = 0
    for number in range(STORM):
        asked.append(asyncio.create_task(home.resume(run, "review", by=f"person-{number}")))
        if number % 3 == 0:
            await asyncio.wait(asked[-1:])
        else:
            await asyncio.sleep(0)
        most = max(most, len(home.directory))
        home.directory.passivate()
    answers = await asyncio.gather(*asked)
    assert all(isinstance(answer, TurnResult) for answer in answers)
    assert (home.journal.conflicts, most) == (0, 1)
    assert home.journal.loads[COMPANY, run.id] > STORM // 4
    verdicts = [event.by for event in await home.history(run.id) if isinstance(event, VerdictGiven)]
    assert verdicts == [f"person-{number}" for number in range(STORM)]


async def test_messages_are_decided_in_the_order_in_which_they_came(home: House) -> None:
    run = (await home.start("again")).run
    names = [f"person-{number}" for number in range(100)]
    answers = await asyncio.gather(*(home.resume(run, "review", by=name) for name in names))
    versions = [answer.run.version for answer in answers if isinstance(answer, TurnResult)]
    assert versions == sorted(versions)
    assert len(set(versions)) == len(names)
    assert [event.by for event in await home.history(run.id) if isinstance(event, VerdictGiven)] == names


async def test_of_many_verdicts_on_one_gate_exactly_one_counts(home: House) -> None:
    run = (await home.start("sign")).run
    decisions = ["approved", "denied"] * 25
    answers = await asyncio.gather(*(home.resume(run, "signoff", decision) for decision in decisions))
    refused = [answer for answer in answers if isinstance(answer, Rejected)]
    assert len(refused) == len(decisions) - 1
    assert {(one.code, one.more["decided"]["decision"]) for one in refused} == {("not_parked", "approved")}
    assert len([event for event in await home.history(run.id) if isinstance(event, VerdictGiven)]) == 1


async def test_a_full_mailbox_refuses_and_applies_nothing(store: Store) -> None:
    home = await house(store, mailbox_max=2)
    run = (await home.start("again")).run
    home.journal.hold()
    first = asyncio.create_task(home.resume(run, "review", by="first"))
    await home.journal.reached.wait()
    waiting = [asyncio.create_task(home.resume(run, "review", by=f"waiting-{number}")) for number in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await home.resume(run, "review", by="too many")
    home.journal.open.set()
    await asyncio.gather(first, *waiting)
    names = [event.by for event in await home.history(run.id) if isinstance(event, VerdictGiven)]
    assert names == ["first", "waiting-0", "waiting-1"]


async def test_what_waits_in_the_mailboxes_is_counted_and_in_the_fullest(home: House) -> None:
    runs = [(await home.start("again")).run for _ in range(3)]
    assert home.directory.waiting() == (0, 0)
    home.journal.hold()
    asked = [
        asyncio.create_task(home.resume(run, "review", by=f"person-{number}"))
        for run, many in zip(runs, (1, 4, 2), strict=True)
        for number in range(many)
    ]
    await home.journal.reached.wait()
    await asyncio.sleep(0)
    assert home.directory.waiting() == (0 + 3 + 1, 3)  # one of each run is being worked on
    home.journal.open.set()
    await asyncio.gather(*asked)
    assert home.directory.waiting() == (0, 0)


async def test_an_outcome_finds_room_in_a_full_mailbox(store: Store) -> None:
    home = await house(store, mailbox_max=1)
    await home.live_tool("fetch")
    run = (await home.start("calls")).run
    home.journal.hold()
    home.returned(run)
    await home.journal.reached.wait()
    asked = asyncio.create_task(home.cancel(run.id))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await home.cancel(run.id)
    home.returned(run, output="late")
    home.journal.open.set()
    assert isinstance(await asked, TurnResult)
    await home.settled()
    assert (await home.loaded(run.id)).facts["fetch"] == {"it": "found"}


async def test_an_unknown_run_is_not_found_and_leaves_no_actor(home: House) -> None:
    run = (await home.start("sign")).run
    home.directory.passivate()
    answers = await asyncio.gather(
        home.cancel("nobody"), home.directory.ask(("other company", run.id), verdict("signoff"))
    )
    assert [answer.code for answer in answers if isinstance(answer, Rejected)] == ["not_found", "not_found"]
    assert len(home.directory) == 0


async def test_a_message_is_applied_even_when_its_sender_has_gone(home: House) -> None:
    run = (await home.start("sign")).run
    home.journal.hold()
    gone = asyncio.create_task(home.resume(run, "signoff"))
    await home.journal.reached.wait()
    gone.cancel()
    home.journal.open.set()
    await home.ended(run)
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_nothing_is_seen_before_it_is_durable(home: House) -> None:
    await home.live_tool("fetch")
    home.journal.hold()
    with home.feed.follow(COMPANY, "run-1") as follower:
        published = asyncio.create_task(follower.next())
        answered = asyncio.create_task(home.start("calls"))
        await home.journal.reached.wait()
        for _ in range(100):
            await asyncio.sleep(0)
        assert (answered.done(), published.done(), home.hands.asked) == (False, False, [])
        assert home.directory.live(COMPANY, "run-1") is None
        assert await home.store.load(COMPANY, "run-1") is None
        home.journal.open.set()
        run, _ = await published
        assert await home.loaded("run-1") == run
        assert home.hands.asked == [("run-1:fetch:1", False)]
        assert (await answered).run == run


async def test_effects_are_performed_after_the_commit_and_before_the_answer(home: House) -> None:
    await home.live_tool("fetch")
    run = (await home.start("calls")).run
    assert home.hands.asked == [("run-1:fetch:1", False)]
    home.journal.faults.append(passing())
    home.returned(run)
    parked = await home.until(run, lambda now: now.status == "parked")
    assert home.hands.asked == [("run-1:fetch:1", False)]
    assert [key for key, _ in home.reported] == [(COMPANY, run.id)]
    assert parked.facts["fetch"] == {"it": "found"}
    await home.resume(parked, "signoff")
    assert home.hands.forgotten == [(COMPANY, run.id)]


async def test_whether_a_message_may_be_sent_is_asked_of_the_run_as_it_is_decided_on(store: Store) -> None:
    home, other = await house(store), await house(store)
    run, seen = (await home.start("again")).run, list[Run | None]()

    async def renew(found: Run | None, template: Template) -> Resume:
        assert found is not None
        assert template.digest == found.template_digest
        seen.append(found)
        return verdict("review")

    later = await other.resume(run, "review")
    assert isinstance(later, TurnResult)
    assert isinstance(await home.resume(run, "review", renew=renew), TurnResult)
    assert seen == [run, later.run]


async def test_a_cold_run_that_is_closed_is_loaded_once_and_answered_as_none(home: House) -> None:
    run = (await home.start("sign")).run
    home.directory.passivate()

    async def refuse(found: Run | None, _: Template) -> Rejected:
        assert found == run
        return NO_SUCH_RUN

    assert await home.resume(run, "signoff", renew=refuse) == await home.resume(run, "signoff", renew=refuse)
    assert home.journal.loads == {(COMPANY, run.id): 1}
    assert await home.loaded(run.id) == run


async def test_a_receipt_is_kept_in_the_commit_of_its_turn(home: House) -> None:
    home.journal.faults.append(passing())
    with pytest.raises(StoreFailed):
        await home.start("sign", "one", receipt=lambda run, _: receipt(run.id))
    assert await home.store.receipt(COMPANY, "/process-runs", "k") is None
    await home.start("sign", "one", receipt=lambda run, _: receipt(run.id))
    assert await home.store.receipt(COMPANY, "/process-runs", "k") == receipt("one")


async def test_a_turn_whose_receipt_is_taken_changes_nothing(home: House) -> None:
    run = (await home.start("sign", receipt=lambda run, _: receipt(run.id))).run
    with pytest.raises(ReceiptTaken):
        await home.resume(run, "signoff", receipt=lambda run, _: receipt(run.id))
    assert await home.loaded(run.id) == run
    assert isinstance(await home.resume(run, "signoff"), TurnResult)


async def test_what_a_receipt_says_is_the_run_after_the_turn(home: House) -> None:
    seen: list[tuple[str, int]] = []
    run = (await home.start("sign")).run

    def noted(after: object, refused: object) -> object:
        seen.append((after.status, after.version))  # type: ignore[attr-defined]
        return receipt(run.id)

    answer = await home.resume(run, "signoff", receipt=noted)
    assert isinstance(answer, TurnResult)
    assert seen == [("completed", answer.run.version)]


async def test_a_look_at_the_idle_meets_no_run_that_waits_for_a_call(home: House) -> None:
    await home.live_tool("fetch")
    for _ in range(200):
        await home.start("calls")
    for _ in range(3):
        await home.start("sign")
    looks = 0
    idle = RunActor.idle.fget.__code__  # type: ignore[attr-defined]

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal looks
        looks += event == "call" and frame.f_code is idle

    sys.setprofile(count)
    try:
        gone = home.directory.passivate(2)
    finally:
        sys.setprofile(None)
    assert (gone, looks) == (2, 2)
    assert (home.directory.passivate(100), len(home.directory)) == (1, 200)


async def test_runs_that_work_again_hold_up_no_idle_one_and_go_when_they_rest(home: House) -> None:
    runs = [(await home.start("again")).run for _ in range(10)]
    await home.start("sign")
    home.journal.hold()
    asked = [asyncio.create_task(home.resume(run, "review")) for run in runs]
    await home.journal.reached.wait()
    assert [home.directory.passivate(5) for _ in range(3)] == [0, 0, 1]
    assert len(home.directory) == len(runs)
    home.journal.open.set()
    await asyncio.gather(*asked)
    await home.settled()
    assert (home.directory.passivate(100), len(home.directory)) == (len(runs), 0)


async def test_a_large_run_is_let_go_sooner_than_others(home: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home.directory, "_idle_s", 1_000.0)
    monkeypatch.setattr("actors.directory.HEAVY_IDLE_S", 0.0)
    small = (await home.start("sign")).run
    large = Start(run_id="large", company_id=COMPANY, by="ann", inputs={"x": "x" * 300_000}, at=MORNING)
    await home.ask("large", large, template=ENTRIES["sign"].template)
    await home.settled()
    assert home.directory.has_heavy()
    assert home.directory.passivate(100) == 1
    assert not home.directory.has_heavy()
    assert home.directory.live(COMPANY, small.id) is not None
    assert home.directory.live(COMPANY, "large") is None
