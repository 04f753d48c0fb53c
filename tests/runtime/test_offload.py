"""Long work of requests beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from actors.actor import Overloaded
from daemon.runtime.offload import Offload


@pytest.fixture
def offload() -> Iterator[Offload]:
    one = Offload(waiting_max=3)
    yield one
    one.close()


async def test_work_is_done_in_another_thread_and_answered(offload: Offload) -> None:
    assert await offload.run("acme", threading.get_ident) != threading.get_ident()


async def test_what_work_raises_reaches_its_caller(offload: Offload) -> None:
    with pytest.raises(ZeroDivisionError):
        await offload.run("acme", lambda: 1 // 0)


async def test_companies_take_turns_however_much_one_of_them_asks_for(offload: Offload) -> None:
    begin, order = threading.Event(), list[str]()
    first = asyncio.create_task(offload.run("acme", begin.wait))
    work = [("acme", "acme 1"), ("acme", "acme 2"), ("globex", "globex 1")]
    tasks = [asyncio.create_task(offload.run(company, partial(order.append, name))) for company, name in work]
    await asyncio.sleep(0)
    begin.set()
    await asyncio.gather(first, *tasks)
    assert order.index("globex 1") < order.index("acme 2")


async def test_a_company_with_too_much_waiting_is_refused_and_another_is_not(offload: Offload) -> None:
    begin = threading.Event()
    tasks = [asyncio.create_task(offload.run("acme", begin.wait)) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await offload.run("acme", begin.wait)
    other = asyncio.create_task(offload.run("globex", lambda: "done"))
    begin.set()
    assert await other == "done"
    await asyncio.gather(*tasks)
    assert await offload.run("acme", lambda: "again") == "again"
