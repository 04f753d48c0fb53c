"""The sweeper: a run that nobody sees to is reported and goes on; all others are left alone."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from structlog.testing import capture_logs

from actors.ports import StoreFailed
from daemon.engine.sweeper import Sweeper
from daemon.stores.sqlite.store import SqliteStore
from tests.actors.house import COMPANY, House, Store, house, passing

KEY = "run-1:fetch:1"


def sweeper(home: House) -> Sweeper:
    runs = cast("Store", home.journal)
    return Sweeper(runs, home.catalog, home.directory, home.hands.under_way, home.timers, lambda *_: None)


async def swept(home: House, before: Any = frozenset()) -> tuple[Any, list[tuple[str, str, str]]]:
    """What a sweep finds, and what it says: event, run and why."""
    with capture_logs() as logs:
        found = await sweeper(home).sweep(before, 0)
    return found, [(log["event"], log["run_id"], log["why"]) for log in logs]


async def test_runs_that_somebody_sees_to_are_left_alone(home: House) -> None:
    await home.live_tool("fetch")
    await home.start("calls")
    await home.start("sign")
    done = await home.start("sign", "over")
    await home.cancel(done.run.id)
    assert await swept(home) == (frozenset(), [])
    assert home.hands.asked == [(KEY, False)]


async def test_a_lost_call_is_reported_and_asked_for_again_as_after_a_restart(home: House) -> None:
    await home.live_tool("fetch")
    await home.start("calls")
    home.hands.lost.add(KEY)
    found, said = await swept(home)
    why = "call fetch-1 is outstanding, but nobody sees to it"
    assert said == [("run_stuck", "run-1", why)]
    assert [(one.key, one.status) for one in found] == [((COMPANY, "run-1"), "executing")]
    assert home.hands.asked == [(KEY, False), (KEY, True)]
    home.hands.lost.clear()
    assert (await swept(home, found))[1] == []


async def test_a_run_that_waking_does_not_help_is_reported_as_such(home: House) -> None:
    await home.live_tool("fetch")
    await home.start("calls")
    home.hands.lost.add(KEY)
    found, _ = await swept(home)
    _, said = await swept(home, found)
    assert [event for event, *_ in said] == ["run_still_stuck"]


async def test_a_lost_wake_up_is_set_again(store: Store) -> None:
    home = await house(store, steps_max=1_000)
    begun = await home.start("endless")
    home.timers.close()
    with capture_logs() as logs:
        await sweeper(home).sweep(pause_s=0)
    assert [log["why"].partition(",")[2] for log in logs] == [" but nobody sees to it"]
    assert (await home.ended(begun.run)).error is not None
    await home.settled()


async def test_a_run_that_never_was_activated_is_found_in_the_store(home: House) -> None:
    await home.live_tool("fetch")
    await home.start("calls")
    after = await house(home.store)
    assert len((await swept(after))[0]) == 1
    assert after.hands.asked == [(KEY, True)]


async def test_a_run_that_moves_between_two_looks_is_not_reported(home: House) -> None:
    await home.live_tool("fetch")
    run = (await home.start("calls")).run
    home.hands.lost.add(KEY)

    def land() -> None:
        home.hands.looked_at = lambda: None
        home.returned(run)

    home.hands.looked_at = land
    assert await swept(home) == (frozenset(), [])
    await home.until(run, lambda now: now.status == "parked")


async def test_a_message_that_is_being_worked_on_is_a_reason(home: House) -> None:
    await home.live_tool("fetch")
    run = (await home.start("calls")).run
    home.hands.lost.add(KEY)
    home.journal.hold()
    home.returned(run)
    await home.journal.reached.wait()
    assert await swept(home) == (frozenset(), [])
    home.journal.open.set()
    await home.settled()


async def test_a_message_that_the_store_will_be_offered_again_is_a_reason(home: House) -> None:
    await home.live_tool("fetch")
    run = (await home.start("calls")).run
    home.hands.lost.add(KEY)
    home.directory._repeat_s = 3_600
    home.journal.faults.append(passing())
    home.returned(run)
    await home.settled()
    assert [type(error) for _, error in home.reported] == [StoreFailed]
    assert await swept(home) == (frozenset(), [])


async def test_a_run_without_its_template_is_reported_and_stops_nobody(home: House) -> None:
    await home.live_tool("fetch")
    await home.start("unkept")
    home.timers.close()
    await home.start("calls", "zz")
    home.hands.lost.add("zz:fetch:1")
    after = await house(home.store)
    after.hands.lost.add("zz:fetch:1")
    _, said = await swept(after)
    assert [(run_id, why[:12]) for _, run_id, why in said] == [("run-1", "its template"), ("zz", "call fetch-1")]


async def test_a_run_that_cannot_be_read_is_reported_and_stops_nobody(home: House) -> None:
    await home.live_tool("fetch")
    for number in range(2):
        await home.start("calls", f"run-{number}")
    after = await house(home.store)
    await after.directory.wake((COMPANY, "run-1"))
    after.hands.lost.add("run-1:fetch:1")
    after.journal.faults_of_loads += [passing(), passing()]
    _, said = await swept(after)
    assert [(run_id, why.partition(":")[0].partition(",")[0]) for _, run_id, why in said] == [
        ("run-0", "it cannot be read"),
        ("run-1", "call fetch-1 is outstanding"),
    ]


async def test_a_run_that_says_it_is_at_rest_and_waits_for_nobody_is_found(home: House) -> None:
    await home.live_tool("fetch")
    await home.start("calls")
    if isinstance(home.store, SqliteStore):
        await home.store._writer.submit(lambda db: db.execute("UPDATE runs SET resting = 1"))
    after = await house(home.store)
    assert len((await swept(after))[0]) == 1
    assert after.hands.asked == [(KEY, True)]


async def test_while_the_service_stops_nobody_is_reported_or_woken(home: House) -> None:
    await home.live_tool("fetch")
    await home.start("calls")
    home.hands.lost.add(KEY)
    await home.directory.drain(1)
    async with asyncio.timeout(5):
        assert await swept(home) == (frozenset(), [])
    assert home.hands.asked == [(KEY, False)]
