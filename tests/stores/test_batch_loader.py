"""Runs that many ask for at once are read in groups: large ones while that is quick, small ones beside a slow disk."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import pytest

from daemon.stores.batch_loader import FEW, LOADS_MAX, Loads, watched

Key = tuple[str, str]


class Shelf:
    """Reads each group when it is let; says what it was asked for, and whether the disk was waited for."""

    def __init__(self) -> None:
        self.groups: list[Sequence[Key]] = []
        self.waited = False
        self.open = asyncio.Event()

    async def read(self, keys: Sequence[Key]) -> Mapping[Key, str]:
        """Every run is its own id; `none` is not there."""
        self.groups.append(keys)
        await self.open.wait()
        return {key: key[1] for key in keys if key[1] != "none"}

    @property
    def sizes(self) -> list[int]:
        """The sizes of the groups that were asked for so far."""
        return [len(keys) for keys in self.groups]


@pytest.fixture
async def shelf() -> Shelf:
    return Shelf()


async def asked(loads: Loads[str], count: int) -> list[asyncio.Task[str | None]]:
    """So many who ask at once, up to where each waits."""
    waiting = [asyncio.create_task(loads.load("company", f"{number:04}")) for number in range(count)]
    for _ in range(5):
        await asyncio.sleep(0)
    return waiting


async def answers(waiting: list[asyncio.Task[str | None]]) -> list[str | None]:
    async with asyncio.timeout(10):
        return await asyncio.gather(*waiting)


async def test_a_quick_disk_is_asked_for_one_large_group_at_a_time(shelf: Shelf) -> None:
    loads = Loads(shelf.read, 4, lambda: shelf.waited)
    waiting = await asked(loads, 100)
    assert shelf.sizes == [LOADS_MAX]
    shelf.open.set()
    assert await answers(waiting) == [f"{number:04}" for number in range(100)]
    assert shelf.sizes == [LOADS_MAX, 100 - LOADS_MAX]


async def test_a_slow_disk_is_asked_for_small_groups_several_at_once(shelf: Shelf) -> None:
    loads = Loads(shelf.read, 4, lambda: shelf.waited)
    shelf.waited = True
    waiting = await asked(loads, 100)
    assert shelf.sizes == [FEW] * 4
    shelf.open.set()
    assert await answers(waiting) == [f"{number:04}" for number in range(100)]
    assert len({key for keys in shelf.groups for key in keys}) == 100


async def test_groups_grow_again_when_the_disk_is_no_longer_waited_for(shelf: Shelf) -> None:
    loads = Loads(shelf.read, 4, lambda: shelf.waited)
    shelf.waited = True
    waiting = await asked(loads, 4 * FEW + LOADS_MAX + 1)
    shelf.waited = False
    shelf.open.set()
    await answers(waiting)
    assert shelf.sizes == [FEW] * 4 + [LOADS_MAX, 1]


@pytest.mark.parametrize("waited", [False, True])
async def test_whoever_asks_after_a_rush_is_answered_too(shelf: Shelf, waited: bool) -> None:
    loads = Loads(shelf.read, 2, lambda: shelf.waited)
    shelf.waited = waited
    shelf.open.set()
    for _ in range(3):
        assert await answers(await asked(loads, 40)) == [f"{number:04}" for number in range(40)]
    assert await loads.load("company", "none") is None


def test_to_read_from_memory_is_not_to_wait_for_a_disk() -> None:
    assert watched(lambda: {("company", "run"): 1}) == ({("company", "run"): 1}, False)


@pytest.mark.parametrize(("blocks", "waited_s", "slow"), [(8, 0.002, True), (8, 0.0005, False), (0, 0.002, False)])
def test_a_disk_is_slow_when_blocks_were_read_and_the_thread_stood_still(
    monkeypatch: pytest.MonkeyPatch, blocks: int, waited_s: float, slow: bool
) -> None:
    usage, clock = iter([0, blocks]), iter([0.0, waited_s])
    monkeypatch.setattr(resource, "getrusage", lambda _who: SimpleNamespace(ru_inblock=next(usage)))
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(time, "thread_time", lambda: 0.0)
    assert watched(lambda: {("company", "run"): 1})[1] is slow
