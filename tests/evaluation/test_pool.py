"""Processes are shared fairly: a company has all but one at most, and who used least is next."""

from __future__ import annotations

import asyncio

import pytest

from actors.actor import Overloaded
from daemon.evaluation.evaluator import WAITING_MAX, WorkerPool


def pool() -> WorkerPool:
    return WorkerPool("no.module", 2, answer_bytes_max=1)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_company_leaves_a_process_to_others() -> None:
    one, got = pool(), list[str]()
    free = asyncio.Event()

    async def use(company_id: str) -> None:
        async with one.turn(company_id):
            got.append(company_id)
            await free.wait()

    async with asyncio.TaskGroup() as group:
        for company_id in ("many", "many", "other"):
            group.create_task(use(company_id))
        await settle()
        assert got == ["many", "other"]
        free.set()
    assert got == ["many", "other", "many"]


async def test_the_company_that_used_least_of_late_is_next() -> None:
    one, order = pool(), list[str]()
    one._used["heavy"] = 5.0, asyncio.get_running_loop().time()

    async def use(company_id: str) -> None:
        async with one.turn(company_id):
            order.append(company_id)

    async with asyncio.TaskGroup() as group, one.turn("a"), one.turn("b"):
        for company_id in ("heavy", "fresh"):
            group.create_task(use(company_id))
        await settle()
    assert order == ["fresh", "heavy"]


async def test_who_gives_up_waiting_takes_no_turn_and_too_many_are_refused() -> None:
    one = pool()
    async with one.turn("a"), one.turn("b"):
        waiting = [asyncio.create_task(one._take("c")) for _ in range(WAITING_MAX)]
        await settle()
        with pytest.raises(Overloaded):
            await one._take("c")
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    async with one.turn("d"), one.turn("e"):
        pass
