"""What runs cost in memory: nothing while they are parked and nobody asks, and little while they
are live.
"""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from actors.core.messages import Cancel, Resume, Start
from daemon.runtime.clock import new_id
from daemon.stores.codec import encode_run
from tests.actors.house import COMPANY, MORNING, House, Store, house
from tests.shelf import shipped

PARKED = 2_000
LIVE = 1_000
LIVE_BYTES_MAX = 10 * 1024  # the process has a clock and a function
GONE_BYTES_MAX = 256  # per run: not even an actor without its run; caches of a fixed size fill up meanwhile
VERTICAL = "prior-auth"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    """The shipped templates over the store on disk, whose rows are nobody's memory."""
    async with Store.open(tmp_path / "penstock.db") as store:
        yield await house(store, entries=shipped())


@pytest.fixture(autouse=True)
def traced() -> Iterator[None]:
    """Count what is allocated, from the first byte on."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


@contextmanager
def measured() -> Iterator[list[int]]:
    """By how many bytes what is allocated has grown in between."""
    found: list[int] = []
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    yield found
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    found.append(after - before)


async def park(home: House, runs: int) -> list[str]:
    """Start so many runs of the shipped template, each with inputs of its own, as from a
    request.
    """
    entry = await home.catalog.current(COMPANY, VERTICAL)
    assert entry is not None
    text, ids = json.dumps(entry.example), [new_id() for _ in range(runs)]
    for run_id in ids:
        inputs = json.loads(text)
        message = Start(run_id=run_id, company_id=COMPANY, by="ann@acme.test", inputs=inputs, at=MORNING)
        await home.directory.ask((COMPANY, run_id), message, template=entry.template)
    return ids


async def touch(home: House, ids: list[str]) -> None:
    """Ask each run for what it refuses: a verdict on a gate at which it is not parked."""
    message = Resume(gate="appeal-review", decision="approved", by="bob", role="owner", at=MORNING)
    for run_id in ids:
        await home.directory.ask((COMPANY, run_id), message)


async def test_a_parked_run_that_nobody_asks_for_holds_no_actor_no_task_and_no_memory(home: House) -> None:
    await park(home, 10)
    home.directory.passivate()
    tasks = len(asyncio.all_tasks())
    with measured() as found:
        ids = await park(home, PARKED)
        assert home.directory.passivate() == PARKED
        await touch(home, ids)
        assert home.directory.passivate() == PARKED
        ids.clear()
        home.journal.loads.clear()
    assert (len(home.directory), len(asyncio.all_tasks())) == (0, tasks)
    assert found[0] / PARKED <= GONE_BYTES_MAX
    assert await home.store.unfinished() == []


async def test_a_live_idle_actor_is_no_task_and_takes_little_memory(home: House) -> None:
    await park(home, 10)
    home.directory.passivate()
    tasks = len(asyncio.all_tasks())
    with measured() as found:
        ids = await park(home, LIVE)
    assert (len(home.directory), len(asyncio.all_tasks())) == (LIVE, tasks)
    assert found[0] / LIVE <= LIVE_BYTES_MAX
    run = home.directory.live(COMPANY, ids[0])
    assert run is not None
    assert [visit.step_id for visit in run.parked] == ["signoff"]


async def test_an_actor_that_came_back_from_the_journal_takes_little_memory_too(home: House) -> None:
    ids = await park(home, LIVE)
    home.directory.passivate()
    await touch(home, ids[:1])
    home.directory.passivate()
    with measured() as found:
        await touch(home, ids)
    assert len(home.directory) == LIVE
    assert found[0] / LIVE <= LIVE_BYTES_MAX


async def test_a_run_that_came_back_from_the_journal_is_the_run_that_was_kept(home: House) -> None:
    ids = await park(home, 3)
    kept = [home.directory.live(COMPANY, run_id) for run_id in ids]
    home.directory.passivate()
    await touch(home, ids)
    found = [home.directory.live(COMPANY, run_id) for run_id in ids]
    assert found == kept
    assert [encode_run(run) for run in found if run] == [encode_run(run) for run in kept if run]


async def test_an_ended_run_is_let_go_like_a_parked_one(home: House) -> None:
    for run_id in await park(home, 3):
        await home.directory.ask((COMPANY, run_id), Cancel(by="ann", at=MORNING))
    assert (home.directory.passivate(), len(home.directory)) == (3, 0)
