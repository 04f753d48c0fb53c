"""The stores under contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from daemon.stores.memory import MemoryStore
from daemon.stores.sqlite import SqliteStore
from tests.histories import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from daemon.ports import Store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[Store]:
    if request.param == "memory":
        async with MemoryStore.open(clock=clock) as memory:
            yield memory
    else:
        async with SqliteStore.open(tmp_path / "penstock.db", clock=clock) as sqlite:
            yield sqlite
