"""Turns: a rightful caller has one soon, however many hostile ones wait."""

from __future__ import annotations

import asyncio

import pytest

from actors.actor import Overloaded
from daemon.runtime.fairness import FairQueue, FairSemaphore


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class Callers:
    """Callers who wait for turns; who had one is noted."""

    def __init__(self, turns: FairQueue) -> None:
        self.turns = turns
        self.had: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def _wait(self, caller: str, rank: int) -> None:
        await self.turns.acquire(caller, rank)
        self.had.append(caller)

    async def come(self, *callers: str, rank: int = 0) -> None:
        self.tasks += [asyncio.get_running_loop().create_task(self._wait(caller, rank)) for caller in callers]
        await settled()

    async def served(self, times: int) -> list[str]:
        """Who has the next turns, one after another."""
        self.had.clear()
        for _ in range(times):
            self.turns.release()
            await settled()
        return list(self.had)

    def refused(self) -> int:
        return sum(task.done() and isinstance(task.exception(), Overloaded) for task in self.tasks)


async def test_who_failed_waits_behind_who_did_not() -> None:
    callers = Callers(FairQueue(1, 100))
    await callers.come("at work")
    await callers.come(*(f"guesser {number}" for number in range(40)), rank=2)
    await callers.come("early", "late")
    assert await callers.served(3) == ["late", "early", "guesser 39"]


async def test_who_came_before_a_flood_and_who_comes_behind_it_have_their_turns_at_once() -> None:
    callers = Callers(FairQueue(1, 200))
    await callers.come("at work", "before")
    await callers.come(*(f"flood {number}" for number in range(90)))
    await callers.come("behind")
    assert await callers.served(2) == ["behind", "before"]


async def test_one_caller_fills_half_of_the_places() -> None:
    callers = Callers(FairQueue(1, 8))
    await callers.come(*["at work"] * 6)
    assert (callers.refused(), callers.turns.waiting) == (1, 4)


async def test_a_better_caller_takes_the_place_of_the_last() -> None:
    callers = Callers(FairQueue(1, 4))
    await callers.come("at work")
    await callers.come("a", "b", "c", "d", rank=1)
    await callers.come("rightful")
    assert (callers.refused(), callers.turns.waiting) == (1, 4)
    await callers.come("worse", rank=3)
    assert callers.refused() == 2
    assert await callers.served(4) == ["rightful", "b", "d", "c"]


async def test_who_has_gone_takes_no_turn() -> None:
    callers = Callers(FairQueue(1, 8))
    await callers.come("at work", "a", "b")
    callers.tasks[2].cancel()
    await settled()
    assert await callers.served(1) == ["a"]
    callers.turns.release()
    async with asyncio.timeout(1):
        await callers.turns.acquire("c", 0)


async def test_a_turn_given_to_who_goes_in_the_same_moment_goes_on_to_the_next() -> None:
    callers = Callers(FairQueue(1, 8))
    await callers.come("at work", "a", "b")
    callers.turns.release()  # to b, who came last
    callers.tasks[2].cancel()
    with pytest.raises(asyncio.CancelledError):
        await callers.tasks[2]
    await settled()
    assert callers.had == ["at work", "a"]


class Companies:
    """Companies that hold turns until they are told to end."""

    def __init__(self, turns: FairSemaphore) -> None:
        self.turns = turns
        self.had: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}

    async def _use(self, company_id: str) -> None:
        async with self.turns.hold(company_id):
            self.had.append(company_id)
            await self.ends.setdefault(company_id, asyncio.Event()).wait()

    async def come(self, group: asyncio.TaskGroup, company_id: str, times: int) -> list[asyncio.Task[None]]:
        tasks = [group.create_task(self._use(company_id)) for _ in range(times)]
        await settled()
        return tasks


async def test_companies_whose_work_hangs_leave_turns_to_others() -> None:
    companies = Companies(FairSemaphore(64))
    async with asyncio.TaskGroup() as group:
        for company_id in ("first", "second", "third", "fourth"):
            await companies.come(group, company_id, 64)
        assert companies.had.count("first") == 45
        await companies.come(group, "other", 1)
        assert companies.had[-1] == "other"
        for end in companies.ends.values():
            end.set()
    assert len(companies.had) == 257


async def test_the_next_turn_is_for_the_company_with_the_fewest_and_none_is_lost_with_who_goes() -> None:
    companies = Companies(FairSemaphore(4))
    async with asyncio.TaskGroup() as group:
        await companies.come(group, "busy", 3)
        await companies.come(group, "other", 2)
        (gone,) = await companies.come(group, "gone", 1)
        await companies.come(group, "later", 1)
        gone.cancel()
        companies.ends["busy"].set()
        await settled()
        assert companies.had == ["busy", "busy", "busy", "other", "later", "other"]
        for end in companies.ends.values():
            end.set()


async def test_a_company_with_many_lists_leaves_the_other_turns_to_others() -> None:
    turns, had = FairSemaphore(4, share_max=1), list[str]()

    async def use(company_id: str, end: asyncio.Event) -> None:
        async with turns.hold(company_id):
            had.append(company_id)
            await end.wait()

    end = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for company_id in ("many", "many", "many", "few", "other"):
            group.create_task(use(company_id, end))
        await settled()
        assert had == ["many", "few", "other"]
        end.set()
    assert had.count("many") == 3
