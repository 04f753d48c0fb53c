"""Runs that many ask for at once are read in groups: so many of them side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from daemon.stores.group_commit import GROUP_MAX, BatchLoader

Key = tuple[str, str]


class Reader:
    """Reads each group when it is let, and says what it was asked for."""

    def __init__(self) -> None:
        self.groups: list[Sequence[Key]] = []
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
async def reader() -> Reader:
    return Reader()


async def asked(loader: BatchLoader[Key, str], count: int) -> list[asyncio.Task[str | None]]:
    """So many who ask at once, up to where each waits."""
    waiting = [asyncio.create_task(loader.load(("company", f"{number:04}"))) for number in range(count)]
    for _ in range(5):
        await asyncio.sleep(0)
    return waiting


async def answers(waiting: list[asyncio.Task[str | None]]) -> list[str | None]:
    async with asyncio.timeout(10):
        return await asyncio.gather(*waiting)


async def test_those_who_ask_at_once_are_read_in_groups_and_only_so_many_side_by_side(reader: Reader) -> None:
    loader = BatchLoader(reader.read, at_once=2)
    waiting = await asked(loader, 100)
    assert reader.sizes == [GROUP_MAX, GROUP_MAX]
    reader.open.set()
    assert await answers(waiting) == [f"{number:04}" for number in range(100)]
    assert reader.sizes == [GROUP_MAX, GROUP_MAX, GROUP_MAX, 100 - 3 * GROUP_MAX]


async def test_whoever_asks_after_a_rush_is_answered_too(reader: Reader) -> None:
    loader = BatchLoader(reader.read)
    reader.open.set()
    await answers(await asked(loader, 100))
    assert await answers(await asked(loader, 1)) == ["0000"]
    assert await loader.load(("company", "none")) is None
    assert await loader.load(("company", "next")) == "next"
